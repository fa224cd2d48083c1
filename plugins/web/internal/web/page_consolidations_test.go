package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// remembering is a plugin as the pages meet it, such as summaries: its tool, and its command, which refuses or not.
type remembering struct {
	mu      sync.Mutex
	log     string // what the tool answers; empty: the plugin is off
	refuses string
	typed   []pluginsdk.Submission
	called  []string // with which input the tool was called
}

type (
	rememberingTools struct {
		pluginsdk.Tools
		r *remembering
	}
	rememberingMessages struct {
		pluginsdk.Messages
		r *remembering
	}
	rememberingRuns struct {
		pluginsdk.Runs
		r *remembering
	}
)

func (r rememberingTools) Call(_ context.Context, request *pluginsdk.InvokeToolRequest) (*pluginsdk.InvokeToolResponse, error) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	r.r.called = append(r.r.called, request.Name+" "+string(request.Input))
	if r.r.log == "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no plugin has the tool %s", request.Name)
	}
	return &pluginsdk.InvokeToolResponse{Result: pluginsdk.ToolResult{Structured: json.RawMessage(r.r.log)}}, nil
}

func (r rememberingMessages) Submit(_ context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	r.r.typed = append(r.r.typed, request.Submission)
	if request.Submission.Content == "/memory consolidate" && r.r.refuses == "" {
		r.r.log = strings.Replace(r.r.log, `"number": 4`, `"number": 5`, 1)
	}
	return &pluginsdk.SubmitMessageResponse{Accepted: pluginsdk.Accepted{RunID: "R"}}, nil
}

func (r rememberingRuns) Wait(context.Context, *pluginsdk.WaitRunRequest) (*pluginsdk.WaitRunResponse, error) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	return &pluginsdk.WaitRunResponse{Run: pluginsdk.Run{ID: "R", State: pluginsdk.RunSucceeded, Outcomes: []pluginsdk.Outcome{{Handled: true, Error: r.r.refuses}}}}, nil
}

func (s *instance) remembers(log string) *remembering {
	r := &remembering{log: log}
	host := &s.Plugin.host
	host.Tools, host.Messages, host.Runs = rememberingTools{host.Tools, r}, rememberingMessages{host.Messages, r}, rememberingRuns{host.Runs, r}
	if err := s.Deactivate(s.Context()); err != nil {
		s.Fatal(err)
	}
	if err := s.Activate(s.Context()); err != nil {
		s.Fatal(err)
	}
	return r
}

const consolidated = `{"on": true, "consolidations": [{"number": 4, "at": "2026-11-28T01:00:00Z", "by": "Ann <b>", "state": "done", "costUsd": 0.0148, "kept": 3, "added": 1, "replaced": 1, "refused": 1, "leftOut": 1, "archived": 1,
	"entries": [{"text": "- a <b>pond</b> (2026-11-28, message 9)", "day": "2026-11-28", "threadId": "T", "messageId": 9}],
	"gone": [{"text": "- no pond", "why": "replaced by a pond"}], "denied": [{"text": "17 castles", "why": "its sources do not say 17"}], "leftLines": [{"text": "- of a schedule", "why": "no person's message is behind it"}],
	"files": [{"path": "context/memory.md", "before": "- no pond\n", "after": "- a <b>pond</b>\n"}, {"path": "context/inbox.md", "before": "x", "after": "x"}]}]}`

