package lever

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
)

func board() host.Host {
	tree := fstest.MapFS{}
	for name, v := range map[string]string{
		"proc/sys/net/ipv4/tcp_rmem":                             "4096\t131072\t6291456",
		"proc/sys/net/ipv4/conf/eth0.5/rp_filter":                "2",
		"proc/irq/30/smp_affinity":                               "3",
		"proc/12/comm":                                           "irqbalance",
		"proc/13/comm":                                           "NetworkManager",
		"sys/class/net/eth0/gro_flush_timeout":                   "0",
		"sys/class/net/eth0/queues/rx-0/rps_cpus":                "0",
		"sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit": "0",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":   "ondemand",
		"link/eth0/mtu":                                          "1500",
		"link/eth0/address":                                      "02:00:5e:10:00:01",
		"ethtool/eth0/coalesce":                                  "rx-usecs: 0\nrx-frames: 1\n",
		"ethtool/eth0/features":                                  "tx-tcp-segmentation: on\n",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(v + "\n")}
	}
	return host.Recorded(tree)
}

func TestFind(t *testing.T) {
	h := board()
	for id, want := range map[string]string{
		"sysctl.net.ipv4.tcp_rmem":              "4096 131072 6291456",
		"sysctl.net.ipv4.conf.eth0/5.rp_filter": "2",
		"irq.30.smp_affinity":                   "3",
		"cpu.1.scaling_governor":                "ondemand",
		"link.mtu@eth0":                         "1500",
		"link.gro_flush_timeout@eth0":           "0",
		"queue.rx-0.rps_cpus@eth0":              "0",
		"queue.tx-0.limit@eth0":                 "0",
		"ethtool.coalesce.rx-frames@eth0":       "1",
	} {
		s, err := Find(h, id)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if got, err := s.Get(t.Context()); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", id, got, err, want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	for _, id := range []string{"", "link.mtu", "irq.30.smp_affinity@eth0", "sysctl.net/../../../etc/passwd", "link.mtu@../lo", "queue.rx-0.../x@eth0", "nothing.such"} {
		if _, err := Find(board(), id); !errors.Is(err, ErrNoLever) {
			t.Errorf("Find(%q) = %v, want ErrNoLever", id, err)
		}
	}
	s, err := Find(board(), "ethtool.coalesce.tx-usecs@eth0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context()); !errors.Is(err, host.ErrUnsupported) {
		t.Errorf("a key the driver lacks: %v", err)
	}
}

func TestExpandFindsWhatItLists(t *testing.T) {
	h := board()
	ids, err := Expand(h, "eth0")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"link.mtu@eth0", "ethtool.coalesce.rx-usecs@eth0", "queue.rx-0.rps_cpus@eth0", "queue.tx-0.limit@eth0", "link.gro_flush_timeout@eth0"} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s missing in %v", want, ids)
		}
	}
	for _, id := range ids {
		s, err := Find(h, id)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := s.Get(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := Expand(h, "eth7"); !errors.Is(err, ErrNoLever) {
		t.Errorf("Expand(eth7) = %v", err)
	}
}

func TestOwners(t *testing.T) {
	if o := Owners(board(), "irq.30.smp_affinity"); len(o) != 1 || o[0].Name != "irqbalance" {
		t.Errorf("owners of irq: %+v", o)
	}
	if o := Owners(board(), "queue.rx-0.rps_cpus@eth0"); len(o) != 0 {
		t.Errorf("owners of rps: %+v", o)
	}
}

func TestFiles(t *testing.T) {
	h := board()
	var ws []Wanted
	for id, v := range map[string]string{"sysctl.net.ipv4.tcp_rmem": "4096 131072 16777216", "ethtool.coalesce.rx-usecs@eth0": "50",
		"link.gro_flush_timeout@eth0": "200000", "irq.30.smp_affinity": "2"} {
		s, err := Find(h, id)
		if err != nil {
			t.Fatal(err)
		}
		ws = append(ws, Wanted{s, v, "02:00:5e:10:00:01"})
	}
	files := Files(ws, "/usr/local/bin/linerate")
	for name, line := range map[string]string{
		"etc/sysctl.d/90-linerate.conf":                     "net.ipv4.tcp_rmem = 4096 131072 16777216\n",
		"etc/systemd/network/10-linerate-02005e100001.link": "RxCoalesceSec=50\n",
		"etc/udev/rules.d/90-linerate.rules":                `ATTR{gro_flush_timeout}="200000"`,
		"etc/systemd/system/linerate-tune.service":          `tune apply --keep "irq.30.smp_affinity=2"`,
	} {
		if !strings.Contains(files[name], line) {
			t.Errorf("%s lacks %q:\n%s", name, line, files[name])
		}
	}
	if len(files) != 4 {
		t.Errorf("%d files, want 4", len(files))
	}
}

// A file that persists settings is a change like another: put back, it is gone
// or as it was.
func TestConfRollsBack(t *testing.T) {
	b, j, dir := begin(t)
	name := filepath.Join(b.dir, "etc/sysctl.d/90-linerate.conf")
	for _, v := range []string{"a = 1\nb = 2\n", "a = 2\n"} {
		if _, err := j.Apply(t.Context(), Conf{name}, v, ""); err != nil {
			t.Fatal(err)
		}
	}
	_, h, err := Resume(dir, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Undo(t.Context(), host.Recorded(b), Here(host.Recorded(b)), j, h); err != nil {
		t.Fatal(err)
	}
	if v, err := (Conf{name}).Get(t.Context()); v != "" || err != nil {
		t.Errorf("after rollback: %q, %v", v, err)
	}
}
