package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// held is the error of what cannot go on without a person.
type held struct {
	stage int // -1: the workflow itself
	hold  stages.Hold
}

func (h *held) Error() string { return h.hold.Reason }

var (
	errOver  = errors.New("the workflow is over")
	errAnew  = errors.New("the stages have changed") // steps begins again with them
	errMoved = errors.New("the workflow's task has moved")
)

// drive takes a workflow to its end. What fails is tried again. It reports whether the workflow is over.
func (f *flow) drive(ctx context.Context) (ended bool) {
	defer f.unlock()
	failures := 0
	for wait := f.Again; ctx.Err() == nil; {
		err := f.runOnce(ctx)
		if failures++; err == nil || errors.Is(err, errAnew) || errors.Is(err, errMoved) {
			failures = 0
		}
		switch {
		case errors.Is(err, errOver):
			return true
		case err == nil, errors.Is(err, errAnew), errors.Is(err, errMoved):
			wait = f.Again
			continue
		case ctx.Err() != nil:
			return false
		}
		f.log.Warn("a workflow cannot go on; trying again", "workflow", f.id, "err", err, "in", wait.String())
		if failures >= mostFailures && !passing(err) {
			f.giveToAPerson(ctx, err)
		}
		if !rest(ctx, wait) {
			return false
		}
		wait = min(2*wait, lookAgain)
	}
	return false
}

// passing reports an error that may pass by itself.
func passing(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others stay
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeExhausted:
		return true
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// giveToAPerson has a workflow wait that fails again and again in a way that does not pass. Its record may
// be what cannot be read.
func (f *flow) giveToAPerson(ctx context.Context, cause error) {
	hold := stages.Hold{Reason: "it cannot go on: " + cause.Error(), Mark: "error"}
	err := f.suspend(ctx, &held{-1, hold})
	if err != nil && !errors.Is(err, errMoved) {
		err = f.suspendBare(ctx, hold)
	}
	if err != nil && !errors.Is(err, errMoved) && ctx.Err() == nil {
		f.log.Warn("a workflow that cannot go on could not be left to a person", "workflow", f.id, "err", err)
	}
}

// suspendBare has the root wait for a person without a record: with the iteration that it is at, or another.
func (f *flow) suspendBare(ctx context.Context, hold stages.Hold) error {
	root, err := f.task(ctx, f.id)
	for range 2 {
		if err != nil || root.Status != pluginsdk.TaskRunning {
			return err
		}
		request := &pluginsdk.SuspendTaskRequest{ID: f.id, Iteration: root.CurrentIteration, Reason: cut(hold.Reason, 8<<10), Mark: hold.Mark}
		if answer, failed := f.host.Tasks.Suspend(ctx, request); failed == nil && answer.Task.Status != pluginsdk.TaskRunning {
			return nil
		}
		var answer *pluginsdk.IterateTaskResponse // that one was left behind before
		if answer, err = f.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: f.id, Iteration: root.CurrentIteration + 1, Own: true}); err == nil {
			root = answer.Task
		}
	}
	return err
}

