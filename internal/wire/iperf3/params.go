package iperf3

import "fmt"

// Mark is a JSON key whose presence counts, whatever its value; it is written
// as 1.
type Mark bool

// MarshalJSON writes a set mark.
func (Mark) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

// Params is what a client asks of a server. Units: seconds, bytes, bit/s, as
// on the wire.
type Params struct {
	TCP          bool   `json:"tcp,omitempty"`
	UDP          bool   `json:"udp,omitempty"`
	SCTP         bool   `json:"sctp,omitempty"`
	Omit         int    `json:"omit"`
	Affinity     *int   `json:"server_affinity,omitempty"`
	Time         int    `json:"time"`
	Bytes        int64  `json:"num"`
	Blocks       int64  `json:"blockcount"`
	MSS          int    `json:"MSS,omitempty"`
	NoDelay      bool   `json:"nodelay,omitempty"`
	Parallel     int    `json:"parallel"`
	Reverse      bool   `json:"reverse,omitempty"`
	Bidir        bool   `json:"bidirectional,omitempty"`
	Multipath    bool   `json:"mptcp,omitempty"`
	Window       int    `json:"window,omitempty"`
	Len          int    `json:"len"`
	Rate         int64  `json:"bandwidth,omitempty"` // of each stream; 0 is unlimited
	FQRate       int64  `json:"fqrate,omitempty"`
	PacingTimer  int    `json:"pacing_timer"` // microseconds
	Burst        int    `json:"burst,omitempty"`
	TOS          int    `json:"TOS,omitempty"`
	FlowLabel    int    `json:"flowlabel,omitempty"`
	Title        string `json:"title,omitempty"`
	Extra        string `json:"extra_data,omitempty"`
	Congestion   string `json:"congestion,omitempty"`
	ServerOutput Mark   `json:"get_server_output,omitempty"`
	Counters64   Mark   `json:"udp_counters_64bit,omitempty"`
	Repeating    Mark   `json:"repeating_payload,omitempty"`
	ZeroCopy     int    `json:"zerocopy,omitempty"`
	DontFragment Mark   `json:"dont_fragment,omitempty"`
	SkipCopy     Mark   `json:"skip_rx_copy,omitempty"`
	AuthToken    string `json:"authtoken,omitempty"`
	Version      string `json:"client_version,omitempty"`

	// Extension marks a linerate client; other servers pass over it.
	Extension *Extension `json:"linerate,omitempty"`
}

// Extension is what two linerate ends tell each other beyond iperf3.
type Extension struct {
	Version int `json:"version"`
}

// ParseParams reads the parameters of a client. Absent ones take iperf3's
// defaults; keys it does not know and values of a wrong type are passed over.
func ParseParams(b []byte) (Params, error) {
	o, err := parseObject(b)
	if err != nil {
		return Params{}, fmt.Errorf("parameters: %w", err)
	}
	p := Params{
		TCP: o.bool("tcp"), UDP: o.bool("udp"), SCTP: o.bool("sctp"),
		Omit: o.small("omit"), Time: 10, Bytes: o.int("num"), Blocks: o.int("blockcount"),
		MSS: o.small("MSS"), NoDelay: o.bool("nodelay"), Parallel: 1,
		Reverse: o.bool("reverse"), Bidir: o.bool("bidirectional"), Multipath: o.bool("mptcp"),
		Window: o.small("window"), Len: o.small("len"), Rate: o.int("bandwidth"), FQRate: o.int("fqrate"),
		PacingTimer: o.small("pacing_timer"), Burst: o.small("burst"), TOS: o.small("TOS"), FlowLabel: o.small("flowlabel"),
		Title: o.string("title"), Extra: o.string("extra_data"), Congestion: o.string("congestion"),
		ServerOutput: Mark(o.has("get_server_output")), Counters64: Mark(o.has("udp_counters_64bit")),
		Repeating: Mark(o.has("repeating_payload")), ZeroCopy: o.small("zerocopy"),
		DontFragment: Mark(o.has("dont_fragment")), SkipCopy: Mark(o.has("skip_rx_copy")),
		AuthToken: o.string("authtoken"), Version: o.string("client_version"),
	}
	if o.has("time") {
		p.Time = o.small("time")
	}
	if o.has("parallel") {
		p.Parallel = o.small("parallel")
	}
	if o.has("server_affinity") {
		cpu := o.small("server_affinity")
		p.Affinity = &cpu
	}
	if x, ok := o["linerate"].(map[string]any); ok {
		p.Extension = &Extension{Version: object(x).small("version")}
	}
	return p, nil
}

// small reads a number that must fit an int32; any other reads as -1, which
// Check refuses.
func (o object) small(key string) int {
	if v := o.int(key); v >= -1<<31 && v < 1<<31 {
		return int(v)
	}
	return -1
}

// Check returns the error that a server must answer, nil when the parameters
// are in iperf3's ranges.
func (p Params) Check() error {
	low := 1
	if p.UDP {
		low = 16
	}
	for _, c := range []struct {
		code        Code
		v, min, max int64
	}{
		{CodeDuration, int64(p.Time), 0, 86400},
		{CodeStreams, int64(p.Parallel), 1, 128},
		{CodeOmit, int64(p.Omit), 0, 600},
		{CodeBuffer, int64(p.Window), 0, 512 << 20},
		{CodeMSS, int64(p.MSS), 0, 32767},
		{CodeTOS, int64(p.TOS), 0, 255},
		{CodeBurst, int64(p.Burst), 0, 1000},
		{CodeParams, p.Bytes, 0, 1<<63 - 1},
		{CodeParams, p.Blocks, 0, 1<<63 - 1},
		{CodeParams, p.Rate, 0, 1<<63 - 1},
		{CodeParams, p.FQRate, 0, 1<<63 - 1},
		{CodeParams, int64(p.FlowLabel), 0, 0xfffff},
		{p.blockCode(), int64(p.Len), int64(low), p.maxLen()},
	} {
		if c.v < c.min || c.v > c.max {
			return RemoteError{Code: c.code}
		}
	}
	if p.SCTP || p.Reverse && p.Bidir {
		return RemoteError{Code: CodeParams}
	}
	return nil
}

func (p Params) blockCode() Code {
	if p.UDP {
		return CodeUDPBlock
	}
	return CodeBlockSize
}

func (p Params) maxLen() int64 {
	if p.UDP {
		return 65507
	}
	return 1 << 20
}
