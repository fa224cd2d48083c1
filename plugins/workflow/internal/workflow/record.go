package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Labels of the tasks of a workflow.
const (
	labelRoot   = "workflow.root" // of the root; its value says nothing
	labelID     = "workflow.id"   // of a stage's task: the root
	labelStage  = "workflow.stage"
	labelAgent  = "workflow.agent"
	labelBatch  = "workflow.batch"
	labelAsked  = "workflow.stages" // the stages that a person has named
	labelBatchN = "workflow.batch-size"
	// What other plugins read.
	labelScope = "validation.scope"
	labelKeep  = "worktree.keep"
)

// record is all that is known of a workflow. Only State is written to the directory .brain too:
// what a builder could use to be approved stays outside of what builders write.
type record struct {
	stages.State

	// Acceptance are the checks that were drawn up from the request before anything was planned.
	Acceptance []string `json:"acceptance,omitempty"`
	// Unreviewed says that the stages with which the workflow began have no reviewer: a person wants none.
	// Whatever is planned later makes no difference.
	Unreviewed bool                  `json:"unreviewed,omitempty"`
	Roles      map[string]roles.Role `json:"roles"`             // as they were when the workflow began
	Tasks      []plan.Task           `json:"tasks,omitempty"`   // of the plan in force
	Planned    []plan.Task           `json:"planned,omitempty"` // of the plan of an architect's stage that has passed its checks
	Left       string                `json:"left,omitempty"`    // what the last stage left, in its worker's words

	Iteration int `json:"iteration,omitempty"` // of the root, that is open; 0: none
	// Handed is the iteration of the root that was handed in last, and Waited the one with which it was
	// left to a person, until another one is open; 0: none.
	Handed    int          `json:"handed,omitempty"`
	Waited    int          `json:"waited,omitempty"`
	WaitedFor *stages.Hold `json:"waitedFor,omitempty"` // what the person is told
	Returned  int          `json:"returned,omitempty"`  // how often others than reviewers have sent the whole work back, in a row

	// Bases are, in a directory without git, what its tasks have begun with, by the keys of their desks.
	Bases map[string]base `json:"bases,omitempty"`

	StoppedBy   string       `json:"stoppedBy,omitempty"`   // the person who has stopped it; empty: nobody
	StopNext    bool         `json:"stopNext,omitempty"`    // it was stopped after a person had it go on, and before it did
	Redesign    string       `json:"redesign,omitempty"`    // the findings of a review that asks for another plan
	ChecksOnly  bool         `json:"checksOnly,omitempty"`  // reviewing costs too much: batches are checked by the project's checks only
	FinalHold   string       `json:"finalHold,omitempty"`   // why the last review waits for a person
	FinalWaived string       `json:"finalWaived,omitempty"` // the person who accepts all as it is
	RootHold    *stages.Hold `json:"rootHold,omitempty"`    // why the workflow as a whole waits for a person
	// FinalTree and FinalPatch name the work that FinalHold is about.
	FinalTree  string `json:"finalTree,omitempty"`
	FinalPatch string `json:"finalPatch,omitempty"`
	// Unheard is what reviews have cost that do not count, by their runs.
	Unheard   map[string]float64 `json:"unheard,omitempty"`
	Announced string             `json:"announced,omitempty"` // the last line that was said in the workflow's thread
	Demo      bool               `json:"demo,omitempty"`      // the demo agent has built or reviewed some of it: no model has
}

// stopped is the error of a workflow that a person has stopped.
func (r *record) stopped() error {
	if r.StoppedBy == "" {
		return nil
	}
	return &held{-1, stages.Hold{Reason: "stopped by " + r.StoppedBy, Mark: markStopped}}
}

// begin gives the workflow the stages that it begins with.
func (r *record) begin(list []stages.Stage) {
	r.Stages = list
	r.Unreviewed = !slices.ContainsFunc(list, func(s stages.Stage) bool { return s.Role() == stages.Reviewer })
	r.forgetRoles()
}

