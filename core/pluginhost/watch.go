package pluginhost

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

const (
	// pingEvery is how many looks at the processes come to one health check.
	pingEvery = 5
	// pingTimeout is how long a health check may take; two that fail in a row
	// are a fault.
	pingTimeout = 3 * time.Second
	pingMisses  = 2
	// stoppedLooks is how many looks in a row must find the process stopped.
	stoppedLooks = 2
	// slowCall is how long a call goes on until the process is looked at for it:
	// while people wait, the next look in turn is late. stoppedTwice later it must
	// still be stopped.
	slowCall     = 200 * time.Millisecond
	stoppedTwice = 100 * time.Millisecond

	wordsStopped = "its process is stopped (SIGSTOP)"
)

// watchOver looks after a version until stop is called: its memory and
// processes, whether it was stopped, whether it answers.
func (i *Instance) watchOver(v *version) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch := watcher{instance: i, of: v}
		ticker := time.NewTicker(i.host.config.Watch)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-v.gone:
				return
			case <-ctx.Done():
				return
			}
			var why string
			guard.Try(i.log, "the watch over a plugin", func() { why = watch.look(ctx) })
			if why != "" {
				v.blame(why)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// watcher is the state of watching one version; look its logic.
type watcher struct {
	instance *Instance
	of       *version
	looks    int
	stopped  int
	misses   int
}

// look returns what is wrong with the version; empty: nothing.
func (w *watcher) look(ctx context.Context) string {
	w.looks++
	if why := w.usage(); why != "" {
		return why
	}
	if w.looks%pingEvery == 0 {
		return w.ping(ctx)
	}
	return ""
}

// usage looks at the processes. Where the system does not tell, only the
// health check is left.
func (w *watcher) usage() string {
	usage, err := w.of.process.Usage()
	if err != nil {
		return ""
	}
	w.instance.report.figures.measured(w.of, usage)
	if why := exceeded(usage, limitsOf(w.of.row.Limits, w.instance.host.config.Limits)); why != "" {
		return why
	}
	if !usage.Stopped || w.of.row.Attach != "" { // a debugger stops it as it likes
		w.stopped = 0
		return ""
	}
	if w.stopped++; w.stopped >= stoppedLooks {
		return wordsStopped
	}
	return ""
}

// attend looks after a call that begins: when it goes on for long because the
// process is stopped, the version is ended. over says that the call is.
func (i *Instance) attend(v *version) (over func() bool) {
	return time.AfterFunc(slowCall, func() {
		i.crew.spawn("the watch over a call", func() {
			if v.isStopped() && i.await(v, stoppedTwice) && v.isStopped() {
				v.blame(wordsStopped)
			}
		})
	}).Stop
}

func (v *version) isStopped() bool {
	usage, err := v.process.Usage()
	return err == nil && usage.Stopped && v.row.Attach == ""
}

func (w *watcher) ping(ctx context.Context) string {
	if w.of.row.Attach != "" {
		return ""
	}
	pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := w.of.process.Ping(pingCtx)
	if err == nil || ctx.Err() != nil {
		w.misses = 0
		return ""
	}
	if w.misses++; w.misses >= pingMisses {
		return fmt.Sprintf("it failed %d health checks in a row: %s", w.misses, err)
	}
	return ""
}
