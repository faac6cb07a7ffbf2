package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/linerate/linerate/result"
)

// lineShare of the line's limit is taken as the limit.
const lineShare = 0.97

// Points returns the points of a sweep (bench tcp|udp --sweep), the upper
// quartile of a size's repeats each, and what the sweep says of the board's settings.
func Points(r *result.Result) ([]Point, Settings, error) {
	s, err := settingsOf(r)
	if err != nil {
		return nil, s, err
	}
	type key struct {
		path    string
		message int
	}
	goodputs, cpu, atLine := map[key][]float64{}, map[key][]float64{}, map[key]bool{}
	for _, t := range r.Trials {
		m, err := strconv.Atoi(t.Params["message_bytes"])
		g, ok := result.Get(t.Values, result.Goodput)
		if err != nil || m <= 0 || !ok || g <= 0 || !t.Pass {
			continue
		}
		k := key{cmp.Or(t.Params["direction"], "tx"), m}
		goodputs[k] = append(goodputs[k], g)
		if v, ok := result.Get(t.Values, result.CPUPerByte, "end", "tester"); ok {
			cpu[k] = append(cpu[k], v*float64(m))
		}
		if limit, ok := result.Get(t.Values, result.LineLimit); ok && g > lineShare*limit {
			atLine[k] = true
		}
	}
	var out []Point
	for _, k := range slices.SortedFunc(maps.Keys(goodputs), func(a, b key) int { return cmp.Or(cmp.Compare(a.path, b.path), a.message-b.message) }) {
		out = append(out, Point{Path: k.path, MTU: s.MTU, Message: float64(k.message), AtLine: atLine[k],
			Goodput: undisturbed(goodputs[k]), CPU: result.Summarize(cpu[k]).Median})
	}
	if len(out) == 0 {
		return nil, s, fmt.Errorf("%s: no trial with a message size and a goodput: make it with bench tcp --sweep: %w", r.ID, ErrFit)
	}
	return out, s, nil
}

// undisturbed returns the upper quartile: what else runs on a machine only
// slows it down, and the best of all may be a fluke.
func undisturbed(goodputs []float64) float64 {
	slices.Sort(goodputs)
	return goodputs[(3*len(goodputs)-1)/4]
}

// settingsOf reads the settings of a sweep. An MSS given with the test stands
// for a smaller MTU.
func settingsOf(r *result.Result) (Settings, error) {
	p := r.Workload.Params
	s := Settings{MTU: 1500, Window: 4 << 20, UDP: strings.HasPrefix(r.Workload.Kind, "udp"), NoDelay: p["nodelay"] == "true"}
	if n := p["parallel"]; n != "" && n != "1" {
		return s, fmt.Errorf("%s: %s streams at once: a fit wants one", r.ID, n)
	}
	for _, k := range []string{"rate", "window", "send_buffer", "receive_buffer", "pacing_bits_per_second"} {
		if p[k] != "" {
			return s, fmt.Errorf("%s: %s is limited to %s: a fit wants what the endpoint can do", r.ID, k, p[k])
		}
	}
	for _, e := range r.Ends {
		if e.Role != "tester" {
			continue
		}
		s.Timestamps = !s.UDP && e.Settings["sysctl.net.ipv4.tcp_timestamps"] != "0"
		for k, v := range e.Settings {
			if n, err := strconv.Atoi(v); err == nil && strings.HasPrefix(k, "link.mtu@") {
				s.MTU = n
			}
		}
	}
	if n, err := strconv.Atoi(p["mss"]); err == nil {
		const headers = 20 + 20 // of IPv4 and TCP; the option counts timestamps as payload (RFC 9293 3.7.1)
		s.MTU = min(s.MTU, n+headers)
	}
	return s, nil
}
