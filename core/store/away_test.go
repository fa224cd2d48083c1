package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A full disk and one that has become read-only refuse a message with words
// that say so, keep nothing of it, and take it once there is room again, with
// no restart in between.
func TestDiskThatTakesNothingMore(t *testing.T) {
	for name, trouble := range map[string]struct{ begin, end, words string }{
		"full":      {"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1073741823", "full"},
		"read-only": {"PRAGMA query_only = 1", "PRAGMA query_only = 0", "readonly"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.OpenConfig(t, storetest.SQLite(t))
			ctx := context.Background()
			thread := newThread(t, s, "general").ID
			kept := accept(t, s, thread, "kept")
			check(t, s.Pragma(ctx, trouble.begin))
			long := acceptance(thread, "long", strings.Repeat("x", 1<<20))
			_, err := s.Accept(ctx, long)
			wantCode(t, err, pluginsdk.CodeUnavailable)
			if err == nil || !strings.Contains(err.Error(), trouble.words) {
				t.Errorf("the error is %q", err)
			}
			if known := must[bool](t)(s.Known(ctx, "discord", "long")); known {
				t.Error("a refused message is known")
			}
			check(t, s.Pragma(ctx, trouble.end))
			if again := must[ledger.Accepted](t)(s.Accept(ctx, long)); again.Existed || again.MessageID <= kept.MessageID {
				t.Errorf("accepted %+v", again)
			}
			finish(t, s, claim(t, s, thread), "done")
		})
	}
}
