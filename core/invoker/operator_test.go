package invoker

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// everySession is what every session is given, nothing but rules and people allow, with
// more of the operator's.
func everySession(more string) string {
	given := settingsObject(cli.Settings())
	given["permissions"] = json.RawMessage(`{"ask":["Agent"],"disableAutoMode":"disable"}`)
	var own settingsObject
	if err := json.Unmarshal([]byte(more), &own); err != nil {
		panic(err)
	}
	maps.Copy(given, own)
	content, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return string(content)
}

var (
	asksAlways   = everySession(`{}`)
	asksWithKey  = everySession(`{"apiKeyHelper":"/bin/key"}`)
	asksWithDeny = everySession(`{"permissions":{"ask":["Agent"],"deny":["Read(~/.ssh/**)"],"disableAutoMode":"disable"},"sandbox":{"autoAllowBashIfSandboxed":false,"enabled":true}}`)
)

// Of the operator's own settings sessions get what they log in with and what
// forbids, and nothing that allows.
func TestWhatSessionsGetOfTheOperatorsSettings(t *testing.T) {
	for name, row := range map[string]struct{ own, given, environ string }{
		"nothing":        {``, asksAlways, ``},
		"an object":      {`{}`, asksAlways, ``},
		"no permissions": {`{"permissions":null}`, asksAlways, ``},
		"auto mode":      {`{"permissions":{"disableAutoMode":"enable"},"useAutoModeDuringPlan":true}`, asksAlways, ``},
		"the account": {
			`{"apiKeyHelper":"/bin/key","awsAuthRefresh":"aws sso login","env":{"ANTHROPIC_BASE_URL":"https://example.org","CLAUDE_CODE_USE_BEDROCK":1,"NODE_OPTIONS":"--inspect"}}`,
			everySession(`{"apiKeyHelper":"/bin/key","awsAuthRefresh":"aws sso login"}`),
			"ANTHROPIC_BASE_URL=https://example.org CLAUDE_CODE_USE_BEDROCK=1",
		},
		"what allows": {
			`{"permissions":{"allow":["Bash"],"defaultMode":"bypassPermissions","additionalDirectories":["/"]},"hooks":{"Stop":[]},` +
				`"enabledPlugins":{"a@b":true},"enableAllProjectMcpServers":true,"statusLine":{"type":"command","command":"x"},"model":"opus","crossSessionInbound":"accept","autoMemoryEnabled":true,"disableRemoteControl":false}`, asksAlways, ``,
		},
		"what forbids": {
			"\uFEFF" + `{"permissions":{"allow":["Bash"],"deny":["Read(~/.ssh/**)"]},"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true}}`,
			asksWithDeny, ``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := withoutAccount(t)
			lay(t, home, map[string]string{".claude/settings.json": row.own})
			environ, settings, err := Config{Env: []string{"HARNESS_OWNER=me"}}.environment(false, Account{})
			if err != nil || string(settings) != row.given {
				t.Errorf("given %s, %v; want %s", settings, err, row.given)
			}
			for _, want := range strings.Fields(row.environ) {
				if !slices.Contains(environ, want) {
					t.Errorf("%s is missing", want)
				}
			}
			if lookup(environ, "NODE_OPTIONS") != "" || lookup(environ, "HARNESS_OWNER") != "me" {
				t.Errorf("environment %q", environ)
			}
		})
	}
}

func TestTheOperatorsSettingsAreReadWhereTheCLIKeepsThem(t *testing.T) {
	withoutAccount(t)
	dir := t.TempDir()
	lay(t, dir, map[string]string{"settings.json": `{"apiKeyHelper":"/bin/key"}`})
	_, settings, err := Config{Env: []string{"CLAUDE_CONFIG_DIR=" + dir}}.environment(false, Account{})
	if err != nil || string(settings) != asksWithKey {
		t.Errorf("given %s, %v", settings, err)
	}
}

