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
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
)

const (
	reportEvery = 10 * time.Second
	// patience is how long, after the last kill, nothing at all may move while
	// work is left; a courier that hangs does so for half a minute.
	// idlePatience is the same when nothing was ever carried.
	patience     = 90 * time.Second
	idlePatience = 15 * time.Second
	drainPause   = 200 * time.Millisecond
)

// campaign runs one load with one schedule on one database, and prints the
// table. It returns the violations that it printed: none if every promise was kept.
func campaign(ctx context.Context, o options, name string) (violations []string, err error) {
	w, err := newWorld(ctx, o, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	began := time.Now()
	fmt.Fprintf(o.out, "%s: %d kills, seed %d, %d threads, in %s\n", name, o.kills, o.seed, o.threads, w.dir)
	records, err := w.wage(ctx, o)
	if err != nil {
		kept, failed := w.keep(ctx, o, name, records, check.Report{})
		return nil, errors.Join(fmt.Errorf("%w (data: %s)", err, kept), failed)
	}
	report := check.Judge(records)
	violations = print(o, name, report, time.Since(began))
	if report.Clean() && !o.keep {
		return nil, os.RemoveAll(w.dir)
	}
	kept, err := w.keep(ctx, o, name, records, report)
	if err != nil {
		return violations, err
	}
	fmt.Fprintf(o.out, "%s: seed %d; data, diary.log, daemon.log and records.json, which was judged, are kept in %s\n", name, o.seed, kept)
	return violations, nil
}

// keep writes down what was judged, moves everything to where it is to be kept, and says
// where that is. What happened is printed as well: of a run elsewhere, only that is left.
func (w *world) keep(ctx context.Context, o options, name string, records check.Records, report check.Report) (dir string, err error) {
	judged, err := json.Marshal(records)
	err = errors.Join(err, os.WriteFile(filepath.Join(w.dir, "records.json"), judged, 0o600),
		writeViolations(o, name, report, filepath.Join(w.dir, "violations.log")))
	if err != nil {
		return w.dir, err
	}
	if diary, err := os.ReadFile(filepath.Join(w.dir, "diary.log")); err == nil {
		fmt.Fprintf(o.out, "%s: diary.log:\n%s", name, diary)
	}
	if o.kept == "" {
		return w.dir, nil
	}
	dir = filepath.Join(o.kept, filepath.Base(w.dir))
	if err := os.MkdirAll(o.kept, 0o700); err != nil {
		return w.dir, err
	}
	// It may lie on another file system, and has sockets in it.
	if out, err := exec.CommandContext(context.WithoutCancel(ctx), "cp", "-a", w.dir, dir).CombinedOutput(); err != nil {
		return w.dir, fmt.Errorf("keep %s in %s: %w: %s", w.dir, dir, err, out)
	}
	return dir, os.RemoveAll(w.dir)
}

// wage lets people talk while the schedule is carried out, waits until the
// system is at rest, stops it and gathers the evidence.
func (w *world) wage(ctx context.Context, o options) (records check.Records, err error) {
	if err := w.start(ctx); err != nil {
		return records, errors.Join(err, w.daemon.stop())
	}
	people, err := w.gather(ctx, o)
	if err != nil {
		return records, errors.Join(err, w.daemon.stop())
	}
	books, err := newClerk(ctx, w)
	if err != nil {
		return records, errors.Join(err, w.daemon.stop())
	}
	writers, err := w.openDiscord(ctx)
	if err != nil {
		return records, errors.Join(err, w.daemon.stop())
	}
	k, guard := &killer{world: w, struck: map[string]int{}}, &warden{world: w}
	w.killer = k
	watching, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { guard.run(watching) })
	watchers.Go(func() { w.tell(watching, o, k) })
	staff := &employer{world: w}
	load, err := w.fight(ctx, o, k, staff, writers, books)
	if err == nil {
		err = books.close(ctx)
	}
	if err == nil {
		err = w.drain(ctx)
	}
	if err == nil {
		err = w.discord.quiet(ctx)
	}
	if err == nil {
		records.AtOnce, err = w.crowd(ctx, people, staff)
	}
	if err == nil {
		err = w.drain(ctx)
	}
	var money check.Records
	if err == nil {
		err = books.report(ctx, &money)
	}
	stopWatching()
	watchers.Wait()
	if stopped := w.daemon.stop(); stopped != nil {
		w.daemon.exits = append(w.daemon.exits, check.Exit{At: time.Now(), Why: stopped.Error()})
	}
	if err != nil {
		return records, err
	}
	records = check.Records{
		Places: places, AtOnce: records.AtOnce,
		Wanted: wanted(schedule(o.seed, o.kills), w.agents), Strikes: k.strikes,
		Schedules: money.Schedules, Usages: money.Usages, Budgets: money.Budgets, BilledUSD: money.BilledUSD,
		Sightings: guard.sightings, Strays: guard.last(ctx), Exits: w.exits(), Asked: w.model.log(), AskedUnknown: !w.agents,
	}
	for _, a := range load.askers {
		people = append(people, a.talker)
		records.Decisions, records.Revoked = append(records.Decisions, a.decisions...), append(records.Revoked, a.revoked...)
	}
	records.Tries, records.Closings = w.model.tried(), w.model.closings
	if records.Deeds, err = w.model.done(); err != nil {
		return records, err
	}
	for _, t := range append(load.talkers, people...) {
		records.Threads = append(records.Threads, t.thread)
		records.Sent = append(records.Sent, t.sent...)
	}
	calls, err := courier.Log(w.courierDir)
	if err != nil {
		return records, err
	}
	for _, call := range calls {
		if call.Carried() {
			records.Carried = append(records.Carried, check.Carried{
				DeliveryID: call.DeliveryID, MessageID: call.MessageID, Target: call.Target, Attempt: call.Attempt,
			})
		}
	}
	if err := staff.work(&records); err != nil {
		return records, err
	}
	if records.Discord, err = w.discord.evidence(ctx); err != nil {
		return records, err
	}
	if load.delegator != nil {
		if err := load.delegator.inspect(ctx, &records); err != nil {
			return records, err
		}
	}
	return records, w.database.evidence(ctx, &records)
}

