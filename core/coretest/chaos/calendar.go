package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// The agent has a login, whose plan has a window that is used up from time to time: runs are
// parked until it opens again.

// planSpread is within what time of a reset runs go on. Windows here are seconds long.
const planSpread = 200 * time.Millisecond

// closeWindows uses the plan's window up and opens it again, until quiet ends.
func (w *world) closeWindows(ctx, quiet context.Context) {
	random := rand.New(rand.NewPCG(w.seed, 0xca1e)) //nolint:gosec // a schedule, not a secret
	for pause(quiet, between(random, 3000, 8000)) == nil {
		lasts := between(random, 1000, 3000)
		if !w.model.met() { // on a slow machine whole seconds pass without a call
			lasts += 3 * time.Second
		}
		reset := time.Now().Add(lasts).Truncate(time.Second).Add(time.Second)
		w.note("the plan's window is used up until %s", reset.Format(time.TimeOnly))
		w.model.close(reset)
		err := pause(ctx, time.Until(reset))
		w.model.open()
		if err != nil {
			return
		}
	}
}

// close uses the window up: the agent's calls are refused.
func (m *model) close(reset time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = &fakeapi.Windows{Status: fakeapi.Rejected, Claim: "five_hour", Reset: reset, Each: []fakeapi.Window{{Name: "5h", Used: 1, Reset: reset}}}
	m.closings = append(m.closings, check.Closing{From: time.Now(), To: reset})
}

// met reports whether a call was refused yet.
func (m *model) met() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.closings, func(c check.Closing) bool { return c.Refused > 0 })
}

// open opens it again.
func (m *model) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = nil
}

// refused returns the answer to a call while the window is used up; is: it is.
func (m *model) refused() (reply fakeapi.Reply, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed == nil {
		return reply, false
	}
	closing := &m.closings[len(m.closings)-1]
	closing.Refused++
	return fakeapi.Reply{Windows: m.closed}, true
}
