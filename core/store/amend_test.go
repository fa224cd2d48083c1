package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// amend changes what was submitted under a key, for the plugin discord.
func amend(s *store.Store, key, content string, attachments ...pluginsdk.Attachment) (pluginsdk.Message, bool, error) {
	return s.Amend(context.Background(), ledger.Amendment{Plugin: "discord", Source: "discord", Key: key, Content: content, Attachments: attachments})
}

// written has a person's message accepted, which came through the plugin discord.
func written(t *testing.T, s *store.Store, threadID, key, content string) ledger.Accepted {
	t.Helper()
	a := acceptance(threadID, key, content)
	a.Plugin, a.Submission.Metadata = "discord", []byte(`{"of":"a channel"}`)
	return must[ledger.Accepted](t)(s.Accept(context.Background(), a))
}

// Who corrects what they have written is answered about what they meant, once; and whoever
// submits it again, by the first words or by those of now, gets no second answer.
func TestAmend(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		first := written(t, s, thread, "key", "helo")
		amended, changed, err := amend(s, "key", "hello")
		check(t, err)
		stored := must[pluginsdk.Message](t)(s.Message(ctx, first.MessageID))
		if !changed || stored.Content != "hello" || stored.Author != "ann" || stored.RunID != first.RunID ||
			stored.EditedAt().IsZero() || !strings.Contains(string(stored.Metadata), `"of":"a channel"`) {
			t.Errorf("changed %v, stored %+v", changed, stored)
		}
		if amended.ID != stored.ID || amended.Content != stored.Content || !amended.EditedAt().Equal(stored.EditedAt()) {
			t.Errorf("answered %+v, stored %+v", amended, stored)
		}
		_, changed, err = amend(s, "key", "hello")
		if check(t, err); changed {
			t.Error("the same words were stored twice")
		}
		for _, content := range []string{"helo", "hello"} {
			if again := must[ledger.Accepted](t)(s.Accept(ctx, acceptance(thread, "key", content))); !again.Existed || again.RunID != first.RunID {
				t.Errorf("submitted again as %q: %+v", content, again)
			}
		}
		wantCode(t, second(s.Accept(ctx, acceptance(thread, "key", "another"))), pluginsdk.CodeConflict)
		if c := claim(t, s, thread); c.Message.Content != "hello" || c.Run.ID != first.RunID {
			t.Errorf("the run begins with %+v", c.Message)
		}
		wantCode(t, third(amend(s, "key", "too late")), pluginsdk.CodeStale)
		_, changed, err = amend(s, "key", "hello") // the answer of the first call was lost
		if check(t, err); changed {
			t.Error("the same words were stored once the run had begun")
		}
		if now := must[pluginsdk.Message](t)(s.Message(ctx, first.MessageID)); now.Content != "hello" {
			t.Errorf("the message says %q", now.Content)
		}
	})
}

// Who waits for the plan for hours may find the words for it meanwhile: the agent has not seen the
// first ones, unless the run was parked in the middle of its turn.
func TestAParkedMessageIsAmended(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		written(t, s, thread, "key", "helo")
		until := time.Now().Add(-time.Minute)
		park := func(c ledger.Claim) { t.Helper(); must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, until))) }
		park(claim(t, s, thread))
		if _, changed, err := amend(s, "key", "hello"); err != nil || !changed {
			t.Errorf("changed %v: %v", changed, err)
		}
		c := claim(t, s, thread)
		if c.Message.Content != "hello" {
			t.Errorf("the run goes on with %q", c.Message.Content)
		}
		wantCode(t, third(amend(s, "key", "at work")), pluginsdk.CodeStale)
		check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID, SessionID: "S"}))
		park(c)
		if r := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); r.Step == pluginsdk.StepAccepted {
			t.Fatalf("the run is at the step %s", r.Step)
		}
		wantCode(t, third(amend(s, "key", "in mid-turn")), pluginsdk.CodeStale)
	})
}

func TestAmendRefuses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		written(t, s, thread, "key", "hello")
		elsewhere := ledger.Amendment{Plugin: "discord", Source: "discord", Key: "key", ThreadID: newThread(t, s, "other").ID, Content: "x"}
		others := ledger.Amendment{Plugin: "web", Source: "discord", Key: "key", Content: "x"}
		command := acceptance(thread, "command", "/buy")
		command.Plugin, command.Kind = "discord", pluginsdk.RunCommand
		check(t, second(s.Accept(ctx, command)))
		wantCode(t, third(amend(s, "unknown", "x")), pluginsdk.CodeNotFound)
		wantCode(t, third(s.Amend(ctx, elsewhere)), pluginsdk.CodeNotFound)
		wantCode(t, third(s.Amend(ctx, others)), pluginsdk.CodeDenied)
		wantCode(t, third(amend(s, "command", "buy")), pluginsdk.CodeInvalid)
		wantCode(t, third(amend(s, "key", " \n")), pluginsdk.CodeInvalid)
		for _, m := range must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread})) {
			if m.Content != "hello" && m.Content != "/buy" || !m.EditedAt().IsZero() {
				t.Errorf("refused, and changed: %+v", m)
			}
		}
	})
}

