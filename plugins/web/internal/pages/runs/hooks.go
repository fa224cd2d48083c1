package runs

import (
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// call is what one plugin was asked at a hook.
type call struct {
	plugin string
	took   time.Duration
	wrong  string // why it has no answer; empty: it has one
	tone   ui.Tone
}

// hooks are the entries of what plugins were asked: one for each time that a run came to a
// hook, with all who were asked there.
func hooks(of []api.HookCall) (all []entry) {
	type place struct {
		hook    string
		attempt int
	}
	at := make(map[place]int)
	for _, asked := range of {
		if asked.Hook == "" {
			all = append(all, left(asked, all))
			continue
		}
		here := place{asked.Hook, asked.Attempt}
		n, known := at[here]
		if !known || has(all[n].calls, asked.Plugin) { // asked again: the run came here once more
			n = len(all)
			at[here] = n
			all = append(all, entry{at: asked.StartedAt, attempt: asked.Attempt, icon: "blocks", name: asked.Hook})
		}
		one := callOf(asked)
		if one.tone != ui.Plain {
			all[n].tone = one.tone
		}
		all[n].calls = append(all[n].calls, one)
		all[n].took = max(all[n].took, asked.StartedAt.Add(one.took).Sub(all[n].at))
	}
	return all
}

func has(calls []call, plugin string) bool {
	for _, one := range calls {
		if one.plugin == plugin {
			return true
		}
	}
	return false
}

func callOf(asked api.HookCall) call {
	one := call{plugin: asked.Plugin, took: time.Duration(asked.DurationMicros) * time.Microsecond}
	switch asked.State {
	case pluginsdk.CallDenied:
		one.tone, one.wrong = ui.Bad, "said no"
	case pluginsdk.CallRefused:
		one.tone, one.wrong = ui.Wait, "refused the command"
	case pluginsdk.CallFailed:
		one.tone, one.wrong = ui.Bad, "failed"
	case pluginsdk.CallPassedOver:
		one.tone, one.wrong = ui.Wait, "was not asked"
	case pluginsdk.CallWaiting:
		one.tone, one.wrong = ui.Wait, "has not answered yet"
	case pluginsdk.CallAnswered:
		return one
	}
	if asked.Error != "" {
		one.wrong += ": " + asked.Error
	}
	return one
}

// left says how many calls are not kept, after those that are.
func left(asked api.HookCall, kept []entry) entry {
	told := entry{icon: "blocks", name: "And " + ui.Plural(asked.Omitted, "more call") + " of plugins", words: "A run keeps the first of them only."}
	if len(kept) > 0 {
		last := kept[len(kept)-1]
		told.at, told.attempt = last.at.Add(last.took), last.attempt
	}
	return told
}

// steps are the entries of how far the run came, without those that a hook of the same name
// tells more of.
func steps(of []pluginsdk.PipelineStep, asked []entry, attempt int) (all []entry) {
	names := map[string]string{"invoking": "The agent is asked", "onAfterInvoke": "The agent has answered"}
	told := make(map[string]bool)
	for _, e := range asked {
		if e.attempt == attempt {
			told[strings.ToLower(e.name)] = true
		}
	}
	began := -1
	for _, step := range of {
		name, named := names[step.Step]
		if !named {
			if name = step.Step; told[strings.ToLower(name)] && step.Detail == "" {
				continue
			}
		}
		if step.Step == "onAfterInvoke" && began >= 0 {
			all[began].took = step.Timestamp.Sub(all[began].at)
		}
		if step.Step == "invoking" {
			began = len(all)
		}
		all = append(all, entry{at: step.Timestamp, icon: "flag", name: name, words: step.Detail})
	}
	return all
}
