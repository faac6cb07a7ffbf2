package ftp

import (
	"testing"
	"time"
)

func TestParseListLine(t *testing.T) {
	now := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	at := func(y int, mo time.Month, d, h, mi int) time.Time { return time.Date(y, mo, d, h, mi, 0, 0, time.UTC) }
	entry := func(name, typ string, size int64, modify time.Time) Entry {
		return Entry{Name: name, Type: typ, Size: size, Modify: modify, Mode: -1}
	}
	for _, c := range []struct {
		line string
		want Entry
	}{
		{"-rw-r--r--    1 0        0        292000000 Nov 28 12:34 zero.bin", entry("zero.bin", TypeFile, 292000000, at(2026, 11, 28, 12, 34))},
		{"-rw-r--r--+   1 user     group          7 Dec  9 12:34 last year", entry("last year", TypeFile, 7, at(2025, 12, 9, 12, 34))},
		{"drwxr-xr-x   2 ftp ftp 4096 Feb 29  2024  leading blank", entry(" leading blank", TypeDir, -1, at(2024, 2, 29, 0, 0))},
		{"lrwxrwxrwx   1 a b 7 Jan  1  2020 link -> a/b c", entry("link", TypeLink+":a/b c", -1, at(2020, 1, 1, 0, 0))},
		{"-rw-r--r-- 1 12345 17 28 Nov 2025 no group.txt", entry("no group.txt", TypeFile, 17, at(2025, 11, 28, 0, 0))},
		{"-rw-r--r-- 1 root root 5000000000 2026-11-28 09:08 iso", entry("iso", TypeFile, 5000000000, at(2026, 11, 28, 9, 8))},
		{"crw-rw-rw- 1 root root 1, 3 Nov 28 09:08 null", entry("null", TypeOther, -1, at(2026, 11, 28, 9, 8))},
		{"-rwx------ 1 domain users 12 Nov 28 09:08 Nov 28 09:08", entry("Nov 28 09:08", TypeFile, 12, at(2026, 11, 28, 9, 8))},
		{"11-28-26  03:04PM       <DIR>          Program Files", entry("Program Files", TypeDir, -1, at(2026, 11, 28, 15, 4))},
		{"11-28-2026  15:04            1,234,567 a b.txt\r\n", entry("a b.txt", TypeFile, 1234567, at(2026, 11, 28, 15, 4))},
	} {
		got, ok := ParseListLine(c.line, now)
		if !ok || got != c.want {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", c.line, got, ok, c.want)
		}
	}
	for _, line := range []string{"", "total 12", "drwxr-xr-x 2 a b 4096 Nov 28 12:34 .", "drwxr-xr-x 2 a b 4096 Nov 28 12:34 ..",
		"-rw-r--r-- 1 a b x Nov 28 12:34 name", "11-28-26  03:04PM  -5  x", "hello world", "drwxr-xr-x 2 a b 1 Nov 28 12:34"} {
		if e, ok := ParseListLine(line, now); ok {
			t.Errorf("%q read as %+v", line, e)
		}
	}
}

// A leap day without a year, listed in a year that has none, is last year's.
func TestParseListLineLeapDay(t *testing.T) {
	e, ok := ParseListLine("-rw-r--r-- 1 a b 1 Feb 29 12:34 x", time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC))
	if !ok || e.Modify.Year() != 2024 || e.Modify.Day() != 29 {
		t.Errorf("got %+v, %v", e, ok)
	}
}

func FuzzParseListLine(f *testing.F) {
	f.Add("-rw-r--r-- 1 a b 1 Feb 29 12:34 x -> y")
	f.Add("11-28-26  03:04PM       <DIR>          Program Files")
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := ParseListLine(line, time.Unix(1.8e9, 0))
		if ok && (e.Name == "" || e.Name == ".." || e.Size < -1) {
			t.Errorf("%q gave %+v", line, e)
		}
	})
}
