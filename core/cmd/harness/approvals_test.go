package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	toolApproval     = "01990000-0000-7000-8000-0000aaaaaaaa"
	questionApproval = "01990000-0000-7000-8000-0000bbbbbbbb"
	oldApproval      = "01990000-0000-7000-8000-0000cccccccc"
	makeRule         = "01990000-0000-7000-8000-0000dddddddd"
)

func withApprovals(t *testing.T) *clienttest.Daemon {
	t.Helper()
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("I did it.") })
	t.Setenv("HARNESS_URL", daemon.URL())
	asked := time.Now().Add(-time.Hour)
	for _, approval := range []pluginsdk.Approval{
		{ID: oldApproval, State: pluginsdk.ApprovalDenied, Title: "Fetch a page", Author: "Bob", Plugin: "discord", Words: "not that one", DecidedAt: time.Now()},
		{ID: toolApproval, Tool: "Bash", Title: "Run a command", Text: "rm -rf build\x1b[2K", Input: []byte(`{"command":"rm -rf build"}`), Cwd: "/home/ann", Choices: []pluginsdk.ApprovalChoice{
			{ID: "allow", Label: "Allow once", Allow: true}, {ID: "rule:command", Label: "Allow always", Allow: true, Rule: "commands that begin with `rm`"}, {ID: "deny", Label: "Deny"},
		}},
		{ID: questionApproval, ThreadID: "T", Kind: pluginsdk.ApprovalQuestion, Title: "Two questions", Questions: []pluginsdk.AgentQuestion{
			{Text: "Which?", Options: []pluginsdk.QuestionOption{{Label: "this", Description: "the first"}, {Label: "that"}}},
			{Text: "Why?", Multiple: true, Options: []pluginsdk.QuestionOption{{Label: "a"}, {Label: "b"}}},
		}},
	} {
		approval.CreatedAt, approval.RunID = asked, "run-1"
		daemon.AddApproval(approval)
	}
	daemon.AddRule(pluginsdk.ApprovalRule{ID: makeRule, ThreadID: clienttest.Primary, Text: "commands that begin with `make`", Author: "Ann", CreatedAt: asked})
	return daemon
}

