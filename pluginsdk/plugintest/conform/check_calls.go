package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// settle is how long a check waits for calls to be well under way.
	settle = time.Second
	// largeText is what a text of every hook must be able to be.
	largeText = 1 << 20
	// together is how many calls are made at once.
	together = 32
)

// askable are the declared hooks that are known here.
func (x *exam) askable() []pluginsdk.Hook {
	var hooks []pluginsdk.Hook
	for _, hook := range pluginsdk.AllHooks() {
		if x.manifest.Answers(hook) {
			hooks = append(hooks, hook)
		}
	}
	return hooks
}

// underway waits until calls have returned or are held at the gate, so many
// together, and returns how many have returned. It does not wait for ever.
func underway(s *session, calls int, returned <-chan struct{}) (done int) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		held, changed := s.gate.held()
		if held+done >= calls {
			return done
		}
		select {
		case <-returned:
			done++
		case <-changed:
		case <-timer.C:
			return done
		}
	}
}

// checkCancel gives up a call of each hook while it is under way: once by
// cancelling it, once by its deadline. The host does not answer meanwhile, so
// that a hook which asks it anything cannot just return.
func (x *exam) checkCancel(ctx context.Context) error {
	if len(x.askable()) == 0 {
		return skipped("the manifest declares no hooks")
	}
	s, err := x.serve(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	const advice = "pass the hook's context on to everything that takes time, the calls of the host above all, and return when it ends; list what has not returned in InFlight"
	for _, hook := range x.askable() {
		for _, way := range []string{"cancelled", "past its deadline"} {
			if fault := x.giveUp(ctx, s, hook, way == "cancelled"); fault != "" {
				return faultf(advice, "%s, %s: %s", hook, way, fault)
			}
		}
		if v := x.try(ctx, s, hook, "hello"); v.fault != "" {
			return faultf(advice, "%s, after a call that was given up: %s", hook, v.fault)
		}
	}
	return nil
}

// giveUp makes a call, gives it up, and waits until it is no longer in flight.
func (x *exam) giveUp(ctx context.Context, s *session, hook pluginsdk.Hook, cancelled bool) (fault string) {
	letGo := s.gate.hold()
	defer letGo()
	callCtx, cancel := context.WithTimeout(ctx, allowed(hook))
	if !cancelled {
		cancel()
		callCtx, cancel = context.WithTimeout(ctx, settle/2)
	}
	defer cancel()
	returned := make(chan struct{}, 1)
	go func() {
		_, _ = ask(callCtx, s, hook, x.sample("hello"), x.cfg.Settings) // that it returns is all
		returned <- struct{}{}
	}()
	if underway(s, 1, returned) == 0 {
		if !cancelled {
			<-callCtx.Done()
		}
		cancel()
		<-returned // the host's side of the wire returns at the end of its context
	}
	var ids []string
	var err error
	ended := until(ctx, x.cfg.Patience, func() bool {
		flightCtx, cancel := context.WithTimeout(ctx, x.cfg.Patience)
		defer cancel()
		ids, err = s.InFlight(flightCtx)
		return err != nil || len(ids) == 0
	})
	switch {
	case err != nil && s.dead() != "":
		return s.dead()
	case err != nil:
		return "InFlight: " + err.Error()
	case !ended:
		return fmt.Sprintf("the call was still under way %s later (%s)", x.cfg.Patience, strings.Join(ids, ", "))
	}
	return ""
}

func (x *exam) checkLarge(ctx context.Context) error {
	if len(x.askable()) == 0 {
		return skipped("the manifest declares no hooks")
	}
	var all tried
	content := strings.Repeat("large text. ", largeText/len("large text. ")+1)[:largeText]
	for _, hook := range x.askable() {
		s, err := x.borrow(ctx)
		if err != nil {
			return err
		}
		callCtx, cancel := context.WithTimeout(ctx, allowed(hook))
		_, err = ask(callCtx, s, hook, x.sample(content), x.cfg.Settings)
		cancel()
		v := judge(s, err, allowed(hook))
		if pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted {
			v = verdict{fault: "refused: " + v.error}
		}
		all.add(string(hook), v)
	}
	return all.outcome(x, "accept messages of up to 16 MiB (the receive limit of the gRPC server), and cut or refuse what is too long for the work itself with invalid_argument")
}

func (x *exam) checkParallel(ctx context.Context) error {
	if len(x.askable()) == 0 {
		return skipped("the manifest declares no hooks")
	}
	var all tried
	for _, hook := range x.askable() {
		s, err := x.borrow(ctx)
		if err != nil {
			return err
		}
		x.allAtOnce(ctx, s, hook, &all)
	}
	return all.outcome(x, "hooks of different threads arrive at the same time: guard what they share, and set no limit below 32")
}

// allAtOnce makes many calls of a hook, which the host does not answer before
// all are under way.
func (x *exam) allAtOnce(ctx context.Context, s *session, hook pluginsdk.Hook, all *tried) {
	letGo := s.gate.hold()
	defer letGo()
	verdicts := make(chan verdict, together)
	returned := make(chan struct{}, together)
	for range together {
		go func() {
			verdicts <- x.try(ctx, s, hook, "hello")
			returned <- struct{}{}
		}()
	}
	underway(s, together, returned)
	letGo()
	for range together {
		all.add(string(hook), <-verdicts)
	}
}

// checkMemory calls the hooks many times and looks whether memory grows with
// them.
func (x *exam) checkMemory(ctx context.Context) error {
	const (
		warm, calls, least = 200, 1000, 200
		generous           = 64 << 20
	)
	switch {
	case !seesProcesses():
		return skipped("this system does not show a process's memory in /proc")
	case len(x.askable()) == 0:
		return skipped("the manifest declares no hooks")
	}
	s, err := x.serve(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	if _, err := x.repeat(ctx, s, warm); err != nil {
		return err
	}
	before := x.resident()
	made, err := x.repeat(ctx, s, calls)
	if err != nil {
		return err
	}
	grown := x.resident() - before
	x.note("%d calls, %.1f MiB before, %+.1f MiB after them", made, float64(before)/(1<<20), float64(grown)/(1<<20))
	switch {
	case made < least:
		return skipped(fmt.Sprintf("its hooks are too slow: %d calls in the time that this check has", made))
	case grown > generous+before/2:
		return faultf("do not keep what a hook was given: bound every map, list and cache, and end every goroutine or timer with its call",
			"over %d calls it grew from %.1f MiB to %.1f MiB", made, float64(before)/(1<<20), float64(before+grown)/(1<<20))
	}
	return nil
}

// repeat calls the hooks in turn, as often or for as long as there is time.
func (x *exam) repeat(ctx context.Context, s *session, times int) (made int, err error) {
	hooks, content, began := x.askable(), strings.Repeat("x", 4<<10), time.Now()
	for made < times && time.Since(began) < 3*x.cfg.Patience {
		hook := hooks[made%len(hooks)]
		if v := x.try(ctx, s, hook, content); v.fault != "" {
			return made, faultf("look into the plugin's log (-v)", "call %d, %s: %s", made+1, hook, v.fault)
		}
		made++
	}
	return made, errors.Join(ctx.Err())
}

// resident is the memory of all processes of the plugin.
func (x *exam) resident() (total int64) {
	for _, c := range marked(x.mark) {
		total += c.Resident
	}
	return total
}
