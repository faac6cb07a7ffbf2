package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/linerate/linerate/internal/report"
	"github.com/linerate/linerate/result"
)

// The generator is a test, so that its libraries stay out of the binary that
// small boards carry.
//
//go:generate go test -count=1 -run ^TestGenerate$ . -generate ../..
var generateInto = flag.String("generate", "", "write the generated files into the tree at `DIR`")

// TestGenerate writes the files that are generated and committed, into a
// scratch directory unless told otherwise, and checks that they are complete.
func TestGenerate(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/var/lib/linerate") // pages must not depend on who generates them
	root := *generateInto
	if root == "" {
		root = t.TempDir()
	}
	for name, write := range map[string]func(io.Writer) error{
		"result/schema.json": writeSchema,
		"docs/terms.md":      report.Terms,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		place(t, filepath.Join(root, name), b.Bytes())
	}
	man := manPages(t)
	dir := filepath.Join(root, "docs", "man")
	if err := os.RemoveAll(dir); err != nil { // verbs that are gone leave no page
		t.Fatal(err)
	}
	for name, page := range man {
		place(t, filepath.Join(dir, name), page)
	}
	if man["linerate-report.1"] == nil || man["linerate.1"] == nil {
		t.Errorf("man pages are missing: %d written", len(man))
	}
	terms, err := os.ReadFile(filepath.Join(root, "docs", "terms.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range result.Metrics() {
		if !bytes.Contains(terms, []byte("| `"+m.Name+"` |")) {
			t.Errorf("terms.md lacks %s", m.Name)
		}
	}
}

func place(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeSchema reflects the JSON schema out of result.Result and its comments.
func writeSchema(w io.Writer) error {
	// AllowAdditionalProperties: a newer minor version adds fields, and readers
	// ignore them.
	r := jsonschema.Reflector{AllowAdditionalProperties: true}
	if err := r.AddGoComments("github.com/linerate/linerate/cmd/linerate", "../../result"); err != nil {
		return err
	}
	s := r.Reflect(&result.Result{})
	s.ID = jsonschema.ID("https://github.com/linerate/linerate/raw/main/result/schema.json")
	s.Title = result.SchemaID
	for _, x := range []struct {
		def, field string
		values     []any
	}{
		{"Result", "schema", []any{result.SchemaID}},
		{"Result", "origin", []any{result.Measured, result.Captured, result.Modelled, result.Imported}},
		{"Result", "ending", []any{result.Completed, result.Interrupted, result.Failed}},
		{"Finding", "verdict", []any{result.Limits, result.DoesNotLimit, result.Unknown}},
	} {
		p, _ := s.Definitions[x.def].Properties.Get(x.field)
		p.Enum = x.values
	}
	for _, d := range s.Definitions {
		for f := d.Properties.Oldest(); f != nil; f = f.Next() {
			// Go writes an empty list or map that was never made as null.
			if slices.Contains(d.Required, f.Key) && (f.Value.Type == "array" || f.Value.Type == "object") {
				d.Properties.Set(f.Key, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{f.Value, {Type: "null"}}})
			}
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(s)
}

// manPages renders the help of every visible verb, by file name. The date is
// fixed: a page changes only when the help does.
func manPages(t *testing.T) map[string][]byte {
	date := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	pages := map[string][]byte{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.DisableAutoGenTag = true
		var b bytes.Buffer
		if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &date, Source: "linerate", Manual: "linerate manual"}, &b); err != nil {
			t.Fatal(err)
		}
		pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = b.Bytes()
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
				walk(sub)
			}
		}
	}
	walk(newRoot(cli{strings.NewReader(""), io.Discard, io.Discard}))
	return pages
}
