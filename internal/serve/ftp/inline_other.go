//go:build !unix

package ftp

import "net"

// inlineUrgent does nothing: LineDecoder copes with a Synch that lost its mark.
func inlineUrgent(net.Conn) {}
