// Package forward measures what the router's core spends on a frame: through
// the kernel alone, with the fast path, and with the least program that forwards,
// on one veth topology in one run. "make bench" runs it.
package forward

//go:generate go tool bpf2go -cc clang -cflags "-O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu" -target bpfel bare bpf/bare.bpf.c
