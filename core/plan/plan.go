// Package plan knows the windows of the accounts' plans: what a login may use within five
// hours, a week, and of a model. It says whether a turn of the agent is let through, and until
// when a run is parked that is not.
//
// What the agent tells of the windows is kept over restarts. People go first: what plugins
// start stops at a share of each window, and when a window opens, people's runs go on before
// theirs, spread over a while.
package plan

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store keeps the windows.
type Store interface {
	PlanWindows(ctx context.Context) ([]ledger.PlanState, error)
	// SavePlanWindow stores a window. Kept is false when its account is gone; unless it is fresh,
	// also when the window is: what was seen of the account was forgotten.
	SavePlanWindow(ctx context.Context, window ledger.PlanState, fresh bool) (kept bool, err error)
}

// Events publishes the room's events.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Doors are the rooms that this one calls. All of them are needed.
type Doors struct {
	Store  Store
	Events Events
	// Overage reports whether paid use beyond the plan is allowed for an account.
	Overage func(account string) bool
	// GoOn has parked runs that are due after later go on when due says. Due returns the zero
	// time for a run that is to wait on; people says that people wait for the run.
	GoOn func(ctx context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) error
	// Notify tells people, once for each key.
	Notify func(ctx context.Context, key, text string) error
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	// Share is how much of a window what plugins start may use, from 0 to 1; default 0.8.
	Share float64
	// Spread is within what time of a reset people's runs go on; default 20 s. What plugins
	// start goes on between one and a half and six times as long after it.
	Spread time.Duration
	Now    func() time.Time
	// Jitter returns a random time from 0 to most.
	Jitter func(most time.Duration) time.Duration
	Log    *slog.Logger
}

// Room knows the windows.
type Room struct {
	config  Config
	doors   Doors
	loop    guard.Loop
	figures *figures

	mu      sync.Mutex
	windows map[key]*window
	opened  map[key]opening // what has opened, for whose runs it may not be done yet
}

// opening is a window that was closed and is not now.
type opening struct {
	at      time.Time
	plugins bool // it is open also for what plugins start
}

// hold says whom a window holds back.
type hold int

const (
	nobody hold = iota
	plugins
	everybody
)

// key names a window: an account has each once.
type key struct{ account, name string }

// window is what is known of a window.
type window struct {
	ledger.PlanState

	saved ledger.PlanState // as it is stored
	warn  int              // per cent that people are to be told of; 0: none
	held  hold             // whom it has held back, at most, since the last look
	tried time.Time        // when a turn was last let through to find out whether it is open
}

