package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// reply finishes a run of a thread with a reply that is to be delivered, and
// returns its message.
func reply(t testing.TB, s *store.Store, threadID, content string) (messageID int64) {
	t.Helper()
	accept(t, s, threadID, "a question")
	c := claim(t, s, threadID)
	done := must[ledger.Finished](t)(s.Finish(context.Background(), c.Fence, ledger.Finish{
		RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
		Rows: []ledger.Row{{Key: c.Run.ID + ":reply", Message: text(pluginsdk.RoleAssistant, content)}},
	}))
	return done.MessageIDs[0]
}

func next(t testing.TB, s *store.Store, plugin, target string) ledger.Due {
	t.Helper()
	return must[ledger.Due](t)(s.NextDelivery(context.Background(), plugin, target))
}

func begin(t testing.TB, s *store.Store, id string) ledger.Outgoing {
	t.Helper()
	out := must[ledger.Outgoing](t)(s.BeginDelivery(context.Background(), id))
	if !out.Found {
		t.Fatalf("delivery %s does not wait", id)
	}
	return out
}

// delivery reads one row as an operator sees it.
func delivery(t testing.TB, s *store.Store, id string) pluginsdk.Delivery {
	t.Helper()
	for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(context.Background(), pluginsdk.DeliveryQuery{})) {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("no delivery %s", id)
	return pluginsdk.Delivery{}
}

// A reply that waits is found, begun with all that the plugin needs to carry
// it, and done: nothing of it is left for a second time.
func TestDeliveryFromPendingToDelivered(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		message := reply(t, s, thread.ID, "an answer")
		lanes := must[[]ledger.Lane](t)(s.Lanes(ctx))
		if want := []ledger.Lane{{Plugin: "discord", Target: "general"}}; !slices.Equal(lanes, want) {
			t.Errorf("lanes %+v, want %+v", lanes, want)
		}
		due := next(t, s, "discord", "general")
		out := begin(t, s, due.ID)
		if out.Delivery.ID != due.ID || out.Delivery.State != pluginsdk.DeliverySending || out.Delivery.Attempt != 1 ||
			out.Message.ID != message || out.Message.Content != "an answer" || out.Thread.ID != thread.ID {
			t.Errorf("begun %+v", out)
		}
		check(t, s.DeliveryDone(ctx, due.ID, "external\x00"))
		check(t, s.DeliveryDone(ctx, due.ID, "external\x00"))
		d := delivery(t, s, due.ID)
		if d.State != pluginsdk.DeliveryDelivered || d.ExternalID != "external\uFFFD" || d.LastError != "" || d.Attempt != 1 {
			t.Errorf("done %+v", d)
		}
		if due := next(t, s, "discord", "general"); due.ID != "" {
			t.Errorf("%s is to be delivered again", due.ID)
		}
		if lanes := must[[]ledger.Lane](t)(s.Lanes(ctx)); len(lanes) != 0 {
			t.Errorf("lanes %+v of what is delivered", lanes)
		}
		if out := must[ledger.Outgoing](t)(s.BeginDelivery(ctx, due.ID)); out.Found {
			t.Error("what was delivered was begun again")
		}
	})
}

// An attempt whose COMMIT had no known outcome is begun once more, and is
// still one attempt; what failed waits until it is due, in front of the others.
func TestDeliveryAttemptsAreCountedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		reply(t, s, thread.ID, "first")
		reply(t, s, thread.ID, "second")
		first := next(t, s, "discord", "general").ID
		begin(t, s, first)
		if again := next(t, s, "discord", "general"); again.ID != first {
			t.Errorf("next is %s while %s has no known end", again.ID, first)
		}
		if out := begin(t, s, first); out.Delivery.Attempt != 1 {
			t.Errorf("attempt %d, want 1", out.Delivery.Attempt)
		}
		at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
		check(t, s.DeliveryRetry(ctx, first, at, "no network"))
		check(t, s.DeliveryRetry(ctx, first, at.Add(time.Hour), "repeated"))
		if due := next(t, s, "discord", "general"); due.ID != first || !due.NotBefore.Equal(at) {
			t.Errorf("due %+v, want %s at %s", due, first, at)
		}
		lanes := must[[]ledger.Lane](t)(s.Lanes(ctx))
		if len(lanes) != 1 || !lanes[0].NotBefore.Equal(at) {
			t.Errorf("lanes %+v, want one due at %s", lanes, at)
		}
		if out := begin(t, s, first); out.Delivery.Attempt != 2 || out.Delivery.LastError != "no network" {
			t.Errorf("begun %+v", out.Delivery)
		}
	})
}

