package iperf3

import (
	"encoding/json"
	"fmt"
)

// Results is what one side measured, sent to the other after the test.
type Results struct {
	CPUTotal       float64         `json:"cpu_util_total"` // percent
	CPUUser        float64         `json:"cpu_util_user"`
	CPUSystem      float64         `json:"cpu_util_system"`
	HasRetransmits int64           `json:"sender_has_retransmits"` // 1, 0, or -1 where this side does not send
	Congestion     string          `json:"congestion_used,omitempty"`
	Streams        []StreamResults `json:"streams"`
	OutputText     string          `json:"server_output_text,omitempty"`
	OutputJSON     json.RawMessage `json:"server_output_json,omitempty"`
}

// StreamResults is what one side measured of one stream.
type StreamResults struct {
	ID             int     `json:"id"`
	Bytes          int64   `json:"bytes"`       // after the omit period
	Retransmits    int64   `json:"retransmits"` // -1 where unknown
	Jitter         float64 `json:"jitter"`      // seconds
	Lost           int64   `json:"errors"`
	OmittedLost    int64   `json:"omitted_errors"`
	Packets        int64   `json:"packets"` // highest sequence number seen
	OmittedPackets int64   `json:"omitted_packets"`
	Start          float64 `json:"start_time"`
	End            float64 `json:"end_time"` // seconds since the start or the end of omit

	// Detail is ours; other implementations pass over it.
	Detail *Detail `json:"linerate,omitempty"`
}

// Detail tells apart what the four iperf3 counters of a UDP stream mix up, and
// says what the figures cost.
type Detail struct {
	Received   int64   `json:"received"` // datagrams, also duplicates
	Unique     int64   `json:"unique"`
	Duplicates int64   `json:"duplicates"`
	Reordered  int64   `json:"reordered"`
	Dropped    int64   `json:"dropped"` // by the socket, for a full receive buffer
	Messages   int64   `json:"messages"`
	Syscalls   int64   `json:"syscalls"`
	CPUSeconds float64 `json:"cpu_seconds"` // of the stream's thread
}

// maxStreams bounds the streams of a results document: 128 each way.
const maxStreams = 256

// StreamID returns the identifier of the i-th stream of a test, from 0:
// iperf3 counts 1, 3, 4, 5 and so on.
func StreamID(i int) int {
	if i == 0 {
		return 1
	}
	return i + 2
}

// ParseResults reads the results of the other side.
func ParseResults(b []byte) (Results, error) {
	o, err := parseObject(b)
	if err != nil {
		return Results{}, fmt.Errorf("results: %w", err)
	}
	streams, ok := o["streams"].([]any)
	if !ok {
		return Results{}, fmt.Errorf("results: %w: no streams", ErrDocument)
	}
	if len(streams) > maxStreams {
		return Results{}, fmt.Errorf("results: %w: %d streams, want at most %d", ErrDocument, len(streams), maxStreams)
	}
	r := Results{
		CPUTotal: o.float("cpu_util_total"), CPUUser: o.float("cpu_util_user"), CPUSystem: o.float("cpu_util_system"),
		HasRetransmits: o.intOr("sender_has_retransmits", -1), Congestion: o.string("congestion_used"),
		OutputText: o.string("server_output_text"),
	}
	if doc, ok := o["server_output_json"]; ok {
		r.OutputJSON, _ = json.Marshal(doc) // it was just decoded from JSON
	}
	for i, s := range streams {
		m, ok := s.(map[string]any)
		if !ok {
			return Results{}, fmt.Errorf("results: %w: stream %d is no object", ErrDocument, i)
		}
		r.Streams = append(r.Streams, parseStream(m))
	}
	return r, nil
}

func parseStream(o object) StreamResults {
	s := StreamResults{
		ID: o.small("id"), Bytes: o.int("bytes"), Retransmits: o.intOr("retransmits", -1), Jitter: o.float("jitter"),
		Lost: o.int("errors"), OmittedLost: o.int("omitted_errors"),
		Packets: o.int("packets"), OmittedPackets: o.int("omitted_packets"),
		Start: o.float("start_time"), End: o.float("end_time"),
	}
	if m, ok := o["linerate"].(map[string]any); ok {
		d := object(m)
		s.Detail = &Detail{
			Received: d.int("received"), Unique: d.int("unique"), Duplicates: d.int("duplicates"),
			Reordered: d.int("reordered"), Dropped: d.int("dropped"), Messages: d.int("messages"),
			Syscalls: d.int("syscalls"), CPUSeconds: d.float("cpu_seconds"),
		}
	}
	return s
}
