package pcap

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// NGOptions describe the one interface of a pcapng file.
type NGOptions struct {
	Link        LinkType
	Snap        int    // most bytes kept of a frame
	Interface   string // its name; empty: not told
	Filter      string // the expression that chose the frames
	Application string // what writes the file
}

// NGWriter writes a pcapng file (draft-ietf-opsawg-pcapng) with nanosecond
// timestamps, little endian.
type NGWriter struct {
	w     *bufio.Writer
	block []byte
}

// Options of blocks (draft-ietf-opsawg-pcapng sections 4.1 to 4.6).
const (
	optionEnd         = 0
	optionApplication = 4 // of a section
	optionName        = 2 // of an interface
	optionResolution  = 9
	optionFilter      = 11
	optionFlags       = 2 // of a packet
	optionReceived    = 4 // of statistics
	optionDropped     = 5
	optionAccepted    = 6
)

// NewNGWriter writes the section and interface headers.
func NewNGWriter(w io.Writer, o NGOptions) (*NGWriter, error) {
	n := &NGWriter{w: bufio.NewWriterSize(w, 64<<10)}
	n.begin(blockSection)
	n.u32(0x1a2b3c4d, 1) // byte order; version 1.0
	n.u32(0xffffffff, 0xffffffff)
	n.text(optionApplication, o.Application)
	n.u32(optionEnd)
	if err := n.end(); err != nil {
		return nil, err
	}
	n.begin(blockInterface)
	n.u32(uint32(o.Link), uint32(o.Snap))
	n.text(optionName, o.Interface)
	n.option(optionResolution, []byte{9})
	if o.Filter != "" {
		n.text(optionFilter, "\x00"+o.Filter) // 0: the text of a filter
	}
	n.u32(optionEnd)
	return n, n.end()
}

// Write appends a frame of length bytes on the wire of which data was captured.
func (n *NGWriter) Write(at int64, data []byte, length int, outgoing bool) error {
	n.begin(blockEnhanced)
	n.u32(0, uint32(uint64(at)>>32), uint32(at), uint32(len(data)), uint32(length))
	n.bytes(data)
	flags := []byte{1, 0, 0, 0} // section 4.3.1: received
	if outgoing {
		flags[0] = 2
	}
	n.option(optionFlags, flags)
	n.u32(optionEnd)
	return n.end()
}

// Close appends how many frames were seen, lost and accepted by the filter
// until at, and writes out what is buffered.
func (n *NGWriter) Close(at int64, seen, lost, accepted uint64) error {
	n.begin(blockStatistic)
	n.u32(0, uint32(uint64(at)>>32), uint32(at))
	for _, c := range []struct {
		code  uint32
		count uint64
	}{{optionReceived, seen}, {optionDropped, lost}, {optionAccepted, accepted}} {
		n.option(c.code, binary.LittleEndian.AppendUint64(nil, c.count))
	}
	n.u32(optionEnd)
	if err := n.end(); err != nil {
		return err
	}
	return n.Flush()
}

// Flush writes out what is buffered.
func (n *NGWriter) Flush() error {
	if err := n.w.Flush(); err != nil {
		return fmt.Errorf("pcapng: write: %w", err)
	}
	return nil
}

func (n *NGWriter) begin(kind uint32) {
	n.block = n.block[:0]
	n.u32(kind, 0)
}

func (n *NGWriter) u32(vs ...uint32) {
	for _, v := range vs {
		n.block = binary.LittleEndian.AppendUint32(n.block, v)
	}
}

// bytes appends b, filled up to whole words.
func (n *NGWriter) bytes(b []byte) {
	n.block = append(n.block, b...)
	for len(n.block)%4 != 0 {
		n.block = append(n.block, 0)
	}
}

func (n *NGWriter) option(code uint32, b []byte) {
	n.u32(code | uint32(len(b))<<16)
	n.bytes(b)
}

func (n *NGWriter) text(code uint32, s string) {
	if s = s[:min(len(s), 0xffff)]; s != "" {
		n.option(code, []byte(s))
	}
}

// end fills in the block's length at both its ends.
func (n *NGWriter) end() error {
	size := uint32(len(n.block) + 4)
	binary.LittleEndian.PutUint32(n.block[4:], size)
	n.u32(size)
	if _, err := n.w.Write(n.block); err != nil {
		return fmt.Errorf("pcapng: write: %w", err)
	}
	return nil
}
