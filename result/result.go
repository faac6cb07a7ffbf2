// Package result is the document that every verb of linerate produces or
// reads: what was offered, what was counted, what it means and what was
// changed. It imports only the standard library, so that a stranger can vendor
// it to read our JSON.
//
// Stages fill a Result from top to bottom and never edit what an earlier stage
// wrote: Workload and Ends before the run, Readings and Trials during it,
// Findings by package explain, Changes by package lever.
package result

import "time"

// SchemaID names the format and its major version. Fields may be added within
// a major version; none is removed, renamed or given another unit.
const SchemaID = "linerate.result/1"

// Origin says how the numbers came about; they are never mixed in one Result.
type Origin string

// The four doors through which numbers come in.
const (
	Measured Origin = "measured" // counted while a workload ran
	Captured Origin = "captured" // derived from a packet capture
	Modelled Origin = "modelled" // predicted by the datapath model
	Imported Origin = "imported" // taken over from another tool's output
)

// Ending says how a run ended; figures of a run that did not complete cover
// the time until then.
type Ending string

// The ways a run ends.
const (
	Completed   Ending = "completed"
	Interrupted Ending = "interrupted" // the user stopped it
	Failed      Ending = "failed"      // the workload or its peer broke off
)

// Result answers one question about one link.
type Result struct {
	Schema   string        `json:"schema"`
	ID       string        `json:"id"`
	Origin   Origin        `json:"origin"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
	Ending   Ending        `json:"ending,omitempty"`
	Error    string        `json:"error,omitempty"` // why it did not complete
	Workload Workload      `json:"workload"`
	Ends     []End         `json:"ends"`
	Totals   []Value       `json:"totals,omitempty"`
	Readings []Reading     `json:"readings,omitempty"`
	Trials   []Trial       `json:"trials,omitempty"`
	Gaps     []Gap         `json:"gaps,omitempty"`
	Findings []Finding     `json:"findings,omitempty"`
	Changes  []Change      `json:"changes,omitempty"`
}

// Workload is what was offered: the kind ("tcp_stream", "udp_stream",
// "rfc2544.throughput", "ftp.retr") and the parameters that repeat it.
type Workload struct {
	Kind   string            `json:"kind"`
	Params map[string]string `json:"params,omitempty"`
}

// End is one end of the link with its settings in force at the start.
type End struct {
	Role     string            `json:"role"` // "tester", "dut", "client", "server"
	Host     string            `json:"host"`
	Facts    map[string]string `json:"facts,omitempty"`    // kernel, CPU, NIC, driver
	Settings map[string]string `json:"settings,omitempty"` // lever ID -> value
}

// Reading is a set of values taken at one instant at one end. Counters in it
// are cumulative; Delta and Rate take differences.
type Reading struct {
	At     time.Duration `json:"at_ns"` // since Result.Start
	End    string        `json:"end,omitempty"`
	Values []Value       `json:"values"`
}

// ReadingsAt returns the readings taken at one end; "" is the end that measured.
func (r *Result) ReadingsAt(end string) []Reading {
	var out []Reading
	for _, rd := range r.Readings {
		if rd.End == end {
			out = append(out, rd)
		}
	}
	return out
}

// Trial is one try within a search, a sweep, a ladder or a set of repeats
// (RFC 2544 section 23, "trial description"). Trials that differ only in
// repetition carry the same Name and Params.
type Trial struct {
	Name     string            `json:"name,omitempty"`
	Params   map[string]string `json:"params"`
	Start    time.Duration     `json:"start_ns,omitempty"` // since Result.Start
	Duration time.Duration     `json:"duration_ns"`
	Values   []Value           `json:"values"`
	Pass     bool              `json:"pass"`
	Note     string            `json:"note,omitempty"` // what was changed, or why it failed
}

// Gap records a number that could not be had, so that absence never reads as
// zero.
type Gap struct {
	Source string `json:"source"` // meter or lever
	Reason string `json:"reason"`
}

// The verdicts of a Finding.
const (
	Limits       = "limits"
	DoesNotLimit = "does not limit"
	Unknown      = "unknown"
)

// Finding is one explanation with its evidence and the levers that act on it.
type Finding struct {
	Rule       string   `json:"rule"`                 // "tcp.window-limited"
	Code       string   `json:"code,omitempty"`       // its number in the rule base: "R-TCP-1"
	Trial      string   `json:"trial,omitempty"`      // name of the Trial it speaks of; empty: the whole Result
	Verdict    string   `json:"verdict"`              // Limits, DoesNotLimit or Unknown
	Confidence float64  `json:"confidence,omitempty"` // 0 to 1
	Text       string   `json:"text"`                 // one sentence for the reader
	Evidence   []Value  `json:"evidence"`             // the numbers the verdict rests on
	Against    []string `json:"against,omitempty"`    // what speaks against it
	Next       string   `json:"next,omitempty"`       // the measurement that would decide
	Gain       string   `json:"gain,omitempty"`       // what turning the lever should bring
	Trade      string   `json:"trade,omitempty"`      // what it costs
	Ref        string   `json:"ref,omitempty"`        // standard or source of the rule
	Frames     []int    `json:"frames,omitempty"`     // example frame numbers in a capture
	Filter     string   `json:"filter,omitempty"`     // Wireshark display filter that shows them
	Levers     []Advice `json:"levers,omitempty"`
}

// Advice names a lever and the value it should take.
type Advice struct {
	Lever string `json:"lever"`
	Value string `json:"value"`
	End   string `json:"end,omitempty"` // role of the end to turn it at
}

// Change is a lever that was moved, in the order of moving.
type Change struct {
	Lever  string    `json:"lever"`
	Before string    `json:"before"`
	After  string    `json:"after"`
	At     time.Time `json:"at"`
	Why    string    `json:"why,omitempty"` // rule ID
	End    string    `json:"end,omitempty"`
	Back   bool      `json:"back,omitempty"` // it was put back since
}
