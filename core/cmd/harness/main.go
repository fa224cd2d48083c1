// Command harness runs the daemon and talks to it. Each subcommand has a file of
// its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

// What the binary is, in its own words: set when it is built by make.
var (
	version = "dev"
	commit  = "" // the whole hash
	date    = "" // of the commit, RFC 3339 in UTC: two builds of a commit are the same
)

// Exit codes.
const (
	exitFailed      = 1
	exitUnreachable = 2  // no daemon answers
	exitUsage       = 64 // the command line is wrong (EX_USAGE of sysexits.h)
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// errSilent fails a command that has said why already.
var errSilent = errors.New("failed")

// run carries out a command line and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	root, begun := newRoot(std)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var away *client.Unreachable
	var wrong *misused
	switch {
	case errors.Is(err, errSilent):
		return exitFailed
	case errors.As(err, &away):
		fmt.Fprintf(std.err, "harness: %s\nStart one with `harness up`, or name another address with --server, --url, --port or HARNESS_URL;\n`harness doctor` says what is wrong on this machine.\n", err)
		return exitUnreachable
	case errors.As(err, &wrong):
		fmt.Fprintln(std.err, misuse(cmd, wrong.error))
		if wrong.hint != "" {
			fmt.Fprintln(std.err, wrong.hint)
		}
		return exitUsage
	case !*begun:
		fmt.Fprintln(std.err, misuse(cmd, err))
		return exitUsage
	}
	words := strings.ReplaceAll(terminal.Clean(err.Error()), "\n", "; ") // a daemon elsewhere may have said it
	fmt.Fprintf(std.err, "harness: %s\n%s%s", words, whereListed(words), howKnown(err))
	return exitFailed
}

// howKnown says how to be known to a daemon that has not let somebody in.
func howKnown(err error) string {
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Status != http.StatusUnauthorized {
		return ""
	}
	return "The token is missing, was revoked, or is over. On the daemon's own machine, its user needs none: the command reads\n" +
		"DATA/owner.token (restart the daemon if that was deleted or revoked). `harness token create` makes one for others;\n" +
		"give it with --token-file FILE or HARNESS_TOKEN, or save it: `harness profile save NAME --server URL --token-file FILE`.\n"
}

// whereListed says which command lists what there is, after an error that something is
// not there.
func whereListed(words string) string {
	for _, of := range []struct{ words, command string }{
		{"no thread with the id ", "threads"}, {"no delivery with the id ", "delivery list"}, {"no file with the id ", "file list"},
		{"no task with the id ", "task list --all"},
		{"no workflow with the id ", "workflow status"}, {"no approval with the id ", "approvals list --all"}, {"no rule with the id ", "approvals rules"},
		{"there is no tool ", "tools list"}, {"has no tool ", "tools list"},
	} {
		if strings.Contains(words, of.words) {
			return "`harness " + of.command + "` lists those that there are.\n"
		}
	}
	return ""
}
