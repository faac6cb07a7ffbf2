package capture

// maxConnections bounds the connections that are followed at once.
const maxConnections = 12_000

// list orders connections by use.
type list struct {
	newest, oldest *connection
	n              int
}

// add returns the connection that must go to make room, if any.
func (l *list) add(c *connection) (out *connection) {
	if l.n >= maxConnections {
		out = l.oldest
	}
	l.front(c)
	l.n++
	return out
}

func (l *list) front(c *connection) {
	c.older, c.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = c
	} else {
		l.oldest = c
	}
	l.newest = c
}

func (l *list) unlink(c *connection) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		l.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		l.oldest = c.newer
	}
}

func (l *list) touch(c *connection) {
	if l.newest != c {
		l.unlink(c)
		l.front(c)
	}
}

func (l *list) remove(c *connection) {
	l.unlink(c)
	l.n--
}
