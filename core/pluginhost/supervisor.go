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

// hands is what a supervisor does to a plugin's processes: the Instance (version.go,
// processes.go, configure.go), or a model in tests. A method that may take long takes a
// context, or bounds its time itself.
type hands interface {
	// bring starts a version of the row and activates it. It returns early when ctx ends.
	// It ends the process of a version that failed. When the old version (nil: none) or
	// the new one is exclusive, it calls ready, deactivates the old one before it
	// activates the new one, and activates the old one again when the new one fails.
	bring(ctx context.Context, row *ledger.Plugin, old *version, ready func()) (*version, error)
	// enter begins what runs beside a version that serves: its events, its checks, the
	// watch over it. takeOver, called before it, ends the old version's events and checks
	// and has the new one's events continue there.
	enter(v *version)
	takeOver(v, old *version)
	// leave ends the events and checks, and makes the runs that keep to the version go on
	// with another.
	leave(v *version)
	// tell offers a version the wanted settings, if it takes them while it runs and has
	// others.
	tell(v *version, wanted *ledger.Plugin)
	// close ends a version once its calls are over. retire ends a replaced one once its
	// runs are.
	close(v *version)
	retire(ctx context.Context, v *version, active bool)
	// bury ends a version that is at fault, or (why is empty) has ended by itself, and
	// returns why it ended.
	bury(v *version, why string) error
	// endAll ends every process that was begun and still runs.
	endAll()
	// serves says that the version now is the plugin: its manifest goes into the row.
	// goesOn says that it still is, after the version that was to replace it has
	// described itself and failed.
	serves(v *version)
	goesOn(v *version)
	// confine stores why the plugin is in quarantine. It returns the last reading of the
	// registry that began before the reason was stored.
	confine(ctx context.Context, reason string) (reading int64, err error)
}

// supervisor starts a plugin as its row wants it, replaces its version when the row
// changes, starts it again after a failure, and ends it. One goroutine (run) owns it.
// Others reach it by order and nudge, which do not block, and by cancel, which ends it.
type supervisor struct {
	log    *slog.Logger
	config Config
	hands  hands
	router *router
	report *report
	crew   *crew
	redact func(string) string
	news   func()        // called once, when the first start has succeeded or failed
	tail   func() string // the last lines of the plugin's log

	orders atomic.Pointer[order]
	wake   chan struct{} // there is a new order, or something else to look at
	cancel context.CancelFunc
	done   chan struct{} // run has ended

	// Only run's goroutine uses what follows.
	phase    phase
	read     *order         // the newest order that was looked at
	wanted   *ledger.Plugin // the last row that made sense
	confined confinement
	current  *version       // the version that serves; nil: none
	bringing *bringing      // the start or replacement under way; nil: none
	began    time.Time      // when the last start began
	life     *ledger.Plugin // the row for which the last start was begun
	tried    *ledger.Plugin // the row whose start failed last
	until    time.Time      // when the next start is due
	reached  int64          // the generation of the row that was carried out or failed last
	setback  setback        // of the last replacement
	recent   []time.Time    // failures within Config.Window
	inARow   int            // failures since the plugin last served for as long as steady
}

// order is a row of the registry, with the reading that it comes from.
type order struct {
	row     ledger.Plugin
	reading int64 // Host.readings at that time
}

// bringing is a version that is being brought up, for the row that was wanted when that
// began.
type bringing struct {
	why    string
	row    *ledger.Plugin
	cancel context.CancelFunc
	ready  chan struct{}
	made   chan brought
}

// brought is the result of bringing up a version.
type brought struct {
	version *version
	err     error
}

// order makes the supervisor follow the row. Any goroutine may call it.
func (s *supervisor) order(o order) {
	s.orders.Store(&o)
	s.nudge()
}

// nudge makes the supervisor look again at what may have changed. Any goroutine may call
// it.
func (s *supervisor) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // a wake is pending already
	}
}

// run supervises until ctx ends and every process of the plugin has. After a panic it
// ends the processes and starts the plugin again, as after a failure that is not the
// plugin's.
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

// step waits for what happens next in the phase, and handles it.
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
		s.waitInQuarantine(ctx)
	default: // the other phases are left in the step that entered them, unless ctx ends
		panic(fmt.Sprintf("a plugin stays in the phase %q", s.phase))
	}
}

// saying is what people are to see of a happening, beside the phase.
type saying struct {
	words string    // what has gone wrong; empty: nothing new
	try   time.Time // when the next start is due, or the one under way began
	// carried is the row that was carried out, rejected the one that was not; at most one
	// is set.
	carried, rejected *ledger.Plugin
	restarts          int // to add to those before
}

// move changes the phase as THE table says for the happening, sets the router's standing,
// and reports the new state.
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
		return // nothing new to see; the instance stores the final state
	}
	s.router.stand(s.current, standing{state: seen, try: say.try, inARow: s.inARow})
	if to == atServing {
		s.triedOnce() // before the report: whoever reads that it serves finds it in the next run
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

func (s *supervisor) triedOnce() {
	if s.router.triedOnce() {
		s.news()
	}
}

// look takes over the newest order. From a row that was broken by hand it takes only the
// quarantine.
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

// start begins to bring up a version of the wanted row, unless the plugin is in
// quarantine.
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

// bring begins to bring up a version of the wanted row, beside the one that serves (nil:
// none).
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

// abandon cancels the start or replacement under way, and ends its version.
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

// awaitStart waits for the result of a start.
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

// serve makes a version that was brought up the one that answers.
func (s *supervisor) serve(v *version, what happening) {
	s.hands.enter(v)
	s.current = v
	s.move(what, saying{carried: &v.row})
	s.hands.serves(v)
	s.nudge() // the row may have changed meanwhile
}

// attend waits for what happens next to the version that serves, and handles it.
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

// fall ends the version that serves, which is at fault (why) or has ended, and abandons
// the replacement under way.
func (s *supervisor) fall(ctx context.Context, why string) {
	v := s.withdraw(onFallen)
	err := s.hands.bury(v, why)
	s.abandon()
	if ctx.Err() == nil {
		s.fail(ctx, err, nil)
	}
}

// withdraw takes the version that serves out of service, before it is ended. The runs
// that keep to it go on without it.
func (s *supervisor) withdraw(why happening) *version {
	v := s.current
	s.current = nil
	s.move(why, saying{try: time.Now()})
	s.hands.leave(v)
	return v
}

// end ends the version that serves, and the one that is being brought up.
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

// guarded calls do, and returns a panic in it as ownTrouble.
func (s *supervisor) guarded(what string, do func() error) error { return guarded(s.log, what, do) }

func (s *supervisor) quarantineSaid() saying {
	return saying{words: firstLine(s.confined.reason), rejected: s.wanted}
}

func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}
