package port

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/wire/pcap"
)

// file is a Port on a capture file.
type file struct {
	info   Info
	f      *os.File
	w      *pcap.Writer
	in     lane
	closed chan struct{}
	once   sync.Once
	follow sync.Once
	wg     sync.WaitGroup
	err    error // that ended following
	ended  chan struct{}
}

// OpenFile opens a capture file of Ethernet frames, and makes it where there is
// none. Send appends to a file made here; Recv follows the file from its
// beginning, in any format that package pcap reads, and waits at its end for
// more.
func OpenFile(name string, mtu int) (Port, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	made := err == nil
	if errors.Is(err, os.ErrExist) {
		f, err = os.Open(name)
	}
	if err != nil {
		return nil, fmt.Errorf("port: capture file: %w", err)
	}
	p := &file{info: Info{Name: name + ", capture file", Link: uint16(linkEthernet), MTU: mtu, Batch: batch}, f: f,
		in: make(lane, batch), closed: make(chan struct{}), ended: make(chan struct{})}
	if made {
		p.w, err = pcap.NewWriter(f, linkEthernet, mtu+64)
		if err == nil {
			err = p.w.Flush()
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("port: %s: %w", name, err)
	}
	return p, nil
}

const linkEthernet pcap.LinkType = 1

func (p *file) Info() Info { return p.info }

// Send writes frames with the time of now.
func (p *file) Send(frames []Frame) (int, error) {
	if p.w == nil {
		return 0, fmt.Errorf("port: %s was there before and is only read: %w", p.info.Name, errors.ErrUnsupported)
	}
	n, now := min(len(frames), batch), time.Now().UnixNano()
	for _, f := range frames[:n] {
		if err := p.w.Write(now, f.Data, len(f.Data)); err != nil {
			return 0, fmt.Errorf("port: %s: %w", p.info.Name, err)
		}
	}
	if err := p.w.Flush(); err != nil {
		return 0, fmt.Errorf("port: %s: %w", p.info.Name, err)
	}
	return n, nil
}

func (p *file) Recv(into []Frame) (int, error) {
	p.follow.Do(func() { p.wg.Go(p.read) })
	n, err := p.in.receive(p.info.Name, p.closed, into)
	if n == 0 {
		select {
		case <-p.ended:
			return 0, p.err
		default:
		}
	}
	return n, err
}

// read feeds Recv until Close or until the file is no capture.
func (p *file) read() {
	defer close(p.ended)
	r, err := pcap.NewReader(&tail{p: p})
	var rec pcap.Record
	for err == nil {
		if err = r.Next(&rec); err != nil {
			break
		}
		select {
		case p.in <- Frame{Data: append([]byte(nil), rec.Data...), At: time.Unix(0, rec.Time), Len: rec.Len}:
		case <-p.closed:
			err = os.ErrClosed
		}
	}
	p.err = fmt.Errorf("port: %s: %w", p.info.Name, err)
	if r != nil {
		r.Close()
	}
}

// tail reads a file that may grow, from its beginning.
type tail struct {
	p  *file
	at int64
}

func (t *tail) Read(b []byte) (int, error) {
	for {
		n, err := t.p.f.ReadAt(b, t.at)
		if t.at += int64(n); n > 0 {
			return n, nil
		}
		if err != io.EOF {
			return 0, err
		}
		select {
		case <-t.p.closed:
			return 0, io.EOF
		case <-time.After(patience / 10):
		}
	}
}

func (p *file) Close() error {
	p.once.Do(func() { close(p.closed) })
	p.wg.Wait()
	return p.f.Close()
}
