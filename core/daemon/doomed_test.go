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
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
)

const doomedName = "doomed"

// doom is what a daemon in a process of its own is told.
type doom struct {
	Data, DatabaseURL, Agent, Plugins, DemoScript, ClaudeBinary string
	AllowedTools                                                []string
	Port                                                        int
	// KillAt is a step at which the process is to die by SIGKILL, once the
	// file named go lies in the data directory. Empty: it lives.
	KillAt string
}

func (d doom) path(name string) string { return filepath.Join(d.Data, name) }

// runDoomed is the daemon. It logs the steps that it passes, with the run, and
// where it was held until it died.
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
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var mu sync.Mutex
	config.Fault = func(step, runID string) {
		if step == d.KillAt {
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

// spawn starts the daemon in a process of its own and waits until it is ready.
func (in *installation) spawn(killAt string, env ...string) *exec.Cmd {
	in.t.Helper()
	d := doom{
		Data: in.config.Data, DatabaseURL: in.config.DatabaseURL, Agent: in.config.Agent, Plugins: in.config.Plugins,
		DemoScript: in.config.DemoScript, ClaudeBinary: in.config.ClaudeBinary, AllowedTools: in.config.AllowedTools,
		Port: in.config.Port, KillAt: killAt,
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		in.t.Fatal(err)
	}
	binary := d.path(doomedName)
	if _, err := os.Lstat(binary); err != nil {
		self, err := os.Executable()
		if err != nil {
			in.t.Fatal(err)
		}
		if err := os.Symlink(self, binary); err != nil {
			in.t.Fatal(err)
		}
	}
	_ = os.Remove(d.path("ready.log"))
	command := exec.Command(binary)
	command.Env = append(append(os.Environ(), "DOOM="+string(encoded)), env...)
	command.Stderr = in.log
	if err := command.Start(); err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	in.until("the daemon's readiness", func() bool {
		_, err := os.Stat(d.path("ready.log"))
		return err == nil
	})
	return command
}
