package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxChecks, and maxCheckWords in bytes, bound what the host keeps of an answer.
	maxChecks     = 32
	maxCheckWords = 1 << 10
	// firstCheck divides Config.CheckEvery: a version is first asked that long after it
	// serves. By then it has had a moment to connect.
	firstCheck = 30
)

// checkOn asks a version every Config.CheckEvery how it finds its surroundings, until
// stop is called. A version that does not answer OnCheck is not asked, and the checks
// that an earlier version left are forgotten. A version that runs under a debugger is not
// asked either.
func (i *Instance) checkOn(v *version) (stop func()) {
	if !v.manifest.Answers(pluginsdk.HookCheck) {
		i.report.keepFigures(nil, "")
		i.report.forgetChecks(len(i.Info().Checks))
		return func() {}
	}
	if v.row.Attach != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		every := i.host.config.CheckEvery
		wait := every / firstCheck
		for {
			asked, goesOn := i.untilCheck(ctx, v, wait)
			if !goesOn {
				return
			}
			guard.Try(i.log, "the checks of a plugin", func() { i.check(ctx, v) })
			if asked != nil {
				close(asked)
			}
			wait = every
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// untilCheck waits for the next check, and reports false when the version has ended or is
// to be asked no more. asked, when not nil, is closed by the caller once somebody's check is done.
func (i *Instance) untilCheck(ctx context.Context, v *version, wait time.Duration) (asked chan<- struct{}, goesOn bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, true
	case asked := <-i.askChecks:
		return asked, true
	case <-v.gone:
	case <-ctx.Done():
	}
	return nil, false
}

// checksNew is how old checks are at most that CheckAnew does not ask for again.
const checksNew = time.Second

// CheckAnew asks the plugins that serve how they find their surroundings, all at the same time, and
// returns when they have answered or ctx ends. A plugin is asked by one at a time: who comes
// meanwhile waits, and has the answer of the one before when that is new.
func (h *Host) CheckAnew(ctx context.Context) {
	var asked sync.WaitGroup
	h.current.Range(func(_, current any) bool {
		asked.Go(func() { current.(*Instance).checkAnew(ctx) })
		return true
	})
	asked.Wait()
}

func (i *Instance) checkAnew(ctx context.Context) {
	i.anew.Lock() // the one before is bounded by its own ctx
	defer i.anew.Unlock()
	var now ledger.Plugin
	i.live(&now)
	row := i.row.Load()
	if row == nil || row.Attach != "" || now.State != pluginsdk.PluginServing || !row.Manifest.Answers(pluginsdk.HookCheck) || time.Since(now.CheckedAt) < checksNew {
		return
	}
	done := make(chan struct{})
	select {
	case i.askChecks <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// check asks once. Without an answer the checks of the last answer stay, with their old
// time.
func (i *Instance) check(ctx context.Context, v *version) {
	answer, err := ask(ctx, i, v, hooks.Question[pluginsdk.OnCheckRequest, pluginsdk.OnCheckResponse]{
		Hook: pluginsdk.HookCheck, CallID: fmt.Sprintf("check:%s:%d", i.name, time.Now().UnixNano()), Ask: hooks.Process.OnCheck,
		Request: func(pluginsdk.Call, *pluginsdk.PluginInfo) *pluginsdk.OnCheckRequest {
			return &pluginsdk.OnCheckRequest{}
		},
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		i.log.Warn("plugin has not said how it finds its surroundings", "err", err)
	case answer == nil:
		i.report.keepChecks(ctx, nil)
	default:
		i.report.keepChecks(ctx, i.bounded(answer.Checks))
	}
	if err == nil && answer != nil {
		i.report.keepFigures(i.ownFigures(answer.Figures))
	}
}

// ownFigures returns the plugin's own figures that may be shown, without secrets, and in words which of the others are
// left out.
func (i *Instance) ownFigures(figures []pluginsdk.Figure) (kept []pluginsdk.Figure, refused string) {
	for n := range figures {
		figures[n].Help = i.redact(figures[n].Help)
		for k := range figures[n].Samples[:min(len(figures[n].Samples), pluginsdk.MaxFigureSamples)] {
			labels := figures[n].Samples[k].Labels
			for name, value := range labels {
				labels[name] = i.redact(value)
			}
		}
	}
	kept, errs := pluginsdk.KeepFigures(i.name, figures)
	if len(errs) > 0 {
		refused = i.words(fmt.Sprintf("%d of its figures are left out; the first: %v", len(errs), errs[0]))
	}
	return kept, refused
}

// bounded returns the checks as they are stored: at most maxChecks, their texts cut and
// without secrets.
func (i *Instance) bounded(checks []pluginsdk.Check) []pluginsdk.Check {
	if len(checks) > maxChecks {
		i.log.Warn("plugin has more checks than are kept", "checks", len(checks), "kept", maxChecks)
		checks = checks[:maxChecks]
	}
	kept := make([]pluginsdk.Check, len(checks))
	for n, check := range checks {
		kept[n] = pluginsdk.Check{
			Name: cmp.Or(i.words(check.Name), "unnamed"), State: check.State, Detail: i.words(check.Detail), Remedy: i.words(check.Remedy),
		}
		switch check.State {
		case pluginsdk.CheckOK, pluginsdk.CheckWarning, pluginsdk.CheckFailing:
		default: // a state of a newer version of the contract
			kept[n].State = pluginsdk.CheckWarning
		}
	}
	return kept
}

func (i *Instance) words(text string) string { return cut(i.redact(text), maxCheckWords) }

// cut cuts a text to at most that many bytes, and marks the cut with "…".
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
