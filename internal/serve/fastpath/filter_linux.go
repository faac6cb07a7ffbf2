package fastpath

// Filter tells other families of fast paths whether the stack has rules that
// packets must not go past.
type Filter struct{ r *ruleset }

// OpenFilter watches the calling thread's namespace.
func OpenFilter() (*Filter, error) {
	r, err := openRuleset()
	if err != nil {
		return nil, err
	}
	return &Filter{r}, nil
}

// Filters reports whether rules of nftables or iptables may see forwarded
// packets. Policies of the kernel's IPsec do not count.
func (f *Filter) Filters() (bool, error) {
	f.r.legacyChanged() // reads them
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	if f.r.tables != "" {
		return true, nil
	}
	return f.r.chains()
}

// Close frees what was opened.
func (f *Filter) Close() error { return f.r.close() }
