package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var _ Store = (*store.Store)(nil)

// desk is where a test asks, and people answer: the room on a real store, with an inbox
// that only takes note.
type desk struct {
	*Approvals
	t     *testing.T
	store *store.Store
	now   time.Time

	mu     sync.Mutex
	rested int      // runs without a place at this moment
	back   func()   // called as one has a place again; nil: nothing
	woken  []string // threads
	events chan pluginsdk.ApprovalPayload
}

func newDesk(t *testing.T, s *store.Store, config Config) *desk {
	t.Helper()
	s.SetCarrier(func(source string) (string, bool) { return "chat", source == "chat" })
	d := &desk{t: t, store: s, now: time.Now(), events: make(chan pluginsdk.ApprovalPayload, 1000)}
	config.Now = func() time.Time {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.now
	}
	if config.Sweep == 0 {
		config.Sweep = 10 * time.Millisecond
	}
	d.Approvals = New(config, Doors{Store: s, Inbox: d, Outbox: d, Events: d})
	return d
}

func (d *desk) Rest(string) func(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rested++
	return func(context.Context) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.rested--
		if d.back != nil {
			d.back()
		}
		return nil
	}
}

func (d *desk) WakeThread(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.woken = append(d.woken, id)
}

func (d *desk) Wake(string, string) {}

func (d *desk) Publish(_ pluginsdk.EventType, _ string, payload any) {
	d.events <- payload.(pluginsdk.ApprovalPayload) //nolint:forcetypeassert // nothing else is published
}

// later moves the clock.
func (d *desk) later(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// begin claims a run of a new thread, as a turn that asks.
func (d *desk) begin(change func(*pluginsdk.NewThread)) ledger.Asking {
	d.t.Helper()
	ctx := context.Background()
	new := pluginsdk.NewThread{Source: "chat", SourceID: uuid.NewString()}
	if change != nil {
		change(&new)
	}
	thread, _, err := d.store.CreateThread(ctx, new)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.turn(thread)
}

func (d *desk) turn(thread pluginsdk.Thread) ledger.Asking {
	d.t.Helper()
	ctx := context.Background()
	if _, err := d.store.Accept(ctx, ledger.Acceptance{
		RunID: uuid.Must(uuid.NewV7()).String(), Kind: pluginsdk.RunMessage,
		Submission: pluginsdk.Submission{ThreadID: thread.ID, Source: thread.Source, Key: uuid.NewString(), Content: "?"},
	}); err != nil {
		d.t.Fatal(err)
	}
	claim, err := d.store.Claim(ctx, thread.ID, "test")
	if err != nil || !claim.Found {
		d.t.Fatalf("claim: %v, %v", claim.Found, err)
	}
	return ledger.Asking{Thread: thread, Fence: claim.Fence, RunID: claim.Run.ID, Attempt: claim.Run.Attempt}
}

// beside claims a turn that a plugin has asked for, beside a new thread.
func (d *desk) beside() ledger.Asking {
	d.t.Helper()
	ctx := context.Background()
	thread, _, err := d.store.CreateThread(ctx, pluginsdk.NewThread{Source: "chat", SourceID: uuid.NewString()})
	if err != nil {
		d.t.Fatal(err)
	}
	turn, err := d.store.AcceptTurn(ctx, ledger.NewTurn{
		RunID: uuid.Must(uuid.NewV7()).String(), Plugin: "reviewer", Request: pluginsdk.StartTurnRequest{ThreadID: thread.ID, Prompt: "?", Purpose: "review"},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	claim, err := d.store.ClaimBeside(ctx, ledger.Queue{TurnID: turn.RunID}, "test")
	if err != nil || !claim.Found {
		d.t.Fatalf("claim: %v, %v", claim.Found, err)
	}
	return ledger.Asking{Thread: claim.Thread.Thread, Fence: claim.Fence, RunID: claim.Run.ID, Attempt: claim.Run.Attempt, Turn: true}
}

func bash(command string) ledger.ToolAsk {
	return ledger.ToolAsk{Tool: "Bash", ToolUseID: "t", Input: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)), Cwd: "/nowhere"}
}

// asking asks in the background.
func (d *desk) asking(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) <-chan ledger.ToolAnswer {
	answer := make(chan ledger.ToolAnswer, 1)
	go func() { answer <- d.Ask(ctx, of, ask) }()
	return answer
}

// shown waits for the next event, which must be of this state.
func (d *desk) shown(state pluginsdk.ApprovalState) pluginsdk.Approval {
	d.t.Helper()
	select {
	case event := <-d.events:
		if event.State != state {
			d.t.Fatalf("an approval is %s; want %s", event.State, state)
		}
		approval, err := d.Approval(context.Background(), event.ApprovalID)
		if err != nil {
			d.t.Fatal(err)
		}
		return approval
	case <-time.After(30 * time.Second):
		d.t.Fatalf("no approval is %s", state)
		return pluginsdk.Approval{}
	}
}

func (d *desk) choose(approval pluginsdk.Approval, choice, author string) error {
	_, err := d.Decide(context.Background(), ledger.By{Plugin: "web", Author: author}, pluginsdk.DecideApprovalRequest{ID: approval.ID, Choice: choice})
	return err
}

func wait(t *testing.T, answer <-chan ledger.ToolAnswer) ledger.ToolAnswer {
	t.Helper()
	select {
	case one := <-answer:
		return one
	case <-time.After(30 * time.Second):
		t.Fatal("the question hangs")
		return ledger.ToolAnswer{}
	}
}