// A person sees what a consolidation has done, where each entry is from and what was left out and why, and undoes it with one
// button; why it cannot be undone they read on the page.
func TestTheConsolidationsOfTheMemory(t *testing.T) {
	s := demanding(t)
	r := s.remembers(consolidated)
	ann, eve := s.logIn("Ann", pluginsdk.ScopeAdmin), s.logIn("Eve", pluginsdk.ScopeRead)
	s.expect("the files lead to them", ann.visit("/memory"), http.StatusOK, `href="/memory/consolidations"`)
	s.expect("all of them", ann.visit("/memory/consolidations"), http.StatusOK, "Consolidation 4", "Ann &lt;b&gt;", "1 added", "3 kept", "$0.0148", "Consolidate now")
	one := s.expect("one", ann.visit("/memory/consolidations/4"), http.StatusOK, "a &lt;b&gt;pond&lt;/b&gt;", `href="/chat/T?around=9#m9"`, "2026-11-28", "17 castles", "its sources do not say 17",
		"of a schedule", "no person&#39;s message is behind it", `action="/memory/consolidations/4/revert"`, "data-confirm", `aria-label="Changes of context/memory.md"`)
	if strings.Contains(one.body, "<b>pond") {
		t.Error("the text of an entry is a part of the page")
	}
	for _, page := range []string{"/memory/consolidations", "/memory/consolidations/4"} {
		if got := eve.visit(page); strings.Contains(got.body, `action="/memory/consolidations`) {
			t.Errorf("who may only read has a button on %s", page)
		}
	}
	s.expect("who may only read reverts it", eve.submit("/memory/consolidations/4/revert", "", url.Values{}), http.StatusForbidden)

	done := s.expect("reverted", ann.submit("/memory/consolidations/4/revert", "", url.Values{}), http.StatusSeeOther)
	if to := done.header.Get("Location"); to != "/memory/consolidations/4" || len(r.typed) != 1 || r.typed[0].Content != "/memory revert 4" || r.typed[0].Author != "Ann" {
		t.Errorf("it leads to %s, and was asked for as %+v", to, r.typed)
	}
	begun := s.expect("consolidated", ann.submit("/memory/consolidations", "", url.Values{}), http.StatusSeeOther)
	if to := begun.header.Get("Location"); to != "/memory/consolidations/5" {
		t.Errorf("it leads to %s", to)
	}
	r.refuses = "memory.md has changed since consolidation 4"
	s.expect("refused", ann.submit("/memory/consolidations/4/revert", "", url.Values{}), http.StatusUnprocessableEntity, `role="alert"`, "memory.md has changed since consolidation 4", "New entries")
	s.expect("refused", ann.submit("/memory/consolidations", "", url.Values{}), http.StatusUnprocessableEntity, `role="alert"`, "memory.md has changed", "Consolidation 5")

	// A record of a version that noted less says nothing of what it does not know.
	r.log = `{"on": true, "consolidations": [{"number": 2, "state": "done", "added": 1, "dropped": 1, "entries": [{"text": "- a pond (2026-10-28, message 9)", "day": "2026-10-28", "messageId": 9}, {"text": "- a heron (grey)"}]}]}`
	old := s.expect("an old one", ann.visit("/memory/consolidations/2"), http.StatusOK, "message 9", "a heron (grey)", "2026-10-28")
	if strings.Contains(old.body, "Entries kept") || strings.Contains(old.body, "Replaced") || strings.Contains(old.body, `href="/chat/`) {
		t.Errorf("it says more than is known:\n%s", old.body)
	}
}

// Where nobody consolidates, the page says so, and how that is turned on.
func TestWhereNobodyConsolidates(t *testing.T) {
	s := demanding(t)
	r := s.remembers("")
	b := s.logIn("Ann", pluginsdk.ScopeAdmin)
	off := s.expect("off", b.visit("/memory/consolidations"), http.StatusOK, "The plugin summaries is not running", "harness plugin enable summaries")
	r.log = `{"on": false, "consolidations": []}`
	setting := s.expect("turned off", b.visit("/memory/consolidations"), http.StatusOK, "The consolidation is off", "harness plugin settings set summaries memory=true")
	for _, got := range []got{off, setting} {
		if strings.Contains(got.body, "Consolidate now") {
			t.Error("there is a button that does nothing")
		}
	}
	r.log = `{"on": true, "consolidations": []}`
	s.expect("none yet", b.visit("/memory/consolidations"), http.StatusOK, "Nothing was consolidated yet", "Consolidate now")
}
