package tasks

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that says what another one's work is would choose what is reviewed: evidence has the
// name of who gave it, and a task the name of the plugin that gave it its directory.
func TestEvidenceCarriesItsMaker(t *testing.T) {
	forged := []pluginsdk.Evidence{{Kind: "tree", Tree: "FORGED", Plugin: "worktree"}}
	var seen, handed []pluginsdk.Evidence
	var task pluginsdk.Task
	stranger := &reviewer{info: pluginsdk.PluginInfo{Name: "stranger"}, complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Evidence: forged}, nil
	}}
	maker := worktree("/repo/tree")
	maker.info = pluginsdk.PluginInfo{Name: "worktree", Granted: []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}}
	maker.complete = func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Evidence: []pluginsdk.Evidence{{Kind: "tree", Tree: "T"}}}, nil
	}
	gate := &reviewer{
		info: pluginsdk.PluginInfo{Name: "gate"},
		complete: func(_ context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			seen, task = r.Evidence, r.Task
			return says(pluginsdk.VerdictAccept)(nil, r)
		},
		validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			handed = r.Evidence
			return nil, nil //nolint:nilnil // nothing to say
		},
	}
	w := newWorld(t, storetest.Open(t), stranger, maker, gate)
	done := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	makers := func(evidence []pluginsdk.Evidence) (names []string) {
		for _, e := range evidence {
			names = append(names, e.Plugin+" "+e.Tree)
		}
		return names
	}
	if task.CwdPlugin != "worktree" || !slices.Equal(makers(seen), []string{"stranger FORGED", "worktree T"}) {
		t.Errorf("of the task that works in %q by %q the gate was shown %q", task.Cwd, task.CwdPlugin, makers(seen))
	}
	if got := makers(handed); len(got) != 3 || !slices.Equal(got[:2], []string{"stranger FORGED", "worktree T"}) || !strings.HasPrefix(got[2], "gate ") {
		t.Errorf("who hands over was shown %q", got)
	}
	_, answers, err := w.store.TaskHistory(t.Context(), done.ID, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		for _, e := range a.Evidence {
			if e.Plugin != a.Plugin {
				t.Errorf("evidence of %s is stored as that of %q", a.Plugin, e.Plugin)
			}
		}
	}
}

// The work is of the plugin that gave the task the directory that it has now; that of a task
// which stays where it was is nobody's.
func TestWhoseWorkATaskIs(t *testing.T) {
	moves := func(name, cwd string) *reviewer {
		return &reviewer{
			info: pluginsdk.PluginInfo{Name: name, Granted: []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}},
			create: func(_ context.Context, r *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
				return &pluginsdk.OnTaskCreateResponse{Cwd: &cwd}, nil
			},
		}
	}
	for name, row := range map[string]struct {
		plugins []*reviewer
		want    string
	}{
		"nobody's":            {nil, ""},
		"stays":               {[]*reviewer{moves("a", "/repo")}, ""},
		"moved":               {[]*reviewer{moves("a", "/repo/tree")}, "a"},
		"the last one's":      {[]*reviewer{moves("a", "/elsewhere"), moves("b", "/repo/tree")}, "b"},
		"said once more":      {[]*reviewer{moves("a", "/repo/tree"), moves("b", "/repo/tree")}, "a"},
		"moved and back":      {[]*reviewer{moves("a", "/repo/tree"), moves("b", "/repo")}, ""},
		"deeper by a later":   {[]*reviewer{moves("a", "/repo/tree"), moves("b", "/repo/tree/deep")}, "b"},
		"away and back again": {[]*reviewer{moves("a", "/repo/tree"), moves("b", "/repo"), moves("c", "/repo/tree")}, "c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.Open(t), row.plugins...)
			if task := w.settled(w.create(pluginsdk.NewTask{Cwd: "/repo"})); task.CwdPlugin != row.want || task.Status != pluginsdk.TaskRunning {
				t.Errorf("%s in %s: the work of %q, want %q (%s)", task.Status, task.Cwd, task.CwdPlugin, row.want, task.Error)
			}
		})
	}
}

// Others must not crowd out what the maker of the work says.
func TestTheMakersEvidenceIsAlwaysShown(t *testing.T) {
	long := strings.Repeat("x", maxWords)
	much := slices.Repeat([]pluginsdk.Evidence{{Kind: "noise", Output: long, Diff: long}}, maxEvidence)
	var answers []ledger.TaskAnswer
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "worktree"} {
		answers = append(answers, ledger.TaskAnswer{Round: 1, Phase: ledger.PhaseReviewing, Plugin: name, Evidence: much})
	}
	answers[7].Evidence = []pluginsdk.Evidence{{Kind: "tree", Tree: "T", Plugin: "a"}, {Kind: "diff", Diff: long}}
	task := ledger.Task{Task: pluginsdk.Task{CwdPlugin: "worktree"}}
	got := shown(task, answers, 1)
	if last := got[len(got)-2]; size(got...) > maxShown || last.Tree != "T" || last.Plugin != "worktree" {
		t.Errorf("of %d bytes the last but one is %s %s of %s", size(got...), last.Kind, last.Tree, last.Plugin)
	}
}

// A gate that finds that a person has to decide says so with its verdict: nothing is asked
// again, the person reads why, and approves what was shown in that round.
func TestAVerdictThatWaitsForAPerson(t *testing.T) {
	var handed []pluginsdk.Evidence
	gate := &reviewer{
		complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			return &pluginsdk.OnTaskCompleteResponse{
				Verdict: pluginsdk.VerdictWait, Feedback: "too large to be read", Marks: []string{"unread"}, Evidence: []pluginsdk.Evidence{{Kind: "tree", Tree: "T"}},
			}, nil
		},
		validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			handed = r.Evidence
			return nil, nil //nolint:nilnil // nothing to say
		},
	}
	w := newWorld(t, storetest.Open(t), gate)
	task := w.worked(pluginsdk.NewTask{})
	if task.Status != pluginsdk.TaskWaiting || task.Error != "too large to be read" || !slices.Equal(task.Marks, []string{"unread"}) || len(gate.called()) != 1 {
		t.Fatalf("%s %q, marks %q, after %d calls", task.Status, task.Error, task.Marks, len(gate.called()))
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(handed) != 1 || handed[0].Tree != "T" || task.Marks != nil {
		t.Errorf("approved: %s, marks %q, with %+v", task.Status, task.Marks, handed)
	}
}
