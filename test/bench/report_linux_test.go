package bench

import (
	"fmt"
	"math"
)

func (s sample) String() string {
	if s.rate == 0 {
		return "failed"
	}
	return fmt.Sprintf("%5.0f (%.3f)", s.rate, s.cpu)
}

// table prints the rows of one direction.
func table(f figures, rows []*load) {
	title := "plain"
	if rows[0].secure {
		title = "FTPS (TLS 1.3, AES-128-GCM)"
	}
	fmt.Printf("\n%-16s  %-28s  %15s  %15s\n", title, "", "1 stream", "8 streams")
	for _, l := range rows {
		k := key{l.server.name, l.what, l.secure, 1}
		one := f[k]
		k.streams = 8
		fmt.Printf("%-16s  %-28s  %15s  %15s\n", l.what, l.server.name, one, f[k])
	}
}

// best returns the highest rate and the lowest CPU among the peers.
func (f figures) best(peers []*server, what string, secure bool, streams int) sample {
	b := sample{cpu: math.Inf(1)}
	for _, p := range peers {
		if s, ok := f[key{p.name, what, secure, streams}]; ok {
			b.rate, b.cpu = max(b.rate, s.rate), min(b.cpu, s.cpu)
		}
	}
	return b
}

// bars says of each promise whether it is kept.
func bars(f figures, se sessionFigures, peers []*server) []string {
	lines := []string{"\nbars"}
	check := func(what string, got, want float64, least bool) {
		word, sign := "reached", ">="
		if !least {
			sign = "<="
		}
		if least && got < want || !least && got > want || math.IsNaN(got) {
			word = "MISSED "
		}
		lines = append(lines, fmt.Sprintf("%s  %-62s %8.3f %s %.3f", word, what, got, sign, want))
	}
	for _, n := range []int{1, 8} {
		in := fmt.Sprintf(", %d streams", n)
		ours := func(server, what string, secure bool) sample { return f[key{server, what, secure, n}] }
		limit := func(what string) sample { return f[key{"kernel", what, false, n}] }
		get, zeros := ours("linerate", "get from tmpfs", false), ours("linerate, memory", "get zeros", false)
		peerGet, peerPut := f.best(peers, "get from tmpfs", false, n), f.best(peers, "put to tmpfs", false, n)
		check("get from tmpfs / kernel"+in, get.rate/limit("get from tmpfs").rate, 0.97, true)
		check("get zeros / kernel"+in, zeros.rate/limit("get from tmpfs").rate, 0.97, true)
		check("get / best peer"+in, get.rate/peerGet.rate, 1, true)
		check("get CPU / best peer"+in, get.cpu/peerGet.cpu, 1, false)
		check("put to sink / kernel"+in, ours("linerate, memory", "put to sink", false).rate/limit("put to sink").rate, 0.97, true)
		mem, tmpfs := ours("linerate, memory", "put to memory", false), ours("linerate", "put to tmpfs", false)
		check("put to memory / best peer"+in, mem.rate/peerPut.rate, 4, true)
		check("put to memory CPU / best peer"+in, mem.cpu/peerPut.cpu, 1, false)
		check("put to tmpfs / best peer"+in, tmpfs.rate/peerPut.rate, 1.25, true)
		check("put to tmpfs CPU / best peer"+in, tmpfs.cpu/peerPut.cpu, 1, false)
		sGet, sPut := ours("linerate", "get from tmpfs", true), ours("linerate", "put to tmpfs", true)
		peerGet, peerPut = f.best(peers, "get from tmpfs", true, n), f.best(peers, "put to tmpfs", true, n)
		check("FTPS get / best peer"+in, sGet.rate/peerGet.rate, 1.5, true)
		check("FTPS get CPU / best peer"+in, sGet.cpu/peerGet.cpu, 1, false)
		check("FTPS put / best peer"+in, sPut.rate/peerPut.rate, 1.15, true)
		check("FTPS put CPU / best peer"+in, sPut.cpu/peerPut.cpu, 1, false)
	}
	check("KiB of each idle session", se["linerate"].idle/1024, 20, false)
	check("KiB of each idle TLS session", se["linerate"].idleTLS/1024, 40, false)
	check("logins a second / vsftpd", se["linerate"].logins/se["vsftpd"].logins, 40, true)
	return lines
}
