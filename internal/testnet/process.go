package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// outputMax bounds what is kept of a child's output, in bytes; the rest is
// dropped.
const outputMax = 4 << 20

// grace is how long a child may take to end after SIGTERM before it is killed.
const grace = 5 * time.Second

// Process is a child running in a Namespace. It dies with this process, with
// its Namespace and with the context it was started under.
type Process struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Wait; valid once done is closed

	mu     sync.Mutex
	out    bytes.Buffer
	change chan struct{} // closed at each write and at the end
}

// Start runs a program in the namespace. Both its output streams are kept and
// read with Output. When ctx ends, the child gets SIGTERM, then SIGKILL.
func (n *Namespace) Start(ctx context.Context, argv ...string) (*Process, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := newProcess(exec.CommandContext(ctx, argv[0], argv[1:]...), cancel)
	p.cmd.SysProcAttr = dieWithParent()
	var err error
	if p.cmd.Dir, err = os.Getwd(); err != nil { // the kept thread has a directory of its own
		cancel()
		return nil, fmt.Errorf("testnet: start %s: %w", argv[0], err)
	}
	if err := n.keep(p.cmd.Start); err != nil {
		cancel()
		return nil, fmt.Errorf("testnet: start %s in %s: %w", argv[0], n.Name, err)
	}
	go p.reap()
	return p, nil
}

// newProcess returns a child that is not started yet.
func newProcess(cmd *exec.Cmd, cancel context.CancelFunc) *Process {
	p := &Process{cmd: cmd, cancel: cancel, done: make(chan struct{}), change: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = (*sink)(p), (*sink)(p)
	cmd.Cancel = p.terminate
	cmd.WaitDelay = grace
	return p
}

// Run runs a program to its end and returns its output.
func (n *Namespace) Run(ctx context.Context, argv ...string) (string, error) {
	p, err := n.Start(ctx, argv...)
	if err != nil {
		return "", err
	}
	err = p.Wait()
	return p.Output(), err
}

// sink is the writing side of a Process.
type sink Process

func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Write(b[:min(len(b), max(0, outputMax-s.out.Len()))])
	close(s.change)
	s.change = make(chan struct{})
	return len(b), nil
}

// terminate asks the child to end; where a system cannot ask, it is killed.
func (p *Process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return p.cmd.Process.Kill()
	}
	return nil
}

func (p *Process) reap() {
	err := p.cmd.Wait()
	p.cancel()
	p.mu.Lock()
	if err != nil {
		p.err = fmt.Errorf("%s: %w: %s", p.cmd.Path, err, lastLine(p.out.String()))
	}
	p.mu.Unlock()
	close(p.done)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// PID returns the child's process identifier.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns what the child has written so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Await waits until a whole line of the output contains text and returns that
// line. It fails when the child or ctx ends first, with the last line it saw.
func (p *Process) Await(ctx context.Context, text string) (string, error) {
	for {
		p.mu.Lock()
		out, change := p.out.String(), p.change
		p.mu.Unlock()
		for line := range strings.Lines(out) {
			if strings.HasSuffix(line, "\n") && strings.Contains(line, text) {
				return strings.TrimRight(line, "\r\n"), nil
			}
		}
		var why error
		select {
		case <-change:
			continue
		case <-p.done:
			if why = p.err; why == nil {
				why = errors.New("it ended")
			}
		case <-ctx.Done():
			why = context.Cause(ctx)
		}
		if p.Output() != out {
			continue
		}
		return "", fmt.Errorf("testnet: %s did not write %q: %w: last line %q", p.cmd.Path, text, why, lastLine(out))
	}
}

// Wait waits for the child's own end; its error carries the last line of the
// output.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Signal sends the child a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Stop asks the child to end, kills it if it does not within five seconds, and
// returns once it is gone.
func (p *Process) Stop() {
	p.cancel()
	<-p.done
}
