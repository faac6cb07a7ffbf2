package auto

import (
	"fmt"
	"io/fs"
	"math/big"
	"strconv"
	"strings"

	"github.com/linerate/linerate/internal/lever"
)

// value turns what advice says in words into a value: of the i-th setting of
// its kind, which stands at now.
func (b Local) value(id string, i int, now, want string) (string, error) {
	cores := b.cores()
	switch want {
	case "half the present", "twice the present":
		return scaled(now, map[bool]float64{true: 0.5, false: 2}[want == "half the present"])
	case "one for each core":
		return strconv.Itoa(b.upTo(id, cores)), nil
	case "the most there is":
		return strconv.Itoa(b.upTo(id, 1<<30)), nil
	case "every core", "every other core":
		// With two cores the interrupted one is half of what there is.
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(cores)), big.NewInt(1))
		if want == "every other core" && cores > 2 {
			mask.SetBit(mask, 0, 0)
		}
		return cpuMask(mask), nil
	case "one core for each queue or port", "one core for each queue":
		return cpuMask(new(big.Int).Lsh(big.NewInt(1), uint(i%cores))), nil
	case "another core":
		core := cores - 1
		if mask, ok := new(big.Int).SetString(strings.ReplaceAll(now, ",", ""), 16); ok && mask.Bit(core) == 1 {
			core = 0
		}
		return cpuMask(new(big.Int).Lsh(big.NewInt(1), uint(core))), nil
	}
	if strings.ContainsAny(want, " ") && !numbers(want) {
		return "", fmt.Errorf("%s: %q is for a person to decide: %w", id, want, lever.ErrNoLever)
	}
	return want, nil
}

// numbers reports whether s is numbers only, as tcp_rmem's three are.
func numbers(s string) bool {
	for _, f := range strings.Fields(s) {
		if _, err := strconv.ParseFloat(f, 64); err != nil {
			return false
		}
	}
	return true
}

// scaled multiplies every number of a value.
func scaled(now string, by float64) (string, error) {
	var out []string
	for _, f := range strings.Fields(now) {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no number: %w", now, lever.ErrNoLever)
		}
		out = append(out, strconv.FormatFloat(float64(int64(n*by)), 'f', -1, 64))
	}
	return strings.Join(out, " "), nil
}

// cores is the number of cores online.
func (b Local) cores() int {
	text, _ := fs.ReadFile(b.Host, "sys/devices/system/cpu/online") // without it one core is assumed
	n := 0
	for _, part := range strings.Split(strings.TrimSpace(string(text)), ",") {
		first, last, span := strings.Cut(part, "-")
		lo, err1 := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		switch {
		case err1 == nil && span && err2 == nil:
			n += hi - lo + 1
		case err1 == nil:
			n++
		}
	}
	return max(n, 1)
}

// upTo bounds want by what the driver says is the most ("combined-max").
func (b Local) upTo(id string, want int) int {
	name, ifname, _ := strings.Cut(id, "@")
	f := strings.SplitN(name, ".", 3)
	if len(f) != 3 || f[0] != "ethtool" {
		return want
	}
	text, _ := fs.ReadFile(b.Host, "ethtool/"+ifname+"/"+f[1]) // without it the driver will refuse too much
	for line := range strings.Lines(string(text)) {
		if k, v, _ := strings.Cut(line, ":"); k == f[2]+"-max" {
			if most, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
				return min(want, most)
			}
		}
	}
	return want
}

// cpuMask writes a mask as the kernel does: hexadecimal words of 32 bits with
// commas between them.
func cpuMask(mask *big.Int) string {
	s := mask.Text(16)
	var words []string
	for len(s) > 8 {
		words = append([]string{s[len(s)-8:]}, words...)
		s = s[:len(s)-8]
	}
	return strings.Join(append([]string{s}, words...), ",")
}

// Roomier reports whether a buffer, table or queue stands at or above what is
// advised: advice to enlarge must not shrink it.
func Roomier(id, now, want string) bool {
	enlarges := false
	for _, part := range []string{"mem", "conntrack_max", "conntrack_buckets", "backlog", "budget", "tx_queue_len", "rings."} {
		enlarges = enlarges || strings.Contains(id, part)
	}
	have, ok1 := ceiling(now)
	need, ok2 := ceiling(want)
	return enlarges && ok1 && ok2 && have >= need
}

// ceiling is the last of the numbers of a value.
func ceiling(s string) (int64, bool) {
	f := strings.Fields(s)
	if len(f) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(f[len(f)-1], 10, 64)
	return n, err == nil
}
