package tasks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is no verdict must never accept or reject: an error is asked about again, and
// then a person has to look.
func TestOnlyAVerdictIsOne(t *testing.T) {
	answers := map[string]struct {
		say  func() (*pluginsdk.OnTaskCompleteResponse, error)
		want pluginsdk.TaskStatus
		mark string
		asks int
	}{
		"accept": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("accept")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskCompleted, "", 1},
		"reject": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("reject")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskRunning, "", 1},
		"none": {func() (*pluginsdk.OnTaskCompleteResponse, error) { return nil, nil }, pluginsdk.TaskCompleted, MarkUnvalidated, 1}, //nolint:nilnil // no opinion
		"unknown": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return says("maybe")(nil, &pluginsdk.OnTaskCompleteRequest{})
		}, pluginsdk.TaskWaiting, "", 3},
		"error": {func() (*pluginsdk.OnTaskCompleteResponse, error) { return nil, errors.New("boom") }, pluginsdk.TaskWaiting, "", 3},
		"not there": {func() (*pluginsdk.OnTaskCompleteResponse, error) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the reviewer is out")
		}, pluginsdk.TaskWaiting, "", 3},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			p := &reviewer{complete: func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
				return answer.say()
			}}
			w := newWorld(t, storetest.Open(t), p)
			task := w.worked(pluginsdk.NewTask{})
			marked := answer.mark == "" && len(task.Marks) == 0 || slices.Equal(task.Marks, []string{answer.mark})
			if calls := p.called(); task.Status != answer.want || !marked || len(calls) != answer.asks || len(slices.Compact(calls)) != 1 {
				t.Errorf("it is %s %q after the calls %q", task.Status, task.Marks, p.called())
			}
			if notices, _ := w.said(); task.Status == pluginsdk.TaskWaiting && (len(notices) != 1 || !strings.Contains(notices[0], "plugin-0 has failed in OnTaskComplete")) {
				t.Errorf("people were told %q", notices)
			}
		})
	}
}

// An operator who lets a gate be passed over gets a task that goes on, after as many
// tries.
func TestAGateThatMayBePassedOver(t *testing.T) {
	boom := func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return nil, errors.New("boom")
	}
	open := &reviewer{complete: boom}
	open.info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookTaskComplete: pluginsdk.FailOpen}
	w := newWorld(t, storetest.Open(t), open, &reviewer{complete: says(pluginsdk.VerdictAccept)})
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || len(open.called()) != 3 {
		t.Errorf("it is %s after %q", task.Status, open.called())
	}
}

// Of several reviewers one that rejects decides, and one that has answered is not
// asked again because another one could not.
func TestReviewersAreAskedOnceEach(t *testing.T) {
	tries := 0
	first := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	second := &reviewer{complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		if tries++; tries < 3 {
			return nil, errors.New("boom")
		}
		return says(pluginsdk.VerdictReject)(ctx, r)
	}}
	third := &reviewer{complete: says(pluginsdk.VerdictAccept)}
	w := newWorld(t, storetest.Open(t), first, second, third)
	task := w.worked(pluginsdk.NewTask{})
	if task.Status != pluginsdk.TaskRunning || len(first.called()) != 1 || len(second.called()) != 3 || len(third.called()) != 0 {
		t.Errorf("it is %s after %q, %q, %q", task.Status, first.called(), second.called(), third.called())
	}
	answers, err := w.store.TaskAnswers(t.Context(), task.ID, 1)
	if err != nil || len(answers) != 2 || answers[0].Answer != "accept" || answers[1].Answer != "reject" || answers[1].Evidence[0].Command != "make" {
		t.Errorf("stored %+v, %v", answers, err)
	}
}

