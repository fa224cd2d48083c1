package workflow

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// costFault says what is wrong with the cost that a person names for a workflow that goes on; merging is
// set where it only is to be merged, which costs nothing.
func costFault(root pluginsdk.Task, cost float64, merging bool) error {
	switch {
	case merging && cost > 0:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: the whole work is accepted as it is, which costs nothing more; leave cost out")
	case merging:
	case cost == 0 && root.CostUSD >= root.CostCapUSD:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: the workflow has cost $%.2f of the $%.2f that it may: say what it may cost altogether, such as /workflow continue %s cost=%.0f", root.CostUSD, root.CostCapUSD, short(root.ID), math.Ceil(root.CostCapUSD*2))
	case cost > 0 && cost <= root.CostUSD:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cost: the workflow has cost $%.2f already; name more than that", root.CostUSD)
	}
	return nil
}

// taking is what becomes of a person's acceptance of what waits as it is.
type taking struct {
	said  string // to the person
	whole bool   // the root's task is accepted
	task  string // of a stage, which is accepted although another plugin does not accept its work; empty: none
}

// take notes that a person takes what waits as it is, where that is not for the tasks to know.
func (r *record) take(by string, stopped bool, taken *taking) error {
	if !stopped && r.waitsForMerge() {
		taken.whole, taken.said = true, " It is merged as it is."
		return nil
	}
	whole := func(s stages.Stage) bool { return s.Hold != nil && s.Hold.Whole }
	if !stopped && (r.RootHold != nil && r.RootHold.Whole || slices.ContainsFunc(r.Stages, whole)) {
		taken.whole, taken.said = true, " All of it is taken as it is."
		return nil
	}
	for _, s := range r.Stages {
		if s.Hold != nil && s.Hold.Plugin != "" && s.TaskID != "" && s.Status == stages.Running {
			taken.task, taken.said = s.TaskID, fmt.Sprintf(" The work of %s is taken as it is, although the plugin %s does not accept it.", titleOf(s), s.Hold.Plugin)
			return nil
		}
	}
	return r.accept(by, &taken.said)
}

// handOver has the task of a stage wait for a person, who accepts it by decideBelow: another plugin would
// not let its work come to this one.
func (p *Plugin) handOver(ctx context.Context, id string, r request) error {
	if id == "" {
		return nil
	}
	task, err := p.task(ctx, id)
	if err != nil || task.Status != pluginsdk.TaskRunning {
		return err
	}
	answer, err := p.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: id, Iteration: task.CurrentIteration + 1, Own: true})
	if err != nil {
		return err
	}
	_, err = p.host.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{
		ID: id, Iteration: answer.Task.CurrentIteration, Result: cmp.Or(task.Result, "The work is as it was."), Reason: "accepted as it is by " + cmp.Or(r.author, "a person"), Mark: "checks",
	})
	return err
}

// waitsForMerge reports whether all of the workflow was accepted, and only its merge waits for a person.
func (r *record) waitsForMerge() bool {
	held := slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Hold != nil })
	return !held && r.FinalHold == "" && r.RootHold == nil && r.StoppedBy == "" && r.Redesign == "" && len(r.Stages) > 0 && len(r.next(1)) == 0
}

// accept notes that a person takes what waits as it is.
func (r *record) accept(by string, said *string) error {
	by = cmp.Or(by, "a person")
	if r.FinalHold != "" {
		r.FinalWaived = by
		*said = " All of it is taken as it is."
		// What the last review would have had mended stays as it is, too.
		for i := range r.Stages {
			if s := &r.Stages[i]; s.Status == stages.Pending && (s.TaskID != "" || r.builder(i) >= 0) {
				s.Status, s.Due = stages.Completed, nil
			}
		}
		return nil
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Hold == nil || s.TaskID == "" || s.Status == stages.Failed || s.Status == stages.Pending {
			continue
		}
		s.Due = &stages.Due{Waived: by, Tree: s.Hold.Tree, Patch: s.Hold.Patch}
		*said = fmt.Sprintf(" The work of %s is taken as it is.", titleOf(*s))
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "accept: nothing waits that could be taken as it is; leave accept=yes out")
}
