package store

import (
	"fmt"
	"sync/atomic"
)

// Quota counts the bytes that uploads keep, for one user or one store. A nil
// Quota has no limit.
type Quota struct {
	limit int64
	used  atomic.Int64
}

// NewQuota returns a Quota of limit bytes, used of them taken already.
func NewQuota(limit, used int64) *Quota {
	q := &Quota{limit: limit}
	q.used.Store(used)
	return q
}

// Take takes n bytes, all or, with ErrQuota, none.
func (q *Quota) Take(n int64) error {
	if q == nil || n <= 0 {
		return nil
	}
	if used := q.used.Add(n); used > q.limit {
		q.used.Add(-n)
		return fmt.Errorf("%d of %d bytes used, %d more wanted: %w", used-n, q.limit, n, ErrQuota)
	}
	return nil
}

// Give returns n bytes.
func (q *Quota) Give(n int64) {
	if q != nil {
		q.used.Add(-n)
	}
}

// Used returns the bytes taken.
func (q *Quota) Used() int64 {
	if q == nil {
		return 0
	}
	return q.used.Load()
}
