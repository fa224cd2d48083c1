package conform

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Status says how a check ended.
type Status string

// The statuses of a check. A skipped one says why.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Result is the outcome of one check.
type Result struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"` // what is expected, in words
	Status   Status        `json:"status"`
	Detail   string        `json:"detail,omitempty"` // what was seen, or why it was skipped
	Advice   string        `json:"advice,omitempty"` // what to do about a failure
	Duration time.Duration `json:"duration"`         // nanoseconds
}

// Report is the outcome of an examination.
type Report struct {
	Path    string    `json:"path"`
	Plugin  string    `json:"plugin,omitempty"` // empty when it never said its name
	Version string    `json:"version,omitempty"`
	Began   time.Time `json:"began"`
	Results []Result  `json:"results"`
}

// OK reports whether no check failed.
func (r Report) OK() bool { return r.Count(Fail) == 0 }

// Count returns how many checks ended in a way.
func (r Report) Count(status Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == status {
			n++
		}
	}
	return n
}

// WriteText writes a result for people: a line, and below it what to do.
func (r Result) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%-5s %-12s %s\n", r.Status, r.Name, r.Title)
	if r.Detail != "" {
		fmt.Fprintf(w, "      %s\n", indented(r.Detail))
	}
	if r.Status == Fail && r.Advice != "" {
		fmt.Fprintf(w, "      What to do: %s\n", indented(r.Advice))
	}
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n      ") }

// WriteSummary writes the last line of a report for people.
func (r Report) WriteSummary(w io.Writer) {
	name := r.Path
	if r.Plugin != "" {
		name = r.Plugin + " " + r.Version
	}
	verdict := "conforms"
	if !r.OK() {
		verdict = "does NOT conform"
	}
	fmt.Fprintf(w, "\n%s %s: %d passed, %d failed, %d skipped.\n", name, verdict, r.Count(Pass), r.Count(Fail), r.Count(Skip))
}

// fault is a failed check: what was seen and what to do about it.
type fault struct{ what, advice string }

func (f fault) Error() string { return f.what }

func faultf(advice, format string, args ...any) error {
	return fault{what: fmt.Sprintf(format, args...), advice: advice}
}

// skipped is a check that was left out, and why.
type skipped string

func (s skipped) Error() string { return string(s) }

// describeAs keeps the first manifest for the report and the checks.
func (x *exam) describeAs(manifest pluginsdk.Manifest) {
	if x.manifest.Name == "" {
		x.manifest = manifest
		x.report.Plugin, x.report.Version = manifest.Name, manifest.Version
	}
}
