package probe

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/linerate/linerate/internal/host"
)

const measuring = "measuring"

// files judges abilities that a file tells by being there or by its text.
func files(h host.Host) []Ability {
	out := []Ability{
		exists(h, "kernel types (BTF)", "BPF programs that fit any kernel", "a kernel with CONFIG_DEBUG_INFO_BTF; programs without relocations still load", "sys/kernel/btf/vmlinux"),
		exists(h, "tracepoint napi_poll", "packets and time of each poll", "mount -t tracefs tracefs /sys/kernel/tracing",
			"sys/kernel/tracing/events/napi/napi_poll/format", "sys/kernel/debug/tracing/events/napi/napi_poll/format"),
		exists(h, "softnet counters", "drops and squeezes of the receive softirq", "", "proc/net/softnet_stat"),
		exists(h, "CPU clock control", "keep cores at full clock", "in a virtual machine the host rules the clock", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		exists(h, "idle state control", "keep cores awake between frames", "in a virtual machine the host rules idle states", "sys/devices/system/cpu/cpu0/cpuidle/state0/name"),
		clock(h),
	}
	if algorithms := text(h, "proc/sys/net/ipv4/tcp_available_congestion_control"); algorithms != "" {
		current := text(h, "proc/sys/net/ipv4/tcp_congestion_control")
		out = append(out, Ability{Group: sockets, Name: "congestion control", Verdict: Yes, Detail: current + " of " + algorithms, For: "choose how TCP fills the link"})
	}
	return out
}

// exists wants one of the files named.
func exists(h host.Host, name, use, do string, files ...string) Ability {
	a := Ability{Group: measuring, Name: name, For: use, Verdict: No, Do: do}
	for _, f := range files {
		_, err := fs.Stat(h, f)
		if err == nil {
			return Ability{Group: measuring, Name: name, For: use, Verdict: Yes, Detail: f}
		}
		a.Detail = f + ": " + reason(err)
		if errors.Is(err, fs.ErrPermission) {
			a.Do = "run as root"
			break
		}
	}
	return a
}

// clock tells whether reading the time costs a system call or worse: a slow
// clock source caps packet rates of everything that takes timestamps.
func clock(h host.Host) Ability {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	a := Ability{Group: measuring, Name: "fast clock", For: "cheap timestamps"}
	current, available := text(h, dir+"current_clocksource"), text(h, dir+"available_clocksource")
	switch current {
	case "":
		a.Verdict, a.Detail = Unknown, "no "+dir+"current_clocksource"
	case "hpet", "acpi_pm", "jiffies", "refined-jiffies":
		a.Verdict, a.Detail = No, current+" is slow to read; available: "+available
		a.Do = "boot with tsc=reliable, or write tsc into " + dir + "current_clocksource where it is available"
		if !strings.Contains(available, "tsc") {
			a.Do = "none: the kernel has found no better clock"
		}
	default:
		a.Verdict, a.Detail = Yes, current
	}
	return a
}
