package ethtool

import (
	"encoding/binary"
	"testing"
)

func TestFeatureStates(t *testing.T) {
	f := features{
		names:      []string{"tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-tcp-segmentation", "tx-tcp6-segmentation", "rx-gro"},
		active:     map[string]bool{"tx-checksum-ip-generic": true},
		wanted:     map[string]bool{"tx-checksum-ip-generic": true, "tx-tcp-segmentation": true},
		changeable: map[string]bool{"tx-checksum-ip-generic": true, "tx-tcp-segmentation": true},
	}
	for key, want := range map[string]string{
		"tx": "on", "tso": "off [requested on]", "gro": "off [fixed]", "tx-checksum-ipv4": "off [fixed]", "tx-tcp6-segmentation": "off [fixed]",
	} {
		if got, _ := value(f.text(), key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	want, err := f.want([]assignment{{"tso", "off"}})
	if err != nil || len(want) != 1 || want["tx-tcp-segmentation"] {
		t.Errorf("tso off becomes %v, %v", want, err)
	}
	if _, err := f.want([]assignment{{"gro", "on"}}); err == nil {
		t.Error("a fixed feature can be set")
	}
}

func FuzzParseBitset(f *testing.F) {
	f.Add([]byte{12, 0, 3, 0, 8, 0, 1, 0, 4, 0, 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		names, set := parseBitset(b, binary.LittleEndian)
		if len(set) > len(names) {
			t.Errorf("%d set of %d", len(set), len(names))
		}
	})
}

func FuzzParseAssignments(f *testing.F) {
	f.Add("rx-usecs: 50\nadaptive-rx: off\n")
	f.Fuzz(func(t *testing.T, s string) {
		as, err := parseAssignments(s)
		if (err == nil) != (len(as) > 0) {
			t.Errorf("%v with %v", as, err)
		}
	})
}
