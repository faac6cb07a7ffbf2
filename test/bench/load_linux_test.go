package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/linerate/linerate/internal/serve/ftp/client"
	"github.com/linerate/linerate/internal/serve/ftp/data"
)

// load is one kind of transfer: a row of the table.
type load struct {
	server *server
	what   string // "get", "put to tmpfs", ...
	file   func(stream int, size int64) string
	put    bool
	secure bool
	bare   string // what the kernel's server does
}

func (l *load) String() string {
	protocol := "FTP "
	if l.secure {
		protocol = "FTPS "
	}
	return protocol + l.what + " " + l.server.name
}

// sample is one gibibyte moved.
type sample struct {
	rate float64 // MB/s
	cpu  float64 // seconds of the server's processors
}

// mover is one stream of a load: ready to go, then gone.
type mover interface {
	move(ctx context.Context) error
	close()
}

// run moves a gibibyte in streams and measures. Logins and what has to be
// deleted first aren't measured.
func (r *rig) run(ctx context.Context, l *load, streams int) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	size := int64(gib / streams)
	movers := make([]mover, streams)
	for i := range movers {
		var err error
		if movers[i], err = r.mover(ctx, l, i, size); err != nil {
			return sample{}, fmt.Errorf("%s: %w", l, err)
		}
		defer movers[i].close()
	}
	before, start := cpuTime(l.server.pid), time.Now()
	errs := make([]error, streams)
	var wg sync.WaitGroup
	for i, m := range movers {
		wg.Go(func() { errs[i] = m.move(ctx) })
	}
	wg.Wait()
	took := time.Since(start)
	cpu := spent(before, cpuTime(l.server.pid))
	if err := errors.Join(errs...); err != nil {
		return sample{}, fmt.Errorf("%s: %w", l, err)
	}
	return sample{gib / 1e6 / took.Seconds(), cpu.Seconds()}, nil
}

func (r *rig) mover(ctx context.Context, l *load, stream int, size int64) (mover, error) {
	src, err := os.Open(filepath.Join(r.dir, fileOf(size)))
	if err != nil {
		return nil, err
	}
	if l.server.bare {
		return r.bareMover(ctx, l, src, size)
	}
	c, err := r.dial(ctx, l.server, l.secure)
	if err != nil {
		return nil, err
	}
	m := &ftpMover{c, src, l, l.file(stream, size), size}
	if l.put {
		if err := c.Remove(ctx, m.name); err != nil && !client.Refused(err) {
			return nil, err
		}
	}
	return m, nil
}

type ftpMover struct {
	c    *client.Conn
	src  *os.File
	load *load
	name string
	size int64
}

func (m *ftpMover) move(ctx context.Context) error {
	var st data.Stats
	var err error
	if m.load.put {
		st, err = m.c.Put(ctx, m.name, 0, m.src, data.Options{})
	} else {
		st, err = m.c.Get(ctx, m.name, 0, io.Discard, data.Options{})
	}
	if err == nil && st.Bytes != m.size {
		err = fmt.Errorf("moved %d bytes of %d", st.Bytes, m.size)
	}
	return err
}

func (m *ftpMover) close() {
	m.c.Close()
	m.src.Close()
}

// bareMover prepares a stream of the kernel's server.
func (r *rig) bareMover(ctx context.Context, l *load, src *os.File, size int64) (mover, error) {
	c, err := r.link.B.Namespace.DialContext(ctx, "tcp", l.server.addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "%s %d\n", l.bare, size); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		return nil, err
	}
	return &bareMover{c, src, l, size}, nil
}

type bareMover struct {
	c    net.Conn
	src  *os.File
	load *load
	size int64
}

func (m *bareMover) move(ctx context.Context) error {
	if _, err := m.c.Write([]byte("g")); err != nil {
		return err
	}
	if m.load.put {
		if _, err := data.Send(ctx, m.c, m.src, data.Options{}); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, m.c) // until the server has it all
		return err
	}
	st, err := data.Recv(ctx, discard{}, m.c, data.Options{})
	if err == nil && st.Bytes != m.size {
		err = fmt.Errorf("moved %d bytes of %d", st.Bytes, m.size)
	}
	return err
}

func (m *bareMover) close() {
	m.c.Close()
	m.src.Close()
}

// discard has the kernel drop what arrives.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Discard(int64)               {}

// loads are the rows for a direction: first the kernel's limits, then ours,
// then the peers.
func loads(kernel *server, ours, peers []*server, put, secure bool) []*load {
	fromRoot := func(_ int, size int64) string { return fileOf(size) }
	to := func(s *server, dir string) func(int, int64) string {
		return func(stream int, _ int64) string { return path.Join(dir, s.upload(stream)) }
	}
	zero := func(_ int, size int64) string { return fmt.Sprintf("/zero/%dMiB", size>>20) }
	var all []*load
	add := func(s *server, what, bare string, file func(int, int64) string) {
		all = append(all, &load{s, what, file, put, secure, bare})
	}
	switch {
	case put:
		if !secure {
			add(kernel, "put to sink", "discard", nil)
			add(kernel, "put to memory", "mapped", nil)
			add(kernel, "put to tmpfs", "splice", nil)
		}
		for i := 0; i < len(ours); i += 2 { // disk, memory
			disk, memory := ours[i], ours[i+1]
			add(memory, "put to sink", "", to(memory, "/sink"))
			add(memory, "put to memory", "", to(memory, ""))
			add(disk, "put to tmpfs", "", to(disk, ""))
		}
		for _, p := range peers {
			add(p, "put to tmpfs", "", to(p, ""))
		}
	default:
		if !secure {
			add(kernel, "get from tmpfs", "sendfile", nil)
		}
		for i := 0; i < len(ours); i += 2 {
			add(ours[i+1], "get zeros", "", zero)
			add(ours[i], "get from tmpfs", "", fromRoot)
		}
		for _, p := range peers {
			add(p, "get from tmpfs", "", fromRoot)
		}
	}
	return all
}
