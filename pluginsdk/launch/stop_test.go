package launch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// state returns the state of a process as the kernel says it, such as S, T
// (stopped) or Z (dead, not reaped); empty when there is none.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}

func gone(pid int) bool {
	s := state(pid)
	return s == "" || s == "Z" || s == "X"
}

func freeze(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the plugin is frozen", func() bool { return state(pid) == "T" })
}

// within is a stop that has some time, but not much.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestStopOfAFrozenPluginEnds(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	freeze(t, plugin.PID())
	if err := plugin.Stop(within(t, 200*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("error is %v", err)
	}
	if !gone(plugin.PID()) {
		t.Error("it is still there")
	}
}

func TestStopOfAPluginThatIgnoresEverythingEnds(t *testing.T) {
	plugin := started(t, config(t, "stubborn"))
	if err := plugin.Stop(within(t, 200*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("error is %v", err)
	}
	if !gone(plugin.PID()) {
		t.Error("it is still there")
	}
}

func TestStopDoesNotWaitForAHookThatHangs(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	result := make(chan error, 1)
	request := message("hang")
	request.Call.ID = "hanging"
	go func() { result <- tell(context.Background(), plugin, request) }()
	eventually(t, "the hook hangs", func() bool {
		ids, err := plugin.InFlight(t.Context())
		return err == nil && len(ids) == 1
	})
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
	if err := <-result; pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("the hook that hung: %v", err)
	}
}

func TestStopWithAnEndedContextKillsAtOnce(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	if err := plugin.Stop(ended()); err == nil {
		t.Error("there is no error, so it was not killed")
	}
	if !gone(plugin.PID()) {
		t.Error("it is still there")
	}
}

// child makes the plugin start a process of its own.
func child(t *testing.T, plugin *launch.Plugin, how string) int {
	t.Helper()
	text, err := answerTo(t.Context(), plugin, "child "+how)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// An orphan of a plugin would hold its port, or go on acting.
func TestTheWholeGroupEndsWithThePlugin(t *testing.T) {
	t.Run("when it is stopped", func(t *testing.T) {
		plugin := started(t, config(t, "plugin"))
		grandchild := child(t, plugin, "stays")
		if err := plugin.Stop(within(t, patience)); err != nil {
			t.Error(err)
		}
		eventually(t, "the grandchild is gone", func() bool { return gone(grandchild) })
	})
	t.Run("when it dies", func(t *testing.T) {
		plugin := started(t, config(t, "plugin"))
		grandchild := child(t, plugin, "stays")
		if err := syscall.Kill(plugin.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitDone(t, plugin)
		eventually(t, "the grandchild is gone", func() bool { return gone(grandchild) })
	})
}

// go-plugin would wait for as long as anybody holds stderr.
func TestStopDoesNotWaitForAGrandchildThatHoldsStderr(t *testing.T) {
	plugin := started(t, config(t, "plugin"))
	escaped := child(t, plugin, "escapes")
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
	awaitDone(t, plugin)
	if gone(escaped) {
		t.Error("the escaped grandchild is gone, so this showed nothing")
	}
}

// shortDir is a t.TempDir whose path leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "harness")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAStoppedPluginLeavesNothing(t *testing.T) {
	dir := shortDir(t)
	for _, mode := range []string{"plugin", "foreign", "stubborn", "dies-at-once", "not-a-plugin"} {
		plugin, err := newLauncher(t).Launch(t.Context(), sockets(config(t, mode), dir))
		if err == nil {
			err = errors.Join(plugin.Start(t.Context()), plugin.Ping(t.Context()))
			_ = plugin.Stop(within(t, 200*time.Millisecond))
		}
		t.Logf("%s: %v", mode, err)
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 0 {
			t.Errorf("%s left %v in its socket directory (%v)", mode, left, err)
		}
	}
	eventually(t, "all goroutines have ended", func() bool {
		stacks := make([]byte, 1<<20)
		text := string(stacks[:runtime.Stack(stacks, true)])
		return strings.Count(text, "hashicorp/go-plugin")+strings.Count(text, "google.golang.org/grpc") == 0
	})
}

// A daemon that is killed must not leave plugins that hold its ports: by the
// parent-death signal, and where that reaches only a script, by the SDK's watch.
func TestAPluginDiesWithItsHost(t *testing.T) {
	binary := config(t, "").Path
	script := filepath.Join(t.TempDir(), "plugin.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n\"$"+pathKey+"\"\nexit $?\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{binary, script} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			pid := killedDaemonsPlugin(t, binary, path)
			eventually(t, "the plugin is gone", func() bool { return gone(pid) })
		})
	}
}

// killedDaemonsPlugin runs a daemon that launches the plugin at a path, kills
// it, and returns the plugin's process id.
func killedDaemonsPlugin(t *testing.T, binary, path string) int {
	t.Helper()
	daemon := exec.Command(binary)
	daemon.Env = []string{modeKey + "=daemon", pathKey + "=" + path, "TMPDIR=" + shortDir(t)}
	stdout, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	killErr := daemon.Process.Kill()
	_ = daemon.Wait()
	pid, err := strconv.Atoi(strings.TrimSuffix(line, " <nil>\n"))
	if err := errors.Join(readErr, err, killErr); err != nil {
		t.Fatalf("the daemon said %q: %v", line, err)
	}
	return pid
}
