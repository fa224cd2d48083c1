package agentcheck

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// needCLI returns the CLI that a variable names, or skips the test.
func needCLI(t *testing.T, variable string) string {
	t.Helper()
	binary := os.Getenv(variable)
	if binary == "" {
		t.Skip(variable + " does not name a Claude Code CLI; `make test` installs it and runs this test")
	}
	return binary
}

func versionOf(t *testing.T, binary string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), binary, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, _, _ := strings.Cut(string(said), " ")
	return version
}

// What Harness relies on holds with the oldest CLI that is supported, and with the newest
// that it is verified with: what people have lies between the two.
func TestThePinnedCLIsDoWhatHarnessReliesOn(t *testing.T) {
	for _, variable := range []string{"HARNESS_TEST_CLAUDE", "HARNESS_TEST_CLAUDE_OLDEST"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			binary := needCLI(t, variable)
			temp := t.TempDir()
			report, err := Run(t.Context(), Config{Binary: binary, Temp: temp})
			if err != nil {
				t.Fatal(err)
			}
			if report.Version != versionOf(t, binary) || len(report.Lines) != len(Names()) {
				t.Errorf("version %q, %d lines", report.Version, len(report.Lines))
			}
			for _, l := range report.Lines {
				switch l.State {
				case Broken:
					t.Errorf("%s: %s", l.Name, l.Words)
				case Differs:
					t.Logf("%s differs: %s", l.Name, l.Words)
				}
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			noProcess(t, temp)
		})
	}
}

// Whoever looks at a CLI keeps their login, their settings and their money, whatever their
// environment says.
func TestTheUsersOwnIsNotTouched(t *testing.T) {
	binary := needCLI(t, "HARNESS_TEST_CLAUDE")
	home, calls := t.TempDir(), make(chan string, 100)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			calls <- connection.RemoteAddr().String()
			connection.Close()
		}
	}()
	settings := filepath.Join(home, ".claude", "settings.json")
	const own = `{"permissions":{"deny":["Bash"]},"env":{"ANTHROPIC_BASE_URL":"http://127.0.0.1:1"},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch ran"}]}]}}`
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	theirs := "http://" + listener.Addr().String()
	for name, value := range map[string]string{
		"HOME": home, "CLAUDE_CONFIG_DIR": filepath.Dir(settings), "ANTHROPIC_API_KEY": "sk-mine", "ANTHROPIC_AUTH_TOKEN": "mine",
		"ANTHROPIC_BASE_URL": theirs, "CLAUDE_CODE_OAUTH_TOKEN": "mine", "CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": theirs,
		"HTTPS_PROXY": theirs, "ANTHROPIC_MODEL": "claude-mine", "CLAUDECODE": "1",
	} {
		t.Setenv(name, value)
	}
	report, err := Run(t.Context(), Config{Binary: binary, Only: []string{"starts and answers", "an allowed call runs"}})
	if err != nil {
		t.Fatal(err)
	}
	if report.Count(Holds) != 2 {
		t.Errorf("%+v", report.Lines)
	}
	var left []string
	_ = filepath.WalkDir(home, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if content, err := os.ReadFile(settings); err != nil || string(content) != own || len(left) != 1 {
		t.Errorf("the home has %v, the settings are %q, %v", left, content, err)
	}
	if len(calls) > 0 {
		t.Errorf("the user's API or proxy was called %d times", len(calls))
	}
}

// noProcess fails the test if something that was started goes on: what has the directory in its
// environment.
func noProcess(t *testing.T, temp string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(environments) == 0 {
		t.Log("there is no /proc to look for processes that are left")
	}
	for _, file := range environments {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), temp) {
			t.Errorf("a process is left: %s", strings.ReplaceAll(string(content), "\x00", " "))
		}
	}
}

// A program that is no CLI, or does not work at all, is told as such, and soon.
func TestWhatIsNoCLI(t *testing.T) {
	if _, err := Run(t.Context(), Config{Binary: filepath.Join(t.TempDir(), "claude")}); err == nil || !strings.Contains(err.Error(), "npm install") {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := Run(t.Context(), Config{Binary: "sh", Only: []string{"no such line"}}); err == nil {
		t.Error("a line that there is not is looked at")
	}
	binary := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho '9.9.9 (Claude Code)'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), Config{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range report.Lines {
		if l.State != Broken || l.Words == "" {
			t.Errorf("%q is %s: %s", l.Name, l.State, l.Words)
		}
	}
	if report.Version != "9.9.9" || len(report.Lines) != len(Names()) || report.Took > time.Minute {
		t.Errorf("version %q, %d lines, %s", report.Version, len(report.Lines), report.Took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Config{Binary: binary}); err == nil {
		t.Error("a run that was cancelled has a report")
	}
}

func TestRange(t *testing.T) {
	for version, want := range map[string]string{
		"2.1.9": "older than 2.1.197", "2.1.197": "verified with 2.1.197 to 2.1.330.", "2.1.330": "verified with 2.1.197 to 2.1.330.",
		"2.1.331": "this version is newer", "2.2.0": "this version is newer", "3.0.0-rc1": "this version is newer",
	} {
		if got := (Report{Version: version, Oldest: "2.1.197", Newest: "2.1.330"}).Range(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}
