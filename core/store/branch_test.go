package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func branchOf(from string, last int64, sourceID string) ledger.Branch {
	return ledger.Branch{
		ID: uuid.Must(uuid.NewV7()).String(), From: from, LastMessageID: last,
		Thread: pluginsdk.NewThread{Source: "discord", SourceID: sourceID},
	}
}

// said is a thread's conversation as its agent is shown it.
func said(t *testing.T, s *store.Store, threadID string) []string {
	t.Helper()
	next := accept(t, s, threadID, "next")
	return contents(must[[]pluginsdk.Message](t)(s.Messages(context.Background(), pluginsdk.MessageQuery{
		ThreadID: threadID, BeforeRunID: next.RunID, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Limit: 1000,
	})))
}

// A branch has the conversation up to the message that it is made at, in its order, with
// what came with the messages, and nothing of the old thread's session and runs.
func TestBranchHasTheConversation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		s.SetCarrier(discordCarries)
		from, _, err := s.CreateThread(ctx, pluginsdk.NewThread{
			Source: "discord", SourceID: "old", Name: "plans", Model: "haiku", Cwd: "/work", PermissionMode: "plan", AskTools: " Bash  Edit ",
			Instructions: "be brief", ReportTo: pluginsdk.Target{Plugin: "discord", Place: "room"},
		})
		check(t, err)
		for n := range 3 { // three questions, before the first answer
			accept(t, s, from.ID, fmt.Sprint("question ", n))
		}
		var answers []int64
		for n := range 3 {
			finish(t, s, claim(t, s, from.ID), fmt.Sprint("answer ", n))
			all := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: from.ID, Limit: 1000}))
			answers = append(answers, all[len(all)-1].ID)
		}
		file := pluginsdk.Attachment{Name: "plan.pdf", Type: "application/pdf", Size: 3, Where: "file:1"}
		check(t, second(s.Append(ctx, ledger.Append{ThreadID: from.ID, Plugin: "writer", Key: "k", Rows: []pluginsdk.NewMessage{
			{Role: "system", Kind: pluginsdk.MessageText, Content: "a file", Attachments: []pluginsdk.Attachment{file}, Metadata: []byte(`{"a": 1}`)},
		}})))

		check(t, second(s.UpdateThread(ctx, from.ID, pluginsdk.ThreadPatch{BusyMode: new(pluginsdk.BusySteer)})))
		whole, created, err := s.BranchThread(ctx, branchOf(from.ID, 0, "whole"))
		if err != nil || !created {
			t.Fatalf("branched: created %v, %v", created, err)
		}
		if whole.Name != "plans" || whole.Model != "haiku" || whole.Cwd != "/work" || whole.PermissionMode != "plan" || whole.AskTools != "Bash Edit" ||
			whole.Instructions != "be brief" || whole.BusyMode != pluginsdk.BusySteer || whole.Kind != pluginsdk.ThreadGeneral ||
			whole.ReportTo != (pluginsdk.Target{}) || whole.SessionID != "" {
			t.Errorf("the branch is %+v", whole)
		}
		rows := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: whole.ID, Limit: 1000}))
		for _, row := range rows {
			if row.RunID != "" || row.Key != "" {
				t.Errorf("a copy is the row of a run, or has a key: %+v", row)
			}
			if row.Content == "a file" && (!slices.Equal(row.Attachments, []pluginsdk.Attachment{file}) || string(row.Metadata) != `{"a":1}` || row.Plugin != "writer") {
				t.Errorf("what came with a message is lost: %+v", row)
			}
		}
		if counted, is := storedRows(t, s, "writer"); counted != is || is == 0 {
			t.Errorf("the plugin is said to have stored %d bytes, with the copies it has %d", counted, is)
		}
		kept := must[ledger.Thread](t)(s.KeptThread(ctx, whole.ID))
		if last := rows[len(rows)-1]; last.Kind != pluginsdk.MessageStatus || kept.SeenMessageID != last.ID || kept.LastReadMessageID != last.ID {
			t.Errorf("seen up to %d, read up to %d, the last row is %+v", kept.SeenMessageID, kept.LastReadMessageID, last)
		}
		order := []string{"question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2", "a file"}
		if got := said(t, s, whole.ID); !slices.Equal(got, order) {
			t.Errorf("the branch has %q, want %q", got, order)
		}
		part, _, err := s.BranchThread(ctx, branchOf(from.ID, answers[1], "part"))
		check(t, err)
		if got := said(t, s, part.ID); !slices.Equal(got, order[:4]) {
			t.Errorf("the branch at the second answer has %q, want %q", got, order[:4])
		}

		again, created, err := s.BranchThread(ctx, branchOf(from.ID, 0, "part"))
		if err != nil || created || again.ID != part.ID {
			t.Errorf("a repeated branch is %+v, created %v, %v", again, created, err)
		}
		_, _, err = s.BranchThread(ctx, branchOf(from.ID, 1<<40, "none"))
		wantCode(t, err, pluginsdk.CodeNotFound)
		_, _, err = s.BranchThread(ctx, branchOf("nowhere", 0, "none"))
		wantCode(t, err, pluginsdk.CodeNotFound)
		if ids := must[[]string](t)(s.Removals(ctx)); len(ids) > 0 {
			t.Errorf("%q are left to be removed", ids)
		}
		check(t, second(s.DeleteThread(ctx, from.ID, "ann")) /* has no run that is not over */)
		check(t, s.RemoveThread(ctx, from.ID))
		sound(t, s)
		if got := said(t, s, part.ID); !slices.Equal(got, append(order[:4:4], "next")) {
			t.Errorf("without the old thread the branch has %q", got)
		}
	})
}

