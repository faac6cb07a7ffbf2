package ftp

import "errors"

// The Telnet commands that matter on a control connection (RFC 854).
const (
	iac  = 255
	dont = 254
	do   = 253
	wont = 252
	will = 251
	sb   = 250 // start of a subnegotiation
	se   = 240 // its end
)

// ErrLineTooLong is returned for a line above the decoder's limit. The line is
// swallowed to its end, so that the next one is read right.
var ErrLineTooLong = errors.New("line too long")

// LineDecoder cuts the bytes of a control connection into lines and takes out
// Telnet commands (RFC 1123 4.1.2.12 lets FTP refuse every option). Lines end
// in CRLF or, as many clients send, in a bare LF. The zero value is ready and
// holds no memory between lines.
type LineDecoder struct {
	Max int // longest line in bytes; 0 means MaxLine

	line    []byte
	answers []byte
	state   telnetState
	verb    byte // of a negotiation that waits for its option
	skip    bool // the line is too long; drop the rest
}

// MaxLine is the longest command line by default: a path of PATH_MAX and room
// for the verb.
const MaxLine = 4096 + 256

// maxAnswers bounds the refusals kept for a peer that only negotiates.
const maxAnswers = 96

type telnetState uint8

const (
	inText telnetState = iota
	afterCR
	afterIAC
	inOption
	inSub
	inSubIAC
)

// Next consumes in up to and including the first end of line. It returns the
// line without its end (valid until the next call) and the bytes that remain;
// done is false when in held no end of line. The error is ErrLineTooLong.
func (d *LineDecoder) Next(in []byte) (line, rest []byte, done bool, err error) {
	if d.line == nil {
		d.line = make([]byte, 0, 64)
	}
	for i, b := range in {
		if !d.step(b) {
			continue
		}
		line, d.line = d.line, nil
		if d.skip {
			d.skip = false
			return nil, in[i+1:], true, ErrLineTooLong
		}
		return line, in[i+1:], true, nil
	}
	if len(d.line) == 0 {
		d.line = nil
	}
	return nil, nil, false, nil
}

// step takes one byte and reports whether it ended a line.
func (d *LineDecoder) step(b byte) (end bool) {
	switch d.state {
	case afterCR:
		d.state = inText
		switch b {
		case '\n':
			return true
		case 0: // CR NUL is a carriage return within a name (RFC 2640 3.1)
			d.put('\r')
			return false
		}
		d.put('\r')
		return d.text(b)
	case afterIAC:
		return d.command(b)
	case inOption:
		d.refuse(b)
		d.state = inText
	case inSub:
		if b == iac {
			d.state = inSubIAC
		}
	case inSubIAC:
		d.state = inSub
		if b == se {
			d.state = inText
		}
	default:
		return d.text(b)
	}
	return false
}

func (d *LineDecoder) text(b byte) (end bool) {
	switch b {
	case '\n':
		return true
	case '\r':
		d.state = afterCR
	case iac:
		d.state = afterIAC
	default:
		d.put(b)
	}
	return false
}

// command handles the byte after IAC.
func (d *LineDecoder) command(b byte) (end bool) {
	d.state = inText
	switch {
	case b == iac:
		d.put(iac)
	case b == sb:
		d.state = inSub
	case b >= will:
		d.state, d.verb = inOption, b
	case b < se: // a name in Latin-1 whose sender does not double 0xFF
		d.put(iac)
		return d.text(b)
	}
	return false // IP, DM, NOP and the like carry nothing
}

// refuse answers DO with WONT and WILL with DONT.
func (d *LineDecoder) refuse(option byte) {
	answer := map[byte]byte{do: wont, will: dont}[d.verb]
	if answer != 0 && len(d.answers) < maxAnswers {
		d.answers = append(d.answers, iac, answer, option)
	}
}

// Answers returns the refusals to send to the peer since the last call.
func (d *LineDecoder) Answers() []byte {
	a := d.answers
	d.answers = nil
	return a
}

func (d *LineDecoder) put(b byte) {
	limit := d.Max
	if limit == 0 {
		limit = MaxLine
	}
	if d.skip = d.skip || len(d.line) >= limit; !d.skip {
		d.line = append(d.line, b)
	}
}
