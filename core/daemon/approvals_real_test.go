package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/approvals"
	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// clerk is a model that appends a line to a file when it is asked to, by a command that
// nothing allows, and says what became of it.
func clerk(r fakeapi.Request) fakeapi.Reply {
	if results := r.ToolResults(); len(results) > 0 {
		return fakeapi.Reply{Text: "it said: " + string(results[0].Content)}
	}
	prompt := r.Prompt()
	for name, tool := range map[string]string{"use:": "", "append:": "Bash"} {
		at := strings.LastIndex(prompt, name)
		if at < 0 {
			continue
		}
		rest := strings.TrimSpace(strings.SplitN(prompt[at+len(name):], "\n", 2)[0])
		input := json.RawMessage(fmt.Sprintf(`{"command":"echo line >> %s","description":"try %d"}`, rest, len(r.Messages)))
		if tool == "" {
			tool, rest, _ = strings.Cut(rest, " ")
			input = json.RawMessage(rest)
		}
		return fakeapi.Reply{Text: "I try.", Tools: []fakeapi.ToolUse{{Name: tool, Input: input}}}
	}
	return fakeapi.Reply{Text: "nothing to do"}
}

// openApproval waits for what a run asks, besides those that are known.
func (in *installation) openApproval(runID string, known ...string) (approval pluginsdk.Approval) {
	in.t.Helper()
	in.until("a question of run "+runID, func() bool {
		var page struct{ Approvals []pluginsdk.Approval }
		if !in.reach("/api/approvals?state=open&run="+runID, &page) {
			return false
		}
		for _, one := range page.Approvals {
			if !slices.Contains(known, one.ID) {
				approval = one
			}
		}
		return approval.ID != ""
	})
	return approval
}

// askedOrEnded waits until a run has a question open, or has ended without one.
func (in *installation) askedOrEnded(runID string) (approval pluginsdk.Approval, asked bool) {
	in.t.Helper()
	in.until("a question or the end of run "+runID, func() bool {
		var page struct{ Approvals []pluginsdk.Approval }
		if in.reach("/api/approvals?state=open&run="+runID, &page) && len(page.Approvals) > 0 {
			approval, asked = page.Approvals[0], true
		}
		return asked || in.run(runID).State.Final()
	})
	return approval, asked
}

// reach reads from a daemon that may be away, and reports whether it answered.
func (in *installation) reach(path string, out any) bool {
	in.t.Helper()
	response, err := http.Get(in.base + path)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK && json.NewDecoder(response.Body).Decode(out) == nil
}

// decide answers with a token of the name that the body has as author, else with the owner's.
func (in *installation) decide(approval pluginsdk.Approval, body map[string]any) (status int) {
	in.t.Helper()
	made := struct{ Secret string }{owner.Token(in.base)}
	if name, named := body["author"]; named {
		if status := in.call(http.MethodPost, "/api/tokens", map[string]any{"name": name, "scope": pluginsdk.ScopeApprove}, &made); status != http.StatusCreated {
			in.t.Errorf("make a token for %v: %d", name, status)
		}
	}
	return in.callAs(made.Secret, http.MethodPost, "/api/approvals/"+approval.ID+"/decide", body, nil)
}

func (in *installation) ended(runID string) pluginsdk.Run {
	in.t.Helper()
	in.until("the end of run "+runID, func() bool { return in.run(runID).State.Final() })
	return in.run(runID)
}

func lineCount(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(content), "\n")
}