// Reviewers that do not agree accept nothing, in whichever order they are asked: one that rejects
// does so for all, one that waits leaves it to a person, and one that has no verdict is none.
func TestReviewersThatDisagree(t *testing.T) {
	waits := func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictWait, Feedback: "a person decides", Marks: []string{"checks-changed"}}, nil
	}
	fails := func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		return nil, errors.New("boom")
	}
	accepts, rejects := says(pluginsdk.VerdictAccept), says(pluginsdk.VerdictReject)
	type gate = func(context.Context, *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error)
	for name, row := range map[string]struct {
		gates []gate
		want  pluginsdk.TaskStatus
	}{
		"one accepts, one rejects":  {[]gate{accepts, rejects}, pluginsdk.TaskRunning},
		"one rejects, one accepts":  {[]gate{rejects, accepts}, pluginsdk.TaskRunning},
		"two accept, one rejects":   {[]gate{accepts, accepts, rejects}, pluginsdk.TaskRunning},
		"one accepts, one waits":    {[]gate{accepts, waits}, pluginsdk.TaskWaiting},
		"one waits, one accepts":    {[]gate{waits, accepts}, pluginsdk.TaskWaiting},
		"one accepts, one fails":    {[]gate{accepts, fails}, pluginsdk.TaskWaiting},
		"one fails, one accepts":    {[]gate{fails, accepts}, pluginsdk.TaskWaiting},
		"one says what none can":    {[]gate{accepts, says("accepted")}, pluginsdk.TaskWaiting},
		"one that waits goes first": {[]gate{waits, rejects}, pluginsdk.TaskWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			handed := 0
			var plugins []*reviewer
			for _, complete := range row.gates {
				plugins = append(plugins, &reviewer{complete: complete, validated: func(context.Context, *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
					handed++
					return nil, nil //nolint:nilnil // nothing to say
				}})
			}
			w := newWorld(t, storetest.Open(t), plugins...)
			if task := w.worked(pluginsdk.NewTask{Cwd: "/repo"}); task.Status != row.want || handed != 0 {
				t.Errorf("it is %s, handed over %d times", task.Status, handed)
			}
		})
	}
}

// Work that nobody has looked at must not be merged; what is only words is handed over
// and says so.
func TestWorkThatNobodyValidates(t *testing.T) {
	var handed []pluginsdk.Task
	p := &reviewer{validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
		handed = append(handed, r.Task)
		return nil, nil //nolint:nilnil // nothing to say
	}}
	w := newWorld(t, storetest.Open(t), p)
	if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCompleted || !slices.Equal(task.Marks, []string{"unvalidated"}) {
		t.Errorf("words: %s %q", task.Status, task.Marks)
	}
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	if task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{"unvalidated"}) || len(handed) != 1 {
		t.Fatalf("files: %s %q, handed over %d times", task.Status, task.Marks, len(handed))
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept, Author: "Ann"})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(task.Marks) != 0 || len(handed) != 2 {
		t.Errorf("after a person's word: %s %q, handed over %d times", task.Status, task.Marks, len(handed))
	}
	answers, err := w.store.TaskAnswers(t.Context(), task.ID, 1)
	if err != nil || len(answers) != 2 || answers[0].Author != "Ann" || answers[0].Plugin != "web" || answers[0].Answer != "accept" {
		t.Errorf("stored %+v, %v", answers, err)
	}
}

// What it was made for has moved: the work is looked at again and no iteration is paid
// for; a conflict is a person's; an error is neither.
func TestAHandoverCanFail(t *testing.T) {
	answers := []any{pluginsdk.HandoverAgain, errors.New("boom"), pluginsdk.HandoverWait, pluginsdk.HandoverDone}
	var evidence []pluginsdk.Evidence
	p := &reviewer{
		complete: says(pluginsdk.VerdictAccept),
		validated: func(_ context.Context, r *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
			answer := answers[0]
			answers, evidence = answers[1:], r.Evidence
			if err, ok := answer.(error); ok {
				return nil, err
			}
			return &pluginsdk.OnTaskValidatedResponse{Handover: answer.(pluginsdk.Handover), Reason: "it has moved", Mark: "conflict"}, nil
		},
	}
	w := newWorld(t, storetest.Open(t), p)
	task := w.worked(pluginsdk.NewTask{Cwd: "/repo"})
	if task.Status != pluginsdk.TaskWaiting || !slices.Equal(task.Marks, []string{"conflict"}) || task.Error != "it has moved" || task.CurrentIteration != 1 {
		t.Fatalf("it is %+v", task)
	}
	if calls := p.called(); len(calls) != 5 { // reviewed, again, reviewed, an error, wait
		t.Errorf("called %q", calls)
	}
	w.must(func(ctx context.Context, room *Room) error {
		_, err := room.Decide(ctx, ledger.By{Plugin: "web"}, pluginsdk.DecideTaskRequest{ID: task.ID, Verdict: pluginsdk.VerdictAccept})
		return err
	})
	if task = w.settled(task.ID); task.Status != pluginsdk.TaskCompleted || len(p.called()) != 6 || len(evidence) != 1 || evidence[0].Tree != "tree 1" {
		t.Errorf("it is %s %q after %q, handed over with %+v", task.Status, task.Marks, p.called(), evidence)
	}
	if calls := p.called(); calls[4] == calls[5] {
		t.Errorf("two handovers are one call: %q", calls)
	}
	answers = slices.Repeat([]any{pluginsdk.HandoverAgain}, 100)
	w.boot.room.config.MaxAgains = 2
	if task = w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskWaiting || len(answers) != 97 {
		t.Errorf("without end: %s after %d", task.Status, 100-len(answers))
	}
}

