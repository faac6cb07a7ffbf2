package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// documents are files that earlier versions wrote. They are never regenerated:
// a new field gets a new file.
func documents(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestOldFilesDecode reads each document and writes it again without losing or
// changing a field.
func TestOldFilesDecode(t *testing.T) {
	for name, data := range documents(t) {
		t.Run(name, func(t *testing.T) {
			r, err := Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			var again bytes.Buffer
			if err := Encode(&again, r); err != nil {
				t.Fatal(err)
			}
			var before, after any
			if err := errors.Join(json.Unmarshal(data, &before), json.Unmarshal(again.Bytes(), &after)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, after) {
				t.Error("a field was lost or changed on the way through Decode and Encode")
			}
		})
	}
}

// TestEveryFieldIsGuarded makes the test above cover new fields too: each must
// be set in some document.
func TestEveryFieldIsGuarded(t *testing.T) {
	set := map[string]bool{}
	for _, data := range documents(t) {
		r, err := Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		visit(reflect.ValueOf(*r), func(field string, zero bool) { set[field] = set[field] || !zero })
	}
	for field, ok := range set {
		if !ok {
			t.Errorf("no document in testdata sets %s: add one", field)
		}
	}
}

// visit calls f for every field of every struct of this package below v.
func visit(v reflect.Value, f func(field string, zero bool)) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), f)
		}
		if v.Len() == 0 && v.Type().Elem().Kind() == reflect.Struct {
			visit(reflect.Zero(v.Type().Elem()), f)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			f(v.Type().Name()+"."+v.Type().Field(i).Name, v.Field(i).IsZero())
			visit(v.Field(i), f)
		}
	}
}

func TestDecodeIgnoresNewFields(t *testing.T) {
	r, err := Decode(strings.NewReader(`{"schema":"linerate.result/1","id":"x","origin":"measured","colour":"blue"}`))
	if err != nil || r.ID != "x" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, doc := range []string{`{"schema":"linerate.result/2","id":"x"}`, `{"schema":"linerate.diff/1"}`, `{}`} {
		if _, err := Decode(strings.NewReader(doc)); !errors.Is(err, ErrSchema) {
			t.Errorf("%s: got %v, want ErrSchema", doc, err)
		}
	}
	for _, doc := range []string{``, `[]`, `{"schema":`, `{"schema":"linerate.result/1","duration_ns":"long"}`} {
		if _, err := Decode(strings.NewReader(doc)); err == nil {
			t.Errorf("%s: decoded", doc)
		}
	}
}

func TestNewIDSortsByTime(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.FixedZone("CET", 3600))
	a, b := NewID(at), NewID(at.Add(time.Second))
	if !slices.IsSorted([]string{a, b}) || !strings.HasPrefix(a, "20261201T020000Z-") || a == NewID(at) {
		t.Errorf("got %s then %s", a, b)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":"linerate.result/1","id":"x","readings":[{"at_ns":1,"values":[{"metric":"m","v":1e308}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := Encode(&bytes.Buffer{}, r); err != nil {
			t.Errorf("decoded but not encoded: %v", err)
		}
	})
}
