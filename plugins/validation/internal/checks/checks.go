// Package checks finds out how a project is checked (tested, linted, formatted, built),
// and runs that.
package checks

import "strings"

// Kind is what a check is for.
type Kind string

// The kinds of checks. All is one that does several of them, such as `make check`.
const (
	Build  Kind = "build"
	Types  Kind = "types"
	Lint   Kind = "lint"
	Format Kind = "format"
	Test   Kind = "test"
	All    Kind = "all"
)

// kinds are in the order in which checks are run: what is quick to fail is first.
var kinds = []Kind{Build, Types, Format, Lint, Test, All}

// Check is a command that says whether a project is in order.
type Check struct {
	Kind Kind `json:"kind"`
	// Command is the command line as people type it. It is run by sh when Args is empty.
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// Dir is where it is run, an absolute path.
	Dir string `json:"dir"`
	// Silent says that whatever it prints is a fault, although its exit code is 0.
	Silent bool `json:"silent,omitempty"`
	// Source is where it was found, such as Makefile.
	Source string `json:"source"`
}

// program is a check whose command is a program with arguments.
func program(kind Kind, source string, args ...string) Check {
	return Check{Kind: kind, Source: source, Args: args, Command: strings.Join(args, " ")}
}

// Rule is the permission rule with which an agent may run exactly this command; empty:
// the command means something to who reads the rule, and there is none for it.
func (c Check) Rule() string {
	for _, char := range c.Command {
		plain := char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || char >= '0' && char <= '9'
		if !plain && !strings.ContainsRune(" ./_-=@,+:", char) {
			return ""
		}
	}
	if c.Command == "" || strings.HasSuffix(c.Command, ":") {
		return ""
	}
	return "Bash(" + c.Command + ")"
}

// Outcome is what running a check came to.
type Outcome struct {
	Check Check `json:"check"`
	// ExitCode is the command's; that of a silent check that has printed something is 1,
	// and that of one that was killed is -1.
	ExitCode int    `json:"exitCode"`
	Output   string `json:"output,omitempty"` // its end, standard error included
	// Unable says why the check could not be run; empty: it was.
	Unable string `json:"unable,omitempty"`
	// Late says that it was ended by its time limit.
	Late bool `json:"late,omitempty"`
}

// Passed reports whether the check was run and found nothing.
func (o Outcome) Passed() bool { return o.Unable == "" && !o.Late && o.ExitCode == 0 }

// End is the end of the output, cut to so many bytes.
func (o Outcome) End(most int) string {
	if over := len(o.Output) - most; over > 0 {
		return "[the beginning is cut off] " + strings.ToValidUTF8(o.Output[over:], "")
	}
	return o.Output
}
