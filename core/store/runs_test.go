package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A page shows what became of each of its messages, and asks once.
func TestRunsByTheirIDs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var ids []string
		for n := range 4 {
			ids = append(ids, accept(t, s, newThread(t, s, fmt.Sprint(n%2)).ID, fmt.Sprint(n)).RunID)
		}
		thread := must[pluginsdk.Run](t)(s.Run(ctx, ids[0])).ThreadID
		for _, row := range []struct {
			query pluginsdk.RunQuery
			want  []string
		}{
			{pluginsdk.RunQuery{IDs: []string{ids[2], "gone", ids[1], ids[1]}}, ids[1:3]},
			{pluginsdk.RunQuery{IDs: ids[:3], ThreadID: thread}, []string{ids[0], ids[2]}},
			{pluginsdk.RunQuery{IDs: ids[:3], Newest: true, Limit: 1}, ids[2:3]},
			{pluginsdk.RunQuery{IDs: ids[:3], After: ids[1]}, ids[2:3]},
			{pluginsdk.RunQuery{IDs: []string{"gone"}}, nil},
		} {
			var got []string
			plans := s.Plans(func() {
				for _, r := range must[[]pluginsdk.Run](t)(s.Runs(ctx, row.query)) {
					got = append(got, r.ID)
				}
			})
			if !slices.Equal(got, row.want) || strings.Contains(plans[0], "run_thread_id_message_id") {
				t.Errorf("%+v: %v, want %v\n%s", row.query, got, row.want, plans)
			}
		}
		wantCode(t, second(s.Runs(ctx, pluginsdk.RunQuery{IDs: make([]string, 101)})), pluginsdk.CodeInvalid)
	})
}

// A page asks which runs of its thread are not over, with each event: not by way of all the
// runs that the thread ever had.
func TestRunsOfAThreadThatAreNotOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var ids []string
		thread := newThread(t, s, "0").ID
		for n := range 4 {
			ids = append(ids, accept(t, s, thread, fmt.Sprint(n)).RunID)
		}
		accept(t, s, newThread(t, s, "1").ID, "elsewhere")
		open := []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning, pluginsdk.RunWaiting}
		for _, row := range []struct {
			query pluginsdk.RunQuery
			want  []string
			whole bool // all the thread's runs may be read
		}{
			{pluginsdk.RunQuery{States: open}, ids, false},
			{pluginsdk.RunQuery{States: open, After: ids[0], Limit: 2}, ids[1:3], false},
			{pluginsdk.RunQuery{States: open, Newest: true, Limit: 2}, []string{ids[3], ids[2]}, false},
			{pluginsdk.RunQuery{States: append(open, pluginsdk.RunFailed), Newest: true, After: ids[1]}, ids[:1], true},
		} {
			row.query.ThreadID = thread
			var got []string
			plans := s.Plans(func() {
				for _, r := range must[[]pluginsdk.Run](t)(s.Runs(ctx, row.query)) {
					got = append(got, r.ID)
				}
			})
			// Postgres decides by the rows that there are: of so few it reads all.
			if whole := row.whole || s.Dialect() == "postgres"; !slices.Equal(got, row.want) || !whole && strings.Contains(plans[0], "run_thread_id_message_id") {
				t.Errorf("%+v: %v, want %v\n%s", row.query, got, row.want, plans)
			}
		}
	})
}
