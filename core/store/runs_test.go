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
