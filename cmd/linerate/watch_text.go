package main

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/linerate/linerate/result"
)

const (
	barWidth     = 24
	historyWidth = 16
	shownLines   = 5
	// perFrame is what a frame takes on the wire beside the bytes counted:
	// preamble, start delimiter, FCS and the gap after it (IEEE 802.3 3.1.1, 4.4.2).
	perFrame = 24
)

// render draws an interval as text with colours, which the writer drops where
// nobody would see them. history holds earlier rates by interface and direction.
func (v interval) render(w *watcher, history map[string][]float64) string {
	var out strings.Builder
	head := lipgloss.NewStyle().Bold(true)
	wide := len("INTERFACE")
	for _, l := range v.links {
		wide = max(wide, len(l.name))
	}
	fmt.Fprintln(&out, head.Render(fmt.Sprintf("%-*s %-3s %13s %11s %6s %8s %8s %10s", wide, "INTERFACE", "", "RATE", "FRAMES/S", "BYTES", "DROPS/S", "ERRORS/S", "LINE")))
	for _, l := range v.links {
		if l.total == 0 && len(w.interfaces) == 0 {
			continue // it has never carried anything, and nobody asked for it
		}
		name := l.name
		if l.direction == "tx" {
			name = ""
		}
		fmt.Fprintf(&out, "%-*s %-3s %13s %11.0f %6s %s %s %10s  %s\n", wide, name, l.direction, result.FormatBits(l.bits), l.frames, l.mean(),
			alarm("%8.0f", l.dropped), alarm("%8.0f", l.errors), l.share(w.speed[l.name]), spark(history[l.name+l.direction]))
	}
	fmt.Fprintf(&out, "\n%s\n", head.Render(fmt.Sprintf("%-4s %-*s %5s %5s %5s %5s %5s %9s %9s %9s %8s", "CORE", barWidth,
		legend(), "USER", "SYS", "IRQ", "SOFT", "STEAL", "IRQ/S", "FRAMES/S", "SQUEEZE/S", "DROPS/S")))
	for _, c := range v.cores {
		fmt.Fprintf(&out, "%-4s %s %4.0f%% %4.0f%% %4.0f%% %4.0f%% %4.0f%% %9.0f %9.0f %s %s\n", c.cpu, c.bar(), 100*c.user, 100*c.system, 100*c.irq,
			100*c.softirq, 100*c.steal, c.interrupts, c.frames, alarm("%9.0f", c.squeezes), alarm("%8.0f", c.drops))
	}
	fmt.Fprintf(&out, "\n%s\n", head.Render("INTERRUPTS"))
	for _, l := range v.lines[:min(len(v.lines), shownLines)] {
		fmt.Fprintf(&out, "%-6s %-36.36s core %-4s %9.0f/s\n", l.irq, l.device, l.cpu, l.rate)
	}
	n := v.network
	fmt.Fprintf(&out, "\n%s  segments in %.0f/s, out %.0f/s   retransmitted %s/s   timeouts %s/s   pruned %s/s   UDP buffer errors %s/s\n",
		head.Render("TCP"), n["TcpInSegs"], n["TcpOutSegs"], alarm("%.0f", n["TcpRetransSegs"]), alarm("%.0f", n["TcpExtTCPTimeouts"]),
		alarm("%.0f", n["TcpExtPruneCalled"]+n["TcpExtTCPRcvCollapsed"]), alarm("%.0f", n["UdpRcvbufErrors"]+n["UdpSndbufErrors"]))
	return out.String()
}

// mean is the mean length of a frame.
func (l linkRates) mean() string {
	if l.frames == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", l.bits/8/l.frames)
}

// share is how much of the line the frames take, with all that goes with them.
func (l linkRates) share(speed float64) string {
	if speed == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*(l.bits+8*perFrame*l.frames)/speed)
}

// alarm colours a figure that should be zero.
func alarm(format string, v float64) string {
	s := fmt.Sprintf(format, v)
	if v > 0 {
		return lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true).Render(s)
	}
	return s
}

// mode is one part of a core's bar; each has a sign of its own, so that it
// reads without colour too.
type mode struct {
	sign  string
	name  string
	style lipgloss.Style
}

func modes() [4]mode {
	of := func(sign, name string, s lipgloss.Style) mode { return mode{sign, name, s} }
	style := lipgloss.NewStyle
	return [4]mode{
		of("█", "user", style().Foreground(lipgloss.Green)), of("▓", "sys", style().Foreground(lipgloss.Blue)),
		of("▒", "irq", style().Foreground(lipgloss.Red)), of("░", "steal", style().Foreground(lipgloss.Yellow)),
	}
}

func legend() string {
	var parts []string
	for _, m := range modes() {
		parts = append(parts, m.sign+m.name)
	}
	return strings.Join(parts, " ")
}

// bar draws the time of a core, idle left blank.
func (c coreRates) bar() string {
	var out strings.Builder
	drawn, sum := 0, 0.0
	for i, share := range []float64{c.user, c.system, c.irq + c.softirq, c.steal} {
		sum += share
		n := max(min(int(sum*barWidth+0.5), barWidth)-drawn, 0) // round the sum, so that parts never exceed the bar
		m := modes()[i]
		out.WriteString(m.style.Render(strings.Repeat(m.sign, n)))
		drawn += n
	}
	return out.String() + strings.Repeat("·", barWidth-drawn)
}

// spark draws the latest rates from zero to their greatest.
func spark(rates []float64) string {
	rates = rates[max(0, len(rates)-historyWidth):]
	greatest := 0.0
	for _, r := range rates {
		greatest = max(greatest, r)
	}
	var out strings.Builder
	steps := []rune("▁▂▃▄▅▆▇█")
	for _, r := range rates {
		i := 0
		if greatest > 0 {
			i = int(r / greatest * float64(len(steps)-1))
		}
		out.WriteRune(steps[i])
	}
	return out.String()
}
