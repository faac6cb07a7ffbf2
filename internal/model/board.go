package model

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed boards/*.yaml
var boards embed.FS

// Board is a profile: what a board's endpoint costs, what was measured on it,
// and how well the one explains the other.
type Board struct {
	Name     string   `yaml:"name"`
	Title    string   `yaml:"title"`
	Line     float64  `yaml:"line"`  // bit/s, 0 where nothing sets one: a link in memory
	Clock    float64  `yaml:"clock"` // Hz of a core, 0 where unknown
	Settings Settings `yaml:"settings"`
	Paths    []Path   `yaml:"paths"`
	Notes    []string `yaml:"notes"`
}

// Settings are the knobs a prediction may turn.
type Settings struct {
	MTU        int     `yaml:"mtu"`
	Message    float64 `yaml:"message"` // bytes per send or receive
	Window     float64 `yaml:"window"`  // bytes
	Timestamps bool    `yaml:"timestamps"`
	UDP        bool    `yaml:"udp"`
	NoDelay    bool    `yaml:"no_delay,omitempty"` // each message has segments of its own (RFC 896 off)
	Ack        float64 `yaml:"ack,omitempty"`      // segments per acknowledgement; 0: 2
	Pacing     float64 `yaml:"pacing,omitempty"`   // a Pacing, of receive interrupts
	Timer      float64 `yaml:"timer,omitempty"`    // of the pacing, us; 0: interrupts are not paced
	List       float64 `yaml:"list,omitempty"`     // frames that end the pacing's wait; 0: 32
}

// Path is one direction of the board, with its costs per packet or message.
// A path without any cost only has anchors: the model does not explain it.
type Path struct {
	Name    string   `yaml:"name"`
	Network *Circuit `yaml:"network,omitempty"`
	Receive bool     `yaml:"receive,omitempty"` // the board receives the payload, else the acknowledgements
	Message *Line    `yaml:"message,omitempty"` // seconds per message
	CPU     *Line    `yaml:"cpu,omitempty"`     // processor time of it, where it was measured beside
	UpTo    float64  `yaml:"up_to,omitempty"`   // greatest message the line was fitted to, bytes
	Anchors []Anchor `yaml:"anchors"`
	Error   float64  `yaml:"error"` // greatest residual of the fit, as a share
}

// Circuit is a Network in a profile, times in microseconds.
type Circuit struct {
	CPU    float64 `yaml:"cpu"`    // per packet
	Serial float64 `yaml:"serial"` // per packet, one at a time
	Delay  float64 `yaml:"delay"`
}

// Anchor is a point that was measured on the board.
type Anchor struct {
	What    string             `yaml:"what"`
	Set     map[string]float64 `yaml:"set"`  // what differs from the profile
	Goodput float64            `yaml:"rate"` // bit/s
}

// Boards lists the names of the profiles built in.
func Boards() []string {
	names, _ := fs.Glob(boards, "boards/*.yaml") // the pattern is well formed
	for i, n := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(n, "boards/"), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Load returns a profile built in.
func Load(name string) (Board, error) {
	b, err := boards.ReadFile("boards/" + name + ".yaml")
	if err != nil {
		return Board{}, fmt.Errorf("board %q: not built in; there are %s, or give a file", name, strings.Join(Boards(), ", "))
	}
	return Decode(bytes.NewReader(b))
}

// Decode reads a profile.
func Decode(r io.Reader) (Board, error) {
	var b Board
	dec := yaml.NewDecoder(io.LimitReader(r, 1<<20), yaml.Strict())
	if err := dec.Decode(&b); err != nil {
		return b, fmt.Errorf("board profile: %w", err)
	}
	if b.Line < 0 || b.Settings.MTU < 68 || len(b.Paths) == 0 {
		return b, fmt.Errorf("board profile %q: wants settings.mtu and at least one path", b.Name)
	}
	return b, nil
}
