package ftp

import (
	"strconv"
	"strings"
	"time"
)

// TypeOther stands for devices, pipes and sockets, which LIST shows and no
// transfer can read.
const TypeOther = "OS.unix=other"

// ParseListLine reads one line of a LIST reply as ls -l or a DOS directory
// prints it; RFC 959 4.1.3 leaves the format to the server. ok is false for
// lines that name no file: "total 12", blank ones, and formats it doesn't know.
// now decides the year of dates written without one; times are taken as UTC,
// since LIST names no zone. A link's target follows its type and a colon, as
// MLSD has it.
func ParseListLine(line string, now time.Time) (e Entry, ok bool) {
	line = strings.TrimRight(line, "\r\n")
	if e, ok = parseUnix(line, now); !ok {
		e, ok = parseDOS(line)
	}
	return e, ok && e.Name != "" && e.Name != "." && e.Name != ".."
}

// parseUnix reads "-rw-r--r-- 1 owner group 4096 Nov 28 12:34 name" with any
// number of columns before the size, which ends where a date begins.
func parseUnix(line string, now time.Time) (Entry, bool) {
	typ, ok := map[string]string{
		"-": TypeFile, "d": TypeDir, "l": TypeLink, "b": TypeOther, "c": TypeOther, "p": TypeOther, "s": TypeOther,
	}[line[:min(1, len(line))]]
	cols := columns(line)
	if !ok || len(cols) < 4 || len(cols[0].text) < 10 {
		return Entry{}, false
	}
	for i := 2; i+1 < len(cols); i++ {
		at, used := parseUnixTime(cols[i:], now)
		size, err := strconv.ParseInt(cols[i-1].text, 10, 64)
		if used == 0 || err != nil || i+used > len(cols) {
			continue
		}
		e := Entry{Type: typ, Size: -1, Modify: at, Mode: -1, Name: rest(line, cols[i+used-1])}
		switch name, target, arrow := strings.Cut(e.Name, " -> "); {
		case typ == TypeLink && arrow:
			e.Name, e.Type = name, TypeLink+":"+target
		case typ == TypeFile && size >= 0:
			e.Size = size
		}
		return e, true
	}
	return Entry{}, false
}

// parseUnixTime reads the date at the head of cols and says how many columns
// it took: "Nov 28 12:34", "Nov 28 2025", "28 Nov 2025" or "2025-11-28 12:34".
func parseUnixTime(cols []column, now time.Time) (at time.Time, used int) {
	now = now.UTC()
	for _, f := range []struct {
		layout string
		cols   int
	}{{"Jan 2 15:04 2006", 3}, {"2 Jan 15:04 2006", 3}, {"Jan 2 2006", 3}, {"2 Jan 2006", 3}, {"2006-01-02 15:04", 2}} {
		if len(cols) < f.cols {
			continue
		}
		words := make([]string, f.cols, f.cols+1)
		for i := range words {
			words[i] = cols[i].text
		}
		yearless := strings.HasSuffix(f.layout, "15:04 2006")
		if yearless {
			words = append(words, strconv.Itoa(now.Year()))
		}
		t, err := time.Parse(f.layout, strings.Join(words, " "))
		if err != nil && yearless { // 29 February in a year that has none
			words[f.cols] = strconv.Itoa(now.Year() - 1)
			t, err = time.Parse(f.layout, strings.Join(words, " "))
		}
		if err != nil {
			continue
		}
		// ls leaves the year out of recent dates only, and clocks and zones
		// differ by up to a day.
		if yearless && t.After(now.Add(24*time.Hour)) {
			t = t.AddDate(-1, 0, 0)
		}
		return t, f.cols
	}
	return time.Time{}, 0
}

// parseDOS reads "11-28-26  03:04PM       <DIR>          name", as IIS and
// boards that imitate it print.
func parseDOS(line string) (Entry, bool) {
	cols := columns(line)
	if len(cols) < 4 {
		return Entry{}, false
	}
	at, err := parseDOSTime(cols[0].text + " " + strings.ToUpper(cols[1].text))
	if err != nil {
		return Entry{}, false
	}
	// The name's column is padded with blanks, so leading ones can't be told apart.
	e := Entry{Type: TypeFile, Size: -1, Modify: at, Mode: -1, Name: line[cols[3].begin:]}
	switch what := strings.ToUpper(cols[2].text); what {
	case "<DIR>":
		e.Type = TypeDir
	case "<SYMLINKD>", "<SYMLINK>", "<JUNCTION>":
		e.Type = TypeLink
	default:
		if e.Size, err = strconv.ParseInt(strings.ReplaceAll(what, ",", ""), 10, 64); err != nil || e.Size < 0 {
			return Entry{}, false
		}
	}
	return e, true
}

func parseDOSTime(s string) (at time.Time, err error) {
	for _, layout := range []string{"01-02-06 03:04PM", "01-02-2006 03:04PM", "01-02-06 15:04", "01-02-2006 15:04", "2006-01-02 15:04"} {
		if at, err = time.Parse(layout, s); err == nil {
			break
		}
	}
	return at, err
}

// column is a word of a line and where it stands.
type column struct {
	text       string
	begin, end int
}

// columns splits off the words before the name; twelve are more than any
// format has.
func columns(line string) []column {
	var out []column
	for i := 0; i < len(line) && len(out) < 12; {
		for i < len(line) && line[i] == ' ' || i < len(line) && line[i] == '\t' {
			i++
		}
		begin := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		if begin < i {
			out = append(out, column{line[begin:i], begin, i})
		}
	}
	return out
}

// rest returns the name after column c: one blank parts them, further ones
// belong to the name.
func rest(line string, c column) string {
	if c.end >= len(line) {
		return ""
	}
	return line[c.end+1:]
}
