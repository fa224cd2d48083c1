package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whoever asks how the daemon does, and however often, must not be what it is busy with.
func TestFiguresAreReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		f := &figures{log: slog.New(slog.DiscardHandler), counted: func() []pluginsdk.Figure { return []pluginsdk.Figure{{Name: "z"}} }}
		f.stored = func(context.Context) ([]pluginsdk.Figure, error) {
			reads++
			return []pluginsdk.Figure{{Name: "b"}, {Name: "a"}}, nil
		}
		for range 100 {
			if got := names(f.All(t.Context())); got != "a b harness_database_up=1 z " {
				t.Fatalf("told %s", got)
			}
		}
		if reads != 1 {
			t.Errorf("read %d times", reads)
		}
		<-time.After(figuresKept)
		if f.All(t.Context()); reads != 2 {
			t.Errorf("what is told does not change any more: read %d times", reads)
		}
	})
}

// When the database is away, an operator looks at the figures first: what else is known
// is told, and soon, also while a server that is gone without a word keeps those waiting
// who ask it.
func TestFiguresAreToldWithoutTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, back := bytes.Buffer{}, make(chan struct{})
		var reads atomic.Int32
		f := &figures{log: slog.New(slog.NewTextHandler(&log, nil)), counted: func() []pluginsdk.Figure { return []pluginsdk.Figure{{Name: "z"}} }}
		tell := func(want string) {
			t.Helper()
			<-time.After(figuresKept)
			began := time.Now()
			if got := names(f.All(t.Context())); got != want || time.Since(began) > 3*time.Second {
				t.Errorf("told %s after %s, want %s", got, time.Since(began), want)
			}
		}
		f.stored = func(ctx context.Context) ([]pluginsdk.Figure, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the database may take as long as it likes")
			}
			switch reads.Add(1) {
			case 1:
				return []pluginsdk.Figure{{Name: "a"}}, errors.New("the connection was cut")
			case 2:
				<-back
			case 3:
				panic("a fault")
			}
			return []pluginsdk.Figure{{Name: "a"}, {Name: "b"}}, nil
		}
		tell("a harness_database_up=0 z ")
		if !strings.Contains(log.String(), "the connection was cut") {
			t.Errorf("logged %s", &log)
		}
		for range 3 {
			tell("harness_database_up=0 z ")
		}
		if n := reads.Load(); n != 2 {
			t.Errorf("a database that does not answer was asked %d times at once", n-1)
		}
		close(back)
		tell("harness_database_up=0 z ") // a fault of ours
		tell("a b harness_database_up=1 z ")
	})
}

// names are the figures' names, with the value of what says how the database does.
func names(figures []pluginsdk.Figure) (names string) {
	for _, figure := range figures {
		names += figure.Name
		for _, sample := range figure.Samples {
			names += fmt.Sprintf("=%v", sample.Value)
		}
		names += " "
	}
	return names
}

// A plugin does not pass its figures off as the daemon's, another plugin's, or a part of a histogram.
func TestAPluginsFigureWhoseNameIsTaken(t *testing.T) {
	var log strings.Builder
	of := func(names ...string) (all []pluginsdk.Figure) {
		for _, name := range names {
			all = append(all, pluginsdk.Figure{Name: name, Help: "plugin's"})
		}
		return all
	}
	f := &figures{
		log: slog.New(slog.NewTextHandler(&log, nil)), refused: make(map[string]bool),
		counted: func() []pluginsdk.Figure {
			return []pluginsdk.Figure{{Name: "harness_runs_parked"}, {Name: "harness_runs_seconds"}}
		},
		stored: func(context.Context) ([]pluginsdk.Figure, error) { return nil, nil },
		plugins: func() map[string][]pluginsdk.Figure {
			return map[string][]pluginsdk.Figure{
				"runs":   of("harness_runs_parked", "harness_runs_seconds_count", "harness_runs_own"),
				"plugin": of("harness_plugin_state"), "a": of("harness_a_b_c"), "a-b": of("harness_a_b_c"),
			}
		},
	}
	for range 2 {
		f.at = time.Time{}
		var names []string
		for _, figure := range f.All(t.Context()) {
			names = append(names, figure.Name+" "+figure.Help)
		}
		want := []string{"harness_a_b_c plugin's", "harness_database_up 1 when the database answered the questions for these figures.", "harness_runs_own plugin's", "harness_runs_parked ", "harness_runs_seconds "}
		if !slices.Equal(names, want) {
			t.Errorf("the figures are %q, want %q", names, want)
		}
	}
	if n := strings.Count(log.String(), "its name is taken"); n != 4 {
		t.Errorf("said %d times: %s", n, log.String())
	}
}
