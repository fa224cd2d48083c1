package ledger_test

import (
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A directory that is taken for another kind shows strangers what is not theirs, or asks the
// owner about every command.
func TestWhichDirectoriesAreApart(t *testing.T) {
	const id, other = "0199c5a0-1111-7222-8333-444455556666", "0199c5a0-9999-7222-8333-444455556666"
	for dir, want := range map[string]struct{ apart, own bool }{
		"":                        {},
		"/data/workspace":         {},
		"/data/threads/" + id:     {},
		"/data/threads/x/own":     {},
		"/data/tasks/" + id:       {},
		"/srv/" + id + "/working": {},
		"/data/threads/" + id + "/own/../../../workspace": {},
		ledger.ThreadDirectory("/data/threads", id):       {true, true},
		ledger.ThreadDirectory("/moved", id):              {true, true},
		ledger.ThreadDirectory("/data/threads", other):    {true, false},
		"/data/threads/" + id + "/own/tasks/" + other:     {true, false},
		"/data/threads/" + other + "/own/" + id + "/own":  {true, true},
	} {
		if apart := ledger.Apart(dir); apart != want.apart {
			t.Errorf("%s: apart %t", dir, apart)
		}
		if own := ledger.OwnDirectory(pluginsdk.Thread{ID: id, Cwd: dir}); own != want.own {
			t.Errorf("%s: own %t", dir, own)
		}
	}
}
