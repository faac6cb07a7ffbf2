package explain

import (
	"fmt"

	"github.com/linerate/linerate/result"
)

func cpuRules() []Rule {
	return []Rule{{ID: "cpu.one-core", Code: "R-CPU-4", Group: CPU, Title: "One core is the limit", Ref: "proc(5) /proc/stat", Check: oneCore}}
}

// oneCore looks for a core, or a process, that has no more to give: one
// connection is served by one core at a time on each end.
func oneCore(v View) (result.Finding, bool) {
	core, coreShare, process, processShare := v.Busiest()
	if core == "" && process == "" {
		return result.Finding{}, false
	}
	f := result.Finding{Verdict: result.DoesNotLimit, Confidence: 0.7}
	if core != "" {
		f.Text = fmt.Sprintf("core %s is %.0f %% busy", core, 100*coreShare)
		f.Evidence = append(f.Evidence, busyValue(v, result.CPUSeconds, "cpu", core))
	}
	if process != "" {
		if f.Text != "" {
			f.Text += "; "
		}
		f.Text += fmt.Sprintf("process %s uses %.0f %% of a core", process, 100*processShare)
		f.Evidence = append(f.Evidence, busyValue(v, result.ProcessCPU, "process", process))
	}
	if steal, ok := v.Sum(result.CPUSeconds, "mode", "steal"); ok && steal > stolen*v.Duration.Seconds() {
		f.Against = append(f.Against, fmt.Sprintf("%.1f s were taken by other machines of the host", steal))
	}
	switch busiest := max(coreShare, processShare); {
	case busiest >= freeCore && busiest < fullCore:
		f.Verdict, f.Confidence = result.Unknown, 0.4
		f.Text += ": nearly full"
		f.Next = "read the cores while no other program runs, and time one send"
	case busiest >= fullCore:
		f.Verdict, f.Confidence = result.Limits, 0.8
		if processShare < fullCore {
			f.Confidence = 0.6
			f.Against = append(f.Against, "the core's other work counts too")
			f.Next = "read the cores while no other program runs"
		}
		if why := v.costly(); why != "" {
			f.Confidence = 0.5
			f.Against = append(f.Against, why)
		}
		f.Gain = "fewer copies, system calls and frames for each byte"
		f.Trade = "larger segments come in bursts and wait longer; no-copy lends buffers out for longer"
		f.Levers = []result.Advice{{Lever: "ftp.no-copy", Value: "on", End: "server"}, {Lever: "ethtool.features.tso", Value: "on"}, {Lever: "ethtool.features.gro", Value: "on"}}
	}
	return f, true
}

// costly names what makes each byte cost more than it must, so that a full core
// is what follows and not the cause; "" where nothing is known to.
func (v View) costly() string {
	for _, c := range []clue{
		atMost(0, "app.write-size", smallSegment*1460), saw(0, "offload.tso", "off"), atMost(0, "link.mtu", smallMTU),
		atLeast(0, "cpu.other-programs", strangersShare), saw(0, "irq.steered-one"), saw(0, "offload.sg", "off"),
	} {
		if s := c.look(v); s.holds {
			return "it follows from " + s.texts[0]
		}
	}
	return ""
}

// busyValue is the busy time of one core or process, or its share where that
// is all there is.
func busyValue(v View, m result.Metric, name, value string) result.Value {
	part := map[string]string{"cpu": "busiest", "process": "process"}[name]
	if share, ok := v.Get(result.CoreBusy, "part", part); ok && (value == "busiest" || value == "measured") {
		return result.CoreBusy.Of(share, "part", part)
	}
	busy := 0.0
	for _, x := range v.Values {
		if x.Metric == m.Name && x.Labels[name] == value && x.Labels["mode"] != "idle" && x.Labels["mode"] != "iowait" {
			busy += x.V
		}
	}
	return m.Of(busy, name, value, "mode", "busy")
}
