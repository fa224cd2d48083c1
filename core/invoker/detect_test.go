package invoker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
)

// fakeBinary is a CLI that only knows its version.
func fakeBinary(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	return path
}

// withoutAccount makes the daemon's own environment one without credentials.
func withoutAccount(t *testing.T) (home string) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_") {
			t.Setenv(name, "")
		}
	}
	home = t.TempDir()
	t.Setenv("HOME", home)
	return home
}

func TestDetectFindsTheCLIAndItsVersion(t *testing.T) {
	withoutAccount(t)
	path := fakeBinary(t, `echo "2.1.197 (Claude Code)"`)
	d := Detect(t.Context(), Config{Binary: path, Env: []string{"ANTHROPIC_API_KEY=sk-secret"}})
	if !d.Usable() || d.Path != path || d.Version != "2.1.197" || d.Remedy != "" {
		t.Errorf("detection %+v", d)
	}
	if strings.Contains(d.Reason, "sk-secret") || !strings.Contains(d.Reason, "ANTHROPIC_API_KEY") {
		t.Errorf("reason %q", d.Reason)
	}
}

// People get a new CLI every day or two. One that nobody has tried with Harness works, and
// they are told how to look.
func TestDetectSaysWhatWasNotVerified(t *testing.T) {
	withoutAccount(t)
	oldest, newest := Verified()
	for version, want := range map[string]string{
		oldest: "", newest: "", "2.1.250": "", "what is this": "",
		"99.0.0": "is newer than " + newest + ", the newest that this version of Harness was verified with; run `harness agent check`",
		"1.0.3":  "is older than " + oldest,
	} {
		d := Detect(t.Context(), Config{Binary: fakeBinary(t, "echo '"+version+" (Claude Code)'"), Env: []string{"ANTHROPIC_API_KEY=sk-secret"}})
		if !d.Usable() || (d.Unverified == "") != (want == "") || !strings.Contains(d.Unverified, want) {
			t.Errorf("%s: %+v", version, d)
		}
	}
}

func TestDetectWithoutTheCLI(t *testing.T) {
	d := Detect(t.Context(), Config{Binary: "no-such-binary-anywhere"})
	if d.Found || d.Usable() || !strings.Contains(d.Remedy, "npm install") || d.Reason == "" {
		t.Errorf("detection %+v", d)
	}
}

func TestDetectABrokenCLI(t *testing.T) {
	d := Detect(t.Context(), Config{Binary: fakeBinary(t, `echo "wrong libc" >&2; exit 1`)})
	if d.Found || !strings.Contains(d.Reason, "wrong libc") || d.Remedy == "" {
		t.Errorf("detection %+v", d)
	}
}

func TestDetectCredentials(t *testing.T) {
	path := fakeBinary(t, `echo 2.1.197`)
	for name, test := range map[string]struct {
		env    string
		file   string // in HOME
		data   string
		usable bool
	}{
		"none":                   {usable: false},
		"a token":                {env: "CLAUDE_CODE_OAUTH_TOKEN=x", usable: true},
		"an empty key":           {env: "ANTHROPIC_API_KEY=", usable: false},
		"bedrock":                {env: "CLAUDE_CODE_USE_BEDROCK=1", usable: true},
		"bedrock turned off":     {env: "CLAUDE_CODE_USE_BEDROCK=0", usable: false},
		"logged in":              {file: ".claude/.credentials.json", data: `{"claudeAiOauth":{"accessToken":"x"}}`, usable: true},
		"logged out":             {file: ".claude/.credentials.json", data: `{}`, usable: false},
		"a helper":               {file: ".claude/settings.json", data: `{"apiKeyHelper":"/bin/key"}`, usable: true},
		"a key in the state":     {file: ".claude.json", data: `{"primaryApiKey":"x"}`, usable: true},
		"a state without a key":  {file: ".claude.json", data: `{"numStartups":3}`, usable: false},
		"a file that is no JSON": {file: ".claude/.credentials.json", data: `oops`, usable: false},
	} {
		t.Run(name, func(t *testing.T) {
			home := withoutAccount(t)
			if test.file != "" {
				file := filepath.Join(home, test.file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(test.data), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			config := Config{Binary: path}
			if test.env != "" {
				config.Env = []string{test.env}
			}
			d := Detect(t.Context(), config)
			if d.CanAuthenticate != test.usable || (d.Remedy == "") != test.usable || !d.Found {
				t.Errorf("detection %+v", d)
			}
		})
	}
}

// With a subscription nobody is billed for a turn, from the first one on: before the CLI has told of
// a window. With a key, however it is found, somebody is.
func TestASubscriptionIsAPlanFromTheFirstTurnOn(t *testing.T) {
	const login = `{"claudeAiOauth":{"accessToken":"x"}}`
	for name, test := range map[string]struct {
		env   []string
		files map[string]string // in HOME
		want  bool
	}{
		"nothing":              {},
		"a token":              {env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x"}, want: true},
		"a token and a key":    {env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x", "ANTHROPIC_API_KEY=y"}},
		"a token and a cloud":  {env: []string{"CLAUDE_CODE_OAUTH_TOKEN=x", "CLAUDE_CODE_USE_BEDROCK=1"}},
		"a key":                {env: []string{"ANTHROPIC_API_KEY=y"}},
		"a login":              {files: map[string]string{".claude/.credentials.json": login}, want: true},
		"a login and a key":    {env: []string{"ANTHROPIC_API_KEY=y"}, files: map[string]string{".claude/.credentials.json": login}},
		"a login of a console": {files: map[string]string{".claude/.credentials.json": login, ".claude.json": `{"primaryApiKey":"y"}`}},
		"a login and a helper": {files: map[string]string{".claude/.credentials.json": login, ".claude/settings.json": `{"apiKeyHelper":"/bin/key"}`}},
		"logged out":           {files: map[string]string{".claude/.credentials.json": `{}`}},
	} {
		t.Run(name, func(t *testing.T) {
			home := withoutAccount(t)
			for file, data := range test.files {
				path := filepath.Join(home, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if got := HasPlan(Config{Env: test.env}, Account{}); got != test.want {
				t.Errorf("it has a plan: %t, want %t", got, test.want)
			}
			a := startAgent(t, "plain", func(c *Config) { c.Env = append(append(c.Env, test.env...), "HOME="+home) })
			if got := a.Invoke(t.Context(), ledger.AgentRequest{Prompt: "say x"}, nil); got.Notional != test.want {
				t.Errorf("the first turn is notional: %t, want %t (%+v)", got.Notional, test.want, got.Failure)
			}
		})
	}
}
