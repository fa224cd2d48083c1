package cron

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	workspaceVariable = "HARNESS_WORKSPACE"
	// whenLimit is how long the command of a job may look for news.
	whenLimit = time.Minute
	// noNewsWords end the reason of a fire that was not made since there was no news.
	noNewsWords = " no news"
	// whensAtOnce is how many such commands run at a time. A plugin is asked one question at a time, so that one that
	// hangs keeps no command, and no other plugin, waiting.
	whensAtOnce = 4
	// exitNothing is the exit code of a command that has found no news.
	exitNothing = 1
	// roomless is from which use of a plan's window on a job with IfRoom does not fire.
	roomless = 0.9
)

// looking is the command of a job that looks, or has looked, for news for one fire.
type looking struct {
	by     string // the plugin that is asked; empty: it is a command
	over   bool
	news   string                  // the end of what it has printed
	state  pluginsdk.CronFireState // of a fire that is not made; empty: there are news
	reason string
}

// lookFor runs a job's command for a fire, beside everything else, and returns what it has found; nil: it
// still looks. After a crash it looks again. The lock is held.
func (p *Plugin) lookFor(job pluginsdk.CronJob, fire pluginsdk.CronFire) *looking {
	key := keyOf(fire)
	if found := p.lookings[key]; found != nil {
		if !found.over {
			return nil
		}
		return found
	}
	if p.lookersBusy(job) {
		return nil // the end of another one has it looked at again
	}
	p.lookings[key] = &looking{by: askedPlugin(job.Spec)}
	work := p.work
	go func() {
		found := p.found(work, job, fire)
		p.mu.Lock()
		defer p.mu.Unlock()
		if work.Err() != nil {
			return // it is looked for again by whoever is active next
		}
		if p.lookings[key] != nil { // else its job was removed, or its fire is over
			p.lookings[key] = found
		}
		p.soon()
	}()
	return nil
}

// lookersBusy reports whether as many look for news as may at a time, of those that a job would be one of. The lock
// is held.
func (p *Plugin) lookersBusy(job pluginsdk.CronJob) bool {
	by, most := askedPlugin(job.Spec), whensAtOnce
	if by != "" {
		most = 1
	}
	for _, one := range p.lookings {
		if !one.over && one.by == by {
			most--
		}
	}
	return most <= 0
}

// askedPlugin is the plugin that a job asks for news; empty: it has a command, or looks for none.
func askedPlugin(spec pluginsdk.CronSpec) string {
	words, is := strings.CutPrefix(spec.When, whenPlugin)
	if !is {
		return ""
	}
	name, _, _ := strings.Cut(words, " ")
	return name
}

// whenPlugin is how a when begins that is no command: plugin:NAME asks that plugin, and what follows the name is
// given to it.
const whenPlugin = "plugin:"

// askPlugin asks a plugin for news.
func (p *Plugin) askPlugin(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire, words string) *looking {
	plugin, data, _ := strings.Cut(words, " ")
	// The words are an operator's. What who asked for the fire gives never stands in their place.
	question := pluginsdk.CronQuestion{JobID: job.ID, Job: job.Spec.Name, Due: fire.Due, Data: cmp.Or(strings.TrimSpace(data), fire.Data)}
	success, err := p.lastSuccess(ctx, job)
	question.LastSuccess = success.EndedAt
	var answer *pluginsdk.AskCronResponse
	if err == nil {
		answer, err = p.host.Crons.Ask(ctx, &pluginsdk.AskCronRequest{Plugin: plugin, Question: question})
	}
	switch {
	case err != nil:
		return &looking{over: true, state: pluginsdk.FireFailed, reason: "the plugin " + plugin + " could not be asked for news: " + clip(err.Error())}
	case !answer.News:
		return &looking{over: true, state: pluginsdk.FireSkipped, reason: "the plugin " + plugin + " has" + noNewsWords}
	}
	return &looking{over: true, news: strings.TrimSpace(answer.Text)}
}

// found runs a job's command, or asks the plugin that stands in its place.
func (p *Plugin) found(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire) *looking {
	if words, is := strings.CutPrefix(job.Spec.When, whenPlugin); is {
		return p.askPlugin(ctx, job, fire, words)
	}
	result, err := p.do(ctx, run.Command{
		Args: []string{"/bin/sh", "-c", job.Spec.When}, Dir: os.Getenv(workspaceVariable), Env: append(os.Environ(), "HARNESS_SCHEDULE="+job.Spec.Name),
		Limit: whenLimit, EndGroup: true,
	})
	said := strings.TrimSpace(strings.ToValidUTF8(string(result.Stdout), "�"))
	switch {
	case err != nil:
		return &looking{over: true, state: pluginsdk.FireFailed, reason: "its command when has failed: " + clip(err.Error())}
	case result.Code == exitNothing:
		return &looking{over: true, state: pluginsdk.FireSkipped, reason: "its command when has found" + noNewsWords}
	case result.Code != 0:
		return &looking{over: true, state: pluginsdk.FireFailed, reason: fmt.Sprintf("its command when has ended with the exit code %d: %s", result.Code, clip(strings.TrimSpace(result.Stderr+"\n"+said)))}
	}
	return &looking{over: true, news: said}
}

// room says why the agent's plan has no room for a job that fires only with some; empty: it has. Where
// that cannot be found out, it has: a plan that is used up parks the run.
func (p *Plugin) room(ctx context.Context) string {
	answer, err := p.host.Accounts.List(ctx, &pluginsdk.ListAccountsRequest{})
	if err != nil {
		p.host.Log.Warn("it cannot be found out whether the plan has room for a schedule; it fires", "err", err)
		return ""
	}
	now := p.now()
	for _, account := range answer.Accounts {
		if !account.Default {
			continue
		}
		for _, window := range account.Windows {
			if !window.ResetsAt.IsZero() && window.ResetsAt.Before(now) {
				continue // what was seen of it is over
			}
			if window.Status == pluginsdk.PlanRejected || window.Used >= roomless {
				return fmt.Sprintf("the plan has no room: the %s is %.0f %% used", pluginsdk.WindowName(window.Name, window.Model), 100*window.Used)
			}
		}
	}
	return ""
}
