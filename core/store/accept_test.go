package store_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A message that was acknowledged must be there with its run, all of it.
func TestAcceptStoresMessageAndRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		a := acceptance(thread.ID, "key", "hello")
		a.TraceID = "trace"
		a.Submission.Attachments = []pluginsdk.Attachment{{Name: "a.png", Type: "image/png", Size: 3, Where: "https://example.org/a"}}
		a.Submission.Metadata = []byte(`{"x": "<1>"}`)
		accepted := must[ledger.Accepted](t)(s.Accept(ctx, a))
		if want := (pluginsdk.Accepted{ThreadID: thread.ID, MessageID: accepted.MessageID, RunID: a.RunID}); accepted.Accepted != want || accepted.BusyMode != pluginsdk.BusyQueue || accepted.MessageID == 0 {
			t.Errorf("got %+v, want %+v", accepted, want)
		}
		message := must[pluginsdk.Message](t)(s.Message(ctx, accepted.MessageID))
		if message.Role != pluginsdk.RoleUser || message.Kind != pluginsdk.MessageText || message.Content != "hello" ||
			message.Author != "ann" || message.Source != "discord" || message.RunID != a.RunID ||
			!reflect.DeepEqual(message.Attachments, a.Submission.Attachments) || len(message.Metadata) == 0 {
			t.Errorf("message %+v", message)
		}
		run := must[pluginsdk.Run](t)(s.Run(ctx, accepted.RunID))
		if run.State != pluginsdk.RunQueued || run.Attempt != 0 || run.Step != pluginsdk.StepAccepted ||
			run.MessageID != accepted.MessageID || run.ThreadID != thread.ID || run.TraceID != "trace" || run.QueuedAt.IsZero() {
			t.Errorf("run %+v", run)
		}
		if after := must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)); !after.LastActivity.After(thread.LastActivity) {
			t.Error("the thread's last activity has not moved")
		}
	})
}

// A claim has the thread as Thread returns it.
func TestAClaimHasItsThread(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		s.SetCarrier(discordCarries)
		made, _, err := s.CreateThread(ctx, pluginsdk.NewThread{
			Source: "discord", SourceID: "claimed", Name: "Claimed", Model: "opus", Effort: "high", PermissionMode: "plan", Cwd: "/srv/work", Instructions: "Be kind.",
			BusyMode: pluginsdk.BusyInterrupt, AskTools: "Bash", ReportTo: pluginsdk.Target{Plugin: "discord", Place: "elsewhere"},
		})
		if err != nil {
			t.Fatal(err)
		}
		atOnce := acceptance(made.ID, "at once", "hello")
		atOnce.Claimer = "boot"
		first := must[ledger.Accepted](t)(s.Accept(ctx, atOnce)).Claim
		waits := newThread(t, s, "later")
		must[ledger.Accepted](t)(s.Accept(ctx, acceptance(waits.ID, "waits", "hello")))
		for _, claim := range []ledger.Claim{first, must[ledger.Claim](t)(s.Claim(ctx, waits.ID, "boot"))} {
			if read := must[pluginsdk.Thread](t)(s.Thread(ctx, claim.Thread.ID)); !claim.Found || !reflect.DeepEqual(claim.Thread.Thread, read) || claim.Fence.Epoch != 1 {
				t.Errorf("claimed %+v\nread %+v", claim.Thread, read)
			}
		}
	})
}

// Of messages that come at the same time into a thread in which nothing is under way, one is claimed.
func TestOneOfManyIsClaimedAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for n := range 10 {
			thread := newThread(t, s, fmt.Sprintf("crowded %d", n))
			var found atomic.Int64
			var group sync.WaitGroup
			for m := range 8 {
				message := acceptance(thread.ID, fmt.Sprintf("%d of %d", m, n), "hello")
				message.Claimer = "boot"
				group.Go(func() {
					if accepted, err := s.Accept(t.Context(), message); err != nil {
						t.Error(err)
					} else if accepted.Claim.Found {
						found.Add(1)
					}
				})
			}
			group.Wait()
			if found.Load() != 1 {
				t.Errorf("%d of 8 were claimed", found.Load())
			}
		}
	})
}

