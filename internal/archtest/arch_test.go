// Package archtest fails the build when the import graph stops matching the
// table in ARCHITECTURE.md. It parses files itself, for every platform, so
// that no build tag hides a rule broken.
package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/linerate/linerate/"

// level says what a package may import of ours: the first row whose pattern
// matches counts. A pattern ending in "/..." stands for the package and all
// below it. A package may always import others of its own family (the row's
// pattern, or the directory below it for a pattern of many families).
var levels = []struct {
	pattern string
	may     []string
}{
	{"result", nil},
	{"internal/host/...", []string{"result"}},
	{"internal/port/...", []string{"result", "internal/wire/frame", "internal/wire/pcap"}},
	{"internal/wire/...", []string{"result", "internal/wire/frame"}},
	{"internal/meter/...", []string{"result", "internal/host/..."}},
	{"internal/workload/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/capture/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/model/...", []string{"result", "internal/wire/frame"}},
	{"internal/explain/...", []string{"result", "internal/host", "internal/wire/frame"}},
	{"internal/lever/...", []string{"result", "internal/host"}},
	{"internal/report/...", []string{"result"}},
	{"internal/search/...", []string{"result"}},
	{"internal/serve/ftp/...", []string{"result", "internal/host", "internal/wire/..."}},
	{"internal/serve/fastpath/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/serve/inspect/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/serve/netstack/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/serve/reflect/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/run/...", []string{"result"}},
	{"internal/web/...", []string{"result", "internal/report"}},
	{"internal/fleet/...", []string{"result", "internal/run"}},
	{"internal/testnet/...", []string{"result", "internal/host", "internal/port", "internal/wire/..."}},
	{"internal/archtest", nil},
}

// fences lists the only packages that may import a module of others.
var fences = map[string][]string{
	"github.com/cilium/ebpf": {"internal/serve/fastpath/...", "internal/serve/inspect/...", "internal/port/...",
		"internal/meter/napi", "internal/workload/generator/...", "internal/serve/reflect"},
	"github.com/vishvananda/netlink": {"internal/host/...", "internal/serve/fastpath/...", "internal/testnet/..."},
	"github.com/vishvananda/netns":   {"internal/host/...", "internal/serve/fastpath/...", "internal/testnet/..."},
	"gvisor.dev/gvisor":              {"internal/serve/netstack/..."},
	"github.com/spf13/cobra":         {"cmd/linerate"},
	"os/exec":                        {"internal/testnet/..."},
	// They call methods by name, so that a program with them keeps every method of
	// every type: 4 MB of a board's binary.
	"html/template": {},
	"text/template": {},
}

// separate holds modules and scripts of their own that the table leaves alone.
var separate = []string{"test"}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains(separate, rel) || strings.HasPrefix(path.Base(rel), ".") && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			checkFile(t, p, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, p, rel string) {
	src, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	pkg := path.Dir(rel)
	may, known := allowed(pkg)
	if !known {
		t.Errorf("%s: package not in the table: place it there by an ADR", pkg)
	}
	for _, s := range f.Imports {
		imp, _ := strconv.Unquote(s.Path.Value)
		if ours, ok := strings.CutPrefix(imp, module); ok && !matches(may, ours) {
			t.Errorf("%s must not import %s", rel, ours)
		}
		if pkg == "result" && strings.Contains(imp, ".") {
			t.Errorf("%s: result imports the standard library only, not %s", rel, imp)
		}
		for m, who := range fences {
			if (imp == m || strings.HasPrefix(imp, m+"/")) && !matches(who, pkg) {
				t.Errorf("%s must not import %s; only %v may", rel, imp, who)
			}
		}
	}
}

// allowed returns the patterns that pkg may import, its own family among them.
func allowed(pkg string) ([]string, bool) {
	if pkg == "cmd/linerate" {
		return []string{"result", "internal/..."}, true
	}
	for _, l := range levels {
		if !matches([]string{l.pattern}, pkg) {
			continue
		}
		family := l.pattern
		if base, many := strings.CutSuffix(l.pattern, "/..."); many && manyFamilies[base] {
			if rest := strings.TrimPrefix(pkg, base+"/"); rest != pkg {
				family = base + "/" + strings.Split(rest, "/")[0] + "/..."
			}
		}
		return append([]string{family}, l.may...), true
	}
	return nil, false
}

// manyFamilies are directories whose children stand beside each other and
// import one another no more than other packages of their level do.
var manyFamilies = map[string]bool{"internal/wire": true, "internal/meter": true, "internal/workload": true}

func matches(patterns []string, pkg string) bool {
	for _, p := range patterns {
		base, below := strings.CutSuffix(p, "/...")
		if pkg == base || below && strings.HasPrefix(pkg, base+"/") {
			return true
		}
	}
	return false
}

// TestTableBites keeps the table honest: these must be refused.
func TestTableBites(t *testing.T) {
	for _, c := range []struct{ pkg, imp string }{
		{"internal/meter/cpu", "internal/meter/irq"}, {"internal/explain", "internal/lever"},
		{"internal/serve/ftp/store", "internal/serve/fastpath"}, {"internal/run", "internal/host"},
		{"internal/workload/ftpload", "internal/serve/ftp/client"}, {"internal/report", "internal/explain"},
	} {
		if may, ok := allowed(c.pkg); !ok || matches(may, c.imp) {
			t.Errorf("the table lets %s import %s", c.pkg, c.imp)
		}
	}
	if may, _ := allowed("internal/serve/ftp"); !matches(may, "internal/serve/ftp/store") {
		t.Error("a package may not import its own family")
	}
}
