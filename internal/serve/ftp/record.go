package ftp

import (
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/data"
	"github.com/linerate/linerate/result"
)

// record tells the logs and the owner of the server about a transfer that has
// ended.
func (x *session) record(t *transfer, err error) {
	s := t.stats
	attrs := []any{"id", x.id, "user", x.account.Name, "peer", x.peer, "verb", t.verb, "path", t.path, "bytes", s.Bytes,
		"duration", s.Duration, "way", string(s.Way)}
	if err != nil {
		x.srv.log.Warn("transfer", append(attrs, "err", err)...)
	} else {
		x.srv.log.Info("transfer", attrs...)
	}
	if t.direction() == "list" {
		return
	}
	if x.srv.cfg.Xferlog != nil {
		x.srv.cfg.Xferlog.write(x, t, err == nil)
	}
	if x.srv.cfg.Done != nil {
		x.srv.cfg.Done(x.result(t, err))
	}
}

// result makes the Result of a transfer.
func (x *session) result(t *transfer, err error) *result.Result {
	s := t.stats
	r := &result.Result{
		Schema: result.SchemaID, ID: result.NewID(t.start), Origin: result.Measured, Start: t.start, Duration: s.Duration,
		Ending: result.Completed,
		Workload: result.Workload{Kind: "ftp." + strings.ToLower(t.verb), Params: map[string]string{
			"path": t.path, "tls": strconv.FormatBool(x.private), "mode": outcome(x.deflate, "Z", "S"), "type": outcome(x.ascii, "A", "I"),
		}},
		Ends: []result.End{
			{Role: "server", Host: x.local.Addr().String(), Settings: settings(s)},
			{Role: "client", Host: x.peer.String(), Facts: map[string]string{"user": x.account.Name}},
		},
		Totals: []result.Value{result.Bytes.Of(float64(s.Bytes)), result.Messages.Of(float64(s.Calls))},
	}
	if sec := s.Duration.Seconds(); sec > 0 {
		r.Totals = append(r.Totals, result.Goodput.Of(float64(s.Bytes)*8/sec, "direction", t.direction()))
	}
	if s.TCP != nil {
		r.Totals = append(r.Totals, tcpValues(s.TCP)...)
	} else {
		r.Gaps = append(r.Gaps, result.Gap{Source: "tcpinfo", Reason: "this system does not tell TCP_INFO"})
	}
	if err != nil {
		r.Ending, r.Error = result.Failed, err.Error()
	}
	return r
}

// settings shows the knobs that were in force, named as the flags are.
func settings(s data.Stats) map[string]string {
	k := s.Knobs
	out := map[string]string{
		"ftp.way": string(s.Way), "ftp.data-buffer": strconv.Itoa(k.SendSize), "ftp.yield": strconv.FormatBool(k.Yield),
		"ftp.send-buffer": strconv.Itoa(k.SendBuffer), "ftp.receive-buffer": strconv.Itoa(k.ReceiveBuffer),
		"ftp.receive-limit": strconv.Itoa(k.ReceiveLimit), "ftp.no-copy": strconv.FormatBool(!k.Copy),
	}
	if s.TCP != nil {
		out["ftp.congestion"] = s.TCP.Congestion
	}
	return out
}

func tcpValues(t *data.TCPInfo) []result.Value {
	return []result.Value{
		result.TCPRTT.Of(t.RTT.Seconds()), result.TCPMinRTT.Of(t.MinRTT.Seconds()),
		result.TCPCwnd.Of(float64(t.Cwnd)), result.TCPMSS.Of(float64(t.SendMSS)),
		result.TCPSendBuffer.Of(float64(t.SendBuffer)), result.TCPReceiveBuffer.Of(float64(t.ReceiveBuffer)),
		result.TCPBusy.Of(t.Busy.Seconds()), result.TCPRwndLimited.Of(t.RwndLimited.Seconds()),
		result.TCPSndbufLimited.Of(t.SndbufLimited.Seconds()), result.TCPRetransmits.Of(float64(t.Retransmits)),
		result.TCPPacingRate.Of(float64(t.PacingRate) * 8), result.TCPDeliveryRate.Of(float64(t.DeliveryRate) * 8),
		result.SegmentsOut.Of(float64(t.SegmentsOut)), result.SegmentsIn.Of(float64(t.SegmentsIn)),
	}
}

// Xferlog writes one line a transfer as wu-ftpd and vsftpd do (xferlog(5)).
type Xferlog struct {
	mu sync.Mutex
	w  io.Writer
}

// NewXferlog returns an Xferlog on w. Errors of w lose lines, not transfers.
func NewXferlog(w io.Writer) *Xferlog { return &Xferlog{w: w} }

func (l *Xferlog) write(x *session, t *transfer, complete bool) {
	line := xferLine(time.Now(), x.peer, x.account.Name, t, x.ascii, complete)
	l.mu.Lock()
	defer l.mu.Unlock()
	io.WriteString(l.w, line)
}

func xferLine(at time.Time, peer netip.Addr, user string, t *transfer, ascii, complete bool) string {
	path := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return '_' // fields are separated by spaces
		}
		return r
	}, t.path)
	return fmt.Sprintf("%s %d %s %d %s %s _ %s r %s ftp 0 * %s\n", at.Format("Mon Jan _2 15:04:05 2006"),
		int(t.stats.Duration.Seconds()+0.5), peer, t.stats.Bytes, path, outcome(ascii, "a", "b"),
		outcome(t.direction() == "get", "o", "i"), user, outcome(complete, "c", "i"))
}
