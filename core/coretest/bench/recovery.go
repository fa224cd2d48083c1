package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// queued is how many runs a killed daemon leaves behind.
	queued = 100
	// recoveryAim is how long after its start the next one may take to be at
	// work on them.
	recoveryAim = time.Second
)

// The demo agent's scripts: nothing comes to an end; everything does at once.
const (
	slowScript = `[{"match": "", "delay": 600000, "text": "too late"}]`
	fastScript = `[{"match": "", "text": "done"}]`
)

// recovery kills a daemon with runs in its queue and times the next one, from
// the start of its process.
func (b *bench) recovery() error {
	for _, database := range b.databases() {
		for _, threads := range []int{queued, 1} {
			if err := b.recoveryOn(database, threads); err != nil {
				return fmt.Errorf("%s, %d threads: %w", database.name, threads, err)
			}
		}
	}
	return nil
}

func (b *bench) recoveryOn(database database, threads int) (err error) {
	database, drop, err := database.fresh()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "script.json")
	d := newInstallation(filepath.Join(b.bin, "harness"), dir)
	env := append(slices.Clone(database.env), "HARNESS_DEMO_SCRIPT="+script)
	var healthy, atWork, finished []time.Duration
	for range b.kills {
		runs, err := d.leaveBehind(env, script, threads)
		if err != nil {
			return err
		}
		first, last, err := d.pickUp(env, script, runs)
		if err != nil {
			return err
		}
		healthy, atWork, finished = append(healthy, d.Boot), append(atWork, first), append(finished, last)
	}
	name := fmt.Sprintf("%s, %d runs in %d threads", database.name, queued, threads)
	if threads == 1 {
		name = fmt.Sprintf("%s, %d runs in 1 thread", database.name, queued)
	}
	b.row(name+": start -> healthy", "%s", spread(healthy))
	b.row(name+": start -> first run at work", "%s (aim max %v)", spread(atWork), recoveryAim)
	b.row(name+": start -> all finished", "%s", spread(finished))
	return nil
}

// leaveBehind starts a daemon whose agent is too slow, gives it runs, and kills
// it when the agent has been called for the first of them.
func (d *installation) leaveBehind(env []string, script string, threads int) (runs []string, err error) {
	if err := os.WriteFile(script, []byte(slowScript), 0o600); err != nil {
		return nil, err
	}
	if err := d.up(env); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Kill()) }()
	c, err := d.connect()
	if err != nil {
		return nil, err
	}
	defer c.socket.Close()
	var thread string
	for n := range queued {
		if n < threads {
			if thread, err = c.thread(); err != nil {
				return nil, err
			}
		}
		run, err := c.say(thread, fmt.Sprintf("message %d", n))
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	// The session is stored with the intent to call the agent.
	_, err = c.poll(runs[0], func(run pluginsdk.Run) bool { return run.SessionID != "" })
	return runs, err
}

// pickUp starts a daemon with a fast agent and returns how long after that the
// first run was at work, and the last one finished: by the times in the runs
// themselves, since polling would add its own. At work is past the claim, the
// gate and the first hook.
func (d *installation) pickUp(env []string, script string, runs []string) (first, last time.Duration, err error) {
	if err := os.WriteFile(script, []byte(fastScript), 0o600); err != nil {
		return 0, 0, err
	}
	if err := d.up(env); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Down()) }()
	c, err := d.connect()
	if err != nil {
		return 0, 0, err
	}
	defer c.socket.Close()
	first = time.Hour
	for _, id := range runs {
		run, err := c.poll(id, func(run pluginsdk.Run) bool { return run.State.Final() })
		if err != nil {
			return 0, 0, err
		}
		if run.State != pluginsdk.RunSucceeded {
			return 0, 0, fmt.Errorf("run %s is %s after the recovery: %s", run.ID, run.State, run.Error)
		}
		last = max(last, run.FinishedAt.Sub(d.Began))
		for _, step := range run.Steps { // those before the kill may still be there
			if since := step.Timestamp.Sub(d.Began); since > 0 {
				first = min(first, since)
			}
		}
	}
	return first, last, nil
}

// poll reads a run until it is as wanted. (Events could come before the socket
// is connected.)
func (c *client) poll(id string, wanted func(pluginsdk.Run) bool) (pluginsdk.Run, error) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		run, err := c.run(id)
		if err != nil || wanted(run) {
			return run, err
		}
		<-time.After(2 * time.Millisecond)
	}
	return pluginsdk.Run{}, fmt.Errorf("run %s did not get there in time; log:\n%s", id, c.Log.String())
}