// runOnce does what can be done for a workflow, until its task moves.
func (f *flow) runOnce(ctx context.Context) error {
	root, err := f.task(ctx, f.id)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound { // it was deleted by hand
		return f.forget(ctx)
	}
	if err != nil {
		return err
	}
	if root.Status != pluginsdk.TaskRunning {
		if over(root) {
			return f.end(ctx, root)
		}
		if root.Status.Final() {
			f.unlock()
		} else {
			f.relock(ctx)
		}
		if err := f.forgetWaivers(ctx); err != nil {
			return err
		}
		_, err := f.await(ctx, root)
		return err
	}
	leave, err := f.place(ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = f.open(ctx, root)
	if err == nil {
		err = f.steps(ctx)
	}
	if hold := new(held); errors.As(err, &hold) {
		return f.suspend(ctx, hold)
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted {
		if root, failed := f.task(ctx, f.id); failed == nil && root.CostUSD >= root.CostCapUSD {
			return f.suspend(ctx, f.overBudget(-1, root))
		}
	}
	return err
}

// forgetWaivers forgets that a person has accepted work as it is, while the workflow still waits for one:
// that word did not reach its task.
func (f *flow) forgetWaivers(ctx context.Context) error {
	f.deciding.Lock()
	defer f.deciding.Unlock()
	root, err := f.task(ctx, f.id)
	if err != nil || root.Status != pluginsdk.TaskWaiting {
		return err
	}
	rec, err := f.read(ctx)
	if err == nil && rec.waived() {
		_, err = f.change(ctx, func(r *record) error { r.unwaive(); return nil })
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || pluginsdk.CodeOf(err) == pluginsdk.CodeInternal { // there is no record that can be read
		return nil
	}
	return err
}

// waived reports whether a person's acceptance of work as it is stands.
func (r *record) waived() bool {
	return r.FinalWaived != "" || slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Due != nil && s.Due.Waived != "" })
}

// unwaive forgets that a person has accepted work as it is.
func (r *record) unwaive() {
	r.FinalWaived = ""
	for i := range r.Stages {
		if due := r.Stages[i].Due; due != nil && due.Waived != "" {
			r.Stages[i].Due = nil
		}
	}
}

func over(task pluginsdk.Task) bool { return task.Status.Final() && !task.CompletedAt.IsZero() }

// place waits for a place among the workflows that are at work. One that was stopped, or whose task has
// moved, needs none: there is nothing to do but to say so.
func (f *flow) place(ctx context.Context) (leave func(), err error) {
	has, leave := f.places.ask(f.id)
	for {
		moved := f.moved.wait()
		select {
		case <-has:
			return leave, nil
		default:
		}
		root, err := f.task(ctx, f.id)
		if err != nil || root.Status != pluginsdk.TaskRunning {
			leave()
			return nil, cmp.Or(err, errMoved)
		}
		if rec, err := f.read(ctx); err == nil && rec.StoppedBy != "" {
			return leave, nil
		}
		select {
		case <-has:
			return leave, nil
		case <-moved:
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
}

// end notes that the workflow is over.
func (f *flow) end(ctx context.Context, root pluginsdk.Task) error {
	f.relock(ctx)
	_, err := f.change(ctx, func(r *record) error {
		if r.EndedAt.IsZero() {
			r.EndedAt = root.CompletedAt
		}
		for i := range r.Stages { // what is left was accepted with all of the work
			if s := &r.Stages[i]; root.Status == pluginsdk.TaskCompleted && s.Status != stages.Completed {
				s.Status, s.Hold, s.Due = stages.Completed, nil, nil
			}
		}
		r.Waits = ""
		return nil
	})
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return err
	}
	if err := f.works.Forget(ctx, f.host.State, f.id); err != nil {
		f.log.Warn("the checkouts of a workflow could not be removed", "workflow", f.id, "err", err)
	}
	f.Fault("ended", f.id)
	return f.forget(ctx)
}

// forget has nobody drive the workflow any more.
func (f *flow) forget(ctx context.Context) error {
	f.unlock()
	if _, err := f.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: openPrefix + f.id}); err != nil {
		return err
	}
	return errOver
}

func (p *Plugin) task(ctx context.Context, id string) (pluginsdk.Task, error) {
	answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		return pluginsdk.Task{}, err
	}
	return answer.Task, nil
}

// await returns a task once it stands otherwise than it did.
func (p *Plugin) await(ctx context.Context, task pluginsdk.Task) (pluginsdk.Task, error) {
	for {
		moved := p.moved.wait()
		now, err := p.task(ctx, task.ID)
		if err != nil || now.Status != task.Status || now.CurrentIteration != task.CurrentIteration || now.CompletedAt != task.CompletedAt ||
			now.ValidationIterations != task.ValidationIterations {
			return now, err
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-moved:
			again.Stop()
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return now, context.Cause(ctx)
		}
	}
}

// open begins or goes on with a root task that is running: its record, the lock of its directory,
// and an iteration that can be suspended or handed in. What a person has said with it is told to the stages that have
// waited for that.
func (f *flow) open(ctx context.Context, root pluginsdk.Task) error {
	rec, err := f.read(ctx)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		if root.CurrentIteration > 0 {
			return pluginsdk.Errorf(pluginsdk.CodeNotFound, "what was noted of this workflow is gone from the database; abandon it, and start another")
		}
		if rec, err = f.first(ctx, root); err == nil {
			err = f.create(ctx, rec)
		}
	}
	if err != nil {
		return err
	}
	if rec.Iteration == 0 || rec.Iteration != root.CurrentIteration {
		if err := f.next(ctx, rec, root); err != nil {
			return err
		}
	}
	if err := f.lockInTime(ctx); err != nil {
		return err
	}
	if err := f.inGit(ctx, root); err != nil {
		return err
	}
	return f.recordBase(ctx, deskOfRoot, root)
}

