package invoker

import (
	"encoding/json"
	"testing"
)

func TestPermissionRules(t *testing.T) {
	bash := func(command string) json.RawMessage {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		return input
	}
	for _, test := range []struct {
		rule, tool string
		input      json.RawMessage
		allowed    bool
	}{
		{"Read", "Read", nil, true},
		{"Read", "ReadOther", nil, false},
		{"Read", "Write", nil, false},
		{"mcp__harness__*", "mcp__harness__time__now", nil, true},
		{"mcp__harness__*", "mcp__other__x", nil, false},
		{"mcp__harness", "mcp__harness__time__now", nil, true},
		{"mcp__harness", "mcp__harnessed__x", nil, false},
		{"Bash", "Bash", bash("rm -rf /"), true},
		{"Bash(git status:*)", "Bash", bash("git status"), true},
		{"Bash(git status:*)", "Bash", bash("git status -s"), true},
		{"Bash(git *)", "Bash", bash("git log"), true},
		{"Bash(git:*)", "Bash", bash("gitk"), false},
		{"Bash(git:*)", "Bash", bash("git status; rm -rf /"), false},
		{"Bash(git:*)", "Bash", bash("git status && rm x"), false},
		{"Bash(git:*)", "Bash", bash("git log $(rm x)"), false},
		{"Bash(git:*)", "Bash", bash("git log `rm x`"), false},
		{"Bash(git:*)", "Bash", bash("git status\nrm x"), false},
		{"Bash(git:*)", "Bash", bash("git diff > /etc/passwd"), false},
		{"Bash(make test)", "Bash", bash("make test"), true},
		{"Bash(make test)", "Bash", bash("make test install"), false},
		{"Bash(git:*)", "Bash", json.RawMessage(`{"command":7}`), false},
		{"Bash(git:*)", "Bash", nil, false},
		{"Bash(git:*)", "Bash", json.RawMessage(`{"command":"rm x","Command":"git status"}`), false},
		// A specifier of another tool is for the CLI to understand.
		{"Edit(/docs/**)", "Edit", json.RawMessage(`{"file_path":"/etc/passwd"}`), false},
	} {
		if err := checkRules([]string{test.rule}); err != nil {
			t.Error(err)
		}
		if got := allowedBy([]string{"Unrelated", test.rule}, test.tool, test.input); got != test.allowed {
			t.Errorf("%s for %s %s: allowed %t", test.rule, test.tool, test.input, got)
		}
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for _, rule := range []string{"", " ", "--model", "rm -rf", "Bash(", "Bash(x)y", "*", "Bash(a\nb)"} {
		if checkRules([]string{rule}) == nil {
			t.Errorf("%q is taken for a rule", rule)
		}
	}
}
