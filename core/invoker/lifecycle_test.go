package invoker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/invoker/cli"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

func TestStopEndsAllSessionsCleanly(t *testing.T) {
	a := startAgent(t, "plain", nil)
	for _, thread := range []string{"a", "b", "c"} {
		wantText(t, a.ask(thread, "", "say x"), "x")
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.noProcesses()
	if closed := a.closedSessions(); len(closed) != 3 {
		t.Errorf("closed %v, want all three", closed)
	}
	_ = wantFailure(t, a.ask("a", "", "say x"), pluginsdk.FailureOther, true)
}

func TestStopMakesRunningAndWaitingTurnsRepeatable(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	results := make(chan pluginsdk.InvokeResult, 2)
	go func() { results <- a.ask("running", "", "wait") }()
	eventually(t, "the turn to run", func() bool { return len(a.starts()) == 1 })
	go func() { results <- a.ask("waiting", "", "say x") }()
	eventually(t, "the other to wait", func() bool { return a.waiting() == 1 })
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Nobody stopped these turns: a daemon that restarts runs them again.
	_ = wantFailure(t, <-results, pluginsdk.FailureOther, true)
	_ = wantFailure(t, <-results, pluginsdk.FailureOther, true)
}

func TestADeafProcessIsKilled(t *testing.T) {
	a := startAgent(t, "deaf", func(c *Config) { c.CloseGrace = 20 * time.Millisecond })
	result := a.ask("thread", "", "say x")
	wantText(t, result, "x")
	a.reapOnce(time.Now().Add(time.Hour))
	a.noProcesses()
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a process that was killed: %v", closed)
	}
}

func TestStopIsBounded(t *testing.T) {
	a := startAgent(t, "deaf", nil)
	a.ask("thread", "", "say x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Stop(ctx); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("error %v, want one that says what was killed", err)
	}
	eventually(t, "the process to be gone", func() bool {
		return len(proc.Marked(ownerMark, a.owner)) == 0
	})
}

func TestAProcessThatDiesBetweenTurnsIsReplaced(t *testing.T) {
	a := startAgent(t, "plain", nil)
	first := a.ask("thread", "", "say one")
	own := a.pool.sessions()[0]
	if err := syscall.Kill(own.process.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-own.process.exited
	if a.Holds("thread", first.SessionID) {
		t.Error("a dead process holds a session")
	}
	wantText(t, a.ask("thread", first.SessionID, "say two"), "two")
	if closed := a.closedSessions(); len(closed) > 0 {
		t.Errorf("OnClosed was called for a process that was killed: %v", closed)
	}
}

func TestAPanicOfTheCallerLeavesNoBusyPlace(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.MaxSessions = 1 })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		a.Invoke(t.Context(), request("thread", "", "say x"), func(pluginsdk.StreamEvent) { panic("emit") })
	}()
	a.noProcesses()
	wantText(t, a.ask("thread", "", "say y"), "y")
}

func TestAMissingCLIIsSaidInWords(t *testing.T) {
	for _, binary := range []string{"no-such-binary-anywhere", "/no/such/path/claude"} {
		t.Run(binary, func(t *testing.T) {
			claude := startClaude(t, Config{Binary: binary, Workspace: t.TempDir()})
			result := claude.Invoke(t.Context(), request("thread", "", "hello"), nil)
			failure := wantFailure(t, result, pluginsdk.FailureMissing, false)
			if !strings.Contains(failure.Message, "npm install") {
				t.Errorf("message %q does not say how to install it", failure.Message)
			}
		})
	}
}

func TestACLIThatCannotBeStartedIsSaidInWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("not a program"), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	claude := startClaude(t, Config{Binary: path, Workspace: t.TempDir()})
	failure := wantFailure(t, claude.Invoke(t.Context(), request("t", "", "hello"), nil), pluginsdk.FailureMissing, false)
	if !strings.Contains(failure.Message, "cannot be started") {
		t.Errorf("message %q", failure.Message)
	}
}

