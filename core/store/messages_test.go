package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A hook that is called again after a crash must not double its rows.
func TestAppendIsIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		rows := []pluginsdk.NewMessage{
			{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Content: "one", Metadata: []byte(`{ "a" : "<b>" }`)},
			text(pluginsdk.RoleSystem, "two"),
		}
		call := ledger.Append{ThreadID: thread, Plugin: "activity", Key: "key", Rows: rows}
		first := must[ledger.Appended](t)(s.Append(ctx, call)).Messages
		if len(first) != 2 || first[0].Source != "activity" || first[0].Plugin != "activity" ||
			first[0].Key != "activity/key" || first[1].Key != "activity#1/key" || first[0].ID >= first[1].ID {
			t.Fatalf("stored %+v", first)
		}
		again := must[ledger.Appended](t)(s.Append(ctx, call)).Messages
		for i := range first {
			same(t, first[i], again[i])
		}
		for name, other := range map[string][]pluginsdk.NewMessage{
			"other content": {rows[0], text(pluginsdk.RoleSystem, "three")},
			"fewer rows":    rows[:1],
			"more rows":     append(slices.Clone(rows), rows[1]),
		} {
			changed := call
			changed.Rows = other
			if _, err := s.Append(ctx, changed); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
				t.Errorf("%s: got %v, want a conflict", name, err)
			}
		}
		alike := call
		alike.Key, alike.Rows = "key#1", rows[1:]
		alone := only[pluginsdk.Message](t)(must[ledger.Appended](t)(s.Append(ctx, alike)).Messages, nil)
		if slices.ContainsFunc(first, func(m pluginsdk.Message) bool { return m.ID == alone.ID }) {
			t.Errorf("the key %q is taken for a row of %q", alike.Key, call.Key)
		}
		byHand(t, s, fmt.Sprintf("DELETE FROM messages WHERE id = %d", alone.ID))
		elsewhere := call
		elsewhere.ThreadID = newThread(t, s, "other").ID
		check(t, second(s.Append(ctx, elsewhere)))
		if n := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread}))); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}
	})
}

func TestAppendIsAllOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		good := text(pluginsdk.RoleSystem, "good")
		for name, bad := range map[string]pluginsdk.NewMessage{
			"no role":     {Kind: pluginsdk.MessageText},
			"no kind":     {Role: pluginsdk.RoleUser},
			"no metadata": {Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Metadata: []byte(`"text"`)},
		} {
			if _, err := s.Append(ctx, ledger.Append{ThreadID: thread, Rows: []pluginsdk.NewMessage{good, bad}}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Errorf("%s: got %v", name, err)
			}
		}
		_, err := s.Append(ctx, ledger.Append{ThreadID: "no such thread", Rows: []pluginsdk.NewMessage{good}})
		wantCode(t, err, pluginsdk.CodeNotFound)
		if n := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread}))); n != 0 {
			t.Errorf("%d messages, want none", n)
		}
		many := slices.Repeat([]pluginsdk.NewMessage{good}, 230)
		stored := must[ledger.Appended](t)(s.Append(ctx, ledger.Append{ThreadID: thread, Key: "many", Rows: many})).Messages
		if len(stored) != len(many) || !slices.IsSortedFunc(stored, func(a, b pluginsdk.Message) int { return int(a.ID - b.ID) }) {
			t.Errorf("%d rows stored, or out of order", len(stored))
		}
	})
}

func TestMessagesSelects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		var ids []int64
		for i := range 6 {
			row := text([]pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant}[i%2], fmt.Sprint(i))
			if i == 5 {
				row.Kind = pluginsdk.MessageThinking
			}
			ids = append(ids, add(t, s, thread, row)[0].ID)
		}
		tests := map[string]struct {
			query pluginsdk.MessageQuery
			want  []string
		}{
			"all":    {pluginsdk.MessageQuery{}, []string{"0", "1", "2", "3", "4", "5"}},
			"first":  {pluginsdk.MessageQuery{Limit: 2}, []string{"0", "1"}},
			"last":   {pluginsdk.MessageQuery{Limit: 2, Last: true}, []string{"4", "5"}},
			"after":  {pluginsdk.MessageQuery{After: ids[3]}, []string{"4", "5"}},
			"before": {pluginsdk.MessageQuery{Before: ids[4], Limit: 1, Last: true}, []string{"3"}},
			"roles":  {pluginsdk.MessageQuery{Roles: []pluginsdk.Role{pluginsdk.RoleUser}}, []string{"0", "2", "4"}},
			"kinds":  {pluginsdk.MessageQuery{Kinds: []pluginsdk.MessageKind{pluginsdk.MessageThinking}}, []string{"5"}},
		}
		for name, test := range tests {
			test.query.ThreadID = thread
			got := contents(must[[]pluginsdk.Message](t)(s.Messages(ctx, test.query)))
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		_, err := s.Messages(ctx, pluginsdk.MessageQuery{})
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

// Who opens one answer in a thread that is years old gets its rows, and nobody reads the
// thread for that.
func TestMessagesOfARunAreReadFromAnIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, `INSERT INTO messages (thread_id, role, kind, source, content, run_id, created_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
				SELECT '`+thread+`', 'assistant', 'status', 'x', '' || i, CASE i % 3 WHEN 0 THEN '' ELSE 'run-' || (i % 4000) END, created_at
				FROM n CROSS JOIN (SELECT created_at FROM threads) AS model`)
		}))
		query := pluginsdk.MessageQuery{ThreadID: thread, RunID: "run-7", Limit: 3}
		look := func(analyzed bool) {
			for last, want := range map[bool]string{false: "[7 4007 12007]", true: "[4007 12007 16007]"} {
				query.Last = last
				var got []string
				plans := s.Plans(func() { got = contents(must[[]pluginsdk.Message](t)(s.Messages(ctx, query))) })
				if fmt.Sprint(got) != want || len(plans) != 1 || !strings.Contains(plans[0], "message_run_id") {
					t.Errorf("analyzed %t, last %t: %v, want %s\n%s", analyzed, last, got, want, strings.Join(plans, "\n"))
				}
			}
		}
		look(false)
		byHand(t, s, "ANALYZE messages")
		look(true)
	})
}

