package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// eachOf says of what a run has several, and a hook is asked for each.
var eachOf = map[pluginsdk.Hook]string{
	pluginsdk.HookBeforeRun: "message", pluginsdk.HookMessage: "message", pluginsdk.HookCommand: "command",
}

// checkEffects makes a call of each hook twice under one id, as the daemon does
// after a crash, and looks at what the hook would do to its run. A hook that is asked for
// each message or command of a run is asked for a second one too.
func (x *exam) checkEffects(ctx context.Context) error {
	if len(x.askable()) == 0 {
		return skipped("the manifest declares no hooks")
	}
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	var faults []string
	for _, hook := range x.askable() {
		with := x.sample("hello")
		first, err := x.effects(ctx, s, hook, with)
		if err != nil || first == nil {
			continue // what is wrong with the answer is the check hooks' to say
		}
		again, err := x.effects(ctx, s, hook, with)
		if err != nil {
			continue
		}
		found := append(x.faultsOf(first), differ(first, again)...)
		if what := eachOf[hook]; what != "" && first.Key != "" {
			other, err := x.effects(ctx, s, hook, x.further("hello again"))
			if err == nil && other != nil && other.Key == first.Key {
				found = append(found, fmt.Sprintf("asked for another %s of the run, the effects have the key %q again: they would not be stored", what, first.Key))
			}
		}
		for _, fault := range found {
			faults = append(faults, fmt.Sprintf("%s: %s", hook, fault))
		}
	}
	if len(faults) > 0 {
		return faultf("give effects a key that says what they are, such as start, with the id of the message or the index of the command where a hook is asked for each; return the same for the same call; rows of people's words are Messages.Append's",
			"%s", strings.Join(slices.Compact(faults), "\n"))
	}
	return nil
}

func (x *exam) effects(ctx context.Context, s *session, hook pluginsdk.Hook, with sample) (*pluginsdk.Effects, error) {
	ctx, cancel := context.WithTimeout(ctx, allowed(hook))
	defer cancel()
	got, err := ask(ctx, s, hook, with, x.cfg.Settings)
	return got.effects, err
}

// faultsOf says what of the effects the daemon would not store.
func (x *exam) faultsOf(effects *pluginsdk.Effects) (faults []string) {
	if len(effects.Rows) == 0 && len(effects.Metrics) == 0 {
		return nil
	}
	if effects.Key == "" {
		faults = append(faults, "the effects have no key")
	}
	for _, row := range effects.Rows {
		err := row.CheckEffectOf(x.manifest.Name)
		if err == nil {
			err = row.CheckActions(func(command string) bool {
				return slices.ContainsFunc(x.manifest.Commands, func(spec pluginsdk.CommandSpec) bool { return spec.Name == command })
			})
		}
		if err != nil {
			faults = append(faults, "a row would not be stored: "+err.Error())
		}
	}
	asks := func(capability pluginsdk.Capability) bool {
		return slices.ContainsFunc(x.manifest.Capabilities, func(r pluginsdk.CapabilityRequest) bool { return r.Capability == capability })
	}
	if len(effects.Rows) > 0 && !asks(pluginsdk.CapMessagesWrite) {
		faults = append(faults, "the effects have rows, and the manifest does not ask for "+string(pluginsdk.CapMessagesWrite))
	}
	if len(effects.Metrics) > 0 && !asks(pluginsdk.CapMetricsWrite) {
		faults = append(faults, "the effects have metrics, and the manifest does not ask for "+string(pluginsdk.CapMetricsWrite))
	}
	return faults
}

// differ says in what a repeated call did something else.
func differ(first, again *pluginsdk.Effects) []string {
	switch {
	case again == nil:
		return []string{"the call had effects; repeated with the same id, it had none"}
	case first.Key != again.Key:
		return []string{fmt.Sprintf("the key was %q; when the call was repeated with the same id, it was %q: both would be stored", first.Key, again.Key)}
	case !sameJSON(first, again):
		return []string{fmt.Sprintf("under the key %q the call did something else when it was repeated with the same id", first.Key)}
	}
	return nil
}

func sameJSON(a, b any) bool {
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}

// maxChecks is how many checks OnCheck may answer with.
const maxChecks = 32

// checkSurroundings looks at what `harness doctor` would show.
func (x *exam) checkSurroundings(ctx context.Context) error {
	if !x.manifest.Answers(pluginsdk.HookCheck) {
		return skipped("the manifest does not declare OnCheck")
	}
	s, err := x.borrow(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, allowed(pluginsdk.HookCheck))
	defer cancel()
	got, err := ask(ctx, s, pluginsdk.HookCheck, x.sample(""), x.cfg.Settings)
	const advice = "answer with what was looked at: a name, a state (ok, warning, failing), what was seen and what to do; that something is wrong is no error"
	if err != nil {
		return faultf(advice, "OnCheck answers with an error: %v (%s)", err, pluginsdk.CodeOf(err))
	}
	if len(got.checks) > maxChecks {
		return faultf(advice, "OnCheck answers with %d checks; %d are shown", len(got.checks), maxChecks)
	}
	for n, check := range got.checks {
		switch {
		case check.Name == "":
			return faultf(advice, "check %d of OnCheck has no name", n+1)
		case check.State != pluginsdk.CheckOK && check.State != pluginsdk.CheckWarning && check.State != pluginsdk.CheckFailing:
			return faultf(advice, "the check %s of OnCheck is in the state %q", check.Name, check.State)
		case check.State == pluginsdk.CheckFailing:
			x.note("%s is failing: %s", check.Name, check.Detail)
		}
	}
	if _, refused := pluginsdk.KeepFigures(x.manifest.Name, got.figures); len(refused) > 0 {
		return faultf("see pluginsdk.KeepFigures for what the plugin's own figures may be", "%d of the figures of OnCheck are left out of /metrics; the first: %v", len(refused), refused[0])
	}
	return nil
}