// A run that is claimed as it comes reads nothing that its session knows, or is not to be told of.
func TestAClaimKnowsWhetherThereIsNews(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		for n, row := range []struct {
			before pluginsdk.NewMessage // comes into the thread before the message
			news   bool
		}{
			{news: false}, // its first message
			{before: text(pluginsdk.RoleUser, "a person's"), news: false},
			{before: pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "a status"}, news: false},
			{before: pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: "the job ran"}, news: true},
			{news: false}, // the session was told of it
			{before: text(pluginsdk.RoleAssistant, "posted by a plugin"), news: true},
			{before: text(pluginsdk.RoleSystem, "Commands: ..."), news: true},
		} {
			if row.before.Role != "" {
				add(t, s, thread.ID, row.before)
			}
			message := acceptance(thread.ID, fmt.Sprint(n), "hello")
			message.Claimer = "boot"
			c := must[ledger.Accepted](t)(s.Accept(t.Context(), message)).Claim
			if !c.Found || c.NoNews == row.news {
				t.Errorf("after %q: claimed %v, no news %v", row.before.Content, c.Found, c.NoNews)
			}
			check(t, s.SaveResult(t.Context(), c.Fence, result(c)))
			finish(t, s, c, "the session's own reply")
		}
	})
}

// A client that repeats a submission must not be answered twice.
func TestAcceptIsIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		first := must[ledger.Accepted](t)(s.Accept(ctx, acceptance(thread.ID, "key", "hello")))
		again := must[ledger.Accepted](t)(s.Accept(ctx, acceptance(thread.ID, "key", "hello")))
		first.Existed = true
		if again.Accepted != first.Accepted || again.BusyMode != "" {
			t.Errorf("repeated: got %+v, want %+v", again, first)
		}
		_, err := s.Accept(ctx, acceptance(thread.ID, "key", "something else"))
		wantCode(t, err, pluginsdk.CodeConflict)
		_, err = s.Accept(ctx, acceptance(newThread(t, s, "other").ID, "key", "hello"))
		wantCode(t, err, pluginsdk.CodeConflict)

		other := acceptance(thread.ID, "key", "hello")
		other.Submission.Source = "web"
		if other := must[ledger.Accepted](t)(s.Accept(ctx, other)); other.Existed {
			t.Error("a key is its source's own")
		}
		if n := must[int](t)(s.Waiting(ctx, thread.ID)); n != 2 {
			t.Errorf("%d runs wait, want 2", n)
		}
	})
}

// Two deliveries of the same event that race must make one run.
func TestAcceptIsIdempotentWhenRacing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		results := make([]ledger.Accepted, 16)
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() {
				var err error
				results[i], err = s.Accept(context.Background(), acceptance(thread.ID, "key", "hello"))
				check(t, err)
			})
		}
		group.Wait()
		fresh := 0
		for _, r := range results {
			if !r.Existed {
				fresh++
			}
			if r.RunID != results[0].RunID || r.MessageID != results[0].MessageID {
				t.Errorf("different ids: %+v and %+v", r, results[0])
			}
		}
		if fresh != 1 {
			t.Errorf("%d submissions were new, want 1", fresh)
		}
	})
}

func TestAcceptRefuses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		cron, _, err := s.CreateThread(ctx, pluginsdk.NewThread{Source: "cron", SourceID: "job", Kind: pluginsdk.ThreadCron})
		check(t, err)
		tests := map[string]struct {
			change func(*ledger.Acceptance)
			code   pluginsdk.Code
		}{
			"unknown thread":    {func(a *ledger.Acceptance) { a.Submission.ThreadID = uuid.NewString() }, pluginsdk.CodeNotFound},
			"a person in a job": {func(a *ledger.Acceptance) { a.Submission.ThreadID = cron.ID }, pluginsdk.CodeInvalid},
			"unknown cause":     {func(a *ledger.Acceptance) { a.Submission.CauseRunID = "nope" }, pluginsdk.CodeInvalid},
			"metadata no object": {
				func(a *ledger.Acceptance) { a.Submission.Metadata = []byte(`[1]`) }, pluginsdk.CodeInvalid,
			},
		}
		for name, test := range tests {
			a := acceptance(thread.ID, uuid.NewString(), "hello")
			test.change(&a)
			_, err := s.Accept(ctx, a)
			if pluginsdk.CodeOf(err) != test.code {
				t.Errorf("%s: got %v, want code %s", name, err, test.code)
			}
		}
		if runs := must[[]pluginsdk.Run](t)(s.Runs(ctx, pluginsdk.RunQuery{})); len(runs) != 0 {
			t.Errorf("refused submissions left runs behind: %+v", runs)
		}
		a := acceptance(cron.ID, "fire", "digest")
		a.Submission.Source = "cron"
		check(t, second(s.Accept(ctx, a)))
	})
}