// stage is the index of the stage that a task is of; -1: none.
func (r *record) stage(taskID string) int {
	return slices.IndexFunc(r.Stages, func(s stages.Stage) bool { return s.TaskID == taskID })
}

// reviewer is the index of the stage that reviews what the stage i builds; -1: none does.
func (r *record) reviewer(i int) int {
	if i < 0 || r.Stages[i].Role() != stages.Builder {
		return -1
	}
	for n := i + 1; n < len(r.Stages); n++ {
		switch s := r.Stages[n]; {
		case s.Role() == stages.Builder:
			return -1
		case s.Role() == stages.Reviewer && s.BatchScope == r.Stages[i].BatchScope:
			return n
		}
	}
	return -1
}

// builder is the index of the stage that builds what the stage i reviews; -1: none does.
func (r *record) builder(i int) int {
	for n := i - 1; n >= 0; n-- {
		if r.Stages[n].Role() == stages.Builder && r.reviewer(n) == i {
			return n
		}
	}
	return -1
}

// flow is one workflow in this process.
type flow struct {
	*Plugin
	id     string
	driven bool // guarded by Plugin.mu
	locks  int  // how often the directory's lock was held by somebody else, in a row; of drive
	// deciding is held while a person's word is noted and given to the tasks.
	deciding sync.Mutex
	atWork   sync.Map // the runs of turns that are waited for

	mu       sync.Mutex
	rec      *record // as it was stored last; nil: it was not read yet
	revision int64
	brain    *brain.Brain // of the directory, which is locked; nil: it is not
	release  func()       // unlocks it
	unsaved  string       // why .brain could not be written last
}

const (
	recordPrefix = "workflow/"
	openPrefix   = "open/" // of the keys of workflows of which it is not noted that they are over
)

// awaitTurn waits for a turn of the agent. While it does, a stop can end the turn.
func (f *flow) awaitTurn(ctx context.Context, runID string) (*pluginsdk.WaitTurnResponse, error) {
	f.atWork.Store(runID, true)
	defer f.atWork.Delete(runID)
	if rec, err := f.read(ctx); err == nil && rec.StoppedBy != "" { // before the turn was known to be at work
		if _, err := f.host.Agent.Cancel(ctx, &pluginsdk.CancelTurnRequest{RunID: runID}); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return nil, err
		}
	}
	return f.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: runID})
}

func (f *flow) turnsAtWork() (runs []string) {
	f.atWork.Range(func(run, _ any) bool { runs = append(runs, run.(string)); return true })
	return runs
}

// read returns the workflow's record. CodeNotFound: there is none.
func (f *flow) read(ctx context.Context) (record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec == nil {
		if err := f.load(ctx); err != nil {
			return record{}, err
		}
	}
	return clone(f.rec)
}

func (f *flow) load(ctx context.Context) error {
	answer, err := f.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: recordPrefix + f.id})
	if err != nil {
		return err
	}
	rec := new(record)
	if err := json.Unmarshal(answer.Entry.Value, rec); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "the record of workflow %s cannot be read: %w; abandon it, and start another", f.id, err)
	}
	f.rec, f.revision = rec, answer.Entry.Revision
	return nil
}

func clone(rec *record) (copied record, err error) {
	raw, err := json.Marshal(rec)
	if err == nil {
		err = json.Unmarshal(raw, &copied)
	}
	return copied, err
}

// change changes the record and stores it, first in the plugin's state and then in .brain. Another
// process of the plugin may have changed it meanwhile: then by is called again, on what that
// one has stored. An error of by changes nothing.
func (f *flow) change(ctx context.Context, by func(*record) error) (record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range 10 {
		if f.rec == nil {
			if err := f.load(ctx); err != nil {
				return record{}, err
			}
		}
		next, err := clone(f.rec)
		if err != nil {
			return record{}, err
		}
		if err := by(&next); err != nil {
			return record{}, err
		}
		err = f.put(ctx, &next)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
			f.rec = nil
			continue
		}
		if err != nil {
			f.rec = nil // whether it was stored is not known
			return record{}, err
		}
		f.Fault("stored", f.id)
		f.mirror(next.State)
		f.moved.raise()
		return clone(&next)
	}
	return record{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the record of workflow %s is changed by another process all the time; try again", f.id)
}

