package irq

import (
	"testing"
	"testing/fstest"

	"github.com/linerate/linerate/internal/host"
	"github.com/linerate/linerate/result"
)

const zynq = `           CPU0       CPU1       
 27:          0          0       GIC  27  gt
 29:    3398142    3384716       GIC  29  twd
 54:     902318          0       GIC  54  eth0
 82:         21          0       GIC  82  xuartps
IPI1:       1204       9313  Rescheduling interrupts
Err:          0
`

const x86 = `            CPU0       CPU3       
  1:          0          9   IO-APIC   1-edge      i8042
 16:         40        120   IO-APIC  16-fasteoi   ehci_hcd:usb1, eth1
 38:          0       6239 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 39:          0          0 PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0
NMI:          0          0   Non-maskable interrupts
LOC:      55336      51384   Local timer interrupts
ERR:          0
MIS:          0
`

const softirqs = `                    CPU0       CPU1       
          HI:          0          0
      NET_TX:          5          0
      NET_RX:      10974          7
`

func read(t *testing.T, interrupts string) []result.Value {
	t.Helper()
	vs, err := Meter{host.Recorded(fstest.MapFS{
		"proc/interrupts": {Data: []byte(interrupts)}, "proc/softirqs": {Data: []byte(softirqs)},
	})}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return vs
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		table       string
		irq, device string
		cpu         string
		want        float64
	}{
		{zynq, "54", "eth0", "0", 902318},
		{zynq, "IPI1", "Rescheduling interrupts", "1", 9313},
		{x86, "16", "ehci_hcd:usb1, eth1", "3", 120},
		{x86, "38", "virtio2-input.0", "0", 0},
		{x86, "LOC", "Local timer interrupts", "0", 55336},
	} {
		vs := read(t, c.table)
		if got, ok := result.Get(vs, result.Interrupts, "irq", c.irq, "device", c.device, "cpu", c.cpu); !ok || got != c.want {
			t.Errorf("irq %s of %s on core %s: %v, %v; want %v", c.irq, c.device, c.cpu, got, ok, c.want)
		}
	}
	vs := read(t, x86)
	if _, ok := result.Get(vs, result.Interrupts, "irq", "39"); ok {
		t.Error("a line that never fired is listed")
	}
	if n, _ := result.Sum(vs, result.Softirqs, "softirq", "NET_RX"); n != 10981 {
		t.Errorf("NET_RX %v", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(zynq)
	f.Add(x86)
	f.Fuzz(func(t *testing.T, s string) {
		rows, _ := parse(s)
		for _, r := range rows {
			if len(r.counts) != len(r.cpus) {
				t.Errorf("%d counts for %d cores", len(r.counts), len(r.cpus))
			}
			device(r)
		}
	})
}
