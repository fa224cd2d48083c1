package promptcontext

import (
	"slices"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an entry of the two settings looks like; the settings' schema has the
// same patterns.
const (
	threadsPattern = `^(primary|task|cron|general)(/[a-z][a-z0-9-]{0,31})?$`
	filePattern    = `^[^./][^/]*[.]md$`
)

var (
	threadsEntry = lazy.Regexp(threadsPattern)
	fileEntry    = lazy.Regexp(filePattern)
)

// audience says which threads are shown which context files. They hold what the
// agent knows of its owner, so who is not named is not shown them.
type audience struct {
	// Threads are shown all files. An entry is a kind of threads, or KIND/SOURCE
	// for those of one source.
	Threads []string `json:"threads"`
	// FilesForOthers are the names of the files that all other threads are shown.
	FilesForOthers []string `json:"filesForOthers"`
}

// ownersThreads are where nobody but the owner speaks, on this machine and elsewhere (a
// plugin that brings others' words too has a source of its own for the owner's), and where
// the owner's schedules do. A task has what it was given.
func ownersThreads() []string {
	return []string{"primary", "cron", "general/web", "general/cli", "general/discord-owner"}
}

// check returns an error with CodeInvalid that names the first entry that is wrong.
func (a audience) check() error {
	for _, entry := range a.Threads {
		if !threadsEntry.MatchString(entry) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"settings: threads has %q; an entry is a kind of threads (primary, task, cron or general), or KIND/SOURCE such as general/discord", entry)
		}
	}
	for _, name := range a.FilesForOthers {
		if !fileEntry.MatchString(name) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"settings: filesForOthers has %q; an entry is the name of a file in the context directory, such as system.md", name)
		}
	}
	return nil
}

// shows reports whether a thread is shown the file of this name. Of a thread apart no kind
// and no source decides.
func (a audience) shows(thread pluginsdk.Thread, name string) bool {
	if thread.Apart {
		return slices.Contains(a.FilesForOthers, name)
	}
	kind := string(thread.Kind)
	return slices.Contains(a.Threads, kind) || slices.Contains(a.Threads, kind+"/"+thread.Source) ||
		slices.Contains(a.FilesForOthers, name)
}