// A delivery that is given up makes room for the next one, and is not
// forgotten: an operator can try it again, from the first attempt on.
func TestDeliveryDeadAndRetried(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		reply(t, s, thread.ID, "first")
		reply(t, s, thread.ID, "second")
		first := next(t, s, "discord", "general").ID
		begin(t, s, first)
		check(t, s.DeliveryDead(ctx, first, "no such channel"))
		check(t, s.DeliveryDead(ctx, first, "repeated"))
		if d := delivery(t, s, first); d.State != pluginsdk.DeliveryDead || d.LastError != "no such channel" || d.Attempt != 1 {
			t.Errorf("dead %+v", d)
		}
		second := next(t, s, "discord", "general").ID
		if second == first || second == "" {
			t.Fatalf("next is %q after %q is dead", second, first)
		}
		d := must[pluginsdk.Delivery](t)(s.RetryDelivery(ctx, first))
		if d.ID != first || d.State != pluginsdk.DeliveryPending || d.Attempt != 0 {
			t.Errorf("retried %+v", d)
		}
		if due := next(t, s, "discord", "general"); due.ID != first {
			t.Errorf("next is %s, want the older message's %s", due.ID, first)
		}
	})
}

// What an operator may try again, and what not.
func TestRetryDelivery(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		_, err := s.RetryDelivery(ctx, "nothing")
		wantCode(t, err, pluginsdk.CodeNotFound)

		thread := newThread(t, s, "general")
		reply(t, s, thread.ID, "answer")
		id := next(t, s, "discord", "general").ID
		begin(t, s, id)
		if d := must[pluginsdk.Delivery](t)(s.RetryDelivery(ctx, id)); d.State != pluginsdk.DeliverySending || d.Attempt != 1 {
			t.Errorf("one under way became %+v", d)
		}
		check(t, s.DeliveryRetry(ctx, id, time.Now().Add(time.Hour), "no network"))
		if d := must[pluginsdk.Delivery](t)(s.RetryDelivery(ctx, id)); !d.NextAttemptAt.IsZero() || d.Attempt != 1 {
			t.Errorf("one that waits became %+v", d)
		}
		begin(t, s, id)
		check(t, s.DeliveryDone(ctx, id, "external"))
		_, err = s.RetryDelivery(ctx, id)
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

// What a daemon that died was carrying is carried again, and its attempts are
// still counted.
func TestRecoverDeliveries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		reply(t, s, thread.ID, "answer")
		id := next(t, s, "discord", "general").ID
		begin(t, s, id)
		for _, want := range []int{1, 0} {
			if n := must[int](t)(s.RecoverDeliveries(ctx)); n != want {
				t.Errorf("%d recovered, want %d", n, want)
			}
		}
		if d := delivery(t, s, id); d.State != pluginsdk.DeliveryPending || d.Attempt != 1 {
			t.Errorf("recovered %+v", d)
		}
	})
}

// A delivery whose message an operator deleted says so, instead of standing in
// the way of all that come after it.
func TestBeginDeliveryWithoutItsMessage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := pluginsdk.Delivery{ID: uuid.NewString(), MessageID: 99, Plugin: "discord", Place: "x", State: pluginsdk.DeliveryPending, CreatedAt: time.Now()}
		check(t, s.KeepDelivery(context.Background(), d))
		if out := begin(t, s, d.ID); out.Message.ID != 0 || out.Delivery.MessageID != 99 {
			t.Errorf("begun %+v", out)
		}
	})
}

