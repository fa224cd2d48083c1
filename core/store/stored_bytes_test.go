package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// storedRows is what is counted of a plugin's messages and metrics, and what is
// there of them.
func storedRows(t *testing.T, s *store.Store, plugin string) (counted, is int64) {
	t.Helper()
	sum := func(columns string) string {
		var b strings.Builder
		b.WriteString("COALESCE(SUM(100")
		for column := range strings.SplitSeq(columns, " ") {
			fmt.Fprintf(&b, " + COALESCE(OCTET_LENGTH(CAST(%s AS text)), 0)", column)
		}
		return b.String() + "), 0)"
	}
	ask := func(into *int64, query string) {
		check(t, s.Reader().QueryRowContext(t.Context(), "SELECT CAST("+query+" AS bigint)", plugin).Scan(into))
	}
	var messages, metrics int64
	ask(&counted, "COALESCE((SELECT SUM(bytes) FROM plugin_bytes WHERE plugin = $1), 0)")
	ask(&messages, "(SELECT "+sum("thread_id role kind source plugin author content model metadata attachments run_id key")+
		" FROM messages WHERE plugin = $1 AND NOT (role = 'user' AND kind = 'text'))")
	ask(&metrics, "(SELECT "+sum("plugin key name tags thread_id")+" FROM metrics WHERE plugin = $1)")
	return counted, messages + metrics
}

// A plugin that fills everybody's disk is stopped at what it has stored: the count
// must be what is there, however it came there and whatever went.
func TestTheCountOfStoredBytesIsWhatIsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		same := func(when string) (n int64) {
			t.Helper()
			counted, is := storedRows(t, s, "busy")
			if counted != is {
				t.Errorf("%s: counted %d bytes, there are %d", when, counted, is)
			}
			return counted
		}
		var group sync.WaitGroup
		for n := range 6 {
			thread := newThread(t, s, fmt.Sprint(n)).ID
			group.Go(func() {
				accept(t, s, thread, "a question")
				c := claim(t, s, thread)
				check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID, Effects: []ledger.Effect{{
					Plugin: "busy", Key: "start", Rows: []pluginsdk.NewMessage{statusRow("begün"), statusRow("two")},
					Metrics: []pluginsdk.NewMetric{{Name: "größe", Tags: map[string]string{"ä": "ö"}, At: longAgo}},
				}}}))
				for range 2 {
					check(t, second(s.Append(ctx, ledger.Append{ThreadID: thread, Plugin: "busy", Key: "k", Rows: []pluginsdk.NewMessage{{
						Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: strings.Repeat("ü", n),
						Attachments: []pluginsdk.Attachment{{Name: "ß"}},
					}}})))
					check(t, s.RecordMetrics(ctx, "busy", []pluginsdk.NewMetric{{Key: fmt.Sprint(n), Name: "m"}, {Name: "without", At: longAgo}}))
				}
				check(t, second(s.Finish(ctx, c.Fence, ledger.Finish{RunID: c.Run.ID, State: pluginsdk.RunSucceeded, Rows: []ledger.Row{
					{Key: c.Run.ID + ":command:0", Plugin: "busy", Message: text(pluginsdk.RoleSystem, strings.Repeat("ö", 10000))},
					{Key: c.Run.ID + ":reply", Message: text(pluginsdk.RoleAssistant, "done")},
				}})))
			})
		}
		group.Wait()
		full := same("stored")
		if full < 6*20000 {
			t.Errorf("what its commands replied does not count for the plugin: %d bytes", full)
		}
		submitted := acceptance(newThread(t, s, "0").ID, "by a person", strings.Repeat("x", 1000))
		submitted.Plugin = "busy"
		check(t, second(s.Accept(ctx, submitted)))
		if now := same("submitted"); now != full {
			t.Errorf("what a person wrote counts for the plugin: %d bytes, then %d", full, now)
		}
		byHand(t, s, "UPDATE messages SET created_at = '2020-01-01 00:00:00' WHERE kind = 'status'")
		pruned := must[store.Pruned](t)(s.Prune(ctx, pruneBefore, false))
		if pruned.Activity != 12 || pruned.Metrics != 18 {
			t.Errorf("pruned %+v", pruned)
		}
		if now := same("pruned"); now >= full || now == 0 {
			t.Errorf("%d bytes, and after pruning %d", full, now)
		}
		check(t, put(s, "busy", "key", make([]byte, 1000)))
		if n, rows := must[int64](t)(s.StoredBytes(ctx, "busy")), same("state"); n != rows+1003 {
			t.Errorf("stored %d bytes in all, %d of them rows", n, rows)
		}
		if n := must[int64](t)(s.StoredBytes(ctx, "nobody")); n != 0 {
			t.Errorf("nobody has stored %d bytes", n)
		}
	})
}