// load is those who make it.
type load struct {
	talkers   []*talker
	askers    []*asker   // none without a real agent
	delegator *delegator // likewise
}

// fight is the load with the kills. It ends with the schedule, and when
// everything that was begun to be said has been accepted, and what the askers' runs
// ask is answered.
func (w *world) fight(ctx context.Context, o options, k *killer, staff *employer, writers []*writer, books *clerk) (l load, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet, silence := context.WithCancel(ctx)
	defer silence()
	for n := range o.threads {
		t, err := newTalker(ctx, w, n+1)
		if err != nil {
			return l, err
		}
		l.talkers = append(l.talkers, t)
	}
	if w.agents {
		if l.delegator, err = newDelegator(ctx, w); err != nil {
			return l, err
		}
		for n := range askers {
			a, err := newAsker(ctx, w, n)
			if err != nil {
				return l, err
			}
			l.askers = append(l.askers, a)
		}
	}
	// From here on web stores little, enough for scheduled jobs and their fires: what people say, which is more, is
	// in no quota.
	if err := w.database.bound(ctx, "web", `{"rowsPerMinute":20}`); err != nil {
		return l, err
	}
	var talking sync.WaitGroup
	for _, t := range l.talkers {
		talking.Go(func() {
			if err := t.talk(ctx, quiet); err != nil {
				cancel(fmt.Errorf("thread %s: %w", t.thread.Name, err))
			}
		})
	}
	talking.Go(func() {
		if err := staff.hireAll(ctx, quiet); err != nil {
			cancel(fmt.Errorf("give the courier jobs: %w", err))
		}
	})
	talking.Go(func() {
		if err := books.keep(ctx, quiet); err != nil {
			cancel(fmt.Errorf("keep the schedules and the books: %w", err))
		}
	})
	for _, a := range l.askers {
		talking.Go(func() {
			if err := a.ask(ctx, quiet); err != nil {
				cancel(fmt.Errorf("thread %s: %w", a.thread.Name, err))
			}
		})
	}
	witness := len(writers) - 1
	for _, p := range writers[:witness] {
		talking.Go(func() {
			if err := p.write(ctx, quiet); err != nil {
				cancel(fmt.Errorf("write on Discord in %s: %w", p.role.name, err))
			}
		})
	}
	if w.agents && o.windows {
		talking.Go(func() { w.closeWindows(ctx, quiet) })
	}
	talking.Go(func() {
		if err := k.trouble(ctx, quiet, writers[witness]); err != nil {
			cancel(err)
		}
	})
	if l.delegator != nil {
		talking.Go(func() {
			if err := l.delegator.delegate(ctx, quiet); err != nil {
				cancel(fmt.Errorf("hand work on: %w", err))
			}
		})
	}
	err = k.run(ctx, schedule(o.seed, o.kills))
	silence()
	said := make(chan struct{})
	go func() { talking.Wait(); close(said) }()
	for before := int64(-1); ; {
		now := w.progress.Load()
		if now == before {
			// What they could not get accepted, or answered, shows in the table.
			cancel(errSilenced)
			<-said
			err = nil
			break
		}
		before = now
		select {
		case <-said:
		case <-time.After(patience):
			continue
		}
		break
	}
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, errSilenced) {
		err = cause
	}
	return l, err
}

