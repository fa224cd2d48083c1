package askview

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How to answer stands below what is asked, each command on a line that a terminal can show
// whole; what a rule allows is said in any case, and once.
func TestHowToAnswerIsShown(t *testing.T) {
	var out strings.Builder
	now := time.Now()
	if err := Show(&out, terminal.Style{}, pluginsdk.Approval{
		ID: "A", Kind: pluginsdk.ApprovalTool, State: pluginsdk.ApprovalOpen, Title: "Bash: make", ExpiresAt: now.Add(time.Hour),
		Choices: []pluginsdk.ApprovalChoice{
			{ID: "allow", Label: "Allow once", Allow: true},
			{ID: "rule:1", Label: "Always: this host", Allow: true, Rule: "this host"},
			{ID: "rule:2", Label: "Always", Allow: true, Rule: "all\x1b[2K hosts"},
			{ID: "deny", Label: "Deny"},
		},
	}, now); err != nil {
		t.Fatal(err)
	}
	want := `
  harness approvals allow A
      Allow once
  harness approvals allow A --rule 1
      Always: this host
  harness approvals allow A --rule 2
      Always; from now on, unasked: all\x1b[2K hosts
  harness approvals deny A [WORDS]
      Deny; the words are for the agent
`
	if !strings.HasSuffix(out.String(), "\n"+want) {
		t.Errorf("shown:\n%s", out.String())
	}
}
