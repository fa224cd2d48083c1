package inbox

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
)

// leverEvery is how often it is looked whether an operator has paused what plugins
// start.
const leverEvery = time.Second

// watchLever does what operators have said of what plugins start.
func (in *Inbox) watchLever() {
	ticker := time.NewTicker(in.config.LeverEvery)
	defer ticker.Stop()
	for {
		select {
		case <-in.intake.Done():
			return
		case <-ticker.C:
		}
		err := guard.Call(in.config.Log, "the look at what is paused", func() error {
			resumed, err := in.readLever(in.intake)
			if err == nil && resumed {
				err = in.sweep()
			}
			return err
		})
		if err != nil && in.intake.Err() == nil {
			in.config.Log.Warn("it cannot be read whether what plugins start is paused; trying again", "err", err)
		}
	}
}

// readLever takes up how the lever stands, and reports whether it was turned off since
// it was read last.
func (in *Inbox) readLever(ctx context.Context) (resumed bool, err error) {
	lever, err := in.store.Lever(ctx, ledger.LeverPause)
	if err != nil {
		return false, err
	}
	in.mu.Lock()
	resumed = in.quiet && !lever.On
	changed := in.quiet != lever.On
	in.quiet = lever.On
	in.mu.Unlock()
	switch {
	case changed && lever.On:
		in.config.Log.Warn("paused: nothing that a plugin starts is begun until an operator resumes it", "by", lever.Who, "since", lever.At)
	case changed:
		in.config.Log.Info("resumed: what plugins start is begun again", "by", lever.Who)
	}
	return resumed, nil
}

// isQuiet reports whether what plugins start is to wait.
func (in *Inbox) isQuiet() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.quiet
}

// held reports whether no run of the class is to be begun. The lock is held.
func (in *Inbox) held(of class) bool { return in.quiet && of != people }
