package netperf

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Run is one test in the text that netperf printed. Figures that it does not
// give are below 0.
type Run struct {
	Test       string // "TCP_STREAM"
	Peer       string
	Message    int     // bytes of the sender's message; of RR, the request
	Response   int     // bytes of a response
	Elapsed    float64 // seconds
	Throughput float64 // bit/s of payload, or transactions per second
	Trans      bool    // Throughput is transactions
	Sent       float64 // bit/s, of UDP_STREAM at the sender
	SendBuffer int
	RecvBuffer int
	LocalCPU   float64 // percent of all cores
	RemoteCPU  float64
	Messages   float64 // UDP datagrams sent
	Received   float64 // and received
}

// ErrOutput is returned for text without a test in it.
var ErrOutput = errors.New("no netperf output: want what netperf prints, with its banner")

// banner heads each test. The name is netperf's title of it.
var banner = regexp.MustCompile(`^(?:MIGRATED )?(TCP STREAM|TCP MAERTS|UDP STREAM|TCP REQUEST/RESPONSE|TCP Connect/Request/Response|UDP REQUEST/RESPONSE|OMNI Send\|Recv|OMNI Send|OMNI Receive|OMNI REQUEST/RESPONSE|TCP SENDFILE) TEST(?: from \S+.*? to (\S+))?`)

var titles = map[string]string{
	"TCP STREAM": "TCP_STREAM", "TCP MAERTS": "TCP_MAERTS", "UDP STREAM": "UDP_STREAM", "TCP SENDFILE": "TCP_STREAM",
	"TCP REQUEST/RESPONSE": "TCP_RR", "TCP Connect/Request/Response": "TCP_CRR", "UDP REQUEST/RESPONSE": "UDP_RR",
	"OMNI Send": "TCP_STREAM", "OMNI Receive": "TCP_MAERTS", "OMNI REQUEST/RESPONSE": "TCP_RR",
	"OMNI Send|Recv": "TCP_RR",
}

// ParseOutput reads the tests in a text: the tables of the classic output, and
// the keywords (-k) and CSV (-o) of omni output.
func ParseOutput(text string) ([]Run, error) {
	var runs []Run
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := banner.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end := i + 1
		for end < len(lines) && banner.FindStringSubmatch(lines[end]) == nil {
			end++
		}
		r := Run{Test: titles[m[1]], Peer: m[2], LocalCPU: -1, RemoteCPU: -1, Sent: -1, Messages: -1, Received: -1, SendBuffer: -1, RecvBuffer: -1}
		if err := r.parse(lines[i+1 : end]); err != nil {
			return runs, fmt.Errorf("netperf output: line %d: %s: %w", i+1, r.Test, err)
		}
		runs = append(runs, r)
		i = end - 1
	}
	if len(runs) == 0 {
		return nil, ErrOutput
	}
	return runs, nil
}

// parse reads the body of one test.
func (r *Run) parse(body []string) error {
	var rows [][]float64
	for i, line := range body {
		line = strings.TrimSpace(line)
		if k, v, ok := strings.Cut(line, "="); ok && k != "" && strings.ToUpper(k) == k {
			r.set(keyNames[k], v)
			continue
		}
		if strings.Contains(line, "Elapsed Time (sec),") && i+1 < len(body) {
			return r.csv(line, body[i+1])
		}
		if r.omniRow(strings.Fields(line)) {
			return nil
		}
		if row := numbers(line); len(row) > 0 {
			rows = append(rows, row)
		}
	}
	if r.Throughput > 0 && r.Elapsed > 0 {
		return nil
	}
	return r.table(rows)
}

// omniRow reads the row of an omni table: buffers and sizes, then the time, the
// throughput and its unit.
func (r *Run) omniRow(f []string) bool {
	n := len(f) - 1
	if n < 5 || f[n] != "Trans/s" && !strings.HasSuffix(f[n], "bits/s") {
		return false
	}
	row := numbers(strings.Join(f[:n], " "))
	if row == nil {
		return false
	}
	r.Elapsed, r.Throughput, r.SendBuffer, r.Message = row[n-2], row[n-1], int(row[0]), int(row[n-3])
	if f[n] == "Trans/s" {
		r.Message, r.Response = int(row[n-4]), int(row[n-3])
	}
	r.set("units", f[n])
	return true
}