// A flood in one thread is refused before it fills the disk, and a repetition
// of what was accepted is still answered.
func TestAcceptLimitsTheQueue(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		limited := func(key string) ledger.Acceptance {
			a := acceptance(thread.ID, key, "hello")
			a.MaxWaiting = 2
			return a
		}
		check(t, second(s.Accept(ctx, limited("1"))))
		check(t, second(s.Accept(ctx, limited("2"))))
		_, err := s.Accept(ctx, limited("3"))
		wantCode(t, err, pluginsdk.CodeExhausted)
		if again := must[ledger.Accepted](t)(s.Accept(ctx, limited("2"))); !again.Existed {
			t.Error("a repetition was not recognised in a full queue")
		}
		finish(t, s, claim(t, s, thread.ID), "hi")
		check(t, second(s.Accept(ctx, limited("3"))))
	})
}

// A plugin that may submit messages, and nothing else, must not keep people from writing in a
// thread, whomever it names as the author. What people write through a plugin goes on, as long as
// that plugin itself has not half of what is free, and a token's person has every place.
func TestAPluginLeavesPeoplePlacesInAQueue(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		config.Carriers = []string{"web"}
		s, ctx := storetest.OpenConfig(t, config), t.Context()
		thread := newThread(t, s, "general")
		by := func(plugin, key string) ledger.Acceptance {
			a := acceptance(thread.ID, plugin+key, "buy")
			a.Plugin, a.MaxWaiting = plugin, 10
			return a
		}
		fill := func(plugin string, want int) error {
			t.Helper()
			for n := range 11 {
				a := by(plugin, fmt.Sprint(n))
				if n%2 == 0 {
					a.Submission.Author = ""
				}
				if _, err := s.Accept(ctx, a); err != nil {
					if n != want {
						t.Errorf("%s has %d places, want %d", plugin, n, want)
					}
					wantCode(t, err, pluginsdk.CodeExhausted)
					return err
				}
			}
			t.Errorf("%s has all places", plugin)
			return nil
		}
		says := func(err error, words ...string) {
			t.Helper()
			for _, word := range words {
				if err == nil || !strings.Contains(err.Error(), word) {
					t.Errorf("%v does not say %q", err, word)
				}
			}
		}
		says(fill("flood", 5), "flood", "5 messages", "10 places", "5 of them")
		if again := must[ledger.Accepted](t)(s.Accept(ctx, by("flood", "4"))); !again.Existed {
			t.Error("a repetition was not recognised")
		}
		says(fill("slack", 3), "slack", "3 messages")
		typed := by("slack", "typed")
		typed.Origin = pluginsdk.Origin{Token: "0192", TokenName: "phone"}
		check(t, second(s.Accept(ctx, typed)))
		err := fill("web", 1)
		says(err, "10 messages already wait", "flood", "5 of them")
		if strings.Contains(err.Error(), "slack") {
			t.Errorf("%v names another than who has the most", err)
		}
		// What waits until its plugin is on again has no place.
		register(t, s, "flood", 1)
		check(t, s.SetPluginEnabled(ctx, "flood", false))
		says(fill("web", 6), "10 messages already wait", "slack", "4 of them")
	})
}

// People alone are told of no plugin, and one place is everybody's.
func TestAFullQueueOfPeopleNamesNoPlugin(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		config.Carriers = []string{"web"}
		s, ctx := storetest.OpenConfig(t, config), t.Context()
		last := func(thread, plugin string, most int) (err error) {
			for n := range most + 1 {
				a := acceptance(thread, plugin+thread+fmt.Sprint(n), "hello")
				a.Plugin, a.MaxWaiting = plugin, most
				if _, err = s.Accept(ctx, a); err != nil && n < most {
					t.Errorf("the place %d of %d is refused to %s: %v", n+1, most, plugin, err)
				}
			}
			wantCode(t, err, pluginsdk.CodeExhausted)
			return err
		}
		if err := last(newThread(t, s, "people").ID, "web", 3); strings.Contains(err.Error(), "plugin") {
			t.Errorf("it names a plugin: %v", err)
		}
		_ = last(newThread(t, s, "one").ID, "slack", 1)
	})
}

// Whose the messages of a queue are is asked only when it is half full.
func TestAQueueThatIsNotHalfFullIsCountedOnce(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		var mu sync.Mutex
		var statements []int
		config.Carriers = []string{"web"}
		config.Trace = func(span ledger.Span) {
			mu.Lock()
			defer mu.Unlock()
			if span.Kind == ledger.SpanWrite && span.Name == "Accept" {
				statements = append(statements, span.Count)
			}
		}
		s := storetest.OpenConfig(t, config)
		thread := newThread(t, s, "general")
		for n := range 10 {
			submitted(t, s, []string{"web", "slack"}[n%2], thread.ID, "hello", func(a *ledger.Acceptance) { a.MaxWaiting = 20 })
		}
		mu.Lock()
		defer mu.Unlock()
		if len(statements) != 10 || slices.Min(statements) != slices.Max(statements) {
			t.Errorf("the statements of each message: %v", statements)
		}
	})
}

