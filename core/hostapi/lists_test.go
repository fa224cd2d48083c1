package hostapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// many is a store with many of what is listed, each a mebibyte large.
type many struct {
	Store
	jobs     []pluginsdk.CronJob
	messages []pluginsdk.Message
}

func newMany(n int) *many {
	m := &many{}
	for i := range n {
		text := strings.Repeat("x", 1<<20)
		m.jobs = append(m.jobs, pluginsdk.CronJob{Spec: pluginsdk.CronSpec{Name: "job-" + strconv.Itoa(i), Prompt: text}})
		m.messages = append(m.messages, pluginsdk.Message{ID: int64(i + 1), Content: text})
	}
	return m
}

func (m *many) Crons(context.Context) ([]pluginsdk.CronJob, error) { return slices.Clone(m.jobs), nil }

func (m *many) CronFires(_ context.Context, query pluginsdk.CronFiresRequest) (rows []pluginsdk.CronFire, more bool, err error) {
	for i := range len(m.jobs) {
		if due := time.Unix(int64(1000-i), 0); query.Before.IsZero() || due.Before(query.Before) {
			rows = append(rows, pluginsdk.CronFire{Due: due, Data: m.jobs[i].Spec.Prompt})
		}
	}
	return rows, false, nil
}

func (m *many) MessagePage(_ context.Context, query pluginsdk.MessageQuery) (rows []pluginsdk.Message, more bool, err error) {
	rows = slices.DeleteFunc(slices.Clone(m.messages), func(row pluginsdk.Message) bool {
		return row.ID <= query.After || query.Before > 0 && row.ID >= query.Before
	})
	limit := min(len(rows), cmp.Or(query.Limit, 100))
	if query.Last {
		return rows[len(rows)-limit:], limit < len(rows), nil
	}
	return rows[:limit], limit < len(rows), nil
}

// What does not fit into one answer, by number or by size, must not be lost, and who
// reads to the end must know that it is the end.
func TestListsAreReadToTheirEnd(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	f.api.Store = newMany(20)
	f.api.Toolbox = shelf{names: []string{"b__x", "c__x", "a__x"}}

	for limit, pages := range map[int]int{0: 3, 7: 3, 20: 3, 5: 4, 1: 20} { // 8 MiB have room for 7
		var names []string
		request, n := &pluginsdk.ListCronsRequest{Limit: limit}, 0
		for more := true; more; n++ {
			answer, err := f.Crons.List(ctx, request)
			if err != nil || len(answer.Jobs) == 0 {
				t.Fatalf("limit %d, after %q: %+v, %v", limit, request.After, answer, err)
			}
			for _, job := range answer.Jobs {
				names = append(names, job.Spec.Name)
			}
			request.After, more = names[len(names)-1], answer.More
		}
		if len(names) != 20 || !slices.IsSorted(names) || n != pages {
			t.Errorf("limit %d: %d pages, want %d, with %q", limit, n, pages, names)
		}
	}

	for _, last := range []bool{false, true} {
		for _, limit := range []int{0, 5, 20} {
			var ids []int64
			query := pluginsdk.MessageQuery{ThreadID: "T", Limit: limit, Last: last}
			for more := true; more; {
				answer, err := f.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: query})
				if err != nil || len(answer.Messages) == 0 {
					t.Fatalf("%+v: %+v, %v", query, answer, err)
				}
				for _, row := range answer.Messages {
					ids = append(ids, row.ID)
				}
				if last {
					query.Before = answer.Messages[0].ID
				} else {
					query.After = answer.Messages[len(answer.Messages)-1].ID
				}
				more = answer.More
			}
			if slices.Sort(ids); len(ids) != 20 || ids[0] != 1 || len(slices.Compact(ids)) != 20 {
				t.Errorf("last %v, limit %d: %v", last, limit, ids)
			}
		}
	}

	tools, err := f.Tools.List(ctx, &pluginsdk.ListToolsRequest{After: "a__x", Limit: 1})
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "b__x" || !tools.More {
		t.Errorf("the second tool: %+v, %v", tools, err)
	}
	fires := 0
	for request, more := (&pluginsdk.CronFiresRequest{Open: true}), true; more; {
		answer, err := f.Crons.Fires(ctx, request)
		if err != nil || len(answer.Fires) == 0 || sizeOf(answer.Fires) > 9<<20 {
			t.Fatalf("after %d fires: %d bytes, %v", fires, sizeOf(answer), err)
		}
		fires, more = fires+len(answer.Fires), answer.More
		request.Before = answer.Fires[len(answer.Fires)-1].Due
	}
	if fires != 20 {
		t.Errorf("%d of 20 fires were listed", fires)
	}
}

// shelf is a Toolbox with tools of these names, in no order.
type shelf struct {
	Toolbox
	names []string
}

func (s shelf) List() (specs []pluginsdk.ToolSpec) {
	for _, name := range s.names {
		specs = append(specs, pluginsdk.ToolSpec{Name: name})
	}
	return specs
}

// The registry is in the operator's order; its pages are too.
func TestPluginsAreListedPageByPage(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	first, err := f.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{Limit: 1})
	if err != nil || len(first.Plugins) != 1 || first.Plugins[0].Name != "other" || !first.More {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := f.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{After: "other", Limit: 1})
	if err != nil || len(second.Plugins) != 1 || second.Plugins[0].Name != "rival" || second.More {
		t.Errorf("%+v, %v", second, err)
	}
	_, err = f.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{After: "gone"})
	refused(t, "after one that is gone", err, pluginsdk.CodeNotFound, "gone")
}
