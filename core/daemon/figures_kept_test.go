package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whoever asks how the daemon does, and however often, must not be what it is busy with;
// and when the database is away, what else is known is told.
func TestFiguresAreReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, log := 0, bytes.Buffer{}
		away := errors.New("the database is away")
		f := &figures{log: slog.New(slog.NewTextHandler(&log, nil))}
		f.read = func(ctx context.Context, _ time.Time) ([]pluginsdk.Figure, error) {
			if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
				t.Error("the database may take as long as it likes, or who asked has left and nobody gets an answer")
			}
			reads++
			return []pluginsdk.Figure{{Name: "b"}, {Name: "a"}}, away
		}
		left, leave := context.WithCancel(t.Context())
		leave()
		for range 100 {
			if got := f.All(left); len(got) != 2 || got[0].Name != "a" {
				t.Fatalf("told %+v", got)
			}
		}
		if reads != 1 || bytes.Count(log.Bytes(), []byte(away.Error())) != 1 {
			t.Errorf("read %d times, logged %s", reads, &log)
		}
		<-time.After(figuresKept)
		if f.All(t.Context()); reads != 2 {
			t.Errorf("what is told does not change any more: read %d times", reads)
		}
	})
}
