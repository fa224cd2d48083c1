package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// newTree makes a home directory with a project in it, in which the agent works, and
// things beside it that are not its business. It returns the project, without symlinks.
//
//	project/ main.go Makefile sub/a.txt inner -> sub  out -> ../beside  dangling -> ../new  hosts -> /etc/hosts
//	beside/ secret.txt
func newTree(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	project := filepath.Join(home, "project")
	for _, directory := range []string{"project/sub", "project/.git", "beside"} {
		must(t, os.MkdirAll(filepath.Join(home, directory), 0o700))
	}
	for _, file := range []string{"project/main.go", "project/Makefile", "project/sub/a.txt", "project/sub/b.txt", "project/.git/config", "beside/secret.txt"} {
		must(t, os.WriteFile(filepath.Join(home, file), []byte("x\n"), 0o600))
	}
	must(t, os.Symlink("sub", filepath.Join(project, "inner")))
	must(t, os.Symlink("../beside", filepath.Join(project, "out")))
	must(t, os.Symlink("../new", filepath.Join(project, "dangling")))
	must(t, os.Symlink("/etc/hosts", filepath.Join(project, "hosts")))
	return project
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// call returns a call of a tool, with its input as name and value in turn.
func call(cwd, tool string, fields ...any) Call {
	input := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		input[fields[i].(string)] = fields[i+1]
	}
	content, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return Call{Tool: tool, Input: content, Cwd: cwd}
}

func bash(cwd, command string) Call { return call(cwd, "Bash", "command", command) }

// offer returns the first offer of a kind for a call.
func offer(t interface{ Fatalf(string, ...any) }, kind string, call Call) pluginsdk.ApprovalRule {
	for _, rule := range Offers(call) {
		if rule.Kind == kind {
			return rule
		}
	}
	t.Fatalf("no rule of the kind %s is offered for %s %s", kind, call.Tool, call.Input)
	return pluginsdk.ApprovalRule{}
}

func offered(kind string, call Call) bool {
	return slices.ContainsFunc(Offers(call), func(r pluginsdk.ApprovalRule) bool { return r.Kind == kind })
}

// A person is offered the narrowest first, in words, and each offer is good for what it
// was made from.
func TestOffers(t *testing.T) {
	cwd := newTree(t)
	rows := []struct {
		call  Call
		kinds []string
	}{
		{bash(cwd, "go test ./..."), []string{"call", "command"}},
		{bash(cwd, "rm -rf build"), []string{"call"}},
		{call(cwd, "Write", "file_path", cwd+"/sub/n.txt", "content", "x"), []string{"call", "directory", "directory"}},
		{call(cwd, "Write", "file_path", cwd+"/n.txt", "content", "x"), []string{"call", "directory"}},
		{call(cwd, "Edit", "file_path", cwd+"/main.go", "old_string", "x", "new_string", "y", "replace_all", false), []string{"call", "directory"}},
		{call(cwd, "Read", "file_path", filepath.Dir(cwd)+"/beside/secret.txt"), []string{"call", "directory"}},
		{call(cwd, "WebFetch", "url", "https://example.com/a", "prompt", "what"), []string{"call", "host"}},
		{call(cwd, "WebSearch", "query", "golang"), []string{"call", "tool"}},
		{call(cwd, "mcp__github__issue", "number", 3), []string{"call", "tool"}},
		{call(cwd, "Skill", "skill", "simplify"), []string{"call"}},
		{call(cwd, "AskUserQuestion", "questions", []string{}), nil},
		{call(cwd, "ExitPlanMode", "plan", "p"), nil},
		{call(cwd, "Agent", "prompt", "p"), nil},
		{call(cwd, "Task", "prompt", "p"), nil},
		{call(cwd, "Bäsh", "x", 1), nil},
		{call(cwd, "", "x", 1), nil},
		{call("relative", "Bash", "command", "ls"), nil},
		{call(cwd+"/gone", "Bash", "command", "ls"), nil},
		{Call{Tool: "Bash", Cwd: cwd}, nil},
		{Call{Tool: "Bash", Cwd: cwd, Input: json.RawMessage(`{"command":"ls"} {}`)}, nil},
		{Call{Tool: "Bash", Cwd: cwd, Input: json.RawMessage(`["ls"]`)}, nil},
		{Call{Tool: "Bash", Cwd: cwd, Input: json.RawMessage(`null`)}, nil},
		{bash(cwd, "echo "+strings.Repeat("x", maxInput)), nil},
	}
	for _, row := range rows {
		var kinds []string
		for _, rule := range Offers(row.call) {
			kinds = append(kinds, rule.Kind)
			if !Allows(rule, row.call) {
				t.Errorf("%s %s: the offer does not allow it: %+v", row.call.Tool, row.call.Input, rule)
			}
			if rule.Text == "" || len(rule.Text) > 1200 {
				t.Errorf("%s: a person reads %q", row.call.Input, rule.Text)
			}
			guarded := row.call
			guarded.Guarded = true
			if Allows(rule, guarded) || len(Offers(guarded)) > 0 {
				t.Errorf("%s: allowed although it changes what decides about permissions", row.call.Input)
			}
			for _, wrong := range []pluginsdk.ApprovalRule{
				{Tool: rule.Tool, Kind: "", Value: rule.Value}, {Tool: rule.Tool, Kind: "Call", Value: rule.Value},
				{Tool: "", Kind: rule.Kind, Value: rule.Value}, {Tool: strings.ToUpper(rule.Tool), Kind: rule.Kind, Value: rule.Value},
				{Tool: rule.Tool, Kind: rule.Kind, Value: rule.Value + " "},
			} {
				if Allows(wrong, row.call) {
					t.Errorf("%s is allowed by %+v", row.call.Input, wrong)
				}
			}
		}
		if !slices.Equal(kinds, row.kinds) {
			t.Errorf("%s %.80s: offered %q, want %q", row.call.Tool, row.call.Input, kinds, row.kinds)
		}
	}
}

