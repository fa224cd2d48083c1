package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
)

// hands are what a supervisor has done to processes: the Instance (version.go, processes.go,
// configure.go), or a model in tests. What may take long takes a context, or has bounds of
// its own.
type hands interface {
	// bring brings a version of the row to the point where it is active, and returns
	// early when ctx ends. Nothing is left of one that failed. Of an exclusive plugin
	// the old version (nil: none) is deactivated first, which ready says, and activated
	// again when the new one fails.
	bring(ctx context.Context, row *ledger.Plugin, old *version, ready func()) (*version, error)
	// enter begins what goes on beside a version that serves: its events, its checks,
	// the watch over it. takeOver begins it where the old one's ends.
	enter(v *version)
	takeOver(v, old *version)
	// leave ends it, and lets the runs that keep to the version go.
	leave(v *version)
	// tell gives a version the settings that are wanted, if it can be told and has others.
	tell(v *version, wanted *ledger.Plugin)
	// close ends a version once its calls are over, and retire once its runs are.
	close(v *version)
	retire(ctx context.Context, v *version, active bool)
	// bury ends a version that is at fault or (why is empty) has ended by itself, and
	// returns what it died of.
	bury(v *version, why string) error
	// endAll ends whatever was begun and runs.
	endAll()
	// serves says that the version is what the plugin is from now on, and goesOn that it
	// still is: the one that was to replace it, and has described itself, failed.
	serves(v *version)
	goesOn(v *version)
	// confine stores why the plugin is in quarantine, and returns the reading of the
	// registry by which it is stored.
	confine(ctx context.Context, reason string) (reading int64, err error)
}

// supervisor keeps a plugin as its row wants it: it starts it, has another version
// replace it, starts it again, and ends it. One goroutine (run) owns it; the others
// reach it by order and nudge, which wait for nothing, and by cancel, after which it
// ends.
type supervisor struct {
	log    *slog.Logger
	config Config
	hands  hands
	router *router
	report *report
	crew   *crew
	redact func(string) string
	news   func() // called when the first start has succeeded or failed
	tail   func() string

	orders atomic.Pointer[order]
	wake   chan struct{} // there is another order, or something else to look at
	cancel context.CancelFunc
	done   chan struct{} // run has ended

	// The goroutine's own.
	phase    phase
	read     *order         // the newest that was looked at
	wanted   *ledger.Plugin // the row, as it last made sense
	confined confinement
	current  *version       // that serves
	bringing *bringing      // under way: a start, or a replacement
	began    time.Time      // the last start
	life     *ledger.Plugin // the row for which the last start was begun
	tried    *ledger.Plugin // the row whose start failed last
	until    time.Time      // when that is tried again
	reached  int64          // the generation of the row that serves, or that failed last
	setback  setback        // of the last replacement
	recent   []time.Time    // failures within Config.Window
	inARow   int            // failures without a steady life between them
}

// order is a row of the registry, as it was read.
type order struct {
	row     ledger.Plugin
	reading int64 // Host.readings
}

// bringing is a version that is being brought up, for the row that was wanted then.
type bringing struct {
	why    string
	row    *ledger.Plugin
	cancel context.CancelFunc
	ready  chan struct{}
	made   chan brought
}

// brought is how bringing up a version has ended.
type brought struct {
	version *version
	err     error
}

// order has the row followed. Any goroutine may call it.
func (s *supervisor) order(o order) {
	s.orders.Store(&o)
	s.nudge()
}

// nudge makes the supervisor look at what may have changed. Any goroutine may call it.
func (s *supervisor) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it is about to look
	}
}

// run supervises until ctx ends and everything of the plugin has. After a panic nothing
// of it is left running, and it is started again as after a failure that is none of its
// own.
func (s *supervisor) run(ctx context.Context) {
	defer close(s.done)
	defer s.triedOnce()
	for s.phase != atEnded {
		fault := s.guarded("the supervisor of a plugin", func() error {
			s.step(ctx)
			return nil
		})
		if fault != nil {
			s.recover(ctx, fault)
		}
	}
}

// step waits for what happens next, and does what is to be done about it.
func (s *supervisor) step(ctx context.Context) {
	if ctx.Err() != nil {
		s.end()
		return
	}
	s.look()
	switch s.phase {
	case atWaiting:
		s.start(ctx, onBegun)
	case atStarting:
		s.awaitStart(ctx)
	case atServing, atReplacing, atHandingOver:
		s.attend(ctx)
	case atBackingOff, atRefused:
		s.rest(ctx)
	case atQuarantined:
		s.holdBack(ctx)
	default: // the others are left in the step that comes to them, unless ctx ends
		panic(fmt.Sprintf("a plugin stays in the phase %q", s.phase))
	}
}

// saying is what is said of a plugin with its phase.
type saying struct {
	words string    // what has gone wrong; empty: nothing new
	try   time.Time // of the next start, or when the one under way began
	// carried, or rejected, is the row that has been; both are nil: none.
	carried, rejected *ledger.Plugin
	restarts          int // more than before
}

// move does what THE table says of a happening, and lets it be seen.
func (s *supervisor) move(what happening, say saying) {
	to, ok := transitions[what][s.phase]
	if !ok {
		panic(fmt.Sprintf("%q happened to a plugin that is %q", what, s.phase))
	}
	from := s.phase
	s.phase = to
	if row := say.carried; row != nil {
		s.reached = row.Generation
	} else if row := say.rejected; row != nil {
		s.reached = row.Generation
	}
	seen := seenAs[to]
	if to == atEnded || seen == seenAs[from] && to != atStarting && say == (saying{}) {
		return // the last words are the instance's
	}
	s.router.stand(s.current, standing{state: seen, try: say.try, inARow: s.inARow})
	if to == atServing {
		s.triedOnce() // who reads that it serves finds it in the next run
	}
	current := s.current
	s.report.tell(seen, say.words, func(now *ledger.PluginSeen) {
		now.Restarts += say.restarts
		if now.Serving = ""; current != nil {
			now.Serving = current.row.SHA256
		}
		if say.carried != nil {
			now.Rejected, now.Settled = "", say.carried.Generation
		} else if say.rejected != nil {
			now.Rejected, now.Settled = say.rejected.SHA256, say.rejected.Generation
		}
	})
	if to == atBackingOff || to == atRefused || to == atQuarantined {
		s.triedOnce()
	}
}

