package invoker

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
)

// The fake CLI is this test binary, run again with fakeEnv set.
const fakeEnv = "INVOKER_TEST_CLI"

func TestMain(m *testing.M) {
	switch os.Getenv(fakeEnv) {
	case "":
		os.Exit(m.Run())
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fallthrough
	case "lingerer":
		_, _ = os.Stdout.WriteString("\n")
		linger()
	case "daemon":
		runDaemon()
	default:
		runFakeCLI(os.Getenv(fakeEnv))
	}
}

// runDaemon is a daemon that has one warm process of the fake CLI, one that
// would outlive a closed stdin, and waits to be killed.
func runDaemon() {
	dir := os.Getenv("INVOKER_TEST_SESSIONS")
	claude, err := New(Config{
		Binary:    os.Args[0],
		Workspace: dir,
		Env: []string{
			fakeEnv + "=lasting", "INVOKER_TEST_SESSIONS=" + dir, ownerMark + "=" + os.Getenv("DAEMON_OWNER"),
		},
	})
	if err != nil {
		os.Exit(2)
	}
	if err := claude.Start(context.Background()); err != nil {
		os.Exit(3)
	}
	result := claude.Invoke(context.Background(), ledger.AgentRequest{ThreadID: "thread", Prompt: "say x"}, nil)
	if result.Text != "x" {
		os.Exit(4)
	}
	if err := os.WriteFile(filepath.Join(dir, "warm"), nil, 0o600); err != nil {
		os.Exit(5)
	}
	linger()
}
