package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a turn has cost and what was promised to people is on disk; only the answer that
// goes there with its reply does not wait for it, and that not where a server could
// lose it while the daemon goes on.
func TestWhatATurnWaitsForTheDiskWith(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		var mu sync.Mutex
		var spans []ledger.Span
		config.Trace = func(span ledger.Span) {
			mu.Lock()
			defer mu.Unlock()
			if span.Kind == ledger.SpanWrite {
				spans = append(spans, span)
			}
		}
		s := storetest.OpenConfig(t, config)
		thread := newThread(t, s, "general").ID
		mu.Lock()
		spans = nil
		mu.Unlock()
		ctx := context.Background()
		accept(t, s, thread, "hello")
		c := claim(t, s, thread)
		check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID}))
		answer := result(c)
		answer.MayWaitForDisk = true
		check(t, s.SaveResult(ctx, c.Fence, answer))
		check(t, second(s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded})))
		var got []string
		for _, span := range spans {
			got = append(got, fmt.Sprintf("%s %t", span.Name, span.Durable))
			if span.Count == 0 || span.Took < span.Inside {
				t.Errorf("%+v", span)
			}
		}
		want := []string{"Accept true", "Claim false", "SaveIntent true", "SaveResult true", "Finish true"}
		if s.Dialect() != "postgres" {
			want[3] = "SaveResult false"
		}
		if !slices.Equal(got, want) {
			t.Errorf("writes %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
		}
	})
}
