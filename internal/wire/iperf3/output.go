package iperf3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Output is the document that iperf3 -J prints, as far as scripts read it.
// Times are in seconds, round-trip times in microseconds.
type Output struct {
	Start     Start      `json:"start"`
	Intervals []Interval `json:"intervals"`
	End       End        `json:"end"`
	Title     string     `json:"title,omitempty"`
	Extra     string     `json:"extra_data,omitempty"`
	Server    string     `json:"server_output_text,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// Start says what was to be done.
type Start struct {
	Connected    []Endpoints `json:"connected"`
	Version      string      `json:"version"`
	System       string      `json:"system_info"`
	Timestamp    Timestamp   `json:"timestamp"`
	ConnectingTo struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	} `json:"connecting_to"`
	Cookie     string     `json:"cookie,omitempty"`
	MSS        int        `json:"tcp_mss_default,omitempty"`
	TargetRate float64    `json:"target_bitrate"`
	Buffer     int        `json:"sock_bufsize"`
	SendBuffer int        `json:"sndbuf_actual,omitempty"`
	RecvBuffer int        `json:"rcvbuf_actual,omitempty"`
	Test       TestParams `json:"test_start"`
}

// Endpoints are the addresses of a stream.
type Endpoints struct {
	Socket     int    `json:"socket"`
	LocalHost  string `json:"local_host"`
	LocalPort  int    `json:"local_port"`
	RemoteHost string `json:"remote_host"`
	RemotePort int    `json:"remote_port"`
}

// Timestamp is when a test began.
type Timestamp struct {
	Time    string  `json:"time"`
	Seconds float64 `json:"timesecs"`
}

// TestParams is the parameters of the test.
type TestParams struct {
	Protocol   string  `json:"protocol"` // "TCP" or "UDP"
	Streams    int     `json:"num_streams"`
	BlockSize  int     `json:"blksize"`
	Omit       float64 `json:"omit"`
	Duration   float64 `json:"duration"`
	Bytes      int64   `json:"bytes"`
	Blocks     int64   `json:"blocks"`
	Reverse    int     `json:"reverse"`
	TOS        int     `json:"tos"`
	TargetRate float64 `json:"target_bitrate"`
	Bidir      int     `json:"bidir"`
	FQRate     float64 `json:"fqrate"`
	Interval   float64 `json:"interval"`
}

// Interval is what happened between two readings.
type Interval struct {
	Streams []Figures `json:"streams"`
	Sum     *Figures  `json:"sum,omitempty"`
	Reverse *Figures  `json:"sum_bidir_reverse,omitempty"`
}

// Figures are those of one stream, or the sum of several, over a time.
type Figures struct {
	Socket      int      `json:"socket,omitempty"`
	Start       float64  `json:"start"`
	End         float64  `json:"end"`
	Seconds     float64  `json:"seconds"`
	Bytes       int64    `json:"bytes"`
	Rate        float64  `json:"bits_per_second"`
	Retransmits *int64   `json:"retransmits,omitempty"`
	Cwnd        int64    `json:"snd_cwnd,omitempty"` // bytes
	Window      int64    `json:"snd_wnd,omitempty"`
	RTT         float64  `json:"rtt,omitempty"`
	RTTVar      float64  `json:"rttvar,omitempty"`
	PMTU        int      `json:"pmtu,omitempty"`
	MeanRTT     float64  `json:"mean_rtt,omitempty"`
	Jitter      *float64 `json:"jitter_ms,omitempty"`
	Lost        *int64   `json:"lost_packets,omitempty"`
	Packets     int64    `json:"packets,omitempty"`
	LostPercent *float64 `json:"lost_percent,omitempty"`
	OutOfOrder  *int64   `json:"out_of_order,omitempty"`
	Omitted     bool     `json:"omitted,omitempty"`
	Sender      bool     `json:"sender"` // this end sends
}

// End is the figures of the whole test.
type End struct {
	Streams      []StreamEnd `json:"streams"`
	Sum          *Figures    `json:"sum,omitempty"` // UDP
	Sent         *Figures    `json:"sum_sent,omitempty"`
	Received     *Figures    `json:"sum_received,omitempty"`
	SentBack     *Figures    `json:"sum_sent_bidir_reverse,omitempty"`
	ReceivedBack *Figures    `json:"sum_received_bidir_reverse,omitempty"`
	CPU          CPU         `json:"cpu_utilization_percent"`
	SenderAlgo   string      `json:"sender_tcp_congestion,omitempty"`
	ReceiverAlgo string      `json:"receiver_tcp_congestion,omitempty"`
}

// StreamEnd is one stream as both ends saw it; UDP has one figure for both.
type StreamEnd struct {
	Sender   *Figures `json:"sender,omitempty"`
	Receiver *Figures `json:"receiver,omitempty"`
	UDP      *Figures `json:"udp,omitempty"`
}

// CPU is in percent of one core.
type CPU struct {
	HostTotal    float64 `json:"host_total"`
	HostUser     float64 `json:"host_user"`
	HostSystem   float64 `json:"host_system"`
	RemoteTotal  float64 `json:"remote_total"`
	RemoteUser   float64 `json:"remote_user"`
	RemoteSystem float64 `json:"remote_system"`
}

// ErrOutput is wrapped by the errors for text that is no output of iperf3.
var ErrOutput = errors.New("not JSON of iperf3")

// ParseOutput reads the output of iperf3 -J or --json-stream.
func ParseOutput(b []byte) (*Output, error) {
	var probe struct {
		Event string `json:"event"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&probe); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	if probe.Event != "" {
		return parseEvents(json.NewDecoder(bytes.NewReader(b)))
	}
	var o Output
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	return o.check()
}

// parseEvents reads one object for each thing that happened.
func parseEvents(d *json.Decoder) (*Output, error) {
	var o Output
	for {
		var e struct {
			Event string          `json:"event"`
			Data  json.RawMessage `json:"data"`
		}
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return o.check()
		} else if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOutput, err)
		}
		var err error
		switch e.Event {
		case "start":
			err = json.Unmarshal(e.Data, &o.Start)
		case "interval":
			var i Interval
			err = json.Unmarshal(e.Data, &i)
			o.Intervals = append(o.Intervals, i)
		case "end":
			err = json.Unmarshal(e.Data, &o.End)
		case "error":
			err = json.Unmarshal(e.Data, &o.Error)
		case "server_output_text":
			err = json.Unmarshal(e.Data, &o.Server)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: event %q: %w", ErrOutput, e.Event, err)
		}
	}
}

// check refuses JSON of something else.
func (o *Output) check() (*Output, error) {
	if p := o.Start.Test.Protocol; p != "TCP" && p != "UDP" && o.Error == "" {
		return nil, fmt.Errorf("%w: its test_start has no protocol", ErrOutput)
	}
	return o, nil
}
