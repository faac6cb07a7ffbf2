package client

import (
	"crypto/tls"
	"testing"
)

func TestTicketsAreUsedOnceButTheLast(t *testing.T) {
	var k tickets
	if s, ok := k.Get("x"); ok || s != nil {
		t.Error("a ticket out of nothing")
	}
	a, b := &tls.ClientSessionState{}, &tls.ClientSessionState{}
	k.Put("x", a)
	k.Put("x", b)
	k.Put("x", nil)
	for i, want := range []*tls.ClientSessionState{a, b, b} {
		if got, ok := k.Get("other"); !ok || got != want {
			t.Errorf("ticket %d is not the one expected", i)
		}
	}
	for range 10 * maxTickets {
		k.Put("x", a)
	}
	if len(k.kept) > maxTickets {
		t.Errorf("%d tickets kept", len(k.kept))
	}
}
