package iperf3

import (
	"cmp"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// Result makes an imported Result of the output. Its goodput is what the
// receiver got; the test's own end is the client.
func (o *Output) Result() *result.Result {
	start := time.Unix(0, int64(o.Start.Timestamp.Seconds*1e9)).UTC()
	r := &result.Result{
		Schema: result.SchemaID, ID: result.NewID(start), Origin: result.Imported, Start: start, Ending: result.Completed,
		Workload: o.workload(),
		Ends: []result.End{{Role: "tester", Host: o.local(), Facts: map[string]string{"system": o.Start.System}},
			{Role: "dut", Host: o.Start.ConnectingTo.Host}},
	}
	if o.Error != "" {
		r.Ending, r.Error = result.Failed, o.Error
	}
	forth, back := "tx", "rx"
	if o.Start.Test.Reverse != 0 {
		forth, back = "rx", "tx"
	}
	e := o.End
	r.Totals = append(r.Totals, direction(forth, e.Sent, cmp.Or(e.Received, e.Sum), e.Sum)...)
	if e.ReceivedBack != nil {
		r.Totals = append(r.Totals, direction(back, e.SentBack, e.ReceivedBack, e.ReceivedBack)...)
	}
	if e.CPU.HostTotal > 0 || e.CPU.RemoteTotal > 0 {
		r.Totals = append(r.Totals, result.CPUShare.Of(e.CPU.HostTotal/100, "end", "tester"), result.CPUShare.Of(e.CPU.RemoteTotal/100, "end", "peer"))
	}
	for _, f := range []*Figures{e.Received, e.Sum, e.Sent} {
		if f != nil && r.Duration == 0 {
			r.Duration = seconds(f.End - f.Start)
		}
	}
	if e.Received == nil && e.Sum == nil {
		r.Gaps = append(r.Gaps, result.Gap{Source: "iperf3", Reason: "the output has no receiver's figures: the test did not end"})
	}
	r.Readings = o.readings(forth, back)
	return r
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// both reports a test in both directions; releases before 3.13 do not say so.
func (o *Output) both() bool { return o.Start.Test.Bidir != 0 || o.End.ReceivedBack != nil }

func (o *Output) local() string {
	if len(o.Start.Connected) > 0 {
		return o.Start.Connected[0].LocalHost
	}
	return "client"
}

func (o *Output) workload() result.Workload {
	t := o.Start.Test
	p := map[string]string{"tool": o.Start.Version, "dialect": "iperf3", "parallel": strconv.Itoa(t.Streams), "message": strconv.Itoa(t.BlockSize), "direction": "tx"}
	switch {
	case o.both():
		p["direction"] = "both"
	case t.Reverse != 0:
		p["direction"] = "rx"
	}
	for name, v := range map[string]float64{"duration": t.Duration, "omit": t.Omit} {
		if v > 0 {
			p[name] = seconds(v).String()
		}
	}
	if t.Bytes > 0 {
		p["bytes"] = strconv.FormatInt(t.Bytes, 10)
	}
	if t.TargetRate > 0 {
		p["rate"] = result.FormatBits(t.TargetRate)
	}
	if o.End.SenderAlgo != "" {
		p["congestion"] = o.End.SenderAlgo
	}
	kind := "tcp_stream"
	if t.Protocol == "UDP" {
		kind = "udp_stream"
	}
	return result.Workload{Kind: kind, Params: p}
}

// direction takes the sums of one direction; loss is in the one that the
// releases before 3.13 have beside the receiver's.
func direction(dir string, sent, got, loss *Figures) []result.Value {
	var vs []result.Value
	label := []string{"direction", dir}
	if got != nil {
		vs = append(vs, result.Goodput.Of(got.Rate, label...))
	}
	if sent != nil {
		vs = append(vs, result.SentRate.Of(sent.Rate, label...))
		if sent.Retransmits != nil && *sent.Retransmits >= 0 {
			vs = append(vs, result.TCPRetransmits.Of(float64(*sent.Retransmits), label...))
		}
	}
	if got != nil && got.Lost != nil {
		loss = got
	}
	if loss == nil || loss.Lost == nil {
		return vs
	}
	// The share can be above one in outputs of releases that take omitted losses
	// from fewer datagrams; the counts are what they are.
	n, lost := float64(loss.Packets), float64(*loss.Lost)
	vs = append(vs, result.DatagramsLost.Of(lost, label...), result.DatagramsReceived.Of(max(n-lost, 0), label...))
	if n > 0 {
		vs = append(vs, result.LossRatio.Of(min(max(lost/n, 0), 1), label...))
	}
	if loss.Jitter != nil {
		vs = append(vs, result.Jitter.Of(*loss.Jitter/1e3, label...))
	}
	return vs
}

// readings turns intervals into counters that only grow.
func (o *Output) readings(forth, back string) []result.Reading {
	bytes := map[string]int64{}
	retransmits := map[string]int64{}
	var out []result.Reading
	for _, i := range o.Intervals {
		var rd result.Reading
		for _, s := range i.Streams {
			dir := forth
			if o.both() && !s.Sender {
				dir = back
			}
			name := strconv.Itoa(s.Socket)
			bytes[name] += s.Bytes
			rd.At = max(rd.At, seconds(s.End))
			label := []string{"stream", name, "direction", dir}
			rd.Values = append(rd.Values, result.Bytes.Of(float64(bytes[name]), label...))
			flow := []string{"flow", "stream " + name}
			if s.RTT > 0 {
				rd.Values = append(rd.Values, result.TCPRTT.Of(s.RTT/1e6, flow...))
			}
			if s.Cwnd > 0 && o.Start.MSS > 0 {
				rd.Values = append(rd.Values, result.TCPCwnd.Of(float64(s.Cwnd)/float64(o.Start.MSS), flow...))
			}
			if s.Window > 0 {
				rd.Values = append(rd.Values, result.TCPWindow.Of(float64(s.Window), append(flow, "window", "send")...))
			}
			if s.Retransmits != nil {
				retransmits[name] += max(*s.Retransmits, 0)
				rd.Values = append(rd.Values, result.TCPRetransmits.Of(float64(retransmits[name]), flow...))
			}
		}
		out = append(out, rd)
	}
	return out
}
