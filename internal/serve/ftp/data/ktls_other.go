//go:build !linux

package data

import "net"

const kernelTLS = false

type kernelSender struct{ payload int64 }

func newKernelSender(*net.TCPConn, *trafficKey) (*kernelSender, error) { return nil, errNoKernelTLS }

func (s *kernelSender) closeNotify() error { return errNoKernelTLS }
