package ipsec

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/linerate/linerate/internal/testnet"
	"github.com/linerate/linerate/result"
)

// BenchmarkTUN moves TCP between two gateways through their TUN devices; sender,
// both gateways and receiver share the machine's cores.
func BenchmarkTUN(b *testing.B) {
	program := build(b, *binary)
	rows := []struct {
		name string
		up   func(b *testing.B, x, y testnet.End)
		bar  float64
	}{
		{"ours, ESP in UDP", func(b *testing.B, x, y testnet.End) { tunnels(b, program, x, y, "    port: 4500\n") }, 2e9},
		{"ours, ESP", func(b *testing.B, x, y testnet.End) { tunnels(b, program, x, y, "") }, 2e9},
		{"strongSwan kernel-libipsec", charons, 0},
	}
	rates := make([][]float64, len(rows))
	for range *rounds {
		for i, row := range rows {
			rates[i] = append(rates[i], tcp(b, row.up))
		}
	}
	fmt.Printf("\n%-28s %12s   TCP, %d cores for all\n", "through TUN devices", "Gbit/s", 2)
	theirs := result.Summarize(rates[len(rows)-1]).Median
	for i, row := range rows {
		s := result.Summarize(rates[i])
		verdict := ""
		if row.bar > 0 {
			verdict = fmt.Sprintf("bar %.0f Gbit/s %s, %.1f times strongSwan", row.bar/1e9, map[bool]string{true: "reached", false: "MISSED"}[s.Median >= row.bar], s.Median/theirs)
		}
		fmt.Printf("%-28s %12.3f   min-max %.3f-%.3f   %s\n", row.name, s.Median/1e9, s.Min/1e9, s.Max/1e9, verdict)
	}
	b.ReportMetric(0, "ns/op") // the table is the result
}

// Hosts of both gateways, on their loopbacks.
const hostX, hostY = "10.1.0.1", "10.9.0.1"

// tcp measures bit/s from one gateway to the other.
func tcp(b *testing.B, up func(b *testing.B, x, y testnet.End)) float64 {
	b.Helper()
	x, y := testnet.NewNamespace(b, "x"), testnet.NewNamespace(b, "y")
	l, err := testnet.Connect(x, y, testnet.LinkOptions{})
	if err != nil {
		b.Fatal(err)
	}
	do(b, x, "ip", "addr", "add", hostX+"/32", "dev", "lo")
	do(b, y, "ip", "addr", "add", hostY+"/32", "dev", "lo")
	up(b, l.A, l.B)
	server, err := y.Start(b.Context(), "iperf3", "-s", "-1", "--forceflush")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := server.Await(b.Context(), "listening"); err != nil {
		b.Fatal(err)
	}
	out := do(b, x, "iperf3", "-J", "-c", hostY, "-B", hostX, "-O", "1", "-t", fmt.Sprint(1+took.Seconds()))
	var report struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		b.Fatal(err)
	}
	x.Close()
	y.Close()
	return report.End.Received.Rate
}

// tunnels starts our gateway at both ends.
func tunnels(b *testing.B, program string, x, y testnet.End, extra string) {
	b.Helper()
	for i, e := range []testnet.End{x, y} {
		peer, local, remote, out, in := y, hostX, hostY, 0x1001, 0x1002
		if i == 1 {
			peer, local, remote, out, in = x, hostY, hostX, 0x1002, 0x1001
		}
		file := filepath.Join(b.TempDir(), "rules.yaml")
		text := fmt.Sprintf(rules, local+"/32", remote+"/32", e.IPv4.Addr(), peer.IPv4.Addr(), *suite, out, key(*length), in, key(*length), extra)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		p, err := e.Namespace.Start(b.Context(), program, "forward", "ipsec", "up", "--foreground", "--file", file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Await(b.Context(), "is up"); err != nil {
			b.Fatal(err, p.Output())
		}
	}
	time.Sleep(200 * time.Millisecond)
}

// charons starts strongSwan at both ends.
func charons(b *testing.B, x, y testnet.End) {
	b.Helper()
	host := func(a string) netip.Prefix { return netip.MustParsePrefix(strings.TrimSpace(a) + "/32") }
	testnet.StartCharon(b, y.Namespace, testnet.CharonOptions{Local: y.IPv4.Addr(), Remote: x.IPv4.Addr(), LocalTS: host(hostY), RemoteTS: host(hostX)})
	c := testnet.StartCharon(b, x.Namespace, testnet.CharonOptions{Local: x.IPv4.Addr(), Remote: y.IPv4.Addr(), LocalTS: host(hostX), RemoteTS: host(hostY), Initiate: true})
	if _, err := c.Keys(b.Context()); err != nil {
		b.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
}
