package store_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
)

// rollUpUntilKilled says, in the environment of a process that the test below starts, which database
// that process rolls up usage in.
const rollUpUntilKilled = "HARNESS_TEST_ROLL_UP"

// The process that is killed: it rolls up, over and over, and says so after each transaction.
func TestRollsUpUntilKilled(t *testing.T) {
	of := os.Getenv(rollUpUntilKilled)
	if of == "" {
		t.Skip("TestRollupsSurviveKilledProcesses starts it")
	}
	var config store.Config
	check(t, json.Unmarshal([]byte(of), &config))
	ctx := context.Background()
	s := must[*store.Store](t)(store.Open(ctx, config))
	for {
		if !must[bool](t)(s.RollUpUsage(ctx, 7)) {
			check(t, s.ResetUsage(ctx))
		}
		fmt.Println("rolled up")
	}
}

// A process that rolls up is killed with SIGKILL, again and again, wherever it is: each turn is still
// counted once, and whoever goes on goes on from there.
func TestRollupsSurviveKilledProcesses(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		b := newBooks(6)
		self := must[string](t)(os.Executable())
		job := must[[]byte](t)(json.Marshal(map[string]string{"URL": config.URL, "Dir": config.Dir}))
		for range 6 {
			s := must[*store.Store](t)(store.Open(t.Context(), config))
			b.keep(t, s, 60)
			check(t, s.Close())
			process := exec.CommandContext(t.Context(), self, "-test.run=^TestRollsUpUntilKilled$")
			process.Env = append(os.Environ(), rollUpUntilKilled+"="+string(job))
			said := must[io.ReadCloser](t)(process.StdoutPipe())
			check(t, process.Start())
			lines := bufio.NewScanner(said)
			for n := 1 + b.random.IntN(20); n > 0 && lines.Scan(); n-- {
			}
			check(t, process.Process.Kill())
			if err := process.Wait(); err == nil || process.ProcessState.ExitCode() != -1 {
				t.Fatalf("the process was not killed: %v", err)
			}
			s = must[*store.Store](t)(store.Open(t.Context(), config))
			b.equal(t, s, 40)
			if problems := must[[]string](t)(s.UsageIntegrity(t.Context())); len(problems) != 0 {
				t.Error(problems)
			}
			must[bool](t)(s.RollUpUsage(t.Context(), 10))
			b.equal(t, s, 10)
			check(t, s.Close())
		}
	})
}