// What a thread has is read page by page, however much that is: whether the thread was deleted is no
// question for each of its rows.
func TestAPageOfAThreadIsReadFromAnIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread, other := newThread(t, s, "general").ID, newThread(t, s, "other").ID
		fill := func(thread string) {
			check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
				return tx.Run1(ctx, `INSERT INTO messages (thread_id, role, kind, source, content, created_at)
					WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
					SELECT '`+thread+`', 'assistant', 'text', 'x', '' || i, created_at FROM n CROSS JOIN (SELECT created_at FROM threads LIMIT 1) AS model`)
			}))
		}
		fill(thread)
		fill(other)
		byHand(t, s, "ANALYZE")
		for what, read := range map[string]func() error{
			"newest messages": func() error {
				page, err := s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread, Limit: 3, Last: true})
				if got := contents(page); fmt.Sprint(got) != "[19998 19999 20000]" {
					t.Errorf("the newest messages are %v", got)
				}
				return err
			},
			"older messages": func() error {
				return second(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread, Limit: 3, Last: true, Before: 10000}))
			},
			"runs":      func() error { return second(s.Runs(ctx, pluginsdk.RunQuery{ThreadID: thread, Limit: 3})) },
			"files":     func() error { return second(s.Files(ctx, pluginsdk.FileQuery{ThreadID: thread, Limit: 3})) },
			"tasks":     func() error { return second(s.Tasks(ctx, pluginsdk.TaskQuery{ThreadID: thread, Limit: 3})) },
			"approvals": func() error { return second(s.Approvals(ctx, pluginsdk.ApprovalQuery{ThreadID: thread, Limit: 3})) },
			"rules": func() error {
				return second(s.ApprovalRules(ctx, pluginsdk.ListApprovalRulesRequest{ThreadID: thread, Limit: 3}))
			},
		} {
			plans := strings.Join(s.Plans(func() { check(t, read()) }), "\n")
			bad := []string{"Anti Join", "CORRELATED"}
			if strings.HasSuffix(what, "messages") {
				bad = append(bad, "Sort", "TEMP B-TREE")
			}
			if slices.ContainsFunc(bad, func(sign string) bool { return strings.Contains(plans, sign) }) {
				t.Errorf("%s:\n%s", what, plans)
			}
		}
	})
}

// Three messages are queued at once and answered one after the other. Each is
// answered with what came before it, in the order of a conversation: never
// with the questions that were asked later.
func TestHistoryIsInTheOrderOfTurns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		add(t, s, thread, text(pluginsdk.RoleAssistant, "welcome"))
		var runs []string
		for i := range 3 {
			runs = append(runs, accept(t, s, thread, fmt.Sprintf("q%d", i+1)).RunID)
		}
		for i := range 3 {
			c := claim(t, s, thread)
			check(t, second(s.Append(ctx, ledger.Append{
				Fence: &c.Fence, ThreadID: thread, Plugin: "x", RunID: c.Run.ID,
				Rows: []pluginsdk.NewMessage{{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageThinking, Content: "hm"}},
			})))
			finish(t, s, c, fmt.Sprintf("a%d", i+1))
		}
		add(t, s, thread, text(pluginsdk.RoleAssistant, "later"))
		want := [][]string{{"welcome"}, {"welcome", "q1", "a1"}, {"welcome", "q1", "a1", "q2", "a2"}}
		for i, run := range runs {
			for _, query := range []pluginsdk.MessageQuery{{Limit: 50}, {Limit: 50, Last: true}} {
				query.ThreadID, query.BeforeRunID, query.Kinds = thread, run, []pluginsdk.MessageKind{pluginsdk.MessageText}
				got := contents(must[[]pluginsdk.Message](t)(s.Messages(ctx, query)))
				if !slices.Equal(got, want[i]) {
					t.Errorf("before run %d (last: %v): %v, want %v", i+1, query.Last, got, want[i])
				}
			}
		}
		last := pluginsdk.MessageQuery{ThreadID: thread, BeforeRunID: runs[2], Limit: 2, Last: true, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}}
		if got := contents(must[[]pluginsdk.Message](t)(s.Messages(ctx, last))); !slices.Equal(got, []string{"q2", "a2"}) {
			t.Errorf("the last two: %v", got)
		}
		last.After = 1 << 40
		wantCode(t, second(s.Messages(ctx, last)), pluginsdk.CodeNotFound)
		wantCode(t, second(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread, BeforeRunID: "nope"})), pluginsdk.CodeNotFound)
	})
}

