package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/linerate/linerate/result"
)

// Terms writes the metric table as Markdown: docs/terms.md.
func Terms(w io.Writer) error {
	out := bufio.NewWriter(w)
	_, _ = fmt.Fprintf(out, `# Terms

Generated from the metric table in result/metric_*.go by 'make generate'; edit it there.

Every number that linerate shows is a row of this table. Its name is the "metric" of a value in JSON (%s)
and CSV; Prometheus pages show it as %sNAME; reports head columns with its head. Values are in the base unit given
here. A counter only grows: readers take differences and divide by the time between, so no file holds a rate that was
counted twice. A gauge stands for itself. Prefixes k, M, G are powers of 1000; Ki, Mi, Gi of 1024; 1 B is 8 bit.

| name | head | kind | unit | meaning | reference |
| --- | --- | --- | --- | --- | --- |
`, result.SchemaID, prefix)
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, m := range result.Metrics() {
		_, _ = fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s | %s |\n",
			m.Name, cell.Replace(m.Heading()), m.Kind, cell.Replace(m.Unit), cell.Replace(m.Help), cell.Replace(m.Ref))
	}
	return out.Flush()
}
