package client_test

import (
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A command that the daemon cuts from a reply must not look like a plugin's
// change.
func TestWrittenIsWithoutTheCommandsThatWereCarriedOut(t *testing.T) {
	for streamed, want := range map[string]string{
		"no command": "no command",
		"a\n[COMMAND type=\"x\"]\nb\n[/COMMAND]\nc":                    "a\nc",
		"  [COMMAND type=\"x\"]b[/COMMAND] c\n":                        "c",
		"a\n[COMMAND type=\"x\"]\nnever closed":                        "a\n[COMMAND type=\"x\"]\nnever closed",
		"a\n/x\tnow\r\n/y is another's\n /x is not at the start\nb /x": "a\n/y is another's\n /x is not at the start\nb /x",
		"```\n/x\n[COMMAND type=\"x\"]\n[/COMMAND]\n```\n/x\nb":        "```\n/x\n[COMMAND type=\"x\"]\n[/COMMAND]\n```\nb",
		"```inline```\n/x\nb":                                          "```inline```\nb",
		"/x":                                                           "",
	} {
		run := client.Run{ID: "R", Result: &client.Result{Text: streamed}, Outcomes: []pluginsdk.Outcome{{Name: "x"}}}
		ending := client.Ending{Run: run}
		reply := pluginsdk.Message{Role: pluginsdk.RoleAssistant, Key: "R:reply"}
		if got, without := ending.Written(reply); got != streamed || without != want {
			t.Errorf("of %q is left %q; want %q", streamed, without, want)
		}
		if got, without := ending.Written(pluginsdk.Message{Role: pluginsdk.RoleAssistant, Key: "greeter:1"}); got+without != "" {
			t.Errorf("a plugin's own message was written by the agent: %q", got)
		}
	}
}
