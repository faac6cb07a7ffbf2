package explain

import (
	"fmt"
	"math"

	"github.com/linerate/linerate/result"
)

func tcpRules() []Rule {
	return []Rule{
		{ID: "tcp.window-limited", Code: "R-TCP-1", Group: Window, Title: "The receive window bounds goodput", Ref: "RFC 6349 3.3.1; RFC 7323 2", Check: windowLimited},
		{ID: "tcp.receiver-limited", Code: "R-TCP-7", Group: Window, Title: "The receiving application bounds goodput", Ref: "RFC 9293 3.8.6", Check: receiverLimited},
		{ID: "tcp.send-buffer-limited", Code: "R-TCP-2", Group: Window, Title: "The send buffer bounds goodput", Ref: "linux tcp_info tcpi_sndbuf_limited", Check: sendBufferLimited},
	}
}

// windowLimited judges by the closed form, goodput <= window / RTT, and by the
// sender's own account of the time it was held back.
func windowLimited(v View) (result.Finding, bool) {
	got, ok := v.Get(result.Goodput)
	if !ok {
		return result.Finding{}, false
	}
	f := result.Finding{Verdict: result.DoesNotLimit, Confidence: 0.8, Evidence: []result.Value{result.Goodput.Of(got)}}
	window, rtt, form := windowAndRTT(v)
	bound := math.Inf(1)
	if form {
		bound = window * 8 / rtt
		f.Evidence = append(f.Evidence, result.TCPWindow.Of(window), result.TCPRTT.Of(rtt))
		f.Text = fmt.Sprintf("a window of %.0f bytes over %.3g ms allows %s", window, rtt*1e3, result.FormatRate(bound))
	}
	held, kernel := v.Share(result.TCPRwndLimited, result.TCPBusy)
	if kernel {
		limited, _ := v.Sum(result.TCPRwndLimited)
		busy, _ := v.Sum(result.TCPBusy)
		f.Evidence = append(f.Evidence, result.TCPRwndLimited.Of(limited), result.TCPBusy.Of(busy))
		if f.Text != "" {
			f.Text += "; "
		}
		f.Text += fmt.Sprintf("the sender waited for the window %.0f %% of its busy time", 100*held)
	}
	switch {
	case kernel && held >= limitedShare && ample(v, got):
		f.Text += ", though it is larger than the path needs"
	case kernel && held >= limitedShare:
		f.Verdict, f.Confidence = result.Limits, 0.9
	case kernel:
		// The kernel knows better than a smoothed RTT.
	case !form:
		return result.Finding{}, false
	case got >= windowFilled*bound:
		f.Verdict = result.Limits
	}
	if f.Verdict == result.Limits {
		if _, share, _, _ := v.Busiest(); share >= freeCore {
			f.Confidence = 0.5
			f.Against = append(f.Against, fmt.Sprintf("a core is %.0f %% busy too", 100*share))
		}
		want := neededWindow(v, rtt, window)
		f.Gain = "goodput grows with the window until something else bounds it"
		f.Trade = "memory for each connection, and delay where the queue on the way is deep"
		f.Levers = []result.Advice{
			{Lever: "sysctl.net.ipv4.tcp_rmem", Value: fmt.Sprintf("4096 %.0f %.0f", want, 4*want), End: "receiver"},
			{Lever: "ftp.receive-buffer", Value: fmt.Sprintf("%.0f", want), End: "receiver"},
		}
	}
	return f, true
}

// ample reports whether the window is more than the goodput fills while the
// receiver takes as long to read as receivers do: then it is closed because the
// receiver does not read.
func ample(v View, got float64) bool {
	window, ok := v.Window()
	rtt, known := v.Get(result.TCPMinRTT)
	if !known {
		rtt, _ = v.Get(result.TCPRTT)
	}
	return ok && window >= got/8*(rtt+scheduling)
}