func (f *flow) put(ctx context.Context, rec *record) error {
	raw, err := rec.encoded()
	if err != nil {
		return err
	}
	answer, err := f.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: recordPrefix + f.id, Value: raw, If: &pluginsdk.StateCondition{Revision: f.revision}})
	if err != nil {
		return err
	}
	f.rec, f.revision = rec, answer.Revision
	return nil
}

// create stores the first record of a workflow, unless there is one.
func (f *flow) create(ctx context.Context, rec record) error {
	if _, err := f.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: openPrefix + f.id, Value: []byte("open")}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec == nil {
		f.revision = 0
		if err := f.load(ctx); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return err
		}
		if err := f.put(ctx, &rec); err != nil {
			f.rec = nil
			if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
				return err
			}
			return f.load(ctx)
		}
	}
	return nil
}

// mirror writes the state to .brain. The record is the truth: a directory that cannot be written
// stops nothing, and is logged once for each reason. The caller holds the lock.
func (f *flow) mirror(state stages.State) {
	if f.brain == nil { // the directory is not this process's
		return
	}
	err := f.brain.Save(state)
	reason := fmt.Sprint(err)
	if err != nil && reason != f.unsaved {
		f.log.Warn("the state of a workflow could not be written to its directory; it goes on from the database", "workflow", f.id, "dir", state.Dir, "err", err)
	}
	f.unsaved = reason
}

// relock locks the directory of a workflow that is not at work, so that the state there says what
// becomes of it. Where that cannot be done, or another workflow has begun there, it does nothing.
func (f *flow) relock(ctx context.Context) {
	err := f.lockFor(ctx, func(state stages.State, found bool) bool { return !found || state.ID == f.id })
	if err != nil && ctx.Err() == nil {
		f.log.Debug("a workflow's directory is not locked while it is not at work", "workflow", f.id, "err", err)
	}
}

// lock has the directory locked for this workflow, and looks at the state that lies there: one that
// cannot be read is set aside, and said. It does nothing when it was done before.
func (f *flow) lock(ctx context.Context) error {
	return f.lockFor(ctx, func(stages.State, bool) bool { return true })
}

// lockFor locks the directory if the state that lies there is one that it is to be locked for.
func (f *flow) lockFor(ctx context.Context, is func(state stages.State, found bool) bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.brain != nil {
		return nil
	}
	if f.rec == nil {
		if err := f.load(ctx); err != nil {
			return err
		}
	}
	b, err := brain.Open(f.rec.Dir)
	if err != nil {
		return err
	}
	release, err := b.Lock(f.id)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	state, found, err := b.Load()
	if err == nil && !is(state, found) {
		release()
		return b.Close()
	}
	if errors.Is(err, brain.ErrSetAside) {
		f.say(ctx, "aside/"+now().Format(time.RFC3339), err.Error()+". The workflow goes on from the database.")
		err = nil
	}
	if err != nil {
		release()
		return errors.Join(err, b.Close())
	}
	f.brain, f.release = b, release
	f.mirror(f.rec.State)
	return nil
}

// unlock gives the directory back.
func (f *flow) unlock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.brain != nil {
		f.release()
		_ = f.brain.Close()
		f.brain, f.release = nil, nil
	}
}

// say appends a line to the workflow's thread, once for each key. It only informs.
func (f *flow) say(ctx context.Context, key, words string) {
	answer, err := f.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: f.id})
	if err == nil {
		_, err = f.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{ThreadID: answer.Task.ThreadID, Key: f.id + "/" + key, Messages: []pluginsdk.NewMessage{{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: name, Content: words,
		}}})
	}
	if err != nil && ctx.Err() == nil {
		f.log.Warn("a line could not be said in a workflow's thread", "workflow", f.id, "err", err)
	}
	f.log.Info(words, "workflow", f.id)
}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
