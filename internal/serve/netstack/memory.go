package netstack

import (
	"fmt"
	"sync"
	"syscall"
)

// memory is the stack's budget for buffers, the board's heap. A connection
// that finds none left is refused while everything without buffers, such as
// ping, goes on: the field report's puzzle.
type memory struct {
	mu          sync.Mutex
	budget      int64 // 0: no limit
	used        int64
	refusals    int64
	connections int
}

// take reserves n bytes. Its error wraps ENOMEM and names the ways out.
func (m *memory) take(n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.budget > 0 && m.used+n > m.budget {
		m.refusals++
		return fmt.Errorf("stack memory: %d bytes for the buffers of one more connection, %d of %d in use by %d: %w; give the stack %d bytes of memory, or each connection smaller buffers",
			n, m.used, m.budget, m.connections, syscall.ENOMEM, m.used+n)
	}
	m.used += n
	m.connections++
	return nil
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= n
	m.connections--
}

func (m *memory) read() (used, refusals int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.refusals
}
