package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
)

// tracedFile is the environment variable that makes this program the daemon of a
// trace. It holds the path of the file that gets what was traced.
const tracedFile = "HARNESS_BENCH_TRACED"

// traced is what the daemon of a trace writes when it ends.
type traced struct {
	Spans []ledger.Span `json:"spans"`
	Steps []stepAt      `json:"steps"`
}

// stepAt is when a run came to a step of the pipeline.
type stepAt struct {
	Step  string    `json:"step"`
	RunID string    `json:"runId"`
	At    time.Time `json:"at"`
}

// runTraced is the daemon, as `harness up` runs it with these arguments, with its
// spans and steps noted in memory and written to the file at its end.
func runTraced(file, data string) (err error) {
	config, err := daemon.Load(data, os.LookupEnv)
	if err != nil {
		return err
	}
	config.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	var mu sync.Mutex
	var found traced
	config.Trace = func(span ledger.Span) {
		mu.Lock()
		defer mu.Unlock()
		found.Spans = append(found.Spans, span)
	}
	config.Fault = func(step, runID string) {
		at := time.Now()
		mu.Lock()
		defer mu.Unlock()
		found.Steps = append(found.Steps, stepAt{step, runID, at})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d, err := daemon.New(ctx, config)
	if err != nil {
		return err
	}
	err = errors.Join(d.Run(ctx, context.Background(), func() {}), d.Close())
	mu.Lock()
	defer mu.Unlock()
	encoded, encoding := json.Marshal(found)
	if encoding != nil {
		return errors.Join(err, encoding)
	}
	return errors.Join(err, os.WriteFile(file, encoded, 0o600))
}
