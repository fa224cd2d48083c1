package outbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var _ Store = (*store.Store)(nil)

// ask puts a question into a thread and answers it, which makes a delivery.
func ask(t *testing.T, s *store.Store, thread pluginsdk.Thread, content string) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.Accept(ctx, ledger.Acceptance{
		RunID: uuid.Must(uuid.NewV7()).String(), Kind: pluginsdk.RunMessage,
		Submission: pluginsdk.Submission{ThreadID: thread.ID, Source: "chat", Key: uuid.NewString(), Content: "?"},
	}); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, thread.ID, "test")
	if err != nil || !claim.Found {
		t.Fatalf("claim: %v, %v", claim.Found, err)
	}
	if _, err := s.Finish(ctx, claim.Fence, ledger.Finish{
		RunID: claim.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
		Rows: []ledger.Row{{Key: claim.Run.ID, Message: pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: content,
		}}},
	}); err != nil {
		t.Fatal(err)
	}
}

func newThread(t *testing.T, s *store.Store, room string) pluginsdk.Thread {
	t.Helper()
	s.SetCarrier(func(source string) (string, bool) { return "chat", source == "chat" })
	thread, _, err := s.CreateThread(t.Context(), pluginsdk.NewThread{Source: "chat", SourceID: room})
	if err != nil {
		t.Fatal(err)
	}
	return thread
}

// announced is events that a test can wait for.
type announced chan pluginsdk.DeliveryPayload

func (a announced) Publish(_ pluginsdk.EventType, _ string, payload any) {
	a <- payload.(pluginsdk.DeliveryPayload)
}

// arrivals waits until n deliveries have arrived.
func (a announced) arrivals(t *testing.T, n int) {
	t.Helper()
	patience := time.After(30 * time.Second)
	for n > 0 {
		select {
		case event := <-a:
			if event.State == pluginsdk.DeliveryDelivered {
				n--
			}
		case <-patience:
			t.Fatalf("%d deliveries have not arrived", n)
		}
	}
}

// With a real database: what was committed is carried in its order, whatever
// fails, and nothing of it is open afterwards.
func TestOutboxOnAStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		events := make(announced, 1000)
		people := &people{deliver: func(_ context.Context, request *pluginsdk.DeliverRequest) error {
			if request.Message.ID%3 == 0 && request.Delivery.Attempt < 3 {
				return errAway
			}
			return nil
		}}
		o := New(Config{RetryBase: time.Millisecond}, Doors{Store: s, Plugins: people, Hooks: asked, Events: events})
		if err := o.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want []string
		for room := range 3 {
			thread := newThread(t, s, fmt.Sprint("room ", room))
			for n := range 5 {
				content := fmt.Sprintf("%s: %d", thread.SourceID, n)
				want = append(want, content)
				ask(t, s, thread, content)
				o.Wake("chat", thread.SourceID)
			}
		}
		events.arrivals(t, len(want))
		if err := o.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		rows, err := s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDelivered})
		if err != nil || len(rows) != len(want) {
			t.Errorf("%d delivered of %d: %v", len(rows), len(want), err)
		}
		if got := people.contents(); !slices.Equal(got, want) {
			t.Errorf("people read %q, want %q", got, want)
		}
	})
}

// With a real database: a daemon that dies between the plugin's call and its
// receipt leaves behind what the next one needs, the same id included.
func TestOutboxAfterACrashOnAStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun := make(chan struct{})
		events := make(announced, 10)
		people := &people{deliver: func(ctx context.Context, request *pluginsdk.DeliverRequest) error {
			if request.Delivery.Attempt > 1 {
				return nil
			}
			close(begun)
			return hang(ctx, request)
		}}
		ask(t, s, newThread(t, s, "room"), "an answer")
		first := New(Config{}, Doors{Store: s, Plugins: people, Hooks: asked, Events: events})
		if err := first.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-begun
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := first.Stop(ended); err != nil {
			t.Error(err)
		}
		second := New(Config{}, Doors{Store: s, Plugins: people, Hooks: asked, Events: events})
		if err := second.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		events.arrivals(t, 1)
		if err := second.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if len(people.got) != 2 || people.got[0].Call.ID != people.got[1].Call.ID || people.got[1].Call.Attempt != 2 {
			t.Errorf("the plugin was given %s", people.calls())
		}
	})
}

// contents is what people have read, room by room.
func (p *people) contents() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var read []string
	for _, request := range p.got {
		if !slices.Contains(read, request.Message.Content) {
			read = append(read, request.Message.Content)
		}
	}
	slices.SortStableFunc(read, func(a, b string) int { return int(a[len("room ")]) - int(b[len("room ")]) })
	return read
}
