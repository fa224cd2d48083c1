package plan

import (
	"math"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is known of a window, and how that changes with what the agent tells of it.

// worthSaving is how much more of a window has to be used before that is stored.
const worthSaving = 0.01

// changed reports whether the window has to be stored anew.
func (w *window) changed() bool {
	is, was := w.PlanState, w.saved
	if w.warn > 0 || was.Name == "" || math.Abs(is.Used-was.Used) >= worthSaving {
		return true
	}
	is.Used, is.SeenAt, is.FullAt = was.Used, was.SeenAt, was.FullAt
	return is != was
}

// publish says what a window is like from now on.
func (r *Room) publish(w pluginsdk.PlanWindow) {
	r.doors.Events.Publish(pluginsdk.EventPlanWindow, "", pluginsdk.PlanPayload{Window: w})
}

// shortest is the window that lasts for the shortest time.
const shortest = "five_hour"

// length is how long a window lasts.
func length(name string) time.Duration {
	if name == shortest {
		return 5 * time.Hour
	}
	return 7 * 24 * time.Hour
}

const (
	// slack is how much later than its length a window may open; what is told beyond that is
	// not believed.
	slack = time.Hour
	// same is how far apart two resets of one window are told at most.
	same = 2 * time.Minute
)

// believable returns when a window opens, as far as what was told can be true; absurd says that
// something later was told. The zero time is that it was not told: what lies in the past has
// opened nothing.
func believable(name string, told, now time.Time) (opens time.Time, absurd bool) {
	if told.IsZero() || !told.After(now) {
		return time.Time{}, false
	}
	if latest := now.Add(length(name) + slack); told.After(latest) {
		return latest, true
	}
	return told, false
}

// over reports whether the window has begun anew since it was seen.
func (w *window) over(now time.Time) bool {
	if w.ResetsAt.IsZero() {
		return !now.Before(w.SeenAt.Add(length(w.Name) + slack))
	}
	return !now.Before(w.ResetsAt)
}

// correct takes back what the window has of a clock that was ahead.
func (w *window) correct(now time.Time) {
	if w.SeenAt.After(now) {
		w.SeenAt = now
	}
	if opens, absurd := believable(w.Name, w.ResetsAt, now); absurd {
		w.ResetsAt = opens
	}
}

// begin makes the window one of which nothing is used.
func (w *window) begin(now time.Time) {
	w.Used, w.Status, w.ResetsAt, w.Overage = 0, pluginsdk.PlanAllowed, time.Time{}, false
	w.Warned, w.warn, w.FirstUsed, w.FirstSeen = 0, 0, 0, now
}

// Observe takes in what the agent was told of an account's plan. It does not block.
func (r *Room) Observe(account string, seen []pluginsdk.PlanWindow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now().UTC()
	for _, one := range seen {
		if one.Name == "" {
			continue
		}
		one.Account, one.SeenAt = account, now
		r.observe(one, now)
	}
	r.loop.Wake()
}

// Answered takes in that a turn, which began then, was answered. A window of which nobody has told
// when it opens is open, then: an answer need not tell of windows. It does not block.
func (r *Room) Answered(account, model string, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.of(account) {
		if w.limits(model) && w.Status == pluginsdk.PlanRejected && !w.Overage && w.ResetsAt.IsZero() && w.SeenAt.Before(began) {
			now := r.config.Now().UTC()
			w.begin(now)
			w.SeenAt = now
			r.publish(w.PlanWindow)
			r.loop.Wake()
		}
	}
}

func (r *Room) observe(seen pluginsdk.PlanWindow, now time.Time) {
	var absurd bool
	seen.ResetsAt, absurd = believable(seen.Name, seen.ResetsAt, now)
	if !(seen.Used >= 0) {
		seen.Used = 0
	}
	seen.Used = min(seen.Used, 1)
	w := r.windows[key{seen.Account, seen.Name}]
	first := w == nil
	if first {
		w = &window{PlanState: ledger.PlanState{PlanWindow: seen, FirstUsed: seen.Used, FirstSeen: now}}
		r.windows[key{seen.Account, seen.Name}] = w
	}
	anew := !first && (w.over(now) || !absurd && !w.ResetsAt.IsZero() && seen.ResetsAt.Sub(w.ResetsAt) > same)
	was, usedUp := w.Status, !first && w.usedUp()
	switch {
	case anew:
		w.begin(now)
		w.FirstUsed = seen.Used
	case !first:
		// Not every line tells of all.
		if seen.ResetsAt.IsZero() || absurd && !w.ResetsAt.IsZero() {
			seen.ResetsAt = w.ResetsAt
		}
		switch {
		case seen.Used > 0:
		case w.Status != pluginsdk.PlanRejected || seen.Status == pluginsdk.PlanRejected:
			seen.Used = w.Used
		default: // that all of it was used does not hold any more
			w.FirstUsed, w.FirstSeen = 0, now
		}
	}
	if seen.Status == pluginsdk.PlanRejected {
		seen.Used = 1
	}
	w.PlanWindow = seen
	switch { // it may be another one before the next look
	case w.usedUp() && !usedUp:
		w.held = everybody
	case w.Used >= r.config.Share:
		w.held = max(w.held, plugins)
	}
	passed := w.pass()
	if first || anew || passed || was != seen.Status {
		r.publish(projected(w.PlanState, now))
	}
}

// thresholds are the percentages that people are told of, the highest first.
var thresholds = []int{90, 75}

// pass notes that a threshold was passed, and reports whether one was. Of a window that is used
// up, who is concerned is told: their runs are parked.
func (w *window) pass() bool {
	for _, percent := range thresholds {
		if w.Used*100 < float64(percent) || w.Warned >= percent {
			continue
		}
		w.Warned = percent
		if w.warn = percent; w.usedUp() {
			w.warn = 0
		}
		return true
	}
	return false
}

// usedUp reports whether the window lets nothing through but what is paid for.
func (w *window) usedUp() bool { return w.Status == pluginsdk.PlanRejected || w.Overage }

// limits reports whether the window is of the model's use.
func (w *window) limits(model string) bool {
	return w.Model == "" || strings.Contains(strings.ToLower(model), strings.ToLower(w.Model))
}
