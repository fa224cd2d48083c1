package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// upgradeRate is how many turns begin a second in the section upgrade.
	upgradeRate = 50
	// upgradePeople is in how many threads they are.
	upgradePeople = 50
	// upgradeEvery is the time between two changes.
	upgradeEvery = 1500 * time.Millisecond
	// upgradeWarmUp is how long the load goes on before it counts, and
	// upgradeRounds how often each kind of change has its turn.
	upgradeWarmUp = 5 * time.Second
	upgradeRounds = 4
	// pauseAim is how much later than usual a turn may end.
	pauseAim = 100 * time.Millisecond
)

// upgrade answers people at a steady rate while an operator does nothing, then
// changes the version of a plugin, then turns plugins off and on.
func (b *bench) upgrade() (err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d, err := b.start([]string{fmt.Sprintf("HARNESS_AGENTS=%d", upgradePeople), "HARNESS_LOG_LEVEL=info"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	for n, version := range []string{"1.0.0", "2.0.0"} {
		path, err := packSubject(filepath.Join(dir, version), version)
		if err != nil {
			return err
		}
		arguments := [][]string{
			{"install", path, "--yes", "--grant", "all", "--enable"},
			{"upgrade", subjectName, path, "--yes"},
		}
		if err := d.operate(arguments[n]...); err != nil {
			return err
		}
	}
	c, err := d.connect()
	if err != nil {
		return err
	}
	defer c.socket.Close()
	people := make([]string, upgradePeople)
	for n := range people {
		if people[n], err = c.thread(); err != nil {
			return err
		}
	}
	if err := c.serves(subjectName); err != nil {
		return err
	}
	return b.change(c, people)
}

// change measures the load beside each kind of change. The kinds take turns, so
// that what else goes on on the machine is in all of them.
func (b *bench) change(c *client, people []string) error {
	off := ""
	kinds := []struct {
		name   string
		change func(n int) error
		steady steady
	}{
		{name: "no change"},
		{name: "upgrade and rollback", change: func(int) error { return c.operate("rollback", subjectName, "--yes") }},
		{name: "toggle", change: func(n int) error {
			if off != "" {
				on := off
				off = ""
				return c.operate("enable", on)
			}
			off = []string{subjectName, "time", "context", "activity"}[n/2%4]
			return c.operate("disable", off)
		}},
	}
	if err := new(steady).load(c, people, upgradeWarmUp, nil); err != nil {
		return err
	}
	for range upgradeRounds {
		for n := range kinds {
			kind := &kinds[n]
			before := c.began()
			if err := kind.steady.load(c, people, b.changing/upgradeRounds, kind.change); err != nil {
				return fmt.Errorf("%s: %w", kind.name, err)
			}
			kind.steady.starts += c.began() - before
		}
	}
	for n := range kinds {
		if err := kinds[n].steady.count(c); err != nil {
			return err
		}
		b.report(kinds[n].name, &kinds[n].steady)
	}
	return nil
}

// began counts the processes of plugins that have begun to serve.
func (c *client) began() int { return strings.Count(c.Log.String(), `msg="plugin serves"`) }

func (b *bench) report(name string, s *steady) {
	b.row(name, "%d turns at %d a second, %d changes, %d new processes served; failed %d (aim 0)",
		len(s.times), upgradeRate, s.changes, s.starts, s.failed)
	b.row(name+": POST -> websocket complete", "%s", spread(s.times))
	median, longest := quantile(s.times, 0.5), quantile(s.times, 1)
	b.row(name+": largest pause", "%v over the median, %v in all (aim %v over no change)",
		(longest - median).Round(100*time.Microsecond), longest.Round(100*time.Microsecond), pauseAim)
}

// steady is a load that does not wait for its answers.
type steady struct {
	mu      sync.Mutex
	times   []time.Duration
	runs    []string
	errs    []error
	changes int
	starts  int // of processes of plugins, meanwhile
	failed  int
}

// load lets people talk for a while, one after the other, and an operator change
// something now and then.
func (s *steady) load(c *client, people []string, length time.Duration, change func(n int) error) error {
	ctx, stop := context.WithTimeout(context.Background(), length)
	defer stop()
	var all sync.WaitGroup
	if change != nil {
		all.Go(func() { s.operate(ctx, change) })
	}
	ticker := time.NewTicker(time.Second / upgradeRate)
	defer ticker.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		thread := people[n%len(people)]
		all.Go(func() { s.take(c, thread) })
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	all.Wait()
	return errors.Join(s.errs...)
}

// operate makes changes until the time is over, an even number of them.
func (s *steady) operate(ctx context.Context, change func(n int) error) {
	ticker := time.NewTicker(upgradeEvery)
	defer ticker.Stop()
	for ctx.Err() == nil || s.changes%2 == 1 {
		if err := change(s.changes); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errs = append(s.errs, err)
			return
		}
		s.changes++
		<-ticker.C
	}
}

func (s *steady) take(c *client, thread string) {
	run, began, _, complete, err := c.turn(thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errs = append(s.errs, err)
		return
	}
	s.runs, s.times = append(s.runs, run), append(s.times, complete.Sub(began))
}

// count counts the turns that did not succeed at once.
func (s *steady) count(c *client) error {
	for _, id := range s.runs {
		run, err := c.run(id)
		if err != nil {
			return err
		}
		if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
			s.failed++
		}
	}
	return nil
}

// operate runs `harness plugin` on the installation.
func (d *installation) operate(arguments ...string) error {
	arguments = append([]string{"plugin"}, append(arguments, "--data", d.Dir)...)
	output, err := exec.Command(filepath.Join("bin", "harness"), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("harness %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

// serves waits until plugins serve.
func (c *client) serves(names ...string) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		body, err := c.get("/api/plugins")
		if err != nil {
			return err
		}
		var answer struct {
			Plugins []struct{ Name, State string }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		serving := 0
		for _, plugin := range answer.Plugins {
			if plugin.State == string(pluginsdk.PluginServing) && slices.Contains(names, plugin.Name) {
				serving++
			}
		}
		if serving == len(names) {
			return nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return fmt.Errorf("%v do not serve; log:\n%s", names, c.Log.String())
}
