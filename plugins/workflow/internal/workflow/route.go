package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/turns"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/prompts"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// first is the record that a workflow begins with: what its root task says, the settings, and the
// roles as they are now.
func (f *flow) first(ctx context.Context, root pluginsdk.Task) (record, error) {
	c := f.config.Load()
	known, problems, err := loadRoles(root.Cwd, c)
	if err != nil {
		return record{}, err
	}
	for n, problem := range problems {
		f.say(ctx, fmt.Sprintf("role/%d", n), problem)
	}
	size, err := strconv.Atoi(cmp.Or(root.Labels[labelBatchN], strconv.Itoa(c.BatchSize)))
	if err != nil || size < 1 {
		size = c.BatchSize
	}
	rec := record{
		State: stages.State{
			Version: stages.Version, ID: root.ID, Request: root.Prompt, Dir: cmp.Or(root.Labels[labelDir], root.Cwd), BatchSize: size,
			Limits:    stages.Limits{Rounds: c.Rounds, Redesigns: c.Redesigns, Tries: c.Tries},
			StartedAt: root.CreatedAt.UTC(), Stages: []stages.Stage{},
		},
		Roles: known,
	}
	if asked := root.Labels[labelAsked]; asked != "" {
		var named []stages.Stage
		for agent := range strings.SplitSeq(asked, ",") {
			named = append(named, stages.Stage{Agent: agent, Status: stages.Pending, Teams: slices.Contains(c.Teams, agent)})
		}
		rec.begin(named)
		rec.Why = "They were named when the workflow was started."
	}
	return rec, nil
}

// mostAsked is how often a turn is asked that answers with something that cannot be read.
const mostAsked = 3

// route has a turn choose the stages, unless they are known.
func (f *flow) route(ctx context.Context) error {
	rec, err := f.read(ctx)
	if err != nil || len(rec.Stages) > 0 {
		return err
	}
	known := slices.Sorted(maps.Keys(rec.Roles))
	var list []roles.Role
	for _, name := range known {
		list = append(list, rec.Roles[name])
	}
	prompt, schema := prompts.Router(rec.Request, list)
	var chosen []stages.Stage
	var why string
	err = f.ask(ctx, "router", prompt, schema, func(output json.RawMessage) (err error) {
		chosen, why, err = prompts.ReadRoute(output, known)
		return err
	})
	if err != nil {
		return err
	}
	for i := range chosen {
		chosen[i].Teams = slices.Contains(f.config.Load().Teams, chosen[i].Agent)
	}
	if _, err = f.change(ctx, func(r *record) error {
		if len(r.Stages) == 0 {
			r.begin(chosen)
			r.Why = why
		}
		return nil
	}); err != nil {
		return err
	}
	var names []string
	for _, s := range chosen {
		names = append(names, s.Agent)
	}
	f.say(ctx, "route", fmt.Sprintf("Stages: %s. %s", strings.Join(names, ", "), why))
	return nil
}

// drawUpChecks has a turn draw up the acceptance checks from the request alone, before anything is
// planned. Without a reviewer nobody would read them.
func (f *flow) drawUpChecks(ctx context.Context) error {
	rec, err := f.read(ctx)
	if err != nil || len(rec.Acceptance) > 0 {
		return err
	}
	if !slices.ContainsFunc(rec.Stages, func(s stages.Stage) bool { return s.Role() == stages.Reviewer }) {
		return nil
	}
	prompt, schema := prompts.Acceptance(rec.Request)
	var drawn []string
	err = f.ask(ctx, "acceptance", prompt, schema, func(output json.RawMessage) (err error) {
		drawn, err = prompts.ReadAcceptance(output)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.change(ctx, func(r *record) error { r.Acceptance = drawn; return nil })
	return err
}

// ask asks a turn that answers from its prompt alone, in the workflow's thread, until its answer can
// be read.
func (f *flow) ask(ctx context.Context, what, prompt string, schema json.RawMessage, read func(json.RawMessage) error) error {
	root, err := f.task(ctx, f.id)
	if err != nil {
		return err
	}
	c := f.config.Load()
	asked := prompt
	var wrong error
	for n, tries := 1, 0; tries < mostAsked; n++ {
		rec, err := f.read(ctx)
		if err == nil {
			err = rec.stopped()
		}
		if err != nil {
			return err
		}
		started, err := f.host.Agent.Start(ctx, &pluginsdk.StartTurnRequest{
			Key: fmt.Sprintf("%s/%s/%d/%d", f.id, what, root.CurrentIteration, n), Purpose: "workflow-" + what, ThreadID: root.ThreadID, TaskID: root.ID,
			Session: pluginsdk.SessionFresh, Prompt: asked, JSONSchema: schema, DisallowedTools: turns.NoTools(),
			CostCapUSD: c.ReviewCost, Timeout: time.Duration(c.ReviewSeconds) * time.Second,
		})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
			continue // it was asked in other words, by an older version
		}
		if err != nil {
			return err
		}
		ended, err := f.awaitTurn(ctx, started.RunID)
		switch {
		case err != nil:
			return err
		case ended.State == pluginsdk.RunCancelled:
			return f.askStopped(ctx, what)
		case ended.State != pluginsdk.RunSucceeded || ended.Result == nil || ended.Result.Failure != nil:
			wrong = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the turn for the %s failed: %s", what, ended.Error)
		default:
			if wrong = read(ended.Result.StructuredOutput); wrong == nil {
				return nil
			}
			asked = prompt + "\n\nYour last answer cannot be used: " + wrong.Error()
		}
		tries++
	}
	return &held{-1, stages.Hold{Reason: wrong.Error() + map[string]string{
		"router": ". Continue asks once more; or abandon this workflow, and start another with its stages named, such as stages=architect,builder,reviewer", "acceptance": "",
	}[what], Mark: what}}
}

func (f *flow) askStopped(ctx context.Context, what string) error {
	rec, err := f.read(ctx)
	if err != nil {
		return err
	}
	if err := rec.stopped(); err != nil {
		return err
	}
	return &held{-1, stages.Hold{Reason: "the turn for the " + what + " was stopped", Mark: markStopped}}
}

// announce says in the workflow's thread where it stands, when that has changed.
func (f *flow) announce(ctx context.Context) {
	rec, err := f.read(ctx)
	if err != nil {
		return
	}
	line := rec.standing()
	if line == rec.Announced || line == "" {
		return
	}
	if _, err := f.change(ctx, func(r *record) error { r.Announced = line; return nil }); err == nil {
		f.say(ctx, fmt.Sprintf("at/%d", f.lastRevision()), line)
	}
}

func (f *flow) lastRevision() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision
}

// standing is how far a workflow is, in a line.
func (r *record) standing() string {
	done, total := 0, 0
	var at []string
	for i, s := range r.Stages {
		if r.builder(i) >= 0 {
			continue
		}
		total++
		switch s.Status {
		case stages.Completed:
			done++
		case stages.Running, stages.Reviewing:
			words := titleOf(s)
			if n := r.reviewer(i); n >= 0 && len(r.Stages[n].Verdicts) > 0 {
				words += fmt.Sprintf(", round %d", len(r.Stages[n].Verdicts)+1)
			}
			at = append(at, words)
		case stages.Pending, stages.Failed:
		}
	}
	if total == 0 {
		return ""
	}
	line := fmt.Sprintf("%d of %d stages are done", done, total)
	if len(at) > 0 {
		line += "; at work: " + strings.Join(at, "; ")
	}
	return line + "."
}
