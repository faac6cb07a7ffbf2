package nic

// placement is where the Zynq report's packet processor puts received frames:
// two slave FIFOs take the descriptors in turn, the first bytes of a frame go
// to memory that is coherent with the cache and the rest to plain memory.
type placement struct {
	split  int
	next   int
	fifos  [2][]byte // heads
	memory []byte    // bodies
}

func newPlacement(split int) *placement {
	return &placement{split: split, fifos: [2][]byte{make([]byte, split), make([]byte, split)}, memory: make([]byte, 64<<10)}
}

// put copies a frame into the two memories.
func (p *placement) put(frame []byte) (head, body []byte) {
	p.next ^= 1
	head = p.fifos[p.next][:copy(p.fifos[p.next], frame)]
	rest := frame[len(head):]
	if len(rest) > len(p.memory) {
		p.memory = make([]byte, len(rest))
	}
	return head, p.memory[:copy(p.memory, rest)]
}

// fifo returns which one took the last frame.
func (p *placement) fifo() int { return p.next }
