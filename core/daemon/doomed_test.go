package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
)

const doomedName = "doomed"

// doom is what a daemon in a process of its own is told.
type doom struct {
	Data, DatabaseURL, Agent, Plugins, DemoScript, ClaudeBinary string
	AllowedTools                                                []string
	Port                                                        int
	MovedClock                                                  bool // see movedClock
}

func (d doom) path(name string) string { return filepath.Join(d.Data, name) }

// runDoomed is the daemon. It logs the steps that it passes, with the run. What comes to
// the step that the file kill-at names is held there, which is logged too, until the file
// go lies beside it: then the process dies by SIGKILL.
func runDoomed() {
	var d doom
	if err := json.Unmarshal([]byte(os.Getenv("DOOM")), &d); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config := daemon.Defaults()
	config.Data, config.DatabaseURL, config.Agent, config.Plugins = d.Data, d.DatabaseURL, d.Agent, d.Plugins
	config.DemoScript, config.Port, config.ClaudeBinary = d.DemoScript, d.Port, d.ClaudeBinary
	config.AllowedTools = d.AllowedTools
	config.PluginBackoff, config.Supervise = 20*time.Millisecond, attentive
	if d.MovedClock {
		config.Now, config.Dispatch = movedClock(d.Data), hasty
	}
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var mu sync.Mutex
	passed := map[string]int{} // how often each step was come past, by what die-at said then
	config.Fault = func(step, runID string) {
		if at, err := os.ReadFile(d.path("die-at")); err == nil {
			mu.Lock()
			for line := range strings.Lines(string(at)) {
				if name, n, _ := strings.Cut(strings.TrimSpace(line), " "); name == step {
					key := string(at) + step
					if passed[key]++; fmt.Sprint(passed[key]) == n {
						appendLine(d.path("died-at.log"), step)
						_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
					}
				}
			}
			mu.Unlock()
		}
		if at, err := os.ReadFile(d.path("kill-at")); err == nil && string(at) == step {
			appendLine(d.path("held.log"), step+" "+runID)
			for {
				if _, err := os.Stat(d.path("go")); err == nil {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				<-time.After(time.Millisecond) // the file is the signal
			}
		}
		mu.Lock()
		defer mu.Unlock()
		appendLine(d.path("steps.log"), step+" "+runID)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	instance, err := daemon.New(ctx, config)
	if err == nil {
		err = instance.Run(ctx, context.Background(), func() { appendLine(d.path("ready.log"), fmt.Sprint(os.Getpid())) })
		_ = instance.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func appendLine(path, line string) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.WriteString(line + "\n"); err != nil {
		panic(err)
	}
}

// deadly has the daemons that are started from now on, and the one that runs, die by SIGKILL when they come to
// one of the steps for the nth time; no step: they live.
func (in *installation) deadly(n int, steps ...string) {
	in.t.Helper()
	var lines strings.Builder
	for _, step := range steps {
		fmt.Fprintln(&lines, step, n)
	}
	file := filepath.Join(in.config.Data, "die-at")
	if err := os.WriteFile(file+".new", []byte(lines.String()), 0o600); err != nil {
		in.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil { // it is read meanwhile
		in.t.Fatal(err)
	}
}

// died reports whether the daemon has died since it was started, and buries it.
func (in *installation) died() bool {
	in.t.Helper()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(in.daemon.Process.Pid, &status, syscall.WNOHANG, nil)
	return err == nil && pid == in.daemon.Process.Pid
}

// spawn starts the daemon in a process of its own and waits until it is ready. The test
// that starts the first one ends the last.
func (in *installation) spawn() {
	in.t.Helper()
	in.launch()
	in.until("the daemon's readiness", func() bool {
		_, err := os.Stat(filepath.Join(in.config.Data, "ready.log"))
		return err == nil
	})
}

// launch starts it, and does not wait: it may die before it is ready.
func (in *installation) launch() {
	in.t.Helper()
	d := doom{
		Data: in.config.Data, DatabaseURL: in.config.DatabaseURL, Agent: in.config.Agent, Plugins: in.config.Plugins,
		DemoScript: in.config.DemoScript, ClaudeBinary: in.config.ClaudeBinary, AllowedTools: in.config.AllowedTools,
		Port: in.config.Port, MovedClock: in.config.Now != nil,
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		in.t.Fatal(err)
	}
	binary := d.path(doomedName)
	if in.daemon == nil {
		self, err := os.Executable()
		if err != nil {
			in.t.Fatal(err)
		}
		if err := os.Symlink(self, binary); err != nil {
			in.t.Fatal(err)
		}
		in.t.Cleanup(in.kill)
	}
	_ = os.Remove(d.path("ready.log"))
	in.daemon = exec.Command(binary)
	in.daemon.Env = append(os.Environ(), "DOOM="+string(encoded))
	in.daemon.Stderr = in.log
	if err := in.daemon.Start(); err != nil {
		in.t.Fatal(err)
	}
}

// kill ends the daemon's process as a machine without power does.
func (in *installation) kill() {
	_ = in.daemon.Process.Kill()
	_ = in.daemon.Wait()
}

// quit ends the daemon's process as its operator does, and wants nothing to be left of it.
func (in *installation) quit() {
	in.t.Helper()
	if err := in.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		in.t.Fatal(err)
	}
	if err := in.daemon.Wait(); err != nil {
		in.t.Errorf("clean stop: %v", err)
	}
	if left := marked(in.t, in); len(left) > 0 {
		in.t.Errorf("processes left: %v", left)
	}
}

// deaths returns the steps at which the daemon is killed: on SQLite all of them, on Postgres those that directly
// follow a commit, since the databases differ only in what they have stored.
func (in *installation) deaths(all []string, stored ...string) []string {
	if in.config.DatabaseURL == "" {
		return all
	}
	for _, step := range stored {
		if !slices.Contains(all, step) {
			in.t.Fatalf("%s is none of %v", step, all)
		}
	}
	return stored
}

// eachDeath does a test for each step, all with one installation, whose daemon dies in
// each (killedAt) and goes on from there.
func (in *installation) eachDeath(steps []string, test func(t *testing.T, step string)) {
	in.t.Helper()
	for _, step := range steps {
		if !in.subtest(step, func(t *testing.T) { test(t, step) }) { // the daemon may be dead, or held
			in.kill()
			in.living()
		}
	}
	in.quit()
}

// living starts the daemon anew, with nothing that it is to die of.
func (in *installation) living() {
	in.t.Helper()
	_ = os.Remove(filepath.Join(in.config.Data, "kill-at"))
	in.spawn()
}

// killedAt gives the daemon work and kills it when enough of that is held at a step. It
// starts it anew and returns what was held, a line "STEP ID" each.
func (in *installation) killedAt(step string, work func(), enough func(held []string) bool) []string {
	in.t.Helper()
	log, kill, now := filepath.Join(in.config.Data, "held.log"), filepath.Join(in.config.Data, "kill-at"), filepath.Join(in.config.Data, "go")
	_ = os.Remove(log)
	_ = os.Remove(now)
	if err := os.WriteFile(kill, []byte(step), 0o600); err != nil {
		in.t.Fatal(err)
	}
	work()
	in.until("the step", func() bool { return enough(lines(in.t, log)) })
	if err := os.WriteFile(now, nil, 0o600); err != nil {
		in.t.Fatal(err)
	}
	if err := in.daemon.Wait(); err == nil {
		in.t.Fatal("the daemon ended by itself")
	}
	in.living()
	return lines(in.t, log)
}