// table reads the rows of numbers of a classic table.
func (r *Run) table(rows [][]float64) error {
	if len(rows) == 0 {
		return errors.New("no figures: the test did not end")
	}
	n := rows[0]
	short := fmt.Errorf("a row of %d numbers, which is no table of this test", len(n))
	switch r.Test {
	case "TCP_STREAM", "TCP_MAERTS":
		if len(n) < 5 {
			return short
		}
		r.RecvBuffer, r.SendBuffer, r.Message, r.Elapsed, r.Throughput = int(n[0]), int(n[1]), int(n[2]), n[3], n[4]*1e6
		if len(n) >= 7 {
			r.LocalCPU, r.RemoteCPU = n[5], n[6]
		}
	case "UDP_STREAM":
		if len(n) < 6 {
			return short
		}
		r.SendBuffer, r.Message, r.Elapsed, r.Messages, r.Sent, r.Throughput = int(n[0]), int(n[1]), n[2], n[3], n[5]*1e6, -1
		if len(rows) > 1 && len(rows[1]) >= 4 {
			r.RecvBuffer, r.Received, r.Throughput = int(rows[1][0]), rows[1][2], rows[1][3]*1e6
		}
	default:
		if len(n) < 6 {
			return short
		}
		r.SendBuffer, r.RecvBuffer, r.Message, r.Response, r.Elapsed, r.Throughput, r.Trans = int(n[0]), int(n[1]), int(n[2]), int(n[3]), n[4], n[5], true
		if len(n) >= 8 {
			r.LocalCPU, r.RemoteCPU = n[6], n[7]
		}
	}
	return nil
}

// numbers returns the columns of a line of numbers, nil for any other.
func numbers(line string) []float64 {
	var out []float64
	for _, f := range strings.Fields(line) {
		v, ok := number(f)
		if !ok {
			return nil
		}
		out = append(out, v)
	}
	return out
}

// number reads a finite number.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// keyNames and csvNames are what omni output calls the fields of a Run.
var (
	keyNames = map[string]string{
		"ELAPSED_TIME": "elapsed", "THROUGHPUT": "throughput", "THROUGHPUT_UNITS": "units", "LOCAL_SEND_SIZE": "message",
		"REQUEST_SIZE": "message", "RESPONSE_SIZE": "response", "LSS_SIZE_END": "sendbuffer", "RSR_SIZE_END": "recvbuffer",
		"LOCAL_CPU_UTIL": "localcpu", "REMOTE_CPU_UTIL": "remotecpu",
	}
	csvNames = map[string]string{
		"Elapsed Time (sec)": "elapsed", "Throughput": "throughput", "Throughput Units": "units", "Local Send Size": "message",
		"Request Size Bytes": "message", "Response Size Bytes": "response", "Local Send Socket Size Final": "sendbuffer",
		"Remote Recv Socket Size Final": "recvbuffer", "Local CPU Util %": "localcpu", "Remote CPU Util %": "remotecpu",
	}
)

func (r *Run) csv(head, row string) error {
	records, err := csv.NewReader(strings.NewReader(head + "\n" + row + "\n")).ReadAll()
	if err != nil {
		return err
	}
	for i, h := range records[0] {
		r.set(csvNames[strings.TrimSpace(h)], records[1][i])
	}
	if r.Throughput <= 0 {
		return errors.New("no throughput among its columns")
	}
	return nil
}

// set takes one field by name; units must come after the throughput, as they
// do.
func (r *Run) set(name, text string) {
	if name == "units" {
		switch strings.TrimSpace(text) {
		case "Trans/s":
			r.Trans = true
		case "10^6bits/s":
			r.Throughput *= 1e6
		case "10^9bits/s":
			r.Throughput *= 1e9
		case "10^3bits/s":
			r.Throughput *= 1e3
		}
		return
	}
	v, ok := number(text)
	if !ok {
		return // a field of text
	}
	switch name {
	case "elapsed":
		r.Elapsed = v
	case "throughput":
		r.Throughput = v
	case "message":
		r.Message = int(v)
	case "response":
		r.Response = int(v)
	case "sendbuffer":
		r.SendBuffer = int(v)
	case "recvbuffer":
		r.RecvBuffer = int(v)
	case "localcpu":
		r.LocalCPU = v
	case "remotecpu":
		r.RemoteCPU = v
	}
}