// New returns a Room. It knows nothing of the windows before Start.
func New(config Config, doors Doors) *Room {
	if config.Share == 0 {
		config.Share = 0.8
	}
	if config.Spread == 0 {
		config.Spread = 20 * time.Second
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Jitter == nil {
		config.Jitter = func(most time.Duration) time.Duration { return rand.N(most + 1) } // spreads runs, is no secret
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Room{config: config, doors: doors, figures: newFigures(), windows: make(map[key]*window), opened: make(map[key]opening)}
}

// Start reads what is known of the windows, and begins to watch them.
func (r *Room) Start(ctx context.Context) error {
	known, err := r.doors.Store.PlanWindows(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	for _, state := range known {
		// What a daemon before this one was told, and how it was set, may have held anybody back.
		r.windows[key{state.Account, state.Name}] = &window{PlanState: state, saved: state, held: everybody}
	}
	r.mu.Unlock()
	r.loop.Start(context.WithoutCancel(ctx), r.watch)
	return nil
}

// Stop stores what was seen last.
func (r *Room) Stop(ctx context.Context) error {
	if !r.loop.Stop() {
		return nil
	}
	return r.keep(ctx)
}

// watchEvery is how often the room looks for windows that have opened.
const watchEvery = 15 * time.Second

// watch stores what is seen, and notices that windows open.
func (r *Room) watch(ctx context.Context) {
	ticks := guard.NewTicker(watchEvery)
	defer ticks.Stop()
	for {
		guard.Try(r.config.Log, "the watch over the plans' windows", func() { r.look(ctx) })
		select {
		case <-ctx.Done():
			return
		case <-ticks.Next():
		case <-r.loop.Woken():
		}
	}
}

// Forget forgets what was seen of an account: it is gone, or somebody else's from now on. What
// waits for its windows goes on.
func (r *Room) Forget(account string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := range r.windows {
		if at.account == account {
			r.forget(at)
		}
	}
	r.loop.Wake()
}

// forget forgets a window. The lock is held.
func (r *Room) forget(at key) {
	delete(r.windows, at)
	r.opened[at] = opening{r.config.Now(), true}
}

// look is one round of watch.
func (r *Room) look(ctx context.Context) {
	r.mu.Lock()
	nothing := len(r.windows)+len(r.opened) == 0
	r.mu.Unlock()
	if nothing { // no account has a plan, or none was asked for yet
		return
	}
	stored, err := r.stored(ctx)
	if err != nil && ctx.Err() == nil {
		r.config.Log.Warn("it cannot be read yet which windows of plans are stored", "err", err)
	}
	r.mu.Lock()
	now := r.config.Now()
	for at, w := range r.windows {
		if err == nil && w.saved.Name != "" && !stored[at] { // by the command line, while the daemon is up
			r.forget(at)
		}
	}
	for at, w := range r.windows {
		w.correct(now)
		if w.over(now) && (w.Used > 0 || w.Status != pluginsdk.PlanAllowed) {
			w.begin(now)
			r.publish(w.PlanWindow)
		}
		switch holds := r.holds(w, now); {
		case holds < w.held:
			r.opened[at] = opening{now, holds == nobody}
			w.held = holds
		case holds > w.held:
			delete(r.opened, at)
			w.held = holds
		}
	}
	r.mu.Unlock()
	if err := r.keep(ctx); err != nil && ctx.Err() == nil {
		r.config.Log.Warn("what was seen of a plan cannot be stored yet", "err", err)
	}
	if err := r.goOn(ctx, now); err != nil && ctx.Err() == nil {
		r.config.Log.Warn("the runs that wait for a window that has opened cannot be told to go on yet", "err", err)
	}
}

// stored returns which windows the database has.
func (r *Room) stored(ctx context.Context) (map[key]bool, error) {
	states, err := r.doors.Store.PlanWindows(ctx)
	stored := make(map[key]bool, len(states))
	for _, state := range states {
		stored[key{state.Account, state.Name}] = true
	}
	return stored, err
}

// goOn has the runs go on that are parked for a window that has opened before it was told to. It
// does so until the window has been open for a while: a run may be parked at the moment in which
// the window opens. So do those go on that are due later than any window opens: the clock was
// ahead when they were parked.
func (r *Room) goOn(ctx context.Context, now time.Time) error {
	r.mu.Lock()
	opened := maps.Clone(r.opened)
	r.mu.Unlock()
	later := now.Add(r.longest())
	if len(opened) == 0 {
		later = later.Add(length(shortest) + slack)
	}
	err := r.doors.GoOn(ctx, later, func(parked pluginsdk.Parked, people bool) time.Time {
		open, is := opened[key{parked.Account, parked.Window}]
		if is && (people || open.plugins) || parked.Until.After(now.Add(length(parked.Window)+slack+r.longest())) {
			return r.due(now, people)
		}
		return time.Time{}
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, open := range opened {
		if r.opened[at] == open && now.Sub(open.at) >= watchEvery {
			delete(r.opened, at)
		}
	}
	return nil
}

// keep tells people what they are to be told, and stores what has changed.
func (r *Room) keep(ctx context.Context) error {
	r.mu.Lock()
	changed := make(map[*window]window)
	for _, w := range r.windows {
		if w.changed() {
			changed[w] = *w
		}
	}
	r.mu.Unlock()
	for is, w := range changed {
		if w.warn > 0 {
			if err := r.doors.Notify(ctx, w.warningKey(), r.warning(w.PlanState)); err != nil {
				return err
			}
		}
		kept, err := r.doors.Store.SavePlanWindow(ctx, w.PlanState, w.saved.Name == "")
		if err != nil {
			return err
		}
		r.mu.Lock()
		is.saved = w.PlanState
		if is.warn == w.warn {
			is.warn = 0
		}
		if at := (key{w.Account, w.Name}); !kept && r.windows[at] == is {
			r.forget(at)
		}
		r.mu.Unlock()
	}
	return nil
}

// unsureFor is how long it is believed that a window is used up of which nobody has told when
// it opens. Then one run tries, and the others wait as long again.
const unsureFor = time.Minute

// holds returns whom the window holds back.
func (r *Room) holds(w *window, now time.Time) hold {
	switch {
	case w.over(now):
		return nobody
	case w.usedUp() && !r.doors.Overage(w.Account):
		return everybody
	case w.Used >= r.config.Share:
		return plugins
	}
	return nobody
}

// closed reports whether the window holds the turn back, and until when. A time without that
// says that the turn is to try whether the window is open.
func (r *Room) closed(w *window, ask ledger.PlanAsk, now time.Time) (until time.Time, closed bool) {
	if !w.limits(ask.Model) {
		return time.Time{}, false
	}
	held := r.holds(w, now)
	if held == nobody || held == plugins && ask.People {
		return time.Time{}, false
	}
	switch {
	case !w.ResetsAt.IsZero():
		until = w.ResetsAt
	case held == everybody:
		until = w.SeenAt.Add(unsureFor)
		if again := w.tried.Add(unsureFor); again.After(until) && !w.tried.After(now) {
			until = again
		}
	default: // what people have for themselves is not tried
		until = w.SeenAt.Add(length(w.Name) + slack)
	}
	return until, now.Before(until)
}

// Admit returns nil when the plan lets a turn through, else what the run waits for. Until is
// when the window opens: ParkOf says when the run goes on.
func (r *Room) Admit(ask ledger.PlanAsk) *pluginsdk.Parked {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	var parked *pluginsdk.Parked
	var tries []*window
	for _, w := range r.of(ask.Account) {
		until, closed := r.closed(w, ask, now)
		if !closed && !until.IsZero() {
			tries = append(tries, w)
		}
		if !closed || parked != nil && !until.After(parked.Until) {
			continue
		}
		parked = &pluginsdk.Parked{Account: w.Account, Window: w.Name, Model: w.Model, Until: until}
		if w.ResetsAt.IsZero() {
			parked.Until = time.Time{}
		}
		if parked.Reason = usedUpWords(*parked); !w.usedUp() {
			parked.Reason = r.shareWords(w.PlanWindow)
		}
	}
	if parked == nil {
		for _, w := range tries {
			w.tried = now
		}
	}
	return parked
}

// of returns the windows of an account, by name. The lock is held.
func (r *Room) of(account string) (windows []*window) {
	for _, at := range slices.SortedFunc(maps.Keys(r.windows), func(a, b key) int { return strings.Compare(a.name, b.name) }) {
		if at.account == account {
			windows = append(windows, r.windows[at])
		}
	}
	return windows
}

const (
	// The wait when nobody knows when the window opens, which doubles.
	untoldFirst = time.Minute
	untoldMax   = 15 * time.Minute
)

// ParkOf returns how a run is parked that waits for what parked says: until when, and since
// when. Until is a little after the window opens, by chance, so that not all come at once; what
// cannot be true of it is not believed.
func (r *Room) ParkOf(parked pluginsdk.Parked, ask ledger.PlanAsk) pluginsdk.Parked {
	now := r.config.Now().UTC()
	if parked.Account == "" {
		parked.Account = ask.Account
	}
	if parked.Reason == "" {
		parked.Reason = usedUpWords(parked)
	}
	parked.Since = now
	if last := ask.Last; last != nil && last.Account == parked.Account && last.Window == parked.Window && !last.Since.IsZero() && last.Since.Before(now) {
		parked.Since = last.Since
	}
	opens, _ := believable(parked.Window, parked.Until, now)
	if opens.IsZero() {
		opens = now.Add(min(max(now.Sub(parked.Since), untoldFirst), untoldMax))
	}
	who := "plugins"
	if ask.People {
		who = "people"
	}
	parked.Until = r.due(opens, ask.People)
	r.figures.parked.Add(1, who)
	return parked
}

// due returns when a run goes on that waits for a window which opens then: a little later, by
// chance, and what plugins have started after people's.
func (r *Room) due(opens time.Time, people bool) time.Time {
	if people {
		return opens.Add(r.config.Jitter(r.config.Spread))
	}
	return opens.Add(3*r.config.Spread/2 + r.config.Jitter(9*r.config.Spread/2))
}

// longest is how much later than its window opens a run goes on at most.
func (r *Room) longest() time.Duration { return 6 * r.config.Spread }

// Windows returns what is known of the windows of an account's plan, by name; none: nothing
// was seen of a plan.
func (r *Room) Windows(account string) (windows []pluginsdk.PlanWindow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	for _, w := range r.of(account) {
		state := *w
		if state.over(now) {
			state.begin(now)
		}
		windows = append(windows, projected(state.PlanState, now))
	}
	return windows
}

// projected returns the window with when it is used up at the pace so far.
func projected(state ledger.PlanState, now time.Time) pluginsdk.PlanWindow {
	w := state.PlanWindow
	w.FullAt = state.Projected(now)
	return w
}