// What nothing allows is asked, and done as people answer: once, by rule until that is
// revoked, or not at all; questions and plans are answered the same way.
func TestTheRealAgentAsksPeople(t *testing.T) {
	if !apart(t) {
		return
	}
	in := leanInstallation(t, "")
	api := in.claude()
	api.Handle(clerk)
	in.start()
	thread, file := in.thread("talk"), filepath.Join(t.TempDir(), "lines")
	ask := func(body map[string]any, content string) (pluginsdk.Run, pluginsdk.Approval) {
		t.Helper()
		run := in.chat(thread, content)
		approval := in.openApproval(run.RunID)
		if status := in.decide(approval, body); status != http.StatusOK {
			t.Fatalf("decide: %d", status)
		}
		return in.ended(run.RunID), approval
	}
	said := func(run pluginsdk.Run, want string) {
		t.Helper()
		if run.Result == nil || !strings.Contains(run.Result.Text, want) {
			t.Errorf("it said %+v, %s; want %q", run.Result, run.Error, want)
		}
	}

	run, approval := ask(map[string]any{"choice": "allow", "author": "Ann"}, "append: "+file)
	if lineCount(t, file) != 1 || run.State != pluginsdk.RunSucceeded || !strings.Contains(approval.Text, "echo line") {
		t.Errorf("allowed once: %d lines, %s %s, asked %+v", lineCount(t, file), run.State, run.Error, approval)
	}
	ask(map[string]any{"choice": "deny", "words": "not today", "author": "Ann"}, "append: "+file)
	if lineCount(t, file) != 1 {
		t.Errorf("it was done again unasked")
	}
	run, _ = ask(map[string]any{"choice": "deny", "words": "not today", "author": "Ann"}, "append: "+file)
	said(run, "not today")

	_, approval = ask(map[string]any{"choice": "rule:1", "author": "Ann"}, "append: "+file)
	again := in.ended(in.chat(thread, "append: "+file).RunID)
	if lineCount(t, file) != 3 || again.State != pluginsdk.RunSucceeded {
		t.Errorf("by rule: %d lines, %s %s", lineCount(t, file), again.State, again.Error)
	}
	var rules struct{ Rules []pluginsdk.ApprovalRule }
	in.call(http.MethodGet, "/api/approvals/rules?thread="+thread, nil, &rules)
	if len(rules.Rules) != 1 || rules.Rules[0].ApprovalID != approval.ID || rules.Rules[0].Author != "Ann" {
		t.Fatalf("rules %+v", rules)
	}
	if status := in.call(http.MethodDelete, "/api/approvals/rules/"+rules.Rules[0].ID, nil, nil); status != http.StatusNoContent {
		t.Errorf("revoke: %d", status)
	}
	ask(map[string]any{"choice": "deny"}, "append: "+file)
	if lineCount(t, file) != 3 {
		t.Error("a revoked rule allowed it")
	}

	question := `use:AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,` +
		`"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`
	run, approval = ask(map[string]any{"choice": "answer:2"}, question)
	said(run, "Blue")
	if approval.Kind != pluginsdk.ApprovalQuestion || approval.Title != "Which colour?" {
		t.Errorf("asked %+v", approval)
	}
	run, _ = ask(map[string]any{"answers": []pluginsdk.QuestionAnswer{{Text: "neither"}}}, question)
	said(run, "neither")

	if status := in.call(http.MethodPatch, "/api/threads/"+thread, map[string]string{"permissionMode": "plan"}, nil); status != http.StatusOK {
		t.Fatalf("PATCH: %d", status)
	}
	run, approval = ask(map[string]any{"choice": "deny", "words": "think harder"}, `use:ExitPlanMode {"plan":"1. do it"}`)
	said(run, "think harder")
	if approval.Kind != pluginsdk.ApprovalPlan || approval.Text != "1. do it" {
		t.Errorf("asked %+v", approval)
	}
	run, _ = ask(map[string]any{"choice": "allow"}, `use:ExitPlanMode {"plan":"1. do it"}`)
	said(run, "approved")
	run, _ = ask(map[string]any{"choice": "allow"}, `use:ExitPlanMode {"plan":"2. do more"}`) // each message is planned first
	said(run, "approved")

	// Two people at once: one answer holds, and the other is told whose.
	accepted := in.chat(thread, "append: "+file)
	approval = in.openApproval(accepted.RunID)
	var both sync.WaitGroup
	statuses := make([]int, 2)
	for i, choice := range []string{"allow", "deny"} {
		both.Go(func() { statuses[i] = in.decide(approval, map[string]any{"choice": choice, "author": choice}) })
	}
	both.Wait()
	in.ended(accepted.RunID)
	slices.Sort(statuses)
	if !slices.Equal(statuses, []int{http.StatusOK, http.StatusConflict}) {
		t.Errorf("two people at once: %v", statuses)
	}
	before, one := lineCount(t, file), pluginsdk.Approval{}
	in.call(http.MethodGet, "/api/approvals/"+approval.ID, nil, &one)
	if done := before == 4; done != (one.State == pluginsdk.ApprovalAllowed) || one.Author != one.Choice {
		t.Errorf("%d lines, decided %s by %s", before, one.State, one.Author)
	}

	// Where nobody is there, nobody is asked.
	var unattended pluginsdk.Accepted
	if status := in.call(http.MethodPost, "/api/chat", map[string]any{"threadId": thread, "content": "append: " + file, "unattended": true}, &unattended); status != http.StatusAccepted {
		t.Fatalf("POST /api/chat: %d", status)
	}
	said(in.ended(unattended.RunID), "not permitted")
	if lineCount(t, file) != before || in.count("SELECT COUNT(*) FROM approvals WHERE state = 'open'") != 0 {
		t.Error("somebody was asked, or nobody and it was done")
	}
	if n := in.count("SELECT COUNT(*) FROM audit_entries WHERE action LIKE 'approval.%' AND who LIKE 'plugin:web (Ann, token %)'"); n != 4 {
		t.Errorf("%d answers of Ann's in the audit log", n)
	}
}

