package budget

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// audited types a command, in a call, and returns what the audit log is to say of it.
func (w *world) audited(call, body string) []string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: call}, Name: command, Body: body, Origin: pluginsdk.FromPerson, Message: pluginsdk.Message{Author: "Ann", Plugin: "web"},
	})
	if err != nil {
		w.Fatalf("budget %s: %v", body, err)
	}
	return answer.Audit
}

// Who changes what the agent may cost is in the audit log, with what it was. A command that is given again after a crash says
// the same as the first time.
func TestEachChangeOfABudgetIsAudited(t *testing.T) {
	w := newWorld(t, nil)
	for i, row := range []struct{ body, want string }{
		{"list", ""},
		{"set daily $40", "changed the budget daily to $40.00 a day for what is billed, from $25.00 a day for what is billed"},
		{"set daily 2M tokens week all soft", "changed the budget daily to 2M tokens a week, soft, from $40.00 a day for what is billed"},
		{"set nightly 5 cron=*", "made the budget nightly: $5.00 a day for each cron"},
		{"confirm", "confirmed the budgets: daily (2M tokens a week, soft), nightly ($5.00 a day for each cron)"},
		{"rm nightly", "removed the budget nightly: $5.00 a day for each cron"},
		{"", ""},
	} {
		for range 2 {
			if got := strings.Join(w.audited("call"+string(rune('a'+i)), row.body), "|"); got != row.want {
				t.Errorf("budget %s: %q, want %q", row.body, got, row.want)
			}
		}
	}
	if _, err := w.plugin.OnCommand(t.Context(), &pluginsdk.OnCommandRequest{
		Call: pluginsdk.Call{ID: "another"}, Name: command, Body: "rm nightly", Origin: pluginsdk.FromPerson,
	}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("removed by another command: %v", err)
	}
}
