package invoker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// startLingerer starts a process that carries an owner's mark.
func startLingerer(t *testing.T, owner string, detached bool) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{fakeEnv + "=lingerer", ownerMark + "=" + owner}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: detached}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	// Its environment is its own once it has called exec.
	eventually(t, "the process to carry its mark", func() bool {
		for _, id := range proc.Marked(ownerMark, owner) {
			if id.PID == cmd.Process.Pid {
				return true
			}
		}
		return false
	})
	return cmd.Process.Pid
}

func TestOrphansOfThisInstallationAreEnded(t *testing.T) {
	owner, other := uuid.NewString(), uuid.NewString()
	startLingerer(t, owner, false)
	startLingerer(t, owner, true)
	spared := startLingerer(t, owner, false)
	foreign := startLingerer(t, other, false)

	n, err := EndOrphans(owner, func(pid int) bool { return pid == spared }, nil)
	if err != nil || n != 2 {
		t.Fatalf("ended %d, %v; want 2", n, err)
	}
	if left := proc.Marked(ownerMark, owner); len(left) != 1 || left[0].PID != spared {
		t.Errorf("left %v, want only the one spared", left)
	}
	if left := proc.Marked(ownerMark, other); len(left) != 1 || left[0].PID != foreign {
		t.Errorf("another installation's processes: %v", left)
	}
}

func TestOrphansNeedAnOwner(t *testing.T) {
	if _, err := EndOrphans("", nil, nil); err == nil {
		t.Error("no owner would mean everybody's processes")
	}
}

func TestTheCLIDoesNotOutliveTheDaemon(t *testing.T) {
	owner, dir := uuid.NewString(), t.TempDir()
	daemon := exec.Command(os.Args[0])
	daemon.Env = []string{
		fakeEnv + "=daemon", "DAEMON_OWNER=" + owner, "INVOKER_TEST_SESSIONS=" + dir,
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon to have a warm CLI", func() bool {
		_, err := os.Stat(filepath.Join(dir, "warm"))
		return err == nil
	})
	if len(proc.Marked(ownerMark, owner)) != 1 {
		t.Fatal("the CLI does not run")
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = daemon.Wait()
	eventually(t, "the CLI to end", func() bool { return len(proc.Marked(ownerMark, owner)) == 0 })
}

func TestWhatTheToolsLeftRunningIsEnded(t *testing.T) {
	a := startAgent(t, "plain", nil)
	result := a.ask("thread", "", "fork")
	if left := proc.Marked(ownerMark, a.owner); len(left) != 2 {
		t.Fatalf("%d processes, want the CLI and what it started", len(left))
	}
	a.reapOnce(time.Now().Add(time.Hour))
	a.noProcesses()
	if closed := a.closedSessions(); len(closed) != 1 || !strings.HasSuffix(closed[0], result.SessionID) {
		t.Errorf("closed %v", closed)
	}
}

func TestWhatACrashedProcessLeftRunningIsEnded(t *testing.T) {
	a := startAgent(t, "plain", nil)
	result := a.ask("thread", "", "fork")
	_ = wantFailure(t, a.ask("thread", result.SessionID, "crash"), pluginsdk.FailureCrashed, true)
	a.noProcesses()
}

func TestAToolInAGroupOfItsOwnIsKilledWithTheTurn(t *testing.T) {
	a := startAgent(t, "plain", func(c *Config) { c.SilenceTimeout = time.Second })
	forked := a.ask("thread", "", "fork")
	tool, err := strconv.Atoi(forked.Text)
	if err != nil {
		t.Fatal(err)
	}
	var r proc.Reader
	stat, ok := r.Stat(tool)
	if !ok {
		t.Fatal("the tool does not run")
	}
	_ = wantFailure(t, a.ask("thread", forked.SessionID, "silent"), pluginsdk.FailureSilent, true)
	if stat.ID.Alive() {
		t.Error("the tool outlived its turn")
	}
	a.noProcesses()
}

// As long as the group may be killed by its number, the number is held by its
// leader, dead or alive: given out again, it would name somebody else's processes.
func TestTheNumberOfAGroupIsHeldAsLongAsItMayBeKilled(t *testing.T) {
	a := startAgent(t, "plain", nil)
	wantText(t, a.ask("thread", "", "say x"), "x")
	p := a.pool.sessions()[0].process
	if !p.group.Hold(func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		var r proc.Reader
		for range 5000 { // much longer than it takes to wait for a process
			if _, ok := r.Stat(pid); !ok {
				t.Fatal("the number is free and the group would still be killed")
			}
		}
	}) {
		t.Error("it has ended")
	}
}