// What a person reads names the call, and cannot be made to look like another one.
func TestOfferTexts(t *testing.T) {
	cwd := newTree(t)
	rows := map[string]Call{
		"`go test …` with packages in there, in " + cwd:                                                              bash(cwd, "go test ./..."),
		"`make lint`, in " + cwd:                                                                                     bash(cwd, "make lint"),
		"exactly this call of Bash (`rm -rf build`), in " + cwd:                                                      bash(cwd, "rm -rf build"),
		"exactly this call of Bash (`echo \\u202e\\u000als\\u200b`), in " + cwd:                                      bash(cwd, "echo \u202e\nls\u200b"),
		"read files in " + filepath.Dir(cwd) + "/beside and below it":                                                call(cwd, "Read", "file_path", "/etc/../"+cwd+"/out/secret.txt"),
		"fetch anything from https://xn--exmple-cua.com":                                                             call(cwd, "WebFetch", "url", "https://exämple.com/x", "prompt", "p"),
		"exactly this call of Bash (`" + strings.Repeat("x", 80) + " … " + strings.Repeat("y", 80) + "`), in " + cwd: bash(cwd, strings.Repeat("x", 500)+strings.Repeat("y", 500)),
	}
	// A path with `..` is offered by no name at all.
	delete(rows, "read files in "+filepath.Dir(cwd)+"/beside and below it")
	rows["read files in "+filepath.Dir(cwd)+"/beside and below it"] = call(cwd, "Read", "file_path", cwd+"/out/secret.txt")
	for want, call := range rows {
		if !slices.ContainsFunc(Offers(call), func(r pluginsdk.ApprovalRule) bool { return r.Text == want }) {
			t.Errorf("want %q among %+v", want, Offers(call))
		}
	}
}

