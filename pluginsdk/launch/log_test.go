package launch_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func TestWhatAPluginLogsKeepsItsLevelAndName(t *testing.T) {
	log, cfg := newRecorder(), config(t, "plugin")
	cfg.Log, cfg.Name = log.logger(), "test"
	plugin := started(t, cfg)
	if err := tell(t.Context(), plugin, message("log look here")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both lines are logged", func() bool {
		_, _, first := log.find("look here")
		_, _, second := log.find("grouped")
		return first && second
	})
	level, attrs, _ := log.find("look here")
	if level != slog.LevelWarn || attrs["plugin"] != "test" || attrs["n"] != "7" {
		t.Errorf("logged at %s with %v", level, attrs)
	}
	if level, _, _ := log.find("grouped"); level != slog.LevelDebug {
		t.Errorf("logged at %s", level)
	}
}

func TestWhatAPluginPrintsIsLogged(t *testing.T) {
	log, cfg := newRecorder(), config(t, "plugin")
	cfg.Log = log.logger()
	plugin := started(t, cfg)
	if err := tell(t.Context(), plugin, message("print this")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both lines are logged", func() bool {
		_, _, out := log.find("through stdout: this")
		_, _, err := log.find("through stderr: this")
		return out && err
	})
}

func TestEveryLineOfStderrIsHandedOn(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	cfg := config(t, "dies-at-once")
	cfg.Stderr = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	if _, err := newLauncher(t).Launch(t.Context(), cfg); err == nil {
		t.Fatal("it was launched")
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(lines, "\n"); got != "no such token" {
		t.Errorf("stderr was %q", got)
	}
}