// A hundred tasks that are handed in at once would have a reviewer ask for more turns than
// a plugin may; that it was refused them is not its failure, and no matter for a person.
func TestHooksAreAskedAFewAtATime(t *testing.T) {
	var refusals, at, most atomic.Int32
	full, open := make(chan struct{}), make(chan struct{})
	p := &reviewer{}
	p.create = func(ctx context.Context, _ *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
		now := at.Add(1)
		defer at.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		select {
		case full <- struct{}{}:
		case <-open:
		}
		select {
		case <-open:
			return nil, nil //nolint:nilnil // nothing to say
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.complete = func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
		if refusals.Add(1) <= 20 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "100 turns wait already")
		}
		return says(pluginsdk.VerdictAccept)(ctx, r)
	}
	w := newWorld(t, storetest.Open(t), p)
	ids := make([]string, askedAtOnce+4)
	for n := range ids {
		ids[n] = w.create(pluginsdk.NewTask{})
	}
	for range askedAtOnce {
		<-full
	}
	close(open)
	for _, id := range ids {
		if task := w.settled(id); task.Status != pluginsdk.TaskRunning {
			t.Errorf("begun as %s", task.Status)
		}
	}
	if n := most.Load(); n > askedAtOnce {
		t.Errorf("%d were asked at once", n)
	}
	w.iterate(ids[0])
	w.evaluate(ids[0])
	if task := w.settled(ids[0]); task.Status != pluginsdk.TaskCompleted || task.Error != "" {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
}

// Too much of a plugin's words would fill the database and every prompt.
func TestWordsAreBounded(t *testing.T) {
	long := strings.Repeat("é", maxWords)
	if got := cut(long); len(got) > maxWords+10 || !strings.HasSuffix(got, "[cut]") {
		t.Errorf("%d bytes", len(got))
	}
	evidence := bounded(slices.Repeat([]pluginsdk.Evidence{{Output: long + "end", Diff: long}}, 2*maxEvidence))
	if len(evidence) != maxEvidence || !strings.HasSuffix(evidence[0].Output, "end") || len(evidence[0].Diff) > maxWords+10 {
		t.Errorf("%d pieces, %d bytes", len(evidence), len(evidence[0].Diff))
	}
	relative := "worktree"
	for _, c := range []pluginsdk.TaskContext{{Cwd: relative}, {Context: strings.Repeat("x", maxContext+1)}, {Labels: map[string]string{"a": strings.Repeat("x", maxLabels)}},
		{PermissionMode: "everything"}, {AllowedTools: []string{"Bash(make)", strings.Repeat("x", maxRules)}}} {
		wantCode(t, checkContext(c), pluginsdk.CodeInvalid)
	}
	if got := title(ledger.Task{Task: pluginsdk.Task{Prompt: strings.Repeat("x", 100)}}); len([]rune(got)) != titleMax+2 {
		t.Errorf("%q", got)
	}
	if err := checkContext(pluginsdk.TaskContext{Cwd: "/x"}); err != nil {
		t.Error(err)
	}
}

// A verdict on a task that somebody else has moved meanwhile, here or in another daemon,
// must not undo that.
func TestAnAnswerThatComesTooLateIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var w *world
		p := &reviewer{complete: func(ctx context.Context, r *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
			move, err := w.boot.room.giveUp(w.state(r.Task.ID), cancel, "enough")
			if err == nil {
				_, err = s.MoveTask(ctx, move)
			}
			if err != nil {
				t.Error(err)
			}
			return says(pluginsdk.VerdictReject)(ctx, r)
		}}
		w = newWorld(t, s, p)
		if task := w.worked(pluginsdk.NewTask{}); task.Status != pluginsdk.TaskCancelled || task.ValidationIterations != 0 {
			t.Errorf("it is %s, rejected %d times", task.Status, task.ValidationIterations)
		}
	})
}
