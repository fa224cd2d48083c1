package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func kept(id, name, kind string) pluginsdk.Attachment {
	return pluginsdk.File{ID: id, Name: name, Type: kind, Size: 3}.Attachment()
}

// What people attach reaches the agent, with every message that the run answers: by its
// path in the prompt, and as a file of the request. What was deleted is said to be.
func TestAttachmentsReachTheAgent(t *testing.T) {
	b := newBench()
	b.desk.missing = map[string]string{"f3": "it was deleted"}
	b.claim.Message.Attachments = []pluginsdk.Attachment{
		kept("f1", "a.png", "image/png"), kept("f3", "gone.txt", "text/plain"), {Name: "b", Type: "x/y", Size: 9, Where: "https://example.org/b"},
	}
	b.claim.Absorbed = []pluginsdk.Message{{ID: 11, ThreadID: "T", Content: "and", Attachments: []pluginsdk.Attachment{
		kept("f2", "c.csv", "text/csv"), kept("f1", "a.png", "image/png"),
	}}}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	request := b.agent.requests[0]
	for _, want := range []string{
		"[attachment a.png (image/png, 3 bytes): /in/T/f1]", "[attachment gone.txt (text/plain, 3 bytes): cannot be read: it was deleted]",
		"[attachment b (x/y, 9 bytes): https://example.org/b]", "[attachment c.csv (text/csv, 3 bytes): /in/T/f2]",
	} {
		if !strings.Contains(request.Prompt, want) {
			t.Errorf("%q is missing in %s", want, request.Prompt)
		}
	}
	want := []ledger.AgentFile{{Path: "/in/T/f1", Name: "a.png", Type: "image/png", Size: 3}, {Path: "/in/T/f2", Name: "c.csv", Type: "text/csv", Size: 3}}
	if !slices.Equal(request.Files, want) || request.In != "/in/T" || request.Out != "/out/T" {
		t.Errorf("request %+v", request)
	}
}

// A message that is put into the running turn has its files too, by their paths.
func TestSteeredAttachmentsAreNamed(t *testing.T) {
	b := newBench("a")
	b.answers(pluginsdk.HookMessage)
	b.duringTurn(func() {
		b.store.waiting = []pluginsdk.Message{{ID: 11, ThreadID: "T", RunID: "R1", Content: "see", Attachments: []pluginsdk.Attachment{kept("f1", "a.png", "image/png")}}}
		b.line.Steer(context.Background(), "R")
	})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.agent.steered, "|"); got != "see\n[attachment a.png (image/png, 3 bytes): /in/T/f1]" {
		t.Errorf("the agent was told %q", got)
	}
}

// What the agent has left goes with its reply, and is cleared away when that is stored,
// not before.
func TestWhatTheAgentLeavesGoesWithItsReply(t *testing.T) {
	for name, answer := range map[string]string{"with a reply": "here", "without words": ""} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.agent.answer = func(_ context.Context, r ledger.AgentRequest, _ func(pluginsdk.StreamEvent)) pluginsdk.InvokeResult {
				return pluginsdk.InvokeResult{Text: answer, SessionID: r.SessionID}
			}
			left := []pluginsdk.Attachment{kept("f1", "plot.png", "image/png")}
			b.desk.left = ledger.Outbox{Attachments: left, Refused: []string{"huge.bin: too large"}, Taken: []ledger.OutboxEntry{{Path: "plot.png"}}}
			if err := b.handle(); err != nil {
				t.Fatal(err)
			}
			rows := b.store.finishes[0].Rows
			if len(rows) != 2 || !strings.Contains(rows[0].Message.Content, "huge.bin: too large") || rows[1].Key != "R:reply" || !slices.Equal(rows[1].Message.Attachments, left) {
				t.Errorf("rows %+v", rows)
			}
			lines := strings.Join(b.journal.lines, "\n")
			if !strings.Contains(lines, "11 succeeded\nclear 1\n") {
				t.Errorf("order was\n%s", lines)
			}
		})
	}
}

// A reply that could not be stored leaves everything in the outbox for the next attempt.
func TestNothingIsClearedBeforeTheReplyIsStored(t *testing.T) {
	b := newBench()
	b.desk.left = ledger.Outbox{Attachments: []pluginsdk.Attachment{kept("f1", "plot.png", "image/png")}, Taken: []ledger.OutboxEntry{{Path: "plot.png"}}}
	b.store.fail["Finish"] = pluginsdk.Errorf(pluginsdk.CodeStale, "another has the thread")
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeStale || len(b.desk.cleared) > 0 {
		t.Errorf("%v; cleared %v", err, b.desk.cleared)
	}
}

// A database that is away is no reason to lose what was attached: there is another
// attempt.
func TestFilesThatCannotBeReadNowWait(t *testing.T) {
	b := newBench()
	b.desk.fail = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || len(b.agent.requests) > 0 {
		t.Errorf("%v; the agent was asked %d times", err, len(b.agent.requests))
	}
}

// A plugin that shows the agent what only some people may know is told whether a thread is
// apart, by the core.
func TestPluginsAreToldThatAThreadIsApart(t *testing.T) {
	for cwd, want := range map[string]bool{"/data/threads/0199b2c4-5d6e-7f80-91a2-b3c4d5e6f708/own": true, "/home/ann/work": false, "": false} {
		b := newBench("a")
		b.claim.Thread.Cwd = cwd
		asked := false
		b.plugins[0].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
			if asked = true; r.Thread.Apart != want {
				t.Errorf("in %q: apart is %v", cwd, r.Thread.Apart)
			}
			return r.Prompt, nil
		}
		if err := b.handle(); err != nil || !asked {
			t.Errorf("in %q: asked %v, %v", cwd, asked, err)
		}
	}
}
