package result

import (
	"reflect"
	"testing"
	"time"
)

func TestGetAndSum(t *testing.T) {
	vs := []Value{
		NICFrames.Of(3, "interface", "eth0", "direction", "rx"),
		NICFrames.Of(4, "interface", "eth0", "direction", "tx"),
		NICFrames.Of(5, "interface", "eth1", "direction", "rx"),
	}
	if v, ok := Get(vs, NICFrames, "direction", "tx"); !ok || v != 4 {
		t.Errorf("Get: %v, %v", v, ok)
	}
	if v, ok := Get(vs, NICFrames, "direction", "sideways"); ok {
		t.Errorf("Get found %v under a label that no value has", v)
	}
	if v, ok := Sum(vs, NICFrames, "direction", "rx"); !ok || v != 8 {
		t.Errorf("Sum: %v, %v", v, ok)
	}
	if v, ok := Sum(vs, NICBytes); ok {
		t.Errorf("Sum of nothing: %v, true; absence must not read as zero", v)
	}
}

func TestDelta(t *testing.T) {
	earlier := []Value{
		Bytes.Of(100, "flow", "1"), Bytes.Of(900, "flow", "2"), Messages.Of(7), TCPRTT.Of(0.5),
	}
	later := []Value{
		Bytes.Of(40, "flow", "2"),  // reset: counts from zero
		Bytes.Of(150, "flow", "1"), // stands elsewhere than before
		Messages.Of(7),
		TCPRTT.Of(0.25),           // a gauge stands for itself
		Bytes.Of(10, "flow", "3"), // new: how long it has counted is unknown
	}
	want := []Value{Bytes.Of(40, "flow", "2"), Bytes.Of(50, "flow", "1"), Messages.Of(0), TCPRTT.Of(0.25)}
	if got := Delta(earlier, later); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if later[1].V != 150 {
		t.Error("Delta changed its argument")
	}
}

func TestDeltaTakesUnknownMetricsForCounters(t *testing.T) {
	was, is := Value{Metric: "of_a_newer_version_total", V: 1}, Value{Metric: "of_a_newer_version_total", V: 4}
	if got := Delta([]Value{was}, []Value{is}); len(got) != 1 || got[0].V != 3 {
		t.Errorf("got %v", got)
	}
}

func TestRates(t *testing.T) {
	got := Rates([]Value{Bytes.Of(50), TCPRTT.Of(0.25)}, 500*time.Millisecond)
	if len(got) != 1 || got[0].V != 100 || got[0].Unit != "B/s" {
		t.Errorf("got %v", got)
	}
	if got := Rates([]Value{Bytes.Of(50)}, 0); got != nil {
		t.Errorf("a rate over no time: %v", got)
	}
}