func TestApprovalsList(t *testing.T) {
	daemon := withApprovals(t)
	daemon.Shorten(1) // pages are short
	for line, want := range map[string][]string{
		"approvals list":                               {toolApproval, questionApproval},
		"approvals list --all":                         {toolApproval, questionApproval, oldApproval},
		"approvals list --state denied --state open":   {toolApproval, questionApproval, oldApproval},
		"approvals list --thread T":                    {questionApproval},
		"approvals list --state expired":               nil,
		"approvals list --state denied,expired --json": {oldApproval},
	} {
		got := harness(t, "", strings.Fields(line)...)
		for _, id := range []string{toolApproval, questionApproval, oldApproval} {
			if strings.Contains(got.out, id) != slices.Contains(want, id) {
				t.Errorf("%s: %+v", line, got)
			}
		}
		if want == nil && got.out != "The agent asks nothing; --all lists what is over, too.\n" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	got := harness(t, "", "approvals", "list")
	got.want(t, 0, "ID                                    STATE  AGE     EXPIRES    THREAD   TITLE\n", "")
	got.want(t, 0, toolApproval+"  open   1 hour  in 2 days  Primary  Run a command\n", "")
	harness(t, "", "approvals", "list", "--state", "maybe").want(t, exitFailed, "", `--state: "maybe" is not accepted; it is open`)
	harness(t, "", "approvals", "list", "--url", "http://127.0.0.1:1").want(t, exitUnreachable, "", "no daemon answers")
}

// Who decides must see what they decide on: a command must not repaint what is shown of it.
func TestApprovalsShow(t *testing.T) {
	withApprovals(t)
	got := harness(t, "", "approvals", "show", "aaaaaaaa")
	for _, part := range []string{
		"Run a command (" + toolApproval + ")\nopen: it waits for an answer, and is denied in 2 days\n", `    rm -rf build\x1b[2K` + "\n  in /home/ann\n",
		"harness approvals allow " + toolApproval + " --rule command", "from now on, unasked: commands that begin with `rm`", "harness approvals deny " + toolApproval + " [WORDS]",
	} {
		got.want(t, 0, part, "")
	}
	if strings.Contains(got.out, "\x1b") {
		t.Errorf("%q", got.out)
	}
	harness(t, "", "approvals", "show", "bbbbbbbb").want(t, 0, "  1. Which?\n     1  this - the first\n     2  that\n  2. Why?\n     several may be taken\n", "")
	harness(t, "", "approvals", "show", "cccccccc").want(t, 0, "denied by Bob through discord: not that one\n", "")
	var approval pluginsdk.Approval
	asJSON := harness(t, "", "approvals", "show", toolApproval, "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &approval); err != nil || string(approval.Input) == "" {
		t.Errorf("%v: %+v", err, asJSON)
	}
	for part, want := range map[string]string{
		"0199000": "is part of more than one id: " + questionApproval + ", " + toolApproval,
		"aaaaa":   "names no approval: an id is given whole",
		"eeeeee":  "`harness approvals list --all` lists those that there are",
	} {
		harness(t, "", "approvals", "show", part).want(t, exitFailed, "", want)
	}
	harness(t, "", "approvals", "show").want(t, exitUsage, "", "ID is missing")
}

func TestApprovalsAreAnswered(t *testing.T) {
	daemon := withApprovals(t)
	harness(t, "", "approvals", "allow", "aaaaaaaa", "--rule", "everything").want(t, exitFailed, "", "rule:everything is no answer to "+toolApproval+"; it offers allow, rule:command, deny")
	harness(t, "", "approvals", "allow", "bbbbbbbb").want(t, exitFailed, "", "it is a question: harness approvals answer "+questionApproval)
	harness(t, "", "approvals", "answer", "aaaaaaaa", "yes").want(t, exitFailed, "", "it asks no question but whether the agent may")
	harness(t, "", "approvals", "answer", "bbbbbbbb", "1").want(t, exitFailed, "", "there are 2 questions, and these are 1 answers")
	harness(t, "", "approvals", "answer", "bbbbbbbb", "1,2", "x").want(t, exitFailed, "", "answer 1: one option is wanted, and these are 2")
	if got := daemon.Answered(); len(got) > 0 {
		t.Fatalf("answered %q", got)
	}
	harness(t, "", "approvals", "allow", "aaaaaaaa", "--rule", "command").want(t, 0,
		"Allowed: Run a command\n    rm -rf build\\x1b[2K\n  in /home/ann\nFrom now on, unasked: commands that begin with `rm`\n", "")
	harness(t, "", "approvals", "deny", "aaaaaaaa", "too", "late").want(t, exitFailed, "", "is allowed, by ")
	harness(t, "", "approvals", "answer", "bbbbbbbb", "that", "1,2").want(t, 0, "Answered: Two questions\n", "")
	other, _ := daemon.AddApproval(pluginsdk.Approval{ID: "01990000-0000-7000-8000-0000eeeeeeee", Title: "x", Text: "y"})
	harness(t, "", "approvals", "deny", "eeeeeeee", "use", "make").want(t, 0, "Denied: x\n    y\n", "")
	another, _ := daemon.AddApproval(pluginsdk.Approval{ID: "01990000-0000-7000-8000-0000ffffffff", Title: "x"})
	harness(t, "", "approvals", "allow", "ffffffff", "--json").want(t, 0, `"state": "allowed"`, "")
	want := []string{
		toolApproval + ` {"choice":"rule:command"}`, questionApproval + ` {"answers":[{"labels":["that"]},{"labels":["a","b"]}]}`,
		other.ID + ` {"choice":"deny","words":"use make"}`, another.ID + ` {"choice":"allow"}`,
	}
	if got := daemon.Answered(); !slices.Equal(got, want) {
		t.Errorf("answered %q; want %q", got, want)
	}
	harness(t, "", "approvals", "show", "bbbbbbbb").want(t, 0, "     → that\n", "")
	if by := daemon.Approval(toolApproval).Author; by == "" {
		t.Error("nobody knows who it was")
	}
}

func TestRulesAreListedAndRevoked(t *testing.T) {
	withApprovals(t)
	harness(t, "", "approvals", "rules").want(t, 0, makeRule+"  1 hour  Primary  Ann  commands that begin with `make`\n", "")
	harness(t, "", "approvals", "rules", "--thread", "T").want(t, 0, "There are no rules", "")
	harness(t, "", "approvals", "rules", "--json").want(t, 0, `"approvalId": ""`, "")
	harness(t, "", "approvals", "revoke", "eeeeee").want(t, exitFailed, "", "`harness approvals rules` lists")
	harness(t, "", "approvals", "revoke", "dddddddd").want(t, 0, "The agent asks again: commands that begin with `make`\n", "")
	harness(t, "", "approvals", "rules").want(t, 0, "There are no rules", "")
}

func TestShellsCompleteApprovals(t *testing.T) {
	withApprovals(t)
	for line, want := range map[string][]string{
		"approvals allow": {toolApproval, questionApproval}, "approvals show": {toolApproval, questionApproval, oldApproval}, "approvals revoke": {makeRule},
	} {
		got := harness(t, "", append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		for _, id := range []string{toolApproval, questionApproval, oldApproval, makeRule} {
			if strings.Contains(got.out, id) != slices.Contains(want, id) {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
}

// lookout closes seen once a text was written to it, by one goroutine at a time.
type lookout struct {
	buffer bytes.Buffer
	text   string
	seen   chan struct{}
	closed bool
}

func (l *lookout) Write(text []byte) (int, error) {
	n, err := l.buffer.Write(text)
	if !l.closed && strings.Contains(l.buffer.String(), l.text) {
		l.closed = true
		close(l.seen)
	}
	return n, err
}

// A script must not wait for an answer that nobody there can give, unless it says so.
func TestSendSaysWhetherSomebodyAnswers(t *testing.T) {
	isolate(t)
	var daemon *clienttest.Daemon
	daemon = clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "ask" {
			approval, over := daemon.AskPeople(pluginsdk.Approval{RunID: turn.Accepted.RunID, Title: "Run a command\x1b[2K"})
			<-over
			turn.Reply("It was " + string(daemon.Approval(approval.ID).State) + ".")
			return
		}
		turn.Reply("done")
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	harness(t, "", "send", "one").want(t, 0, "done", "")
	harness(t, "", "send", "--no-ask", "two").want(t, 0, "done", "")
	waits, told := make(chan result, 1), &lookout{text: "harness approvals show approval-1)\n", seen: make(chan struct{})}
	go func() {
		var out bytes.Buffer
		code := run(t.Context(), []string{"send", "--ask", "ask"}, streams{strings.NewReader("y\n"), &out, told})
		waits <- result{code, out.String(), told.buffer.String()}
	}()
	select {
	case <-told.seen:
	case got := <-waits:
		t.Fatalf("%+v", got)
	}
	harness(t, "", "approvals", "allow", "approval-1").want(t, 0, "Allowed, once", "")
	got := <-waits
	harness(t, "", "approvals", "allow", "approval-1").want(t, 0, "Answered so before: allowed, once", "")
	got.want(t, 0, "It was allowed.\n", `? The agent asks: Run a command\x1b[2K`+"\n  (it waits for an answer: harness approvals show approval-1)\n")
	if attended := daemon.Attended(); !slices.Equal(attended, []bool{false, false, true}) {
		t.Errorf("attended: %v", attended)
	}
	harness(t, "", "send", "--ask", "--no-ask", "x").want(t, exitFailed, "", "--ask, --no-ask: want one of the two")
}