// An operator finds the deliveries that are asked for, page by page.
func TestDeliveriesAreSelected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var ids []string
		for n, of := range []struct{ plugin, target string }{{"a", "x"}, {"a", "y"}, {"b", "x"}, {"a", "x"}} {
			id := uuid.Must(uuid.NewV7()).String()
			ids = append(ids, id)
			state := pluginsdk.DeliveryPending
			if n == 3 {
				state = pluginsdk.DeliveryDead
			}
			check(t, s.KeepDelivery(ctx, pluginsdk.Delivery{
				ID: id, MessageID: int64(n + 1), Plugin: of.plugin, Place: of.target, State: state, CreatedAt: time.Now(),
			}))
		}
		tests := []struct {
			query pluginsdk.DeliveryQuery
			want  []int
		}{
			{pluginsdk.DeliveryQuery{}, []int{0, 1, 2, 3}},
			{pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead}, []int{3}},
			{pluginsdk.DeliveryQuery{Plugin: "a"}, []int{0, 1, 3}},
			{pluginsdk.DeliveryQuery{Plugin: "a", Place: "x"}, []int{0, 3}},
			{pluginsdk.DeliveryQuery{After: ids[1]}, []int{2, 3}},
			{pluginsdk.DeliveryQuery{Limit: 2}, []int{0, 1}},
			{pluginsdk.DeliveryQuery{State: pluginsdk.DeliverySending}, nil},
		}
		for _, test := range tests {
			var want, got []string
			for _, n := range test.want {
				want = append(want, ids[n])
			}
			for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, test.query)) {
				got = append(got, d.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", test.query, got, want)
			}
		}
	})
}

// A database that does not say whether a COMMIT happened costs nothing: each
// write of a delivery's life may be repeated.
func TestDeliveryWritesSurviveUnknownCommits(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		steady, shaky := storetest.OpenConfig(t, config), storetest.OpenConfig(t, config)
		shaky.LoseCommits(true)
		thread := newThread(t, steady, "general")
		reply(t, steady, thread.ID, "answer")
		id := next(t, steady, "discord", "general").ID
		again := func(what string, write func(*store.Store) error) {
			t.Helper()
			wantCode(t, write(shaky), pluginsdk.CodeUnavailable)
			if err := write(steady); err != nil {
				t.Errorf("%s, repeated: %s", what, err)
			}
		}
		begin := func(s *store.Store) error { return second(s.BeginDelivery(ctx, id)) }
		again("begin", begin)
		again("retry", func(s *store.Store) error { return s.DeliveryRetry(ctx, id, time.Now(), "no network") })
		again("begin", begin)
		again("dead", func(s *store.Store) error { return s.DeliveryDead(ctx, id, "gone") })
		again("retry by hand", func(s *store.Store) error { return second(s.RetryDelivery(ctx, id)) })
		again("begin", begin)
		again("done", func(s *store.Store) error { return s.DeliveryDone(ctx, id, "external") })
		d := delivery(t, steady, id)
		if d.State != pluginsdk.DeliveryDelivered || d.Attempt != 1 || d.ExternalID != "external" {
			t.Errorf("in the end %+v", d)
		}
	})
}

// What a plugin says of where a message has arrived is an id. A page of it would
// otherwise be read by all who list deliveries, and two of them by nobody.
func TestAReceiptIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general").ID
		for _, said := range []string{strings.Repeat("x", 1<<20), strings.Repeat("€", 1<<10), strings.Repeat("\x00", 1<<10)} {
			reply(t, s, thread, "answer")
			id := next(t, s, "discord", "general").ID
			begin(t, s, id)
			check(t, s.DeliveryDone(t.Context(), id, said))
			got := delivery(t, s, id).ExternalID
			if len(got) > 1<<10 || len(got) < 1<<10-4 || !utf8.ValidString(got) || !strings.HasPrefix(strings.ReplaceAll(said, "\x00", "\uFFFD"), got) {
				t.Errorf("a receipt of %d bytes became one of %d: %.20q", len(said), len(got), got)
			}
		}
	})
}
