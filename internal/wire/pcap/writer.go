package pcap

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Writer writes a pcap file with nanosecond timestamps.
type Writer struct {
	w *bufio.Writer
	h [16]byte
}

// NewWriter writes the file header; snap is the most bytes kept of a frame.
func NewWriter(w io.Writer, link LinkType, snap int) (*Writer, error) {
	var h [fileHeader]byte
	binary.LittleEndian.PutUint32(h[0:], magicNano)
	binary.LittleEndian.PutUint16(h[4:], 2)
	binary.LittleEndian.PutUint16(h[6:], 4)
	binary.LittleEndian.PutUint32(h[16:], uint32(snap))
	binary.LittleEndian.PutUint32(h[20:], uint32(link))
	out := &Writer{w: bufio.NewWriterSize(w, 64<<10)}
	if _, err := out.w.Write(h[:]); err != nil {
		return nil, fmt.Errorf("pcap: write header: %w", err)
	}
	return out, nil
}

// Write appends a frame of n bytes on the wire of which data was captured.
func (w *Writer) Write(at int64, data []byte, n int) error {
	binary.LittleEndian.PutUint32(w.h[0:], uint32(at/1e9))
	binary.LittleEndian.PutUint32(w.h[4:], uint32(at%1e9))
	binary.LittleEndian.PutUint32(w.h[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(w.h[12:], uint32(n))
	if _, err := w.w.Write(w.h[:]); err != nil {
		return fmt.Errorf("pcap: write: %w", err)
	}
	if _, err := w.w.Write(data); err != nil {
		return fmt.Errorf("pcap: write: %w", err)
	}
	return nil
}

// Flush writes out what is buffered.
func (w *Writer) Flush() error {
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("pcap: write: %w", err)
	}
	return nil
}