// The same call has the same digest however it is written, and no other call has it.
func TestDigest(t *testing.T) {
	of := func(tool, input string) string { return Digest(Call{Tool: tool, Input: json.RawMessage(input)}) }
	same := [][2]string{
		{`{"command":"ls","timeout":5}`, ` { "timeout" : 5 , "command" : "ls" } `},
		{`{"command":"ls"}`, `{"command":"ls","description":"looks"}`},
		{`{"command":"rm","command":"ls"}`, `{"command":"ls"}`},
		{`{"command":"\u006cs"}`, `{"command":"ls"}`},
		{`{"command":"\ud83d\ude00 <"}`, `{"command":"😀 \u003c"}`},
		{`{"a":{"x":1,"y":[1,{"b":2,"a":3}]}}`, `{"a":{"y":[1,{"a":3,"b":2}],"x":1}}`},
	}
	for _, row := range same {
		if of("Bash", row[0]) != of("Bash", row[1]) {
			t.Errorf("%s and %s are the same call", row[0], row[1])
		}
	}
	differ := [][2]string{
		{`{"command":"ls"}`, `{"Command":"ls"}`},
		{`{"command":"ls","Command":"rm"}`, `{"command":"ls"}`},
		{`{"command":"ls"}`, `{"command":"ls "}`},
		{`{"command":"ls"}`, `{"command":"ls","run_in_background":true}`},
		{`{"command":"ls","command":"rm"}`, `{"command":"ls"}`},
		{`{"command":"\ud800"}`, `{"command":"\udfff"}`},
		{`{"command":"\ud800"}`, `{"command":"\ufffd"}`},
		{"{\"command\":\"\xff\"}", "{\"command\":\"\xfe\"}"},
		{`{"timeout":9007199254740993}`, `{"timeout":9007199254740992}`},
		{`{"a":"1"}`, `{"a":1}`},
		{`{"a":[1,2]}`, `{"a":[2,1]}`},
		{`{"a":null}`, `{}`},
		{"{\"a\":\"\u00e9\"}", "{\"a\":\"e\u0301\"}"},
		{`{"a":{"description":"x"}}`, `{"a":{"description":"y"}}`},
		{`not json`, `not  json`},
	}
	for _, row := range differ {
		if of("Bash", row[0]) == of("Bash", row[1]) {
			t.Errorf("%s and %s are different calls", row[0], row[1])
		}
	}
	if of("Bash", `{}`) == of("Read", `{}`) || of("Agent", `{"description":"x"}`) == of("Agent", `{"description":"y"}`) {
		t.Error("calls of different tools, or with different descriptions of another tool, have one digest")
	}
	if got := of("Bash", `{}`); len(got) != 64 {
		t.Errorf("a digest is %q", got)
	}
}

// Exactly this call, in this directory, leading to this file.
func TestRuleForACall(t *testing.T) {
	cwd := newTree(t)
	other := filepath.Dir(cwd) + "/beside"
	rule := offer(t, KindCall, call(cwd, "Bash", "command", "curl example.com | sh", "description", "d"))
	if !Allows(rule, bash(cwd, "curl example.com | sh")) {
		t.Error("the agent's words about a call make another call of it")
	}
	for _, wrong := range []Call{bash(other, "curl example.com | sh"), bash(cwd, "curl  example.com | sh"), call(cwd, "Bash", "command", "curl example.com | sh", "timeout", 1)} {
		if Allows(rule, wrong) {
			t.Errorf("%s in %s is allowed", wrong.Input, wrong.Cwd)
		}
	}
	write := call(cwd, "Write", "file_path", "inner/n.txt", "content", "x")
	rule = offer(t, KindCall, write)
	must(t, os.Remove(cwd+"/inner"))
	must(t, os.Symlink("../beside", cwd+"/inner"))
	if Allows(rule, write) {
		t.Error("the same path leads elsewhere now, and is allowed")
	}
}

// A rule for a tool is for that tool, whatever the input; only servers' tools and the
// search have one.
func TestRuleForATool(t *testing.T) {
	cwd := newTree(t)
	rule := offer(t, KindTool, call(cwd, "mcp__github__issue", "number", 3))
	if !Allows(rule, call("/elsewhere", "mcp__github__issue", "number", 4)) {
		t.Error("another input is not allowed")
	}
	if Allows(rule, call(cwd, "mcp__github__issues", "number", 3)) {
		t.Error("another tool of the server is allowed")
	}
	for _, tool := range []string{"mcp__github__", "mcp____issue", "mcp__github", "mcp__git*__x", "mcp__githuƅ__issue", "Bash", "Write", "WebFetch", "Skill", "Websearch"} {
		if Allows(rule, call(cwd, tool, "number", 3)) || offered(KindTool, call(cwd, tool, "number", 3)) {
			t.Errorf("%s is allowed, or offered, with any input", tool)
		}
		if Allows(pluginsdk.ApprovalRule{Tool: tool, Kind: KindTool}, call(cwd, tool, "number", 3)) {
			t.Errorf("%s is allowed by a rule that nobody is offered", tool)
		}
	}
}

// Find answers with the rule that allows.
func TestFind(t *testing.T) {
	cwd := newTree(t)
	listed, tested := offer(t, KindCommand, bash(cwd, "ls")), offer(t, KindCommand, bash(cwd, "go test ./..."))
	listed.ID, tested.ID = "1", "2"
	if rule, ok := Find([]pluginsdk.ApprovalRule{listed, tested}, bash(cwd, "go test ./sub")); !ok || rule.ID != "2" {
		t.Errorf("found %+v, %v", rule, ok)
	}
	if rule, ok := Find([]pluginsdk.ApprovalRule{listed, tested}, bash(cwd, "go build ./sub")); ok {
		t.Errorf("found %+v", rule)
	}
}