// Settings that cannot be read may be what forbids something: no turn is run
// without them, and it is said what to do.
func TestWithoutTheOperatorsSettingsNothingRuns(t *testing.T) {
	for _, own := range []string{`oops`, `[]`, `{"permissions":7}`, `{"sandbox":"on"}`, `{"env":[]}`} {
		t.Run(own, func(t *testing.T) {
			home := t.TempDir()
			lay(t, home, map[string]string{".claude/settings.json": own})
			a := startAgent(t, "plain", func(c *Config) { c.Env = append(c.Env, "HOME="+home) })
			failure := wantFailure(t, a.ask("thread", "", "say x"), pluginsdk.FailureOther, true)
			if !strings.Contains(failure.Message, filepath.Join(home, ".claude", "settings.json")) || len(a.starts()) > 0 {
				t.Errorf("message %q after %d starts", failure.Message, len(a.starts()))
			}
			found := Detect(t.Context(), a.config)
			if found.Usable() || !strings.Contains(found.Reason, "settings.json") || found.Remedy == "" {
				t.Errorf("detection %+v", found)
			}
		})
	}
}

// What a process is given is its own, and goes with it.
func TestSettingsAndManualGoThroughPrivateFiles(t *testing.T) {
	home, private, log := t.TempDir(), t.TempDir(), &lockedLog{}
	lay(t, home, map[string]string{".claude/settings.json": `{"apiKeyHelper":"echo s3cret"}`})
	lay(t, private, map[string]string{"harness-settings-1.json": "of one that was killed", "harness-prompt-1.md": "likewise", "other": "not the agent's"})
	a := startAgent(t, "plain", func(c *Config) {
		c.Private, c.Env, c.Log = private, append(c.Env, "HOME="+home), slog.New(slog.NewTextHandler(log, nil))
		lay(t, c.Workspace, map[string]string{"CLAUDE.md": "Manual."})
	})
	r := request("thread", "", "say x")
	r.AppendSystemPrompt = "Be brief."
	wantText(t, a.Invoke(t.Context(), r, nil), "x")
	args := a.starts()[0]
	if line := strings.Join(args, " "); strings.Contains(line, "s3cret") || strings.Contains(line, "brief") || !slices.Contains(args, "--setting-sources=") {
		t.Errorf("command line %s", line)
	}
	for flag, want := range map[string]string{"--settings=": everySession(`{"apiKeyHelper":"echo s3cret"}`), "--append-system-prompt-file=": "Be brief."} {
		at := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag+private) })
		if at < 0 {
			t.Fatalf("no %s in %q", flag, args)
		}
		content, err := os.ReadFile(strings.TrimPrefix(args[at], flag))
		if err != nil || !strings.HasSuffix(string(content), want) {
			t.Errorf("%s %s, %v", flag, content, err)
		}
		if flag != "--settings=" && !strings.Contains(string(content), "Manual.") {
			t.Errorf("the manual is missing in %s", content)
		}
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(private, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if log.String() != "" {
		t.Errorf("log %s", log)
	}
}

// A turn can be allowed more than the daemon allows, and what a rule forbids stays
// forbidden, whoever allows it.
func TestARuleThatForbidsWins(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.AllowedTools, c.DisallowedTools = []string{"Read"}, []string{"Edit"} })
	for tool, behavior := range map[string]string{
		"Read": "allow", "Write": "allow", "Edit": "deny", "WebFetch": "deny", "Grep": "deny",
	} {
		r := fresh("R", "thread", "ask "+tool+" {}")
		r.AllowedTools, r.DisallowedTools = []string{"Write", "WebFetch", "Edit"}, []string{"WebFetch"}
		if result := a.Invoke(t.Context(), r, nil); !strings.Contains(result.Text, `"behavior":"`+behavior+`"`) {
			t.Errorf("%s: %+v, want %s", tool, result, behavior)
		}
	}
}

// A rule that lets the agent write files does not let it write those that decide
// what it may do: the CLI asks once more for them, and there is nobody to say yes.
func TestARuleDoesNotAllowWhatTheCLIAsksOnceMoreFor(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.AllowedTools = []string{"Write"} })
	for verb, behavior := range map[string]string{"ask": `"behavior":"allow"`, "askagain": `"behavior":"deny"`} {
		r := newRecorder()
		result := a.Invoke(t.Context(), request(verb, "", verb+` Write {"file_path":".git/config"}`), r.emit)
		if result.Failure != nil || !strings.Contains(result.Text, behavior) {
			t.Errorf("%s: %+v, want %s", verb, result, behavior)
		}
		if denied := r.of(pluginsdk.StreamDenied); (len(denied) == 1) != (verb == "askagain") {
			t.Errorf("%s: denied %+v", verb, denied)
		} else if len(denied) == 1 && !strings.Contains(denied[0].Text, "It is a sensitive file.") {
			t.Errorf("the agent is told %q", denied[0].Text)
		}
	}
}
