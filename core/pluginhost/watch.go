package pluginhost

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

const (
	// restEvery is after how many of Config.Watch a process is looked at that rests: it has not
	// run since the last look. A call finds a stopped process sooner: see attend.
	restEvery = 2
	// pingEvery is after how many of Config.Watch a health check follows, and pingRest the same
	// for a process that rests.
	pingEvery = 10
	pingRest  = 30
	// measureEvery is after how many of Config.Watch all processes are measured, although the
	// plugin's first one rests: what it has started may have run.
	measureEvery = 10
	// pingTimeout is how long a health check may take; pingMisses that fail in a row are
	// a fault.
	pingTimeout = 3 * time.Second
	pingMisses  = 2
	// stoppedLooks is how many looks in a row must find the process stopped for that to
	// be a fault.
	stoppedLooks = 2
	// slowCall is how long a call takes before its process is looked at: people wait, and
	// the next regular look may be late. The process must still be stopped stoppedTwice
	// later.
	slowCall     = 200 * time.Millisecond
	stoppedTwice = 100 * time.Millisecond

	wordsStopped = "its process is stopped (SIGSTOP)"
)

// watchOver watches a version until stop is called: its memory and processes, whether it
// is stopped, whether it answers. It blames the version for what it finds.
func (i *Instance) watchOver(v *version) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch := watcher{instance: i, of: v, process: v.process}
		often, seldom := guard.NewTicker(i.host.config.Watch), guard.NewTicker(restEvery*i.host.config.Watch)
		defer often.Stop()
		defer seldom.Stop()
		for {
			ticker, pause := often, 1
			if watch.rests {
				ticker, pause = seldom, restEvery
			}
			select {
			case <-ticker.Next():
			case <-v.gone:
				return
			case <-ctx.Done():
				return
			}
			watch.at += pause
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

// watcher watches one version.
type watcher struct {
	instance *Instance
	of       *version
	process  interface {
		Glance() (launch.Glance, error)
		Usage() (launch.Usage, error)
	}
	at         int // about the time since the watch began, in Config.Watch; so are the next two
	pingedAt   int
	measuredAt int
	stopped    int // looks in a row that found the process stopped
	misses     int // health checks in a row that failed

	glance   launch.Glance // when the processes were measured last
	measured launch.Usage
	rests    bool // nothing had changed at the last look
}

// look returns what is wrong with the version; empty: nothing.
func (w *watcher) look(ctx context.Context) string {
	if why := w.usage(); why != "" {
		return why
	}
	if !w.pingDue() {
		return ""
	}
	return w.ping(ctx)
}

// pingDue reports whether it is time for a health check, and notes that there is one.
func (w *watcher) pingDue() bool {
	every := pingEvery
	if w.rests && w.misses == 0 {
		every = pingRest
	}
	if w.at < w.pingedAt+every {
		return false
	}
	w.pingedAt = w.at
	return true
}

// usage returns which limit the processes exceed, or that they are stopped; empty:
// neither. Where the system does not tell, it returns empty, and only the health check is
// left.
func (w *watcher) usage() string {
	usage, err := w.measure()
	if err != nil {
		return ""
	}
	w.instance.report.figures.measured(w.of, usage)
	if why := exceeded(usage, limitsOf(w.of.row.Limits, w.instance.host.config.Limits)); why != "" {
		return why
	}
	if !usage.Stopped || w.of.row.Attach != "" { // a debugger may stop it
		w.stopped = 0
		return ""
	}
	if w.stopped++; w.stopped >= stoppedLooks {
		return wordsStopped
	}
	return ""
}

// measure measures the processes. Of a plugin that consists of one process, which has not run since
// the last time, all is as it was then: most plugins rest most of the time.
func (w *watcher) measure() (launch.Usage, error) {
	seen, err := w.process.Glance()
	if err != nil {
		return launch.Usage{}, err
	}
	w.rests = seen == w.glance && w.measured.Processes == 1 && !seen.Stopped
	if w.rests && w.at < w.measuredAt+measureEvery {
		return w.measured, nil
	}
	w.measuredAt = w.at
	w.glance = seen // from before: what happens meanwhile has the next look measure again
	w.measured, err = w.process.Usage()
	return w.measured, err
}

// attend watches a call that begins: when it takes longer than slowCall and the process
// is stopped, the version is blamed. The caller calls over when the call has ended.
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
