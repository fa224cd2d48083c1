package ledger

import (
	"path/filepath"
	"regexp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A thread apart works for people who are not to know what the workspace holds: its
// directory is its own, and so are the tasks that it gives and its branches. The store tells it
// by the path when a thread is made or moved, and keeps it: a thread that is apart stays so.

// ThreadDirectory is the directory of a thread's own, where threads is the directory of all
// threads' files.
func ThreadDirectory(threads, id string) string { return filepath.Join(threads, id, "own") }

// OwnDirectory reports whether a thread works in the directory that was made for it,
// wherever the data directory was at that time.
func OwnDirectory(t pluginsdk.Thread) bool {
	return Apart(t.Cwd) && filepath.Base(t.Cwd) == "own" && filepath.Base(filepath.Dir(t.Cwd)) == t.ID
}

// Apart reports whether a directory is a thread's own, or below one.
func Apart(dir string) bool { return ownDirectory.MatchString(filepath.Clean(dir)) }

var ownDirectory = regexp.MustCompile(`/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/own(?:/|$)`)
