package approvals

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator is told that people leave the agent waiting, and what becomes of what it asks:
// each question once, whoever ends it.
func TestFiguresOfWhatIsAsked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{Expiry: time.Hour})
		told := func() map[string]float64 {
			stored, err := s.Figures(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			told := make(map[string]float64)
			for _, figure := range append(stored, d.Figures()...) {
				for _, sample := range figure.Samples {
					told[figure.Name+sample.Labels["kind"]+sample.Labels["state"]] = sample.Value
				}
			}
			maps.DeleteFunc(told, func(name string, value float64) bool {
				return value == 0 || !strings.HasPrefix(name, "harness_approvals_")
			})
			return told
		}
		of, test := d.begin(nil), bash("make test")
		test.Cwd = t.TempDir()
		for _, choice := range []string{"deny", "rule:1"} {
			answer := d.asking(t.Context(), of, test)
			if err := d.choose(d.shown(pluginsdk.ApprovalOpen), choice, "Ann"); err != nil {
				t.Fatal(err)
			}
			wait(t, answer)
			d.shown(map[string]pluginsdk.ApprovalState{"deny": pluginsdk.ApprovalDenied, "rule:1": pluginsdk.ApprovalAllowed}[choice])
		}
		d.Ask(t.Context(), of, test) // by the rule
		d.later(-30 * time.Minute)
		late, other := d.begin(nil), d.begin(nil)
		expires := d.asking(t.Context(), late, bash("make late"))
		d.shown(pluginsdk.ApprovalOpen)
		d.later(20 * time.Minute)
		withdrawn := d.asking(t.Context(), other, bash("make other"))
		d.shown(pluginsdk.ApprovalOpen)
		open := told()
		if age := open["harness_approvals_oldest_seconds"]; open["harness_approvals_open"] != 2 || age < 30*60 || age > 31*60 {
			t.Errorf("%v are open, the oldest for %v s", open["harness_approvals_open"], age)
		}
		if err := d.close(t.Context(), other.RunID); err != nil {
			t.Fatal(err)
		}
		d.shown(pluginsdk.ApprovalWithdrawn)
		wait(t, withdrawn)
		d.later(2 * time.Hour)
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.shown(pluginsdk.ApprovalExpired)
		wait(t, expires)
		if got, want := told(), (map[string]float64{
			"harness_approvals_asked_totaltool": 4, "harness_approvals_ruled_total": 1, "harness_approvals_ended_totaldenied": 1, "harness_approvals_ended_totalallowed": 1,
			"harness_approvals_ended_totalwithdrawn": 1, "harness_approvals_ended_totalexpired": 1,
		}); !maps.Equal(got, want) {
			t.Errorf("told\n%v, want\n%v", got, want)
		}
	})
}
