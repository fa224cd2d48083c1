package cron

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// askWhile is how long a plugin is asked when an operator names it.
const askWhile = 10 * time.Second

var (
	// rule is a rule of what runs may do unasked.
	rule = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_*-]*(\([^()]+\)|\(.*[^(]\))?$`)
	// modelName is how the name of a model looks, or that of its latest version.
	modelName = lazy.Regexp(`^(claude-[a-z0-9.-]+(\[1m\])?|(default|best|opusplan|haiku|sonnet|opus|fable)(\[1m\])?|.*[/:@].*)$`)
)

// checkPowers refuses what a job cannot have of what only operators set, and returns words about what it can have and what
// may be a mistake; empty: nothing is.
func (p *Plugin) checkPowers(ctx context.Context, job pluginsdk.CronJob) (mind string, err error) {
	spec := job.Spec
	if i := slices.IndexFunc(spec.Tools, func(one string) bool { return !rule.MatchString(one) }); i >= 0 {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "tools: %q is no rule, such as WebFetch or Bash(git log:*); several have ; between them", spec.Tools[i])
	}
	if spec.Model != "" && !modelName.MatchString(spec.Model) {
		mind = "\n\nMind the model: " + spec.Model + " is none of haiku, sonnet and opus, and does not begin with claude-. A run of a model that is not there fails."
	}
	plugin := askedPlugin(spec)
	if plugin == "" {
		return mind, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWhile)
	defer cancel()
	_, words, _ := strings.Cut(spec.When, " ")
	_, err = p.host.Crons.Ask(ctx, &pluginsdk.AskCronRequest{Plugin: plugin, Question: pluginsdk.CronQuestion{
		JobID: cmp.Or(job.ID, "new"), Job: spec.Name, Due: p.now(), Data: strings.TrimSpace(words),
	}})
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // what the others say may pass
	case pluginsdk.CodeNotFound, pluginsdk.CodeStale:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "when: %w", err)
	}
	if err != nil {
		mind += "\n\nMind the plugin: asked just now, it gives no answer: " + clip(err.Error())
	}
	return mind, nil
}
