package netperf

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/linerate/linerate/result"
)

// Result makes an imported Result of the tests in one output: the figures of a
// single test are its totals, several become trials. netperf prints no time of
// day; at is when the output was made, as far as is known.
func Result(runs []Run, at time.Time) *result.Result {
	r := &result.Result{
		Schema: result.SchemaID, ID: result.NewID(at), Origin: result.Imported, Start: at, Ending: result.Completed,
		Workload: result.Workload{Kind: runs[0].kind(), Params: map[string]string{"tool": "netperf", "dialect": "netperf"}},
		Ends:     []result.End{{Role: "tester", Host: "client"}, {Role: "dut", Host: cmp.Or(runs[0].Peer, "server")}},
	}
	if len(runs) == 1 {
		r.Totals, r.Duration = runs[0].values(), runs[0].duration()
		r.Workload.Params["direction"] = runs[0].direction()
		r.Workload.Params["message"] = strconv.Itoa(runs[0].Message)
		return r
	}
	for _, x := range runs {
		if x.kind() != r.Workload.Kind {
			r.Workload.Kind = "netperf"
		}
		r.Trials = append(r.Trials, result.Trial{
			Name: fmt.Sprintf("%s %d B", x.Test, x.Message), Start: r.Duration, Duration: x.duration(), Values: x.values(), Pass: true,
			Params: map[string]string{"test": x.Test, "direction": x.direction(), "message_bytes": strconv.Itoa(x.Message)},
		})
		r.Duration += x.duration()
	}
	return r
}

func (r Run) kind() string {
	switch r.Test {
	case "TCP_RR":
		return "tcp_rr"
	case "TCP_CRR":
		return "tcp_crr"
	case "UDP_RR":
		return "udp_rr"
	case "UDP_STREAM":
		return "udp_stream"
	}
	return "tcp_stream"
}

func (r Run) duration() time.Duration { return time.Duration(max(r.Elapsed, 0) * float64(time.Second)) }

func (r Run) direction() string {
	switch {
	case r.Trans:
		return "both"
	case r.Test == "TCP_MAERTS":
		return "rx"
	}
	return "tx"
}

func (r Run) values() []result.Value {
	var vs []result.Value
	label := []string{"direction", r.direction()}
	switch {
	case r.Trans:
		vs = append(vs, result.TransactionRate.Of(r.Throughput))
		if n := float64(r.Message + r.Response); n > 0 {
			vs = append(vs, result.Goodput.Of(r.Throughput*n*8, label...))
		}
	case r.Throughput >= 0:
		vs = append(vs, result.Goodput.Of(r.Throughput, label...))
	}
	if r.Sent >= 0 {
		vs = append(vs, result.SentRate.Of(r.Sent, label...))
	}
	if r.Received >= 0 && r.Messages > 0 {
		lost := max(r.Messages-r.Received, 0)
		vs = append(vs, result.DatagramsReceived.Of(r.Received, label...), result.DatagramsLost.Of(lost, label...),
			result.LossRatio.Of(lost/r.Messages, label...))
	}
	if r.SendBuffer > 0 {
		vs = append(vs, result.TCPSendBuffer.Of(float64(r.SendBuffer)))
	}
	if r.RecvBuffer > 0 {
		vs = append(vs, result.TCPReceiveBuffer.Of(float64(r.RecvBuffer)))
	}
	return vs
}