// The newest turns are found also where a long queue was answered in one go:
// then the newest rows by id are the answers alone, far from their questions.
func TestHistoryFindsQuestionsFarFromTheirAnswers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		const turns = 40
		for i := range turns {
			accept(t, s, thread, fmt.Sprintf("q%02d", i))
		}
		for i := range turns {
			finish(t, s, claim(t, s, thread), fmt.Sprintf("a%02d", i))
		}
		run := accept(t, s, thread, "and now?").RunID
		for limit := 1; limit <= 2*turns; limit += 3 {
			got := contents(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{
				ThreadID: thread, BeforeRunID: run, Limit: limit, Last: true,
			})))
			var want []string
			for i := range turns {
				want = append(want, fmt.Sprintf("q%02d", i), fmt.Sprintf("a%02d", i))
			}
			if want = want[len(want)-limit:]; !slices.Equal(got, want) {
				t.Fatalf("limit %d: got %v, want %v", limit, got, want)
			}
		}
	})
}

// All of a long conversation can be read, page by page from either end, in the order
// of its turns; and whoever reads is told when there is no more.
func TestMessagesArePaged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		var want []string
		for i := range 7 {
			accept(t, s, thread, fmt.Sprintf("q%d", i))
			want = append(want, fmt.Sprintf("q%d", i), fmt.Sprintf("a%d", i))
		}
		for i := range 7 {
			finish(t, s, claim(t, s, thread), fmt.Sprintf("a%d", i))
		}
		run := accept(t, s, thread, "and now?").RunID
		byID := slices.Concat(each(want, 0), each(want, 1), []string{"and now?"})
		for _, of := range []struct {
			run  string
			want []string
		}{{run, want}, {"", byID}} {
			for limit := 1; limit <= len(of.want)+1; limit++ {
				for _, last := range []bool{false, true} {
					q := pluginsdk.MessageQuery{ThreadID: thread, BeforeRunID: of.run, Limit: limit, Last: last}
					var got []string
					for more := true; more; {
						var rows []pluginsdk.Message
						var err error
						rows, more, err = s.MessagePage(ctx, q)
						check(t, err)
						if len(rows) == 0 || len(rows) > limit {
							t.Fatalf("limit %d, last %v: a page of %d", limit, last, len(rows))
						}
						if last {
							got, q.Before = append(contents(rows), got...), rows[0].ID
						} else {
							got, q.After = append(got, contents(rows)...), rows[len(rows)-1].ID
						}
					}
					if !slices.Equal(got, of.want) {
						t.Fatalf("before run %q, limit %d, last %v: got %v, want %v", of.run, limit, last, got, of.want)
					}
				}
			}
		}
		other := add(t, s, newThread(t, s, "other").ID, text(pluginsdk.RoleAssistant, "elsewhere"))[0].ID
		wantCode(t, second(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread, BeforeRunID: run, Before: other})), pluginsdk.CodeNotFound)
	})
}

// each returns every second one, from the first or the second on.
func each(of []string, from int) (out []string) {
	for i := from; i < len(of); i += 2 {
		out = append(out, of[i])
	}
	return out
}

func TestRunsSelects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		a, b := newThread(t, s, "a").ID, newThread(t, s, "b").ID
		first, other, third := accept(t, s, a, "1").RunID, accept(t, s, b, "2").RunID, accept(t, s, a, "3").RunID
		c := claim(t, s, a)
		saveResult(t, s, c)
		ids := func(q pluginsdk.RunQuery) (out []string) {
			for _, r := range must[[]pluginsdk.Run](t)(s.Runs(ctx, q)) {
				if out = append(out, r.ID); len(r.Events) > 0 {
					t.Error("a list carries events")
				}
			}
			return out
		}
		for name, test := range map[string]struct {
			query pluginsdk.RunQuery
			want  []string
		}{
			"all":    {pluginsdk.RunQuery{}, []string{first, other, third}},
			"thread": {pluginsdk.RunQuery{ThreadID: a}, []string{first, third}},
			"states": {pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunQueued}}, []string{other, third}},
			"after":  {pluginsdk.RunQuery{After: first, Limit: 1}, []string{other}},
			"page":   {pluginsdk.RunQuery{ThreadID: a, After: first}, []string{third}},
		} {
			if got := ids(test.query); !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
		}
		if c := must[ledger.Claim](t)(s.Claim(ctx, a, "test")); c.Found {
			t.Error("a thread at work can be claimed")
		}
	})
}
