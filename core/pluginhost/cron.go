package pluginhost

import (
	"context"
	"crypto/rand"
	"slices"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxCronQuestions is how many calls of OnCron one plugin may have under way. A plugin that hangs, or
// that asks itself, holds up no more than these.
const maxCronQuestions = 16

// AskCron asks a plugin whether there is news for a scheduled job (OnCron). behalf is the call in which it
// is asked, if it is asked in one. The errors are those of pluginsdk.Crons.Ask. An answer that breaks a
// bound is an error of the call, and counts as a failure of the plugin.
func (h *Host) AskCron(ctx context.Context, behalf ledger.Behalf, name string, question pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error) {
	instance, err := h.answersCron(name)
	if err != nil {
		return pluginsdk.OnCronResponse{}, err
	}
	if instance.cronQuestions.Add(1) > maxCronQuestions {
		instance.cronQuestions.Add(-1)
		return pluginsdk.OnCronResponse{}, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"the plugin %s is asked %d questions of scheduled jobs, as many as it may at a time: one has to end first", name, maxCronQuestions)
	}
	defer instance.cronQuestions.Add(-1)
	on := &hooks.Occasion{Behalf: behalf, Call: pluginsdk.Call{RunID: behalf.RunID, Attempt: max(behalf.Attempt, 1)}}
	on.Behalf.Depth++
	answer, err := hooks.One(ctx, h.config.Hooks, on, inRun{instance, ""}, hooks.Question[pluginsdk.OnCronRequest, pluginsdk.OnCronResponse]{
		Hook: pluginsdk.HookCron, CallID: "cron:" + question.JobID + ":" + name + ":" + rand.Text(),
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnCronRequest {
			return &pluginsdk.OnCronRequest{Call: call, Question: question}
		},
		Ask: func(process hooks.Process, ctx context.Context, request *pluginsdk.OnCronRequest) (*pluginsdk.OnCronResponse, error) {
			answer, err := process.OnCron(ctx, request)
			if err == nil && answer != nil && answer.News && len(answer.Text) > pluginsdk.MaxCronText {
				err = pluginsdk.Errorf(pluginsdk.CodeInternal, "the text is %d bytes; at most %d are possible", len(answer.Text), pluginsdk.MaxCronText)
			}
			return answer, err
		},
	})
	switch {
	case err != nil:
		return pluginsdk.OnCronResponse{}, h.explainCron(ctx, name, err)
	case answer == nil || !answer.News:
		return pluginsdk.OnCronResponse{}, nil
	}
	return pluginsdk.OnCronResponse{News: true, Text: instance.redact(answer.Text)}, nil
}

// answersCron returns the plugin of that name if it can be asked OnCron.
func (h *Host) answersCron(name string) (*Instance, error) {
	h.speakers.mu.RLock()
	defer h.speakers.mu.RUnlock()
	at := slices.IndexFunc(h.speakers.rows, func(row ledger.Plugin) bool { return row.Name == name })
	if at < 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the plugin %q is not installed", name)
	}
	row := h.speakers.rows[at]
	instance, running := h.current.Load(name)
	switch manifest := h.lastSaid(row); {
	case !row.Enabled || !running:
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin %[1]s is disabled: `harness plugin enable %[1]s`", name)
	case manifest.Version != "" && !manifest.Answers(pluginsdk.HookCron): // without a version it has never said what it is
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "the plugin %s does not answer %s: it cannot say whether there is news", name, pluginsdk.HookCron)
	}
	return instance.(*Instance), nil
}

// explainCron says which plugin has failed to answer, and why.
func (h *Host) explainCron(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return pluginsdk.Errorf(pluginsdk.CodeCancelled, "the question to the plugin %s was cancelled: %w", name, context.Cause(ctx))
	}
	switch code := pluginsdk.CodeOf(err); code { //nolint:exhaustive // the others are the plugin's word
	case pluginsdk.CodeUnimplemented:
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the plugin %s does not answer %s: it cannot say whether there is news", name, pluginsdk.HookCron)
	case pluginsdk.CodeUnavailable:
		return pluginsdk.Errorf(code, "it cannot be asked whether there is news: %w", err)
	case pluginsdk.CodeDeadline:
		return pluginsdk.Errorf(code, "the plugin %s has not answered within %s", name, h.config.Hooks.Limit(pluginsdk.HookCron))
	default:
		return pluginsdk.Errorf(code, "the plugin %s failed in %s: %w", name, pluginsdk.HookCron, err)
	}
}