// A turn that nobody answers gives everything back, and its answer finds it, days and a
// restart later.
func TestTheRealAgentIsParkedOvernight(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		api := in.claude()
		api.Handle(clerk)
		in.config.ApprovalPark = 50 * time.Millisecond
		stop := in.start()
		thread, file := in.thread("talk"), filepath.Join(t.TempDir(), "lines")
		accepted := in.chat(thread, "append: "+file)
		in.until("the wait", func() bool { return in.run(accepted.RunID).State == pluginsdk.RunWaiting })
		if clis := in.clis(); len(clis) > 0 {
			t.Errorf("it waits with processes %v", clis)
		}
		behind := in.chat(thread, "hello")
		stop()
		stop = in.start()
		if run := in.run(accepted.RunID); run.State != pluginsdk.RunWaiting {
			t.Errorf("after a restart it is %s", run.State)
		}
		if status := in.decide(in.openApproval(accepted.RunID), map[string]any{"choice": "allow", "author": "Ann"}); status != http.StatusOK {
			t.Fatalf("decide: %d", status)
		}
		if run := in.ended(accepted.RunID); run.State != pluginsdk.RunSucceeded || lineCount(t, file) != 1 {
			t.Errorf("it ended %s %s with %d lines", run.State, run.Error, lineCount(t, file))
		}
		if run := in.ended(behind.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("what waited behind it ended %s %s", run.State, run.Error)
		}
		if asked := in.count("SELECT COUNT(*) FROM approvals"); asked != 1 {
			t.Errorf("people were asked %d times", asked)
		}
		// A stop ends one that waits, and takes its question back.
		accepted = in.chat(thread, "append: "+file)
		in.until("the wait", func() bool { return in.run(accepted.RunID).State == pluginsdk.RunWaiting })
		if status := in.call(http.MethodPost, "/api/threads/"+thread+"/stop", nil, nil); status != http.StatusOK {
			t.Errorf("stop: %d", status)
		}
		if run := in.ended(accepted.RunID); run.State != pluginsdk.RunCancelled || in.count("SELECT COUNT(*) FROM approvals WHERE state = 'open'") != 0 {
			t.Errorf("after a stop it is %s, and %d are open", run.State, in.count("SELECT COUNT(*) FROM approvals WHERE state = 'open'"))
		}
		stop()
	})
}

// kill -9 between asked, stored, shown, answered, spent and told: nothing is done that was
// not allowed, what was allowed is done, and nobody waits for good.
func TestKillAtEveryStepOfAQuestion(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		api := in.claude()
		api.Handle(clerk)
		in.spawn()
		for _, step := range append(slices.Clone(approvals.FaultPoints), "told") {
			in.subtest(step, func(t *testing.T) { killAtQuestion(t, in, step) })
		}
		in.quit()
	})
}

func killAtQuestion(t *testing.T, in *installation, step string) {
	thread, file := in.thread("killed at "+step), filepath.Join(t.TempDir(), "lines")
	point := step
	if step == "told" { // the first event after the answer
		point = ""
	}
	in.deadly(1, point)
	accepted := in.chat(thread, "append: "+file)
	var known []string
	deaths := 0
	in.until("the end of the run", func() bool {
		if in.died() {
			deaths++
			in.deadly(0)
			in.spawn()
		}
		var page struct{ Approvals []pluginsdk.Approval }
		if !in.reach("/api/approvals?state=open&run="+accepted.RunID, &page) {
			return false
		}
		for _, one := range page.Approvals {
			if step == "told" && len(known) == 0 {
				in.deadly(1, "invoking")
			}
			if !slices.Contains(known, one.ID) {
				known = append(known, one.ID)
			}
			if deaths > 0 || step == "answered" || step == "spent" || step == "told" {
				in.tryToAllow(one)
			} // else once the daemon has died
		}
		return in.over(accepted.RunID)
	})
	in.deadly(0)
	if in.died() {
		deaths++
		in.spawn()
	}
	run := in.run(accepted.RunID)
	lines := lineCount(t, file)
	allowed := in.count("SELECT COUNT(*) FROM approvals WHERE state = 'allowed' AND run_id = '" + run.ID + "'")
	if deaths != 1 || run.State != pluginsdk.RunSucceeded {
		t.Errorf("after %d deaths it is %s: %s", deaths, run.State, run.Error)
	}
	if lines < 1 || lines > allowed {
		t.Errorf("it was allowed %d times and done %d times", allowed, lines)
	}
	if step != "spent" && step != "told" && (allowed != 1 || lines != 1) {
		t.Errorf("people were asked %d times, and it was done %d times", allowed, lines)
	}
	if step == "spent" {
		var one pluginsdk.Approval
		in.call(http.MethodGet, "/api/approvals/"+known[len(known)-1], nil, &one)
		if len(known) != 2 || !strings.Contains(one.Note, "may already have been done") {
			t.Errorf("asked %d times, the last time saying %q", len(known), one.Note)
		}
	}
	if open := in.count("SELECT COUNT(*) FROM approvals WHERE state = 'open'"); open != 0 {
		t.Errorf("%d are open still", open)
	}
}

// tryToAllow allows, if the daemon is there to hear it. What was said to one that died is
// said again.
func (in *installation) tryToAllow(approval pluginsdk.Approval) {
	in.t.Helper()
	body := strings.NewReader(`{"choice":"allow","author":"Ann"}`)
	if response, err := http.Post(in.base+"/api/approvals/"+approval.ID+"/decide", "application/json", body); err == nil {
		_ = response.Body.Close()
	}
}

// over reports whether a run is over, of a daemon that may be away.
func (in *installation) over(runID string) bool {
	in.t.Helper()
	var run pluginsdk.Run
	return in.reach("/api/runs/"+runID, &run) && run.State.Final()
}
