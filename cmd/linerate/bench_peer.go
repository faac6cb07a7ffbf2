package main

import (
	"cmp"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	wire "github.com/linerate/linerate/internal/wire/iperf3"
	"github.com/linerate/linerate/internal/workload/stream"
	"github.com/linerate/linerate/internal/workload/stream/netperf"
)

// peer returns the dialect and the address of the peer.
func (s *streamFlags) peer(target string, t stream.Test) (stream.Dialect, error) {
	switch name := s.dialectFor(t); name {
	case "netperf":
		return &netperf.Client{Addr: withPort(target, netperf.Port)}, nil
	case "iperf3":
	default:
		return nil, usagef("--dialect %q: want iperf3 or netperf", name)
	}
	d := s.client
	d.Addr = withPort(target, wire.Port)
	if s.serverCPU >= 0 {
		d.ServerCPU = &s.serverCPU
	}
	if s.key == "" {
		return &d, nil
	}
	d.Password = cmp.Or(os.Getenv("LINERATE_PASSWORD"), os.Getenv("IPERF3_PASSWORD"))
	var err error
	d.Key, err = publicKey(s.key)
	return &d, err
}

// dialectFor is the dialect that was asked for, or that t needs.
func (s *streamFlags) dialectFor(t stream.Test) string {
	if s.dialect == "" && t.Transactions() {
		return "netperf"
	}
	return cmp.Or(s.dialect, "iperf3")
}

// publicKey reads an RSA key in PEM.
func publicKey(file string) (*rsa.PublicKey, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, usagef("%s: no PEM block", file)
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := k.(*rsa.PublicKey)
	if !ok {
		return nil, usagef("%s: a %T, want an RSA key", file, k)
	}
	return key, nil
}

// withPort adds the protocol's port where target has none.
func withPort(target string, port int) string {
	if _, _, err := net.SplitHostPort(target); err == nil {
		return target
	}
	return net.JoinHostPort(strings.Trim(target, "[]"), strconv.Itoa(port))
}
