package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A schedule that fires on the end of tasks asks every few seconds which have ended since it has asked last. That must not
// read all tasks that there ever were, whatever the database knows of them.
func TestTasksThatHaveEndedAreFoundByAnIndex(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		first, _, err := s.CreateTask(ctx, ledger.NewTask{Plugin: "maker", Key: "key", NewTask: pluginsdk.NewTask{Prompt: "dig"}})
		check(t, err)
		columns := must[[]string](t)(s.Columns(ctx, "tasks"))
		quoted, values := make([]string, len(columns)), make([]string, len(columns))
		for i, column := range columns {
			quoted[i] = `"` + column + `"`
			switch values[i] = "t." + quoted[i]; column {
			case "id", "key":
				values[i] += " || n.i"
			case "completed_at":
				values[i] = "$1"
			}
		}
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
				INSERT INTO tasks (%s) SELECT %s FROM n, tasks t`, strings.Join(quoted, ", "), strings.Join(values, ", ")), old)
		}))
		look := func(query pluginsdk.TaskQuery, want int) {
			t.Helper()
			plans := must[[]string](t)(s.Explain("tasks", func() error {
				tasks, err := s.Tasks(ctx, query)
				if len(tasks) != want {
					t.Errorf("%+v: %d tasks, want %d, %v", query, len(tasks), want, err)
				}
				return err
			}))
			if len(plans) == 0 || slices.ContainsFunc(plans, func(plan string) bool {
				return !strings.Contains(plan, "task_completed_at_id") || strings.Contains(strings.ToUpper(plan), "SCAN ON TASKS") || strings.Contains(plan, "SCAN tasks")
			}) {
				t.Errorf("%+v is answered by %q", query, plans)
			}
		}
		// Postgres, which analyzes tables by itself, has to be told of so many rows at once.
		for _, analyzed := range []bool{false, true} {
			if analyzed {
				check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error { return tx.Run1(ctx, "ANALYZE") }))
			} else if s.Dialect() == "postgres" {
				continue
			}
			look(pluginsdk.TaskQuery{EndedAfter: old.Add(time.Hour), Limit: 1000}, 0)
			look(pluginsdk.TaskQuery{EndedAfter: old.Add(time.Hour), After: first.ID, Limit: 1000}, 0)
		}
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "UPDATE tasks SET completed_at = $1 WHERE id = $2", old.Add(2*time.Hour), first.ID+"7")
		}))
		look(pluginsdk.TaskQuery{EndedAfter: old.Add(time.Hour), Limit: 1000}, 1)
		look(pluginsdk.TaskQuery{EndedAfter: old.Add(time.Hour), After: first.ID, Limit: 1000}, 1)
		look(pluginsdk.TaskQuery{EndedAfter: old.Add(time.Hour), Newest: true, Limit: 1000}, 1)
	})
}