// mostLocks is how often a lock that somebody else holds is tried, which takes half a minute: a process that is
// ending holds it for a while.
const mostLocks = 6

// lockInTime has the directory locked. Where that is not possible a person is asked; what may pass by
// itself is an error.
func (f *flow) lockInTime(ctx context.Context) error {
	err := f.lock(ctx)
	switch {
	case err == nil:
		f.locks = 0
		return nil
	case passing(err):
		return err
	case pluginsdk.CodeOf(err) == pluginsdk.CodeConflict:
		if f.locks++; f.locks < mostLocks {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w", err)
		}
	}
	f.locks = 0
	return &held{-1, stages.Hold{Reason: err.Error() + "; then continue the workflow", Mark: "locked"}}
}

// next begins the next iteration of the root. The one before was left behind; what was cut off while that
// was done is done now: a workflow that is to wait for a person does not go on by itself.
func (f *flow) next(ctx context.Context, rec record, root pluginsdk.Task) (err error) {
	switch {
	case rec.Waited > 0 && rec.Waited == root.CurrentIteration && rec.WaitedFor != nil:
		answer, err := f.host.Tasks.Suspend(ctx, rec.suspension())
		if err != nil {
			return err
		}
		root = answer.Task
	case rec.Handed > 0 && rec.Handed == root.CurrentIteration:
		answer, err := f.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: f.id, Iteration: rec.Handed, Result: rec.summary()})
		if err != nil {
			return err
		}
		root = answer.Task
	}
	if root.Status != pluginsdk.TaskRunning {
		return errMoved
	}
	next := root.CurrentIteration + 1
	if _, err := f.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: root.ID, Iteration: next, Own: true}); err != nil {
		return err
	}
	f.Fault("opened", f.id)
	_, err = f.change(ctx, func(r *record) error {
		switch {
		case r.Waited > 0:
			r.goOn(root.Feedback)
		case r.Handed > 0:
			r.sentBack(root.Feedback)
		}
		r.Iteration, r.Handed, r.Waited, r.WaitedFor, r.Waits = next, 0, 0, nil, ""
		return nil
	})
	return err
}

// sentBack has the last builder mend what others than reviewers say of the whole work, such as the
// project's checks, or a person who decides on the root's task.
func (r *record) sentBack(words string) {
	r.FinalWaived = ""
	if r.Redesign != "" || len(r.next(1)) > 0 { // the last review has said what is to be done
		return
	}
	r.Returned++
	words = "The whole work was not accepted:\n\n" + cut(cmp.Or(words, "Nothing was said of why."), mostFindings)
	hold := &stages.Hold{Reason: fmt.Sprintf("the whole work was sent back %d times: %s", r.Returned, words), Mark: "checks", Then: words, Whole: true}
	switch at := r.reopen("", words); {
	case at < 0:
		hold.Reason = "the workflow has no builder that could mend it; mend it yourself and continue, take it as it is (accept=yes), or abandon it. " + words
		r.RootHold = hold
	case r.Returned >= r.Limits.Tries:
		r.Stages[at].Hold, r.Stages[at].Due = hold, nil
	}
}

// goOn has the stages go on that waited for a person, with the person's words.
func (r *record) goOn(words string) {
	if !r.StopNext {
		r.StoppedBy = ""
	}
	r.StopNext, r.FinalHold, r.RootHold, r.Returned = false, "", nil, 0
	for i := range r.Stages {
		s := &r.Stages[i]
		if s.Hold == nil {
			continue
		}
		then := cmp.Or(s.Hold.Then, "Go on.")
		if words != "" {
			then += "\n\nA person says:\n" + words
		}
		if s.Due == nil {
			s.Due = &stages.Due{}
		}
		s.Due.Words, s.Due.Iteration, s.Due.Again, s.Hold, s.Failures = then, 0, s.Hold.Again && words == "", nil, 0
		if s.Status == stages.Reviewing {
			s.Status = stages.Running
		}
		if n := r.reviewer(i); n >= 0 {
			r.Limits.Rounds = max(r.Limits.Rounds, stages.Rounds(r.Stages[n].Verdicts)+1)
		}
		if s.Validation != nil && !s.Validation.Passed {
			r.Limits.Tries = max(r.Limits.Tries, s.Validation.Tries+1)
		}
	}
}