// receiverLimited finds a window that is large enough and closed all the same.
func receiverLimited(v View) (result.Finding, bool) {
	got, ok1 := v.Get(result.Goodput)
	held, ok2 := v.Share(result.TCPRwndLimited, result.TCPBusy)
	window, ok3 := v.Window()
	if !ok1 || !ok2 || !ok3 {
		return result.Finding{}, false
	}
	limited, _ := v.Sum(result.TCPRwndLimited)
	busy, _ := v.Sum(result.TCPBusy)
	f := result.Finding{
		Verdict: result.DoesNotLimit, Confidence: 0.8,
		Text:     fmt.Sprintf("the sender waited %.0f %% of its busy time for a receiver with %.0f bytes of window", 100*held, window),
		Evidence: []result.Value{result.Goodput.Of(got), result.TCPWindow.Of(window), result.TCPRwndLimited.Of(limited), result.TCPBusy.Of(busy)},
	}
	if held >= limitedShare && ample(v, got) {
		f.Verdict, f.Confidence = result.Limits, 0.7
		f.Text += ", enough for this rate: it reads too slowly"
		if why := v.costly(); why != "" {
			f.Confidence = 0.5
			f.Against = append(f.Against, why)
		}
		f.Next = "read the CPU time of the receiving process and of its core"
		f.Gain = "fewer receives, each of more bytes, leave it time"
		f.Trade = "waiting for more bytes delays the first of them"
		f.Levers = []result.Advice{{Lever: "ftp.no-copy", Value: "on", End: "receiver"}, {Lever: "ethtool.features.gro", Value: "on", End: "receiver"}}
	}
	return f, true
}

func windowAndRTT(v View) (window, rtt float64, ok bool) {
	window, ok1 := v.Window()
	rtt, ok2 := v.Get(result.TCPRTT)
	return window, rtt, ok1 && ok2 && rtt > 0 && window > 0
}

// neededWindow is the bandwidth-delay product of the line, rounded up to a
// power of two; four times the window where the line's rate is not known.
func neededWindow(v View, rtt, window float64) float64 {
	want := 4 * window
	if limit, ok := v.Get(result.LineLimit); ok && rtt > 0 {
		want = max(want, limit*rtt/8)
	}
	return math.Exp2(math.Ceil(math.Log2(max(want, 64<<10))))
}

// roomy reports whether a send buffer is so much larger than what goodput needs
// in flight that it cannot be what holds the sender back. The kernel counts
// buffers with their bookkeeping, up to four times the payload.
func roomy(v View, buffer, got float64) bool {
	rtt, known := v.Get(result.TCPMinRTT)
	if !known {
		if rtt, known = v.Get(result.TCPRTT); !known {
			return false
		}
	}
	const bookkeeping = 4
	return buffer > smallBuffer && buffer >= bookkeeping*got/8*(rtt+scheduling)
}

// sendBufferLimited judges by the sender's account of the time it had a window
// to fill and too small a buffer to fill it from.
func sendBufferLimited(v View) (result.Finding, bool) {
	held, ok := v.Share(result.TCPSndbufLimited, result.TCPBusy)
	if !ok {
		return result.Finding{}, false
	}
	limited, _ := v.Sum(result.TCPSndbufLimited)
	busy, _ := v.Sum(result.TCPBusy)
	f := result.Finding{
		Verdict: result.DoesNotLimit, Confidence: 0.8,
		Text:     fmt.Sprintf("the send buffer held the sender back %.0f %% of its busy time", 100*held),
		Evidence: []result.Value{result.TCPSndbufLimited.Of(limited), result.TCPBusy.Of(busy)},
	}
	size, known := v.Get(result.TCPSendBuffer)
	if known {
		f.Evidence = append(f.Evidence, result.TCPSendBuffer.Of(size))
	}
	if held >= limitedShare {
		// The rest of the time something else held it back.
		f.Verdict, f.Confidence = result.Limits, min(0.9, 0.4+0.7*held)
		if got, ok := v.Goodput(); ok && known && roomy(v, size, got) {
			f.Verdict, f.Confidence = result.Unknown, 0.4
			f.Against = append(f.Against, fmt.Sprintf("%.0f bytes of buffer are several times what is in flight: the application may only have filled it late", size))
		}
		f.Gain = "the window can be filled"
		f.Trade = "memory for each connection"
		f.Levers = []result.Advice{
			{Lever: "sysctl.net.ipv4.tcp_wmem", Value: "4096 65536 4194304", End: "sender"},
			{Lever: "ftp.send-buffer", Value: "0", End: "sender"}, // 0 lets the kernel tune it
		}
	}
	return f, true
}
