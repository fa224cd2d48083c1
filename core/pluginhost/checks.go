package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxChecks and maxCheckWords (bytes) bound what is kept of an answer.
	maxChecks     = 32
	maxCheckWords = 1 << 10
	// firstCheck is the part of Config.CheckEvery after which a version that
	// serves is asked for the first time: it has had a moment to connect.
	firstCheck = 30
)

// checkOn asks a version how it finds its surroundings, now and then, until stop is
// called. What an earlier version has said is forgotten when this one answers no such
// question. One that runs under a debugger is left alone.
func (i *Instance) checkOn(v *version) (stop func()) {
	if !v.manifest.Answers(pluginsdk.HookCheck) {
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
		for wait := every / firstCheck; i.untilCheck(ctx, v, wait); wait = every {
			guard.Try(i.log, "the checks of a plugin", func() { i.check(ctx, v) })
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// untilCheck waits, and reports whether the version is to be asked.
func (i *Instance) untilCheck(ctx context.Context, v *version, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-v.gone:
	case <-ctx.Done():
	}
	return false
}

// check asks once. When there is no answer, the last one stays, and gets old.
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
}

// bounded is what is kept of a plugin's checks: not too many, with few words, and
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
		default: // of a version of the contract that this one does not know
			kept[n].State = pluginsdk.CheckWarning
		}
	}
	return kept
}

func (i *Instance) words(text string) string { return cut(i.redact(text), maxCheckWords) }

// cut bounds a text, with a mark where something is missing.
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
