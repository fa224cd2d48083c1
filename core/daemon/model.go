package daemon

import (
	"context"
	"log/slog"
	"sync"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/invoker"
)

// modelCheck finds out, beside the start, whether the default model is known, and says it in
// the log when it is not. Nothing waits for it.
type modelCheck struct {
	check func(ctx context.Context) *invoker.UnknownModel // nil: there is nothing to look at
	log   *slog.Logger

	running sync.WaitGroup
	cancel  context.CancelFunc

	mu    sync.Mutex
	found *invoker.UnknownModel
}

// Start begins to look.
func (m *modelCheck) Start(context.Context) error {
	if m.check == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.running.Go(func() {
		var found *invoker.UnknownModel
		guard.Try(m.log, "the look at the default model", func() { found = m.check(ctx) })
		if found == nil || ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		m.found = found
		m.mu.Unlock()
		m.log.Warn("THE DEFAULT MODEL IS NOT KNOWN", "why", found.Reason, "remedy", found.Remedy)
	})
	return nil
}

// Stop ends it.
func (m *modelCheck) Stop(context.Context) error {
	if m.cancel != nil {
		m.cancel()
	}
	m.running.Wait()
	return nil
}

// unknown returns what was found so far; nil: nothing wrong.
func (m *modelCheck) unknown() *invoker.UnknownModel {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found
}

// AgentNotices says what people should know of the agent, in sentences, as far as it is known:
// a CLI that was not verified, a default model that nobody knows.
func (d *Daemon) AgentNotices() (notices []string) {
	if d.unverified != "" {
		notices = append(notices, d.unverified)
	}
	if found := d.model.unknown(); found != nil {
		notices = append(notices, found.Reason+": "+found.Remedy)
	}
	return notices
}
