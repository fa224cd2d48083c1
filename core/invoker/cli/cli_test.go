package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fake is a CLI that prints its help and its version, and counts how often it was run.
func fake(t *testing.T, dir, help, version string) string {
	t.Helper()
	path := filepath.Join(dir, "claude")
	script := fmt.Sprintf("#!/bin/sh\necho x >> '%s'\ncase $1 in\n--help) echo '%s';;\n--version) echo '%s (Claude Code)';;\nesac\n", filepath.Join(dir, "runs"), help, version)
	if err := os.WriteFile(path+".new", []byte(script), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a CLI can do is what itself says: an argument that it does not take would end every
// session at its start.
func TestFeaturesAreFelt(t *testing.T) {
	var catalog Catalog
	dir := t.TempDir()
	look := func(path string) (Binary, Features) {
		t.Helper()
		binary, err := Find(path)
		if err != nil {
			t.Fatal(err)
		}
		found, err := catalog.Features(t.Context(), binary, path, os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		return binary, found
	}
	path := fake(t, dir, "--append-system-prompt", "2.1.197")
	first, old := look(path)
	if old.PromptSnapshot || old.Version != "2.1.197" {
		t.Errorf("the old one: %+v", old)
	}
	_, _ = look(path)
	if runs, _ := os.ReadFile(filepath.Join(dir, "runs")); strings.Count(string(runs), "x") != 2 {
		t.Errorf("it was run %d times", strings.Count(string(runs), "x"))
	}
	link := filepath.Join(t.TempDir(), "claude")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if same, _ := look(link); same != first {
		t.Error("a link to a binary is another one")
	}
	second, found := look(fake(t, dir, "--system-prompt-snapshot <on|off>", "2.1.330"))
	if !found.PromptSnapshot || found.Version != "2.1.330" || second == first {
		t.Errorf("what took its place: %+v", found)
	}
	if _, err := Find(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a binary that is not there is found")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Probe(ctx, path, nil); err == nil {
		t.Error("a binary that did not answer has features")
	}
}

func TestNewer(t *testing.T) {
	for _, row := range []struct {
		version, than string
		newer         bool
	}{
		{"2.1.331", "2.1.330", true}, {"2.1.330", "2.1.330", false}, {"2.1.99", "2.1.330", false}, {"2.2.0", "2.1.330", true}, {"3.0.0", "2.1.330", true},
		{"2.1.400-beta.1", "2.1.330", true}, {"", "2.1.330", false}, {"2.1", "2.1.330", false}, {"x.y.z", "2.1.330", false}, {"2.1.331", "", false},
	} {
		if got := Newer(row.version, row.than); got != row.newer {
			t.Errorf("%s newer than %s: %t", row.version, row.than, got)
		}
	}
}

// answers are those of a session that keeps all that was promised, changed by a test.
func answers(t *testing.T, settings, rules, hooks string) Said {
	t.Helper()
	said := map[string]Answer{}
	for subtype, answer := range map[string]string{AskSettings: settings, AskRules: rules, AskHooks: hooks} {
		if answer != "" && !json.Valid([]byte(answer)) {
			t.Fatalf("no JSON: %s", answer)
		}
		said[subtype] = Answer{Response: json.RawMessage(answer)}
	}
	return Read(said)
}

const (
	refuses = `{"effective":{"crossSessionInbound":"refuse"},"sources":[{"source":"flagSettings"},{"source":"policySettings"}]}`
	noHooks = `{"hooks":[]}`
)

// meant is what a session of these tests was given.
var meant = []pluginsdk.AgentRule{
	{Behavior: pluginsdk.RuleAllow, Rule: "Bash(git status:*)"}, {Behavior: pluginsdk.RuleAllow, Rule: "Task"}, {Behavior: pluginsdk.RuleAsk, Rule: "Agent"},
	{Behavior: pluginsdk.RuleDeny, Rule: "WebSearch"}, {Behavior: pluginsdk.RuleDeny, Rule: "Read(//x/a(2)/**)"}, {Behavior: pluginsdk.RuleDeny, Rule: "KillShell"},
}

// rulesSaying are rules as a CLI says them: BEHAVIOR SOURCE RULE, one a line.
func rulesSaying(t *testing.T, lines string) string {
	t.Helper()
	rules := []map[string]string{}
	for line := range strings.Lines(lines) {
		if parts := strings.SplitN(strings.TrimSpace(line), " ", 3); len(parts) == 3 {
			rules = append(rules, map[string]string{"behavior": parts[0], "source": parts[1], "rule": parts[2]})
		}
	}
	content, err := json.Marshal(map[string]any{"state": map[string]any{"rules": rules}})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// asMeant are the rules of meant in the words of 2.1.330.
const asMeant = `allow cliArg Bash(git status:*)
	allow cliArg Agent
	ask flagSettings Agent
	deny cliArg WebSearch
	deny cliArg Read(//x/a\(2\)/**)
	deny flagSettings TaskStop
	`

// A session that somebody else may speak into, or that does more than it was allowed, must
// get no prompt; one that keeps everything must not be refused for how it says it.
func TestWhatBreaksTrust(t *testing.T) {
	for name, row := range map[string]struct {
		settings, rules, hooks string
		broken                 string // a part of the only one; empty: none
	}{
		"all is kept":                   {refuses, asMeant, noHooks, ""},
		"it can tell nothing":           {"", "", "", ""},
		"an inbox that accepts":         {`{"effective":{"crossSessionInbound":"accept"}}`, asMeant, noHooks, "other processes may speak"},
		"an inbox that is not refused":  {`{"effective":{}}`, asMeant, noHooks, "not set"},
		"settings of the home":          {`{"effective":{"crossSessionInbound":"refuse"},"sources":[{"source":"userSettings"}]}`, asMeant, noHooks, "userSettings"},
		"a rule of the project":         {refuses, asMeant + "allow projectSettings Bash\n", noHooks, "projectSettings allows Bash"},
		"a rule of the machine":         {refuses, asMeant + "allow policySettings Bash(ls)\n", noHooks, ""},
		"a hook of a plugin":            {refuses, asMeant, `{"hooks":[{"event":"Stop","source":"pluginHook","commandText":"touch x"}]}`, "touch x"},
		"a hook that does not run":      {refuses, asMeant, `{"hooks":[{"event":"Stop","source":"userSettings","commandText":"touch x","disabled":true}]}`, ""},
		"a hook of the machine":         {refuses, asMeant, `{"hooks":[{"event":"Stop","source":"policySettings","commandText":"log"}]}`, ""},
		"a rule that denies is missing": {refuses, strings.Replace(asMeant, "deny cliArg WebSearch", "", 1), noHooks, "denies WebSearch does not hold"},
		"a rule that asks is missing":   {refuses, strings.Replace(asMeant, "ask flagSettings Agent", "", 1), noHooks, "asks about Agent does not hold"},
		"a tool has another name":       {refuses, strings.Replace(asMeant, "WebSearch", "SearchTheWeb", 1), noHooks, ""},
		"an answer of another shape":    {`[]`, asMeant, `{"hooks":7}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rules := row.rules
			if rules != "" {
				rules = rulesSaying(t, rules)
			}
			broken := answers(t, row.settings, rules, row.hooks).Broken(meant)
			if row.broken == "" && len(broken) > 0 || row.broken != "" && (len(broken) != 1 || !strings.Contains(broken[0], row.broken)) {
				t.Errorf("broken: %q, want one with %q", broken, row.broken)
			}
		})
	}
}

func TestTheRightsOfASession(t *testing.T) {
	said := answers(t, refuses, rulesSaying(t, asMeant+"allow cliArg Bash\n"), `{"hooks":[{"event":"Stop","source":"policySettings","displayText":"log"}]}`)
	if !said.Known() || len(said.Rules()) != 7 || len(said.Hooks()) != 1 || said.Hooks()[0].Command != "log" {
		t.Errorf("rules %v, hooks %v", said.Rules(), said.Hooks())
	}
	if differences := said.Differences(meant); len(differences) != 1 || differences[0] != "it allows Bash, which Harness did not" {
		t.Errorf("differences %q", differences)
	}
	lacking := answers(t, refuses, rulesSaying(t, strings.Replace(asMeant, "allow cliArg Agent", "", 1)), noHooks)
	if differences := lacking.Differences(meant); len(differences) != 1 || !strings.Contains(differences[0], "allows Agent") {
		t.Errorf("differences %q", differences)
	}
	old := answers(t, refuses, "", "")
	if old.Known() || len(old.Rules()) > 0 || len(old.Differences(meant)) > 0 {
		t.Errorf("of a CLI that cannot tell: %v", old.Differences(meant))
	}
}

func TestWhatBreaksTrustWhenATurnBegins(t *testing.T) {
	for line, want := range map[string]string{
		`{}`: "",
		`{"memory_paths":{},"permissionMode":"default","plugins":[{"name":"cc-plugin-privacy","path":"builtin"}],"messaging_socket_path":"/tmp/x"}`: "",
		`{"memory_paths":{"auto":"/home/x/memory"}}`:          "it keeps a memory of its own (auto: /home/x/memory)",
		`{"memory_paths":{"auto":null,"team":"/m"}}`:          "it keeps a memory of its own (team: /m)",
		`{"permissionMode":"bypassPermissions"}`:              "it skips all permissions",
		`{"plugins":[{"name":"p","path":"/home/x/plugins"}]}`: "it has loaded the plugin p of the CLI (/home/x/plugins)",
	} {
		var begun Begun
		if err := json.Unmarshal([]byte(line), &begun); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(begun.Broken(), ", "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// The settings are JSON, and refuse what other processes say.
func TestTheGuards(t *testing.T) {
	given := Settings()
	for name, value := range given {
		if !json.Valid(value) {
			t.Errorf("%s is %s", name, value)
		}
	}
	given[inboundSetting] = json.RawMessage(`"accept"`)
	if string(Settings()[inboundSetting]) != `"refuse"` {
		t.Error("one caller changes the settings of another")
	}
	if !slices.Equal([]string{Search(true), Search(false)}, []string{"ENABLE_TOOL_SEARCH=true", "ENABLE_TOOL_SEARCH=false"}) {
		t.Error("the search of tools has another switch")
	}
}