// From the first attempt on, whatever has become of it, the agent or a plugin may know what
// the message said. So may nobody of one that was given back unseen.
func TestAmendAsksWhetherTheRunHasBegun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for state, begin := range map[string]func(thread string, run ledger.Accepted){
			"finished": func(thread string, _ ledger.Accepted) { finish(t, s, claim(t, s, thread), "done") },
			"released": func(thread string, run ledger.Accepted) {
				check(t, s.Release(ctx, claim(t, s, thread).Fence, run.RunID))
			},
			"to be tried again": func(thread string, run ledger.Accepted) {
				check(t, s.EndAttempt(ctx, claim(t, s, thread).Fence, ledger.AttemptEnd{RunID: run.RunID, At: time.Now(), Reason: "no"}))
			},
			"cancelled": func(_ string, run ledger.Accepted) { check(t, third(s.CancelQueued(ctx, run.RunID, "stopped"))) },
		} {
			thread := newThread(t, s, state).ID
			begin(thread, written(t, s, thread, state, "hello"))
			if err := third(amend(s, state, "x")); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
				t.Errorf("%s: %v", state, err)
			}
		}
		thread := newThread(t, s, "merged").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		written(t, s, thread, "merged", "hello")
		absorb(t, s, c)
		wantCode(t, third(amend(s, "merged", "x")), pluginsdk.CodeStale)
		check(t, s.SaveResult(ctx, c.Fence, ledger.ResultCommit{RunID: c.Run.ID})) // it could not be sent
		check(t, third(amend(s, "merged", "x")))
		finish(t, s, c, "done")
		if next := claim(t, s, thread); next.Message.Content != "x" {
			t.Errorf("given back, amended, and begun with %q", next.Message.Content)
		}
	})
}

// A gate has let one text into a turn: no other takes its place there.
func TestWhatWasAmendedSinceItWasLookedAtIsNotAbsorbed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		accept(t, s, thread, "1")
		c := claim(t, s, thread)
		written(t, s, thread, "2", "2")
		written(t, s, thread, "3", "harmless")
		written(t, s, thread, "4", "4")
		seen := must[[]pluginsdk.Message](t)(s.Absorbable(ctx, c.Fence, c.Run.ID))
		check(t, third(amend(s, "3", "harmful")))
		merged := must[[]pluginsdk.Message](t)(s.Absorb(ctx, c.Fence, c.Run.ID, seen))
		if got := contents(merged); !slices.Equal(got, []string{"2"}) {
			t.Errorf("merged %q", got)
		}
		if got := contents(absorb(t, s, c)); !slices.Equal(got, []string{"harmful", "4"}) {
			t.Errorf("looked at again, merged %q", got)
		}
	})
}

// Either the run begins with the new words, or who amends them is told that it has begun.
func TestAmendRacesTheClaim(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		early, late := 0, 0
		for round := range 60 {
			key := uuid.NewString()
			first := written(t, s, thread, key, "old")
			var c ledger.Claim
			var err, notClaimed error
			both := []func(){
				func() { c, notClaimed = s.Claim(ctx, thread, "test") },
				func() { err = third(amend(s, key, "new")) },
			}
			done := make(chan struct{})
			go func() { // the other one is a moment ahead
				defer close(done)
				both[round%2]()
			}()
			both[1-round%2]()
			<-done
			check(t, notClaimed)
			want := "new"
			if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
				want, err = "old", nil
				late++
			} else {
				early++
			}
			check(t, err)
			stored := must[pluginsdk.Message](t)(s.Message(ctx, first.MessageID))
			if c.Message.Content != want || stored.Content != want {
				t.Fatalf("begun with %q, stored is %q, want %q", c.Message.Content, stored.Content, want)
			}
			finish(t, s, c, "done")
		}
		t.Logf("amended before the claim: %d, too late: %d", early, late)
	})
}

// Files that a message has no more are pruned when they are old, and those that it has now
// are not.
func TestAmendedAttachments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		keep := func(name string) pluginsdk.Attachment {
			kept := must[ledger.KeptFile](t)(s.KeepFile(ctx, ledger.KeptFile{File: pluginsdk.File{Name: name, Type: "text/plain", Size: 3, SHA256: name}}))
			return kept.Attachment()
		}
		before, after := keep("before"), keep("after")
		a := acceptance(thread, "key", "look")
		a.Plugin, a.Submission.Attachments = "discord", []pluginsdk.Attachment{before}
		check(t, second(s.Accept(ctx, a)))
		m, _, err := amend(s, "key", "")
		if check(t, err); !slices.Equal(m.Attachments, a.Submission.Attachments) {
			t.Errorf("without other attachments it has %+v", m.Attachments)
		}
		check(t, third(amend(s, "key", "look", after)))
		for _, first := range [][]pluginsdk.Attachment{{before}, {after}} {
			again := acceptance(thread, "key", "look")
			again.Submission.Attachments = first
			check(t, second(s.Accept(ctx, again)))
		}
		for file, want := range map[pluginsdk.Attachment]bool{before: false, after: true} {
			id, _ := file.FileID()
			var attached bool
			check(t, s.Reader().QueryRowContext(ctx, "SELECT attached FROM files WHERE id = $1", id).Scan(&attached))
			if attached != want {
				t.Errorf("%s is attached: %v, want %v", file.Name, attached, want)
			}
		}
	})
}
