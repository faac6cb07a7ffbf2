// Package pcap reads and writes packet captures: pcap (both byte orders,
// microseconds and nanoseconds, versions before 2.3, the modified format of old
// Linux kernels), pcapng and snoop, plain or compressed by gzip, zstd or xz.
//
// The reader keeps one block of the file in memory and lends records from it,
// so that a capture of any size costs the same memory and no allocation per
// record.
package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFormat is wrapped by errors about bytes that no capture format explains.
var ErrFormat = errors.New("not a capture this reader knows")

// ErrCut is wrapped by the error of Next where the file ends inside a record:
// everything before it was read.
var ErrCut = fmt.Errorf("file cut short: %w", io.ErrUnexpectedEOF)

// maxRecord bounds the bytes of one record: BIG TCP stays below 1 MiB, and a
// larger length means a damaged file.
const maxRecord = 4 << 20

// LinkType says what a record starts with; the values are those of
// https://www.tcpdump.org/linktypes.html.
type LinkType uint16

// Record is one captured frame. Data is lent until the next call of Next.
type Record struct {
	Data []byte
	Time int64 // nanoseconds since 1970, UTC
	Len  int   // bytes of the frame on the wire, at least len(Data)
	Link LinkType
	If   int // index of the interface within its section
}

// Reader reads records in file order.
type Reader struct {
	src    source
	order  binary.ByteOrder
	big    bool
	format format
	name   string

	// pcap
	header  int   // bytes of a record header
	unit    int64 // nanoseconds of the sub-second field
	link    LinkType
	lengths lengthOrder
	fcs     int

	// pcapng
	section []iface
	drops   uint64
}

type format uint8

const (
	formatPcap format = iota
	formatNG
	formatSnoop
)

// NewReader recognizes the compression and the format of r. Its error wraps
// ErrFormat where r is something else, ErrCut where it is too short to tell.
func NewReader(r io.Reader) (*Reader, error) {
	plain, how, err := decompress(r)
	if err != nil {
		return nil, fmt.Errorf("pcap: %w", err)
	}
	rd := &Reader{src: source{r: plain, buf: make([]byte, blockSize)}}
	if err := rd.open(); err != nil {
		rd.Close()
		return nil, fmt.Errorf("pcap: %w", err)
	}
	if how != "" {
		rd.name += ", " + how
	}
	return rd, nil
}

func (r *Reader) open() error {
	magic, err := r.src.peek(4)
	if err != nil {
		return short(err, "the first 4 bytes")
	}
	switch be := binary.BigEndian.Uint32(magic); {
	case be == blockSection:
		r.format, r.name = formatNG, "pcapng"
		return nil
	case be == 0x736e6f6f: // "snoo"
		return r.openSnoop()
	default:
		return r.openPcap(be)
	}
}

// Format names the format and the compression: "pcap, nanoseconds, gzip".
func (r *Reader) Format() string { return r.name }

// Drops returns the frames that the capturing tool says it lost, as far as
// the file tells (pcapng interface statistics).
func (r *Reader) Drops() uint64 { return r.drops }

// Offset returns the position of the next record in the (decompressed) file.
func (r *Reader) Offset() int64 { return r.src.offset() }

// Close ends a decompressor that is still running. It doesn't close the
// reader given to NewReader.
func (r *Reader) Close() {
	if c, ok := r.src.r.(io.Closer); ok {
		c.Close()
	}
}

// Next fills rec with the next record. It returns io.EOF after the last one,
// an error that wraps ErrCut where the file ends inside a record, and one that
// wraps ErrFormat where the file is damaged; no record follows an error.
func (r *Reader) Next(rec *Record) error {
	var err error
	switch r.format {
	case formatPcap:
		err = r.nextPcap(rec)
	case formatNG:
		err = r.nextNG(rec)
	default:
		err = r.nextSnoop(rec)
	}
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("pcap: at byte %d: %w", r.src.offset(), err)
}

// short turns an end of file inside what into ErrCut.
func short(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", what, ErrCut)
	}
	return fmt.Errorf("%s: %w", what, err)
}