func TestAcceptWakesAnArchivedThread(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		archived := pluginsdk.ThreadArchived
		check(t, second(s.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Status: &archived})))
		accept(t, s, thread.ID, "hello again")
		if after := must[pluginsdk.Thread](t)(s.Thread(ctx, thread.ID)); after.Status != pluginsdk.ThreadActive {
			t.Errorf("status %s, want active", after.Status)
		}
	})
}

// A core command is answered in the thread, carried to where it came from, and
// never enters the queue.
func TestAcceptAnAnsweredCommand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		a := acceptance(thread.ID, "key", "/status")
		a.Kind, a.Answer = pluginsdk.RunCommand, &ledger.Answer{Text: "all is well", State: pluginsdk.RunSucceeded}
		accepted := must[ledger.Accepted](t)(s.Accept(ctx, a))
		run := must[pluginsdk.Run](t)(s.Run(ctx, accepted.RunID))
		if run.State != pluginsdk.RunSucceeded || run.FinishedAt.IsZero() || run.Kind != pluginsdk.RunCommand {
			t.Errorf("run %+v", run)
		}
		messages := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread.ID}))
		if len(messages) != 2 || messages[1].Role != pluginsdk.RoleSystem || messages[1].Kind != pluginsdk.MessageText ||
			messages[1].Content != "all is well" || messages[1].RunID != run.ID {
			t.Errorf("messages %+v", messages)
		}
		delivery := only[pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryPending}))
		if delivery.MessageID != messages[1].ID || delivery.Plugin != "discord" || delivery.Place != "general" {
			t.Errorf("delivery %+v", delivery)
		}
		if c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")); c.Found || !c.NotBefore.IsZero() {
			t.Errorf("an answered command can be claimed: %+v", c)
		}
	})
}

// Runs that make runs must not do so for ever: the depth tells.
func TestAcceptCountsDepth(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		cause := ""
		for depth := range 3 {
			a := acceptance(thread.ID, uuid.NewString(), "again")
			a.Submission.CauseRunID = cause
			cause = must[ledger.Accepted](t)(s.Accept(ctx, a)).RunID
			if run := must[pluginsdk.Run](t)(s.Run(ctx, cause)); run.Depth != depth {
				t.Errorf("depth %d, want %d", run.Depth, depth)
			}
		}
	})
}

// What runs cause goes back to who has begun: a person, or the plugin that asked for a turn.
func TestWhoStandsAtTheRootOfTheCauses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general")
		first := acceptance(thread.ID, uuid.NewString(), "hello")
		first.Submission.Source, first.Submission.Author = "web", "Ann"
		cause := must[ledger.Accepted](t)(s.Accept(ctx, first)).RunID
		if run := must[pluginsdk.Run](t)(s.Run(ctx, cause)); run.OnBehalfOf != (pluginsdk.OnBehalf{}) {
			t.Errorf("nothing has caused it, and it is on behalf of %+v", run.OnBehalfOf)
		}
		for range 2 {
			next := acceptance(thread.ID, uuid.NewString(), "again")
			next.Submission.Source, next.Submission.CauseRunID = "task", cause
			cause = must[ledger.Accepted](t)(s.Accept(ctx, next)).RunID
			if run := must[pluginsdk.Run](t)(s.Run(ctx, cause)); run.OnBehalfOf != (pluginsdk.OnBehalf{Source: "web", Author: "Ann"}) {
				t.Errorf("it is on behalf of %+v", run.OnBehalfOf)
			}
		}
		turn := ledger.NewTurn{RunID: uuid.NewString(), Plugin: "validation", Request: pluginsdk.StartTurnRequest{Key: "k", Prompt: "review", ThreadID: thread.ID}}
		asked := must[ledger.AcceptedTurn](t)(s.AcceptTurn(ctx, turn)).RunID
		turn = ledger.NewTurn{RunID: uuid.NewString(), Plugin: "other", CauseRunID: asked, Request: pluginsdk.StartTurnRequest{Key: "k", Prompt: "more"}}
		caused := must[ledger.AcceptedTurn](t)(s.AcceptTurn(ctx, turn)).RunID
		if run := must[pluginsdk.Run](t)(s.Run(ctx, caused)); run.OnBehalfOf != (pluginsdk.OnBehalf{Source: "validation"}) {
			t.Errorf("what a turn has caused is on behalf of %+v", run.OnBehalfOf)
		}
	})
}

