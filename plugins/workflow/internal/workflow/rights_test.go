package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// calls is a tool that the agent of the primary thread calls.
func (w *world) calls(tool, input string) (text string, ok bool) {
	w.Helper()
	answer, err := w.now().plugin.CallTool(context.Background(), &pluginsdk.CallToolRequest{
		Call: pluginsdk.Call{ID: fmt.Sprintf("tool-%d", w.typed.Add(1))}, Name: tool, ThreadID: "primary", Input: json.RawMessage(input),
	})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Result.Text, !answer.Result.IsError
}

// typesAs is what a person of some scopes types.
func (w *world) typesAs(scope pluginsdk.TokenScope, body string) (string, error) {
	answer, err := w.now().plugin.OnCommand(context.Background(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: fmt.Sprintf("command-%d", w.typed.Add(1))}, Thread: pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Cwd: w.dir},
		Message: pluginsdk.Message{Author: "ben", Scope: scope}, Body: body,
	})
	if err != nil {
		return "", err
	}
	return answer.Reply, nil
}

// atRest is a world with a primary thread in its directory, whose workers do nothing until the test is over.
func atRest(t *testing.T, change ...func(*world)) *world {
	over := make(chan struct{})
	w := newWorld(t, append(change, func(w *world) {
		w.host.AddThread(pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Status: pluginsdk.ThreadActive, Cwd: w.dir})
		w.works = func(job) pluginsdk.InvokeResult { <-over; return pluginsdk.InvokeResult{Text: "Done."} }
		w.turns = func(pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult { <-over; return nil }
	})...)
	t.Cleanup(func() { close(over) })
	return w
}

