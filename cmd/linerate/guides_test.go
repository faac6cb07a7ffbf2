package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linerate/linerate/internal/explain/facts"
)

// TestGuidesRun parses every command line and every file of facts in the guides,
// so that none shows a verb, a flag or a fact that isn't there.
func TestGuidesRun(t *testing.T) {
	files, err := filepath.Glob("../../docs/guides/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range strings.Split(string(b), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			if _, err := facts.Decode(strings.NewReader(text)); err != nil {
				t.Errorf("%s: %v", filepath.Base(name), err)
			}
		}
		fenced := false
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
				continue
			}
			line, _, _ = strings.Cut(line, " #")
			for command := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ';' || r == '|' }) {
				command = strings.TrimPrefix(strings.TrimSpace(command), "sudo ")
				words := strings.Fields(command)
				if !fenced || len(words) == 0 || words[0] != "linerate" {
					continue
				}
				cmd, rest, err := newRoot(cli{strings.NewReader(""), os.Stdout, os.Stderr}).Find(words[1:])
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s: %q: %v", filepath.Base(name), command, err)
				}
			}
		}
	}
}