// Messages of one thread are worked on in the order in which they were
// accepted, whatever else is accepted meanwhile.
func TestAcceptKeepsOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		const writers, each = 8, 10
		thread := newThread(t, s, "general")
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					accept(t, s, thread.ID, fmt.Sprintf("%d %d", w, i))
				}
			})
		}
		group.Wait()
		next, last := make(map[int]int), int64(0)
		for range writers * each {
			c := claim(t, s, thread.ID)
			if c.Message.ID <= last {
				t.Errorf("message %d after message %d", c.Message.ID, last)
			}
			last = c.Message.ID
			var w, i int
			check(t, second(fmt.Sscanf(c.Message.Content, "%d %d", &w, &i)))
			if i != next[w] {
				t.Errorf("writer %d: message %d, want %d", w, i, next[w])
			}
			next[w]++
			finish(t, s, c, "ok")
		}
		if c := must[ledger.Claim](t)(s.Claim(ctx, thread.ID, "test")); c.Found {
			t.Error("a run too many")
		}
	})
}

// Agents print NUL bytes and broken UTF-8. That must neither be refused by one
// of the databases nor stop a thread.
func TestAcceptCleansText(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		thread := newThread(t, s, "general")
		accepted := accept(t, s, thread.ID, "a\x00b\xffc")
		message := must[pluginsdk.Message](t)(s.Message(context.Background(), accepted.MessageID))
		if message.Content != "a\uFFFDb\uFFFDc" {
			t.Errorf("got %q", message.Content)
		}
	})
}

// When nobody knows whether a COMMIT happened, the run tells: a person is
// neither told of a failure that was none, nor of a success that was none.
func TestAcceptReadsBackAnUncertainCommit(t *testing.T) {
	for _, landed := range []bool{true, false} {
		t.Run(fmt.Sprintf("landed=%v", landed), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				thread := newThread(t, s, "general")
				s.LoseCommits(landed)
				accepted, err := s.Accept(context.Background(), acceptance(thread.ID, "key", "hello"))
				if landed {
					check(t, err)
					check(t, second(s.Message(context.Background(), accepted.MessageID)))
					return
				}
				wantCode(t, err, pluginsdk.CodeUnavailable)
				if !strings.Contains(err.Error(), "connection lost") {
					t.Errorf("error %q hides its cause", err)
				}
			})
		})
	}
}

// A thread that was put away comes back by what is said in it to the agent, and not by what
// the core answers itself: else it could not be put away by what is typed in it.
func TestAMessageBringsAnArchivedThreadBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		th := newThread(t, s, "a")
		check(t, second(s.UpdateThread(ctx, th.ID, pluginsdk.ThreadPatch{Status: new(pluginsdk.ThreadArchived)})))
		typed := acceptance(th.ID, "typed", "/status")
		typed.Kind, typed.Answer = pluginsdk.RunCommand, &ledger.Answer{Text: "all is well", State: pluginsdk.RunSucceeded}
		check(t, second(s.Accept(ctx, typed)))
		if now := must[pluginsdk.Thread](t)(s.Thread(ctx, th.ID)); now.Status != pluginsdk.ThreadArchived {
			t.Errorf("after a command it is %s", now.Status)
		}
		accept(t, s, th.ID, "hello")
		if now := must[pluginsdk.Thread](t)(s.Thread(ctx, th.ID)); now.Status != pluginsdk.ThreadActive {
			t.Errorf("after a message it is %s", now.Status)
		}
	})
}

// Who deletes a thread by what they type in it is told so where they are, although the
// thread is gone.
func TestTheAnswerOfADeletionIsCarried(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		primary := must[pluginsdk.Thread](t)(s.EnsurePrimary(ctx))
		gone := newThread(t, s, "channel")
		check(t, second(s.DeleteThread(ctx, gone.ID, "ann")))
		typed := acceptance(primary.ID, "typed", "/thread delete x")
		typed.Kind, typed.Answer = pluginsdk.RunCommand, &ledger.Answer{Text: "deleted", State: pluginsdk.RunSucceeded, Gone: &gone}
		accepted := must[ledger.Accepted](t)(s.Accept(ctx, typed))
		if accepted.ThreadID != primary.ID || len(accepted.Lanes) != 1 || accepted.Lanes[0].Target != "channel" {
			t.Errorf("answered in %s, carried to %+v", accepted.ThreadID, accepted.Lanes)
		}
		check(t, s.RemoveThread(ctx, gone.ID))
		if waiting := must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})); len(waiting) != 1 {
			t.Errorf("%d deliveries wait", len(waiting))
		}
	})
}
