package store_test

import (
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who floods a schedule with calls that are refused must not keep the one writer, which everybody's messages wait for.
func TestAFireThatIsRefusedDoesNotWaitForTheWriter(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		var mu sync.Mutex
		writes := 0
		config.Trace = func(span ledger.Span) {
			mu.Lock()
			defer mu.Unlock()
			if span.Kind == ledger.SpanWrite {
				writes++
			}
		}
		s, ctx := storetest.OpenConfig(t, config), t.Context()
		for name, enabled := range map[string]bool{"on": true, "off": false} {
			check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun}, enabled)))
		}
		check(t, second(s.FireCron(ctx, "on", "version 1")))
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return writes
		}
		before := count()
		wantCode(t, second(s.FireCron(ctx, "ghost", "")), pluginsdk.CodeNotFound)
		wantCode(t, second(s.FireCron(ctx, "off", "version 1")), pluginsdk.CodeConflict)
		wantCode(t, second(s.FireCron(ctx, "on", "version 2")), pluginsdk.CodeExhausted)
		if n := count() - before; n != 0 {
			t.Errorf("three refusals have taken %d transactions", n)
		}
	})
}

// Of calls that come at the same moment one is taken: each of them has looked before any of them wrote.
func TestOneOfTheCallsAtOnceFires(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		for _, name := range []string{"a", "b", "c", "d"} {
			check(t, third(s.SaveCron(ctx, pluginsdk.CronSpec{Name: name, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x", Missed: pluginsdk.MissedRun}, true)))
			start, fired := make(chan struct{}), make(chan error)
			const callers = 8
			for range callers {
				go func() {
					<-start
					fired <- second(s.FireCron(ctx, name, "data"))
				}()
			}
			close(start)
			taken := 0
			for range callers {
				if err := <-fired; err == nil {
					taken++
				} else if pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
					t.Error(err)
				}
			}
			if taken != 1 {
				t.Errorf("of %d calls at once %d were taken", callers, taken)
			}
		}
	})
}