// triedOnce says that the first start has succeeded or failed.
func (s *supervisor) triedOnce() {
	if s.router.triedOnce() {
		s.news()
	}
}

// look takes over what is ordered. Of a row that was broken by hand only whether it is
// in quarantine is.
func (s *supervisor) look() {
	o := s.orders.Load()
	if o == nil || o == s.read {
		return
	}
	s.read = o
	s.confined.follow(o.row.Quarantine, o.reading)
	s.report.setQuarantine(s.confined.reason)
	if o.row.Problem == "" {
		s.wanted = &o.row
	}
}

// start begins to bring up what is wanted, unless the plugin is in quarantine.
func (s *supervisor) start(ctx context.Context, why happening) {
	if s.confined.reason != "" {
		s.move(onConfined, s.quarantineSaid())
		s.log.Warn("plugin is in quarantine: it is not started; `harness plugin enable` ends that", "why", firstLine(s.confined.reason))
		return
	}
	s.began, s.life = time.Now(), s.wanted
	s.move(why, saying{try: s.began})
	s.bringing = s.bring(ctx, "", nil)
}

// bring begins to bring up what is wanted, beside the version that serves (nil: none).
func (s *supervisor) bring(ctx context.Context, why string, old *version) *bringing {
	ctx, cancel := context.WithCancel(ctx)
	b := &bringing{why: why, row: s.wanted, cancel: cancel, ready: make(chan struct{}), made: make(chan brought, 1)}
	begun := s.crew.spawn("the start of a plugin", func() {
		var made brought
		made.err = s.guarded("the start of a plugin", func() (err error) {
			made.version, err = s.hands.bring(ctx, b.row, old, func() { close(b.ready) })
			return err
		})
		b.made <- made
	})
	if !begun {
		b.made <- brought{err: context.Canceled}
	}
	return b
}

// abandon ends bringing up a version that nobody waits for any more.
func (s *supervisor) abandon() {
	b := s.bringing
	if b == nil {
		return
	}
	s.bringing = nil
	b.cancel()
	if made := <-b.made; made.version != nil {
		s.hands.close(made.version)
	}
}

// awaitStart waits for the end of a start.
func (s *supervisor) awaitStart(ctx context.Context) {
	select {
	case <-ctx.Done():
	case made := <-s.bringing.made:
		b := s.bringing
		b.cancel()
		s.bringing = nil
		switch {
		case made.err == nil:
			if s.inARow > 0 {
				s.router.try(made.version)
			}
			s.serve(made.version, onUp)
		case ctx.Err() == nil:
			s.fail(ctx, made.err, b.row)
		}
	}
}

// serve makes a version the one that answers.
func (s *supervisor) serve(v *version, what happening) {
	s.hands.enter(v)
	s.current = v
	s.move(what, saying{carried: &v.row})
	s.report.settingsTaken() // it was started with them
	s.hands.serves(v)
	s.nudge() // the row may have changed meanwhile
}

// attend looks after the version that serves.
func (s *supervisor) attend(ctx context.Context) {
	v := s.current
	var ready chan struct{}
	var made chan brought
	if s.bringing != nil {
		ready, made = s.bringing.ready, s.bringing.made
	}
	if s.phase == atHandingOver {
		ready = nil
	}
	select {
	case <-ctx.Done():
	case <-v.gone:
		s.fall(ctx, "")
	case why := <-v.fault:
		s.log.Warn("plugin is at fault and is ended", "why", why)
		s.fall(ctx, why)
	case <-ready:
		s.move(onReady, saying{})
	case made := <-made:
		s.replace(ctx, made)
	case <-s.wake:
		s.look()
		s.hands.tell(v, s.wanted)
		if s.phase == atServing {
			s.follow(ctx)
		}
	}
}

// fall ends the version that serves, which has ended or is at fault, and the one that
// was to replace it.
func (s *supervisor) fall(ctx context.Context, why string) {
	v := s.withdraw(onFallen)
	err := s.hands.bury(v, why)
	s.abandon()
	if ctx.Err() == nil {
		s.fail(ctx, err, nil)
	}
}

// withdraw takes the version that serves out of service, also of the runs that began
// with it: it is about to be ended.
func (s *supervisor) withdraw(why happening) *version {
	v := s.current
	s.current = nil
	s.move(why, saying{try: time.Now()})
	s.hands.leave(v)
	return v
}

// end ends the plugin: what serves, and what is being brought up.
func (s *supervisor) end() {
	if s.bringing != nil {
		s.bringing.cancel()
	}
	if s.current != nil {
		s.hands.close(s.withdraw(onTold))
	} else {
		s.move(onTold, saying{})
	}
	s.abandon()
	if s.phase == atStopping {
		s.move(onGone, saying{})
	}
}

// guarded calls do. A panic in it is Harness's own trouble.
func (s *supervisor) guarded(what string, do func() error) error { return guarded(s.log, what, do) }

// quarantineSaid is what is said of a plugin that is in quarantine.
func (s *supervisor) quarantineSaid() saying {
	return saying{words: firstLine(s.confined.reason), rejected: s.wanted}
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