// Whatever was said, in whatever order it was answered: a branch says the same as the
// thread did up to that message, for each message.
func TestBranchSaysTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		seed := rand.Uint64()
		dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
		from := newThread(t, s, "old")
		waiting := 0
		for n := range 40 {
			switch {
			case dice.IntN(3) == 0 && waiting > 0:
				finish(t, s, claim(t, s, from.ID), fmt.Sprint("answer ", n))
				waiting--
			case dice.IntN(4) == 0:
				add(t, s, from.ID, text("system", fmt.Sprint("remark ", n)))
			default:
				accept(t, s, from.ID, fmt.Sprint("question ", n))
				waiting++
			}
		}
		whole := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: from.ID, Limit: 1000}))
		order := said(t, s, from.ID)
		for range 8 {
			at := whole[dice.IntN(len(whole))]
			made, _, err := s.BranchThread(ctx, branchOf(from.ID, at.ID, uuid.NewString()))
			check(t, err)
			want := order[:slices.Index(order, at.Content)+1]
			if got := said(t, s, made.ID); !slices.Equal(got, want) {
				t.Fatalf("seed %d: a branch at %q has\n%q, want\n%q", seed, at.Content, got, want)
			}
		}
	})
}

// A daemon may die between any two steps of a branch. It is there as a whole or not at all,
// what was copied goes, and who asks again gets one branch.
func TestBranchIsWholeOrNotThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		from := newThread(t, s, "old")
		var rows []pluginsdk.NewMessage
		for n := range 1100 { // three batches
			rows = append(rows, text("system", fmt.Sprint(n)))
		}
		add(t, s, from.ID, rows...)
		before := rowsOf(t, s, from.ID)
		for steps := 0; ; steps++ {
			branch := branchOf(from.ID, 0, "branch")
			revive := s.DieAfter(steps)
			_, created, err := s.BranchThread(ctx, branch)
			revive()
			sound(t, s)
			if err == nil {
				if steps != 5 || !created {
					t.Errorf("a branch took %d transactions, created %v; want 5", steps, created)
				}
				if got := rowsOf(t, s, branch.ID); got != "threads 1, messages 1101" {
					t.Errorf("the branch has %s", got)
				}
				break
			}
			wantCode(t, second(s.Thread(ctx, branch.ID)), pluginsdk.CodeNotFound)
			if seen := must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: branch.ID})); len(seen) > 0 {
				t.Errorf("after %d steps: half a branch is shown: %d messages", steps, len(seen))
			}
			check(t, s.RemoveThread(ctx, branch.ID))
			if left := rowsOf(t, s, branch.ID); left != "" {
				t.Errorf("after %d steps: left of the branch: %s", steps, left)
			}
		}
		if now := rowsOf(t, s, from.ID); now != before {
			t.Errorf("the thread has %s, and had %s", now, before)
		}
	})
}

// What somebody deletes while it is branched is not kept by that.
func TestNothingIsBranchedOfWhatIsDeleted(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s, other := storetest.OpenConfig(t, config), storetest.OpenConfig(t, config)
		for writes := range 3 { // before the first, before the copies, before the end
			from := newThread(t, s, fmt.Sprint("old ", writes))
			add(t, s, from.ID, text(pluginsdk.RoleUser, "the password"))
			branch := branchOf(from.ID, 0, fmt.Sprint("branch ", writes))
			end := s.Meanwhile(writes, func() {
				check(t, second(other.DeleteThread(ctx, from.ID, "ann")))
				check(t, other.RemoveThread(ctx, from.ID))
			})
			_, _, err := s.BranchThread(ctx, branch)
			end()
			wantCode(t, err, pluginsdk.CodeNotFound)
			wantCode(t, second(s.Thread(ctx, branch.ID)), pluginsdk.CodeNotFound)
			check(t, s.RemoveThread(ctx, branch.ID))
			if left := rowsOf(t, s, branch.ID) + rowsOf(t, s, from.ID); left != "" {
				t.Errorf("deleted before write %d: left are %s", writes, left)
			}
		}
		sound(t, s)
	})
}

// What answers a message stands behind it in a branch, however much was said in between.
func TestBranchKeepsTheOrderOverBatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		from := newThread(t, s, "old")
		accept(t, s, from.ID, "question")
		var rows []pluginsdk.NewMessage
		for n := range 600 {
			rows = append(rows, text("system", fmt.Sprint(n)))
		}
		add(t, s, from.ID, rows...)
		finish(t, s, claim(t, s, from.ID), "answer")
		made, _, err := s.BranchThread(context.Background(), branchOf(from.ID, 0, "branch"))
		check(t, err)
		if got := said(t, s, made.ID); len(got) != 602 || got[0] != "question" || got[1] != "answer" || got[2] != "0" || got[601] != "599" {
			t.Errorf("the branch has %d messages: %q ...", len(got), got[:min(3, len(got))])
		}
	})
}
