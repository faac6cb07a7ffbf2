package stream

import (
	"context"
	"time"
)

// A Dialect opens tests with a peer that speaks one protocol.
type Dialect interface {
	Name() string
	Open(ctx context.Context, t Test) (Session, error)
}

// A Session is a test agreed with a peer whose streams are connected.
type Session interface {
	Streams() []*Stream

	// Start returns when the peer is ready for payload.
	Start(ctx context.Context) error

	// Broken delivers the reason when the peer breaks off during the test.
	Broken() <-chan error

	// End tells the peer that the test is over, after the client's streams have
	// stopped, and returns what the peer measured; of its streams those that it
	// said nothing about are missing.
	End(ctx context.Context, own Report) (Report, error)

	Close() error
}

// Report is what one end measured of a test, its streams in the order of
// Session.Streams.
type Report struct {
	Elapsed      time.Duration // since the start, or the end of omit
	User, System time.Duration // CPU time of the process, where this end knows it
	CPUPercent   float64       // the peer's own figure, of one or all cores as it defines
	Streams      []Counts
	Omitted      []Counts // within the omit period
	Congestion   string
	Peer         string // name and version, where it says
	Output       string // the peer's own text
}
