package main

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// supervisor tells systemd how the daemon is doing (sd_notify(3)); without
// systemd it does nothing.
type supervisor struct {
	log *slog.Logger
	// alive says whether the daemon can do its work. It must return when its
	// context ends. Systemd restarts a daemon of which it hears no good word.
	alive func(ctx context.Context) error
	every time.Duration // statusEvery, but for tests

	once sync.Once
	quit context.CancelFunc
	work sync.WaitGroup
}

// statusEvery is how often systemd may be told another status.
const statusEvery = 10 * time.Second

// ready says that the start is over, and serves the watchdog from then on. What status
// says (empty: all is well) is the unit's status, as long as it does.
func (s *supervisor) ready(status func() string) {
	said := status()
	state := daemon.SdNotifyReady
	if said != "" {
		state += "\nSTATUS=" + said
	}
	s.notify(state)
	ctx, cancel := context.WithCancel(context.Background())
	s.quit = cancel
	s.work.Go(func() { s.tellStatus(ctx, status, said) })
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("systemd's watchdog cannot be served", "err", err)
	}
	if err != nil || interval == 0 {
		return
	}
	s.work.Go(func() { s.feed(ctx, interval/2) })
}

// tellStatus is the loop that tells systemd of a status that is another than was said.
func (s *supervisor) tellStatus(ctx context.Context, status func() string, said string) {
	ticker := time.NewTicker(cmp.Or(s.every, statusEvery))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now := status(); now != said {
			s.notify("STATUS=" + now)
			said = now
		}
	}
}

// stopping says that the daemon is on its way out.
func (s *supervisor) stopping() { s.notify(daemon.SdNotifyStopping) }

// stop ends what ready began and waits for it.
func (s *supervisor) stop() {
	s.once.Do(func() {
		if s.quit != nil {
			s.quit()
		}
	})
	s.work.Wait()
}

// feed is the loop that serves the watchdog; reassure its logic.
func (s *supervisor) feed(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.reassure(ctx, interval/2)
		}
	}
}

// reassure gives the watchdog its good word, unless the daemon cannot say
// within the deadline that it is alive.
func (s *supervisor) reassure(ctx context.Context, deadline time.Duration) {
	check, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := s.alive(check); err != nil {
		if ctx.Err() == nil {
			s.log.Error("the daemon is not well, so systemd's watchdog is not told that it is", "err", err)
		}
		return
	}
	s.notify(daemon.SdNotifyWatchdog)
}

func (s *supervisor) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd cannot be told", "state", state, "err", err)
	}
}
