package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// cancelAim is how long the CLI may take to be idle again, at p99.
const cancelAim = 250 * time.Millisecond

// cancel is from the request to the CLI being idle: to the end of the run, and
// to the answer of the same process to a next message, a turn included.
func (b *bench) cancel() (err error) {
	if b.claude == "" {
		b.row("real CLI", "left out: HARNESS_TEST_CLAUDE is not set (.ci/test-env sets it)")
		return nil
	}
	api, err := startEndless()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, api.close()) }()
	home, err := os.MkdirTemp("", "harness-bench-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	d, err := b.start(append(fakeapi.Env(api.server.URL, home), "HARNESS_AGENT=claude", "HARNESS_CLAUDE="+b.claude))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	s, err := d.sequence()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.turns(warmUp); err != nil {
		return err
	}
	for _, in := range []struct {
		state string
		mood  mood
	}{{"a turn that streams", streams}, {"a turn that hangs in the API", hangs}} {
		if err := b.cancelIn(in.state, in.mood, api, s); err != nil {
			return fmt.Errorf("%s: %w", in.state, err)
		}
	}
	return nil
}

// cancelIn lets each cancelled turn follow a whole one, to compare with: turns
// take longer as the session's history grows.
func (b *bench) cancelIn(state string, mood mood, api *endlessAPI, s *sequence) error {
	agent, err := s.client.agent()
	if err != nil {
		return err
	}
	var whole, over, answered []time.Duration
	for range b.cancels {
		turn, err := s.turn()
		if err != nil {
			return err
		}
		api.mood.Store(int32(mood))
		runID, err := s.client.say(s.thread, "talk")
		if err != nil {
			return err
		}
		select {
		case <-api.caught:
		case <-time.After(time.Minute):
			return fmt.Errorf("the turn never reached the API; log:\n%s", s.client.Log.String())
		}
		began := time.Now()
		ended, err := s.client.cancel(runID)
		if err != nil {
			return err
		}
		next := time.Now()
		reply, err := s.turn()
		if err != nil {
			return fmt.Errorf("the message after a cancel: %w", err)
		}
		whole, over, answered = append(whole, turn), append(over, ended.Sub(began)), append(answered, next.Sub(began)+reply)
	}
	b.row(state+": cancel -> run over", "%s (aim p99 %v)", spread(over), cancelAim)
	b.row(state+": cancel -> next message answered", "%s (aim p99 %v and a turn)", spread(answered), cancelAim)
	b.row(state+": a whole turn of that session", "%s", spread(whole))
	now, err := s.client.agent()
	if err == nil && now != agent {
		err = fmt.Errorf("the CLI's process was %d and is %d: the session did not stay warm", agent, now)
	}
	b.row(state+": the CLI's process", "%d before, %d after %d cancels", agent, now, b.cancels)
	return err
}

// turn is from a message to its reply being committed.
func (s *sequence) turn() (time.Duration, error) {
	s.times = stopwatch{}
	if err := s.turns(1); err != nil {
		return 0, err
	}
	return s.times.committed[0], nil
}

// cancel interrupts a run and returns when its last event came.
func (c *client) cancel(runID string) (time.Time, error) {
	var asked pluginsdk.Run
	if err := c.post("/api/runs/"+runID+"/cancel", struct{}{}, &asked); err != nil {
		return time.Time{}, err
	}
	ended, err := c.wait(runID)
	if err != nil {
		return ended, err
	}
	run, err := c.run(runID)
	if err == nil && run.State != pluginsdk.RunCancelled {
		err = fmt.Errorf("run %s is %s; it was cancelled", run.ID, run.State)
	}
	return ended, err
}
