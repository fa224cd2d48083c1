package approvals

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/approvals/rules"
	"github.com/seed-706843ae/harness/core/ledger"
)

// People allow all of a call's input, so all of it is shown: not a command alone, when
// there is more to it.
func TestAllOfACallIsShown(t *testing.T) {
	for _, row := range []struct{ tool, input, about, text string }{
		{"Bash", `{"command":"ls","description":"List","timeout":5000,"run_in_background":false}`, "List", "List\n\nls"},
		{"Bash", `{"command":"a && b <c"}`, "a && b <c", "a && b <c"},
		{"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, "", "ls\n\nand {\n  \"dangerouslyDisableSandbox\": true\n}"},
		{"Bash", `{"command":"ls","run_in_background":true,"timeout":1}`, "", "ls\n\nand {\n  \"run_in_background\": true\n}"},
		{"mcp__hosts__run", `{"command":"ls","host":"prod","timeout":1}`, "", "ls\n\nand {\n  \"host\": \"prod\",\n  \"timeout\": 1\n}"},
		{"Write", `{"file_path":"a.html","content":"<b>&"}`, "", "{\n  \"file_path\": \"a.html\",\n  \"content\": \"<b>&\"\n}"},
		{"Other", `not JSON`, "", "not JSON"},
	} {
		title, text := callWords(ledger.ToolAsk{Tool: row.tool, Input: json.RawMessage(row.input), About: row.about})
		if text != row.text {
			t.Errorf("%s %s is shown as %q, want %q", row.tool, row.input, text, row.text)
		}
		if !strings.HasPrefix(title, row.tool) {
			t.Errorf("%s has the title %q", row.tool, title)
		}
	}
}

// People accept a plan, so they see all of it, and where it is kept.
func TestAPlanIsShownWhole(t *testing.T) {
	steps := strings.Repeat("- one more step\n", 2500) // 40 KB
	for input, want := range map[string]string{
		`{"plan":"1. do it"}`: "1. do it",
		`{"plan":"1. do it","planFilePath":"/home/x/.claude/plans/a.md"}`: "1. do it\n\nThe plan is kept in /home/x/.claude/plans/a.md",
		string(mustJSON(t, map[string]string{"plan": steps})):             steps,
	} {
		rooms := &Approvals{Config: Config{Now: time.Now}}
		made := rooms.newApproval(ledger.Asking{}, ledger.ToolAsk{Tool: toolPlan, Input: json.RawMessage(input)}, rules.Call{})
		if made.Text != want {
			t.Errorf("%.80s is shown as %d bytes: %.200s", input, len(made.Text), made.Text)
		}
	}
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