func TestRequestsThatCannotWorkAreRefused(t *testing.T) {
	a := startAgent(t, "plain", nil)
	for name, test := range map[string]struct {
		request ledger.AgentRequest
		kind    pluginsdk.FailureKind
	}{
		"a directory that is gone":      {ledger.AgentRequest{Cwd: "/no/such/directory"}, pluginsdk.FailureOther},
		"a relative directory":          {ledger.AgentRequest{Cwd: "somewhere"}, pluginsdk.FailureOther},
		"permissions skipped":           {ledger.AgentRequest{PermissionMode: "bypassPermissions"}, pluginsdk.FailureOther},
		"a rule that is a flag":         {ledger.AgentRequest{AllowedTools: []string{"--help"}}, pluginsdk.FailureOther},
		"a resume without a session":    {ledger.AgentRequest{Resume: true}, pluginsdk.FailureUnknownSession},
		"a session of another agent's":  {ledger.AgentRequest{Resume: true, SessionID: "abc"}, pluginsdk.FailureUnknownSession},
		"a new session that is no UUID": {ledger.AgentRequest{SessionID: "abc"}, pluginsdk.FailureOther},
	} {
		t.Run(name, func(t *testing.T) {
			_ = wantFailure(t, a.Invoke(t.Context(), test.request, nil), test.kind, false)
		})
	}
	if n := len(a.starts()); n > 0 {
		t.Errorf("%d processes were started", n)
	}
}

func TestConfigurationErrorsNameTheField(t *testing.T) {
	for field, config := range map[string]Config{
		"Workspace":         {},
		"MaxSessions":       {Workspace: "/w", MaxSessions: -1},
		"SilenceTimeout":    {Workspace: "/w", SilenceTimeout: -1},
		"Env":               {Workspace: "/w", Env: []string{"novalue"}},
		"AllowedTools":      {Workspace: "/w", AllowedTools: []string{"rm -rf"}},
		"MCPConfig":         {Workspace: "/w", MCPConfig: []byte(`{"servers":{}}`)},
		"bypassPermissions": {Workspace: "/w", PermissionMode: "bypassPermissions"},
	} {
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v does not name it", field, err)
		}
	}
}

func TestTheMCPConfigurationIsNotOnTheCommandLine(t *testing.T) {
	const secret = "s3cret"
	private := t.TempDir()
	killed := filepath.Join(private, "harness-mcp-1.json") // of one that was killed
	if err := os.WriteFile(killed, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, "plain", func(c *Config) {
		c.Private = private
		c.MCPConfig = []byte(`{"mcpServers":{"x":{"type":"http","url":"http://127.0.0.1:1","headers":{"Authorization":"` + secret + `"}}}}`)
	})
	wantText(t, a.ask("thread", "", "say x"), "x")
	line := strings.Join(a.starts()[0], " ")
	left, err := filepath.Glob(filepath.Join(private, "harness-mcp-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("files with secrets: %v, %v", left, err)
	}
	if strings.Contains(line, secret) || !strings.Contains(line, "--mcp-config="+left[0]) {
		t.Errorf("command line %s", line)
	}
	info, err := os.Stat(left[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the secrets: %v, %v", info, err)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(private, "*")); len(left) != 0 {
		t.Errorf("files with secrets are left behind: %v", left)
	}
}

func TestTheCommandLine(t *testing.T) {
	o := options{
		model: "sonnet", effort: "high", permissionMode: "default", allowed: "Read\nBash(git status:*)",
		disallowed: "WebFetch", schema: `{"type":"object"}`, fresh: true,
	}
	line := strings.Join(o.arguments("id", false, privateFiles{privateMCP: "/mcp.json", privateSettings: "/s.json", privatePrompt: "/p.md"}, cli.Features{PromptSnapshot: true}), "\n") + "\n"
	for _, want := range []string{
		"-p\n", "--strict-mcp-config\n", "--permission-prompt-tool=stdio\n", "--session-id=id\n", "--model=sonnet\n",
		"--effort=high\n", "--permission-mode=default\n", "--allowedTools=Read\n", "--allowedTools=Bash(git status:*)\n",
		"--disallowedTools=WebFetch\n", "--append-system-prompt-file=/p.md\n", "--settings=/s.json\n", "--setting-sources=\n", "--json-schema={\"type\":\"object\"}\n",
		"--no-session-persistence\n", "--mcp-config=/mcp.json\n", "--system-prompt-snapshot=off\n",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in\n%s", want, line)
		}
	}
	if resumed := strings.Join(o.arguments("id", true, nil, cli.Features{}), " "); !strings.Contains(resumed, "--resume=id") || strings.Contains(resumed, "--session-id") ||
		strings.Contains(resumed, "snapshot") { // which an older CLI refuses

		t.Errorf("resumed: %s", resumed)
	}
}