var errSilenced = errors.New("nothing is accepted any more")

// drain waits until nothing is left to do, or nothing moves any more: then the
// table tells what is left.
func (w *world) drain(ctx context.Context) error {
	moved, left := time.Now(), backlog{}
	for {
		now, err := w.load(ctx)
		if err == nil {
			switch stuck := time.Since(moved); {
			case now == backlog{}:
				w.note("at rest")
				return nil
			case now != left:
				moved, left = time.Now(), now
			case stuck > patience, now.runs+now.tasks+now.jobs == 0 && stuck > idlePatience && !w.anythingCarried():
				w.note("%+v are left, and nothing moves", now)
				return nil
			}
		} else if time.Since(moved) > patience {
			return fmt.Errorf("read the database: %w", err)
		}
		if err := pause(ctx, drainPause); err != nil {
			return err
		}
	}
}

// load is what is left to do.
func (w *world) load(ctx context.Context) (left backlog, err error) {
	if left, err = w.database.load(ctx); err == nil {
		left.jobs, err = w.openJobs()
	}
	if err == nil {
		left.unheard, err = w.unheard(ctx)
	}
	return left, err
}

func (w *world) anythingCarried() bool {
	calls, err := courier.Log(w.courierDir)
	return err != nil || len(calls) > 0
}

// exits returns the ends of the daemon that nobody had asked for.
func (w *world) exits() []check.Exit {
	exits := slices.Clone(w.daemon.exits)
	for _, exit := range exits {
		w.note("the daemon ended by itself: %s", exit.Why)
	}
	return exits
}

// tell prints how far the campaign is.
func (w *world) tell(ctx context.Context, o options, k *killer) {
	for pause(ctx, reportEvery) == nil {
		left, err := w.load(ctx)
		if err != nil {
			continue
		}
		fmt.Fprintf(o.out, "%s: %d of %d kills, %d messages accepted, %d runs, %d deliveries and %d jobs open, %d of Discord's not heard, %d asks, daemon started %d times\n",
			w.database.name, k.done.Load(), o.kills, w.accepted.Load(), left.runs, left.deliveries, left.jobs, left.unheard, len(w.model.log()), w.daemon.count())
	}
}