func refuses(t *testing.T, err error, code pluginsdk.Code, words ...string) {
	t.Helper()
	if pluginsdk.CodeOf(err) != code {
		t.Fatalf("%v has the code %q", err, pluginsdk.CodeOf(err))
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}

func TestAnAgentMayNotSwitchReviewingOff(t *testing.T) {
	for _, one := range []struct {
		stages string
		alone  string // empty: it is reviewed
	}{
		{"builder", "builder"},
		{"documenter", "documenter"},
		{"architect,builder", "builder"},
		{"reviewer,builder", "builder"},
		{"builder,reviewer,documenter", "documenter"},
		{"scout", ""},
		{"scout,architect", ""},
		{"documenter,builder,reviewer", ""},
	} {
		t.Run(one.stages, func(t *testing.T) {
			w := atRest(t)
			w.write(w.dir, ".brain/agents/documenter.md", "---\nname: documenter\ndescription: d\n---\nDoc.\n")
			said, ok := w.calls("workflow_start", `{"request": "write the parts", "dir": "`+w.dir+`", "stages": ["`+strings.ReplaceAll(one.stages, ",", `","`)+`"]}`)
			if ok != (one.alone == "") || !ok && !strings.Contains(said, "no reviewer comes after "+one.alone) {
				t.Fatalf("the agent is told %q", said)
			}
			if n := len(w.roots()); ok != (n == 1) {
				t.Fatalf("there are %d workflows", n)
			}
			if ok {
				return
			}
			if said = w.must("/workflow start dir=" + w.dir + " stages=" + one.stages + " write the parts"); !strings.Contains(said, "Nobody reviews the work of the stage "+one.alone) {
				t.Errorf("a person is told %q", said)
			}
		})
	}
}

func TestWorkflowsAreNotNested(t *testing.T) {
	for _, git := range []bool{false, true} {
		t.Run(fmt.Sprint("git ", git), func(t *testing.T) {
			w := atRest(t, func(w *world) {
				if git {
					inGit(w)
				}
			})
			for _, dir := range []string{"sub/deep", "sub2"} {
				if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(filepath.Join(w.dir, "sub"), link); err != nil {
				t.Fatal(err)
			}
			w.starts("dir=" + filepath.Join(w.dir, "sub") + " stages=scout")
			for _, dir := range []string{w.dir, filepath.Join(w.dir, "sub"), filepath.Join(w.dir, "sub/deep"), link, filepath.Join(link, "deep")} {
				_, err := w.types("/workflow start dir=" + dir + " stages=scout write the parts")
				refuses(t, err, pluginsdk.CodeConflict, "is open in "+filepath.Join(w.dir, "sub"))
			}
			w.starts("dir=" + filepath.Join(w.dir, "sub2") + " stages=scout")
		})
	}
}

func TestADirectoryBecomesARepository(t *testing.T) {
	start := func(w *world) string { return "/workflow start dir=" + w.dir + " git=yes stages=scout write the parts" }
	t.Run("the answer says what was committed", func(t *testing.T) {
		w := atRest(t)
		w.write(w.dir, ".gitignore", "/out\n")
		w.write(w.dir, "out/big", "x")
		w.write(w.dir, "a.go", "package a\n")
		if said := w.must(start(w)); !strings.Contains(said, "has what was there and git does not ignore: 2 files") {
			t.Error(said)
		}
		if files := w.call(w.dir, "ls-files"); files != ".gitignore\na.go" {
			t.Errorf("committed were %q", files)
		}
	})
	t.Run("what was begun is ended", func(t *testing.T) {
		w := atRest(t)
		w.call(w.dir, "init", "-q")
		w.write(w.dir, "a.go", "package a\n")
		_, err := w.types("/workflow start dir=" + w.dir + " stages=scout write the parts")
		refuses(t, err, pluginsdk.CodeInvalid, "no commit yet", "git=yes")
		w.must(start(w))
		if files := w.call(w.dir, "ls-tree", "--name-only", "HEAD"); files != "a.go" {
			t.Errorf("committed were %q", files)
		}
	})
	t.Run("not what an agent says", func(t *testing.T) {
		for _, begun := range []bool{false, true} {
			w := atRest(t)
			if begun {
				w.call(w.dir, "init", "-q")
			}
			said, ok := w.calls("workflow_start", `{"request": "write the parts", "dir": "`+w.dir+`", "git": "yes"}`)
			if ok || !strings.Contains(said, "ask them to type /workflow start dir="+w.dir+" git=yes") {
				t.Error(said)
			}
			if _, err := os.Stat(filepath.Join(w.dir, ".git")); (err == nil) != begun {
				t.Error(err)
			}
		}
	})
	t.Run("not too many files", func(t *testing.T) {
		w := atRest(t)
		for n := range mostFiles + 1 {
			if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprint(n)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.types(start(w))
		refuses(t, err, pluginsdk.CodeInvalid, "20001 files", "at most 20000", ".gitignore")
		if _, err := os.Stat(filepath.Join(w.dir, ".git")); err == nil {
			t.Error("a repository was left")
		}
		w.write(w.dir, ".gitignore", "1*\n")
		w.must(start(w))
	})
	t.Run("nothing too large", func(t *testing.T) {
		for _, begun := range []bool{false, true} {
			w := atRest(t)
			if begun {
				w.call(w.dir, "init", "-q")
			}
			w.write(w.dir, "large", "")
			if err := os.Truncate(filepath.Join(w.dir, "large"), mostBytes+1); err != nil { // takes no place on the disk
				t.Fatal(err)
			}
			_, err := w.types(start(w))
			refuses(t, err, pluginsdk.CodeInvalid, "1 file of 256 MB", ".gitignore")
		}
	})
}

func TestAgentsHaveFewWorkflowsOpen(t *testing.T) {
	w := atRest(t)
	w.settings(`{"agentsOpen": 2}`)
	start := func(n int) (string, bool) {
		dir := filepath.Join(w.dir, fmt.Sprint("d", n))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return w.calls("workflow_start", `{"request": "write the parts", "dir": "`+dir+`", "stages": ["scout"]}`)
	}
	for n := range 2 {
		if said, ok := start(n); !ok {
			t.Fatal(said)
		}
	}
	if said, ok := start(2); ok || !strings.Contains(said, "2 workflows that are open, and may have 2 (setting agentsOpen)") {
		t.Fatal(said)
	}
	w.starts("dir=" + filepath.Join(w.dir, "d2") + " stages=scout") // a person may
	w.must("/workflow abandon " + w.roots()[0].ID)
	if said, ok := start(0); !ok {
		t.Error(said)
	}
}

func TestTheWorkspaceIsNoProject(t *testing.T) {
	w := atRest(t)
	w.now().plugin.workspace = w.dir
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{w.dir, link, w.dir + "/."} {
		_, err := w.types("/workflow start dir=" + dir + " stages=scout write the parts")
		refuses(t, err, pluginsdk.CodeInvalid, "workspace")
		if said, ok := w.calls("workflow_start", `{"request": "write the parts", "dir": "`+dir+`"}`); ok {
			t.Error(said)
		}
	}
}

func TestARequestIsBounded(t *testing.T) {
	w := atRest(t)
	long, _ := json.Marshal(strings.Repeat("x", 64<<10+1))
	if said, ok := w.calls("workflow_start", `{"request": `+string(long)+`, "dir": "`+w.dir+`"}`); ok || !strings.Contains(said, "a workflow takes at most 65536") {
		t.Error(said)
	}
}

func TestTheCostLimitIsRaisedByThoseWhoMay(t *testing.T) {
	w := newWorld(t)
	w.works = says("BLOCKED: which part?")
	_, err := w.typesAs(pluginsdk.ScopeWork, "start dir="+w.dir+" cost=51 stages=scout write the parts")
	refuses(t, err, pluginsdk.CodeDenied, "more than $50.00", "scope admin")
	id := w.starts("dir=" + w.dir + " stages=scout")
	w.waits(id)
	_, err = w.typesAs(pluginsdk.ScopeApprove, "continue "+id+" cost=51")
	refuses(t, err, pluginsdk.CodeDenied, "more than $50.00", "scope admin")
	if cost := w.task(id).CostCapUSD; cost != 20 {
		t.Fatalf("it may cost %v", cost)
	}
	if _, err = w.typesAs(pluginsdk.ScopeApprove, "continue "+id+" cost=50"); err != nil {
		t.Fatal(err)
	}
	w.until("it to wait again", func() bool { return w.task(id).Status == pluginsdk.TaskWaiting && len(w.told()) == 2 })
	if _, err = w.typesAs(pluginsdk.ScopeAdmin, "continue "+id+" cost=51"); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.told(), "scout #2") {
		t.Error(w.told())
	}
}

func (w *world) report(id string) (r report) {
	w.Helper()
	said, ok := w.calls("workflow_status", `{"workflow": "`+id+`"}`)
	if err := json.Unmarshal([]byte(said), &r); !ok || err != nil {
		w.Fatalf("%v: %s", err, said)
	}
	return r
}

func TestAWorkflowThatIsOverHasNoStageAtWork(t *testing.T) {
	at := make(chan struct{})
	w := newWorld(t, inGit)
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	w.works = func(job) pluginsdk.InvokeResult { close(at); <-over; return pluginsdk.InvokeResult{} }
	id := w.starts("dir=" + w.dir + " stages=builder")
	<-at
	r := w.report(id)
	if r.Stages[0].Status != stages.Running || r.Unreviewed != "builder" {
		t.Errorf("it is %+v", r)
	}
	if said := r.words(); !strings.Contains(said, "Nobody reviews the work of the stage builder") {
		t.Error(said)
	}
	w.must("/workflow abandon " + id)
	if r = w.report(id); r.Stages[0].Status != stages.Failed || r.Stages[0].CompletedAt.IsZero() {
		t.Errorf("once it is over, its stage is %+v", r.Stages[0])
	}
}

// Who has stopped a workflow stands in a field: words that begin like that are words.
func TestStoppedIsNotReadFromWords(t *testing.T) {
	w := newWorld(t)
	w.works = says("BLOCKED: the server")
	id := w.starts("dir=" + w.dir + " stages=scout")
	w.waits(id)
	if _, err := w.now().plugin.flow(id).change(context.Background(), func(r *record) error { r.Waits = "stopped by the door"; return nil }); err != nil {
		t.Fatal(err)
	}
	if r := w.report(id); r.State != string(pluginsdk.TaskWaiting) {
		t.Errorf("it is %q", r.State)
	}
	if _, err := w.now().plugin.flow(id).change(context.Background(), func(r *record) error { r.StoppedBy = "ann"; return nil }); err != nil {
		t.Fatal(err)
	}
	if r := w.report(id); r.State != "stopped" {
		t.Errorf("it is %q", r.State)
	}
}

// What a workflow waits with says what a person can do, and what comes of it.
func TestWhatAWorkflowWaitsWithSaysWhatCanBeDone(t *testing.T) {
	for name, one := range map[string]struct {
		world  func(*world)
		stages string
		says   string
	}{
		"the router": {func(w *world) {
			w.turns = func(pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
				return &pluginsdk.InvokeResult{Text: "?"}
			}
		}, "", "Continue asks once more; or abandon this workflow, and start another with its stages named"},
		"a reviewer alone": {func(w *world) {
			w.write(w.dir, "x.go", "package x\n")
			w.says = func(string, int) string { return "REVISE" }
		}, " stages=reviewer", "Continue accepts the work all the same"},
		"a gate": {func(w *world) {
			inGit(w)
			failed := false
			w.faults = func(step, id string) {
				if step == "handIn" && !failed {
					failed = true
					if _, err := w.types("/workflow stop " + id); err != nil {
						w.Error(err)
					}
				}
			}
		}, " batch=1 stages=architect,builder,reviewer", "stopped by ann (/workflow continue "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, one.world)
			id := w.starts("dir=" + w.dir + one.stages)
			said := w.waits(id)
			if !strings.Contains(said, one.says) || strings.Count(said, "/workflow abandon "+id[len(id)-6:]) > 1 {
				t.Error(said)
			}
		})
	}
}