// inGit notes whether the workflow is built in worktrees. A project in git whose worktree is nobody's
// to make is not worked in directly.
func (f *flow) inGit(ctx context.Context, root pluginsdk.Task) error {
	git := root.CwdPlugin != ""
	if !git && inCheckout(root.Cwd, f.workspace) && exec.CommandContext(ctx, "git", "-C", root.Cwd, "check-ignore", "--quiet", ".").Run() != nil {
		return &held{-1, stages.Hold{
			Reason: fmt.Sprintf("%s is in a git project, and the plugin worktree, which gives a workflow a branch of its own there, is off: turn it on (harness plugin enable worktree), abandon this workflow and start it again", root.Cwd),
			Mark:   "worktree",
		}}
	}
	rec, err := f.read(ctx)
	if err != nil || rec.Git == git {
		return err
	}
	_, err = f.change(ctx, func(r *record) error { r.Git = git; return nil })
	return err
}

// suspend has the workflow wait for a person.
func (f *flow) suspend(ctx context.Context, h *held) error {
	rec, err := f.change(ctx, func(r *record) error {
		if r.Iteration == 0 { // it is opened first
			return errAnew
		}
		reason := h.hold.Reason
		if h.stage >= 0 && h.stage < len(r.Stages) {
			r.Stages[h.stage].Hold = &h.hold
			reason = titleOf(r.Stages[h.stage]) + ": " + reason
		}
		reason = cut(reason, 8<<10) + fmt.Sprintf(" (/workflow continue %s goes on; /workflow abandon %s ends it)", short(f.id), short(f.id))
		if r.StoppedBy != "" { // all that were at work go on together
			for i := range r.Stages {
				if s := &r.Stages[i]; s.TaskID != "" && s.Hold == nil && (s.Status == stages.Running || s.Status == stages.Reviewing) && r.builder(i) < 0 {
					s.Hold = &stages.Hold{Reason: h.hold.Reason, Mark: markStopped, Then: wasStopped}
				}
			}
		}
		r.Waited, r.WaitedFor = r.Iteration, &stages.Hold{Reason: reason, Mark: h.hold.Mark, Whole: h.hold.Whole}
		r.Iteration, r.Waits = 0, h.hold.Reason
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.leaveOverBudget(ctx, rec, h); err != nil {
		return err
	}
	f.Fault("suspend", f.id)
	_, err = f.host.Tasks.Suspend(ctx, rec.suspension())
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale { // somebody else has moved it
		return errMoved
	}
	return err
}

// leaveOverBudget leaves a stage's task that has come to its cost limit to the person, too, who raises that of both.
func (f *flow) leaveOverBudget(ctx context.Context, rec record, h *held) error {
	if h.hold.Mark != markCost || h.stage < 0 || h.stage >= len(rec.Stages) {
		return nil
	}
	task, err := f.task(ctx, rec.Stages[h.stage].TaskID)
	if err != nil || task.Status != pluginsdk.TaskRunning || task.CurrentIteration == 0 {
		return err
	}
	_, err = f.host.Tasks.Suspend(ctx, &pluginsdk.SuspendTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Reason: h.hold.Reason, Mark: markCost})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return nil
	}
	return err
}

// suspension leaves the root's task to a person, with the whole work where that can be accepted as it is.
func (r *record) suspension() *pluginsdk.SuspendTaskRequest {
	request := &pluginsdk.SuspendTaskRequest{ID: r.ID, Iteration: r.Waited, Reason: r.WaitedFor.Reason, Mark: r.WaitedFor.Mark}
	if r.WaitedFor.Whole {
		request.Result = r.summary()
	}
	return request
}

