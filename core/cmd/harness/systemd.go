package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// supervisor tells systemd how the daemon is doing (sd_notify(3)); without
// systemd it does nothing.
type supervisor struct {
	log  *slog.Logger
	once sync.Once
	quit chan struct{}
	work sync.WaitGroup
}

// ready says that the start is over, and keeps the watchdog quiet from then on.
func (s *supervisor) ready() {
	s.notify(daemon.SdNotifyReady)
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("systemd's watchdog cannot be served", "err", err)
	}
	if err != nil || interval == 0 {
		return
	}
	s.quit = make(chan struct{})
	s.work.Go(func() { s.feed(interval / 2) })
}

// stopping says that the daemon is on its way out.
func (s *supervisor) stopping() { s.notify(daemon.SdNotifyStopping) }

// stop ends what ready began and waits for it.
func (s *supervisor) stop() {
	s.once.Do(func() {
		if s.quit != nil {
			close(s.quit)
		}
	})
	s.work.Wait()
}

func (s *supervisor) feed(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
			s.notify(daemon.SdNotifyWatchdog)
		}
	}
}

func (s *supervisor) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd cannot be told", "state", state, "err", err)
	}
}
