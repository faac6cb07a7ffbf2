package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/linerate/linerate/internal/capture"
	"github.com/linerate/linerate/internal/port"
	"github.com/linerate/linerate/result"
)

// captureHelp is the help of --capture.
const captureHelp = "capture headers beside the transfer, and say what bounded its connections (Linux, CAP_NET_RAW)"

// beside watches the packets of one peer while a measurement runs.
type beside struct {
	tap    port.Tap
	engine *capture.Engine
	stop   chan struct{}
	done   chan error
}

// watchBeside starts to capture on the interface towards server, which is
// HOST:PORT; only packets from and to its address count.
func watchBeside(server string) (*beside, error) {
	remote, err := net.ResolveTCPAddr("tcp", server)
	if err != nil {
		return nil, fmt.Errorf("--capture: %w", err)
	}
	_, name := localInterface(remote.String())
	if name == "" {
		return nil, fmt.Errorf("--capture: no interface leads to %s", server)
	}
	tap, err := port.Listen(name, headerBytes)
	if err != nil {
		return nil, fmt.Errorf("--capture: %w", err)
	}
	peer, _ := netip.AddrFromSlice(remote.IP)
	match, err := capture.CompileFilter("host " + peer.Unmap().WithZone("").String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--capture: %w", err), tap.Close())
	}
	b := &beside{tap: tap, stop: make(chan struct{}), done: make(chan error, 1), engine: capture.NewEngine(capture.Options{Filter: match})}
	go func() { b.done <- b.run() }()
	return b, nil
}

// run reads until it is stopped and nothing is left.
func (b *beside) run() error {
	frames := make([]port.Frame, b.tap.Info().Batch)
	var f capture.Frame
	for {
		n, err := b.tap.Recv(frames)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		for i := range frames[:n] {
			f.Data, f.At, f.Len, f.Link = frames[i].Data, frames[i].At.UnixNano(), frames[i].Len, b.tap.Info().Link
			b.engine.Add(&f)
		}
		select {
		case <-b.stop:
			if n == 0 {
				return nil
			}
		default:
		}
	}
}

// into ends the capture and adds what it found to r; a capture that failed is a
// gap of r, never a failed measurement.
func (b *beside) into(r *result.Result) {
	close(b.stop)
	err := <-b.done
	drops, dropErr := b.tap.Dropped()
	if err = errors.Join(err, dropErr, b.tap.Close()); r == nil {
		return
	}
	if err != nil {
		r.Gaps = append(r.Gaps, result.Gap{Source: "capture", Reason: err.Error()})
	}
	if drops > 0 {
		r.Gaps = append(r.Gaps, result.Gap{Source: "capture", Reason: fmt.Sprintf("%d packets were lost by the capture", drops)})
	}
	largest := b.engine.Connections()
	for _, x := range largest {
		if x.Bytes < largest[0].Bytes/100 {
			break // control connections
		}
		r.Findings = append(r.Findings, x.Findings...)
	}
}