// short is the end of an id, which is enough to name a workflow.
func short(id string) string { return id[max(0, len(id)-8):] }

// titleOf names a stage for people.
func titleOf(s stages.Stage) string {
	if scope := s.BatchScope.String(); scope != "" {
		return s.Agent + ", " + scope
	}
	return s.Agent
}

// steps goes through the stages, and hands the workflow in after the last.
func (f *flow) steps(ctx context.Context) error {
	if err := f.route(ctx); err != nil {
		return err
	}
	if err := f.drawUpChecks(ctx); err != nil {
		return err
	}
	for {
		rec, err := f.read(ctx)
		if err != nil {
			return err
		}
		if err := rec.stopped(); err != nil {
			return err
		}
		if rec.RootHold != nil {
			return &held{-1, *rec.RootHold}
		}
		if rec.Redesign != "" {
			if err := f.redesign(ctx, rec); err != nil {
				return err
			}
			continue
		}
		next := rec.next(f.config.Load().SideBySide)
		if len(next) == 0 {
			return f.handIn(ctx)
		}
		if err := f.stages(ctx, next); err != nil {
			return err
		}
	}
}

// stages works on stages, side by side if there are several. One that needs a person does not end
// the others.
func (f *flow) stages(ctx context.Context, next []int) error {
	errs := make([]error, len(next))
	var group errgroup.Group
	for n, i := range next {
		group.Go(func() error {
			errs[n] = f.stage(ctx, i)
			for failures := 1; len(next) > 1 && stuck(errs[n]) && failures < mostFailures; failures++ { // others wait for it
				if !rest(ctx, f.Again<<failures) {
					break
				}
				errs[n] = f.stage(ctx, i)
			}
			if len(next) > 1 {
				errs[n] = f.letPass(ctx, i, errs[n])
			}
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if errors.Is(err, errAnew) {
			return err
		}
	}
	for _, err := range errs {
		if hold := new(held); errors.As(err, &hold) {
			return err
		}
	}
	return errors.Join(errs...)
}

// stuck reports an error after which a stage is not worked on, and nobody knows yet.
func stuck(err error) bool {
	hold := new(held)
	return err != nil && !errors.Is(err, errAnew) && !errors.Is(err, errOver) && !errors.Is(err, errMoved) && !errors.As(err, &hold)
}

// letPass notes that a stage is not worked on any more: the batches behind it that are built beside it do
// not wait for it then.
func (f *flow) letPass(ctx context.Context, i int, err error) error {
	hold := new(held)
	if stuck(err) && ctx.Err() == nil {
		hold = &held{i, stages.Hold{Reason: "it cannot go on: " + err.Error(), Mark: "error"}}
	} else if !errors.As(err, &hold) || hold.stage != i {
		return err
	}
	_, failed := f.change(ctx, func(r *record) error {
		if i < len(r.Stages) && r.Stages[i].Status != stages.Completed {
			r.Stages[i].Hold = &hold.hold
		}
		return nil
	})
	return cmp.Or[error](failed, hold)
}

// next are the stages that are worked on now: the first that is not completed and, where that is a
// batch, up to most-1 of those behind it that the plan marks as independent of what is open.
func (r *record) next(most int) (next []int) {
	first := -1
	for i, s := range r.Stages {
		if s.Status != stages.Completed && r.builder(i) < 0 {
			first = i
			break
		}
	}
	if first < 0 {
		return nil
	}
	next = []int{first}
	if most <= 1 || !r.Git || r.Stages[first].BatchScope == (plan.Scope{}) || r.reviewer(first) < 0 {
		return next
	}
	var scopes []plan.Scope
	var at []int
	for i, s := range r.Stages {
		if s.BatchScope != (plan.Scope{}) && r.reviewer(i) >= 0 {
			scopes, at = append(scopes, s.BatchScope), append(at, i)
		}
	}
	needs := plan.Needs(r.Tasks, scopes)
	for n, i := range at {
		if i <= first || len(next) >= most || r.Stages[i].Status == stages.Completed {
			continue
		}
		ready := true
		for _, on := range needs[n] {
			ready = ready && r.Stages[at[on]].Status == stages.Completed
		}
		if ready {
			next = append(next, i)
		}
	}
	return next
}
