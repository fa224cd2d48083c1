package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How much is kept of what plugins say of a task, in bytes, and how many pieces of
// evidence.
const (
	maxContext  = 256 << 10
	maxLabels   = 16 << 10
	maxRules    = 16 << 10
	maxMarks    = 16
	maxMark     = 64
	maxCwd      = 4 << 10
	maxWords    = 64 << 10
	maxEvidence = 100
	maxName     = 2 << 10 // each of the names in a piece of evidence
	// maxTexts are the outputs and diffs of one answer's evidence together, and maxShown is
	// what a call is shown of all evidence: what is asked has to fit into a message of the
	// wire (16 MiB) with the task and its result, whatever others have answered.
	maxTexts = 1 << 20
	maxShown = 6 << 20
)

// question is one plugin that is asked in a task's phase.
type question struct {
	room    *Room
	task    ledger.Task
	plugin  hooks.Plugin
	answers []ledger.TaskAnswer // of the iteration, so far
	cause   string              // the run that what the plugin does comes from; empty: none
	reached bool                // the plugin serves: what went wrong is its own
}

func (q *question) hook() pluginsdk.Hook { return hookOf[q.task.Phase] }

// put asks, and returns the move that follows from the answer.
func (q *question) put(ctx context.Context) (_ ledger.TaskMove, err error) {
	if q.cause, err = q.causeRun(ctx); err != nil {
		return ledger.TaskMove{}, err
	}
	switch q.task.Phase {
	case ledger.PhaseCreating:
		return q.create(ctx)
	case ledger.PhaseReviewing:
		return q.review(ctx)
	case ledger.PhaseHanding:
		return q.handOver(ctx)
	case ledger.PhaseEnding:
		return q.tell(ctx)
	case ledger.PhaseIdle:
	}
	return ledger.TaskMove{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "task %s: nobody is asked in its phase %q", q.task.ID, q.task.Phase)
}

// causeRun is the run that what the hook does comes from: the task's iteration, before
// there is one the run that the task was made in. One that was deleted by hand is none.
func (q *question) causeRun(ctx context.Context) (string, error) {
	for _, id := range []string{q.task.RunID, q.task.CauseRunID} {
		if id == "" {
			continue
		}
		if _, err := q.room.store.Run(ctx, id); err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return id, err
		}
	}
	return "", nil
}

// occasion is what the calls of a phase share. Their ids are the same when they are
// repeated, and others in another round.
func (q *question) occasion() *hooks.Occasion {
	return &hooks.Occasion{
		Behalf: ledger.Behalf{TaskID: q.task.ID, CauseRunID: q.cause, Apart: q.task.Origin.Apart},
		Call:   pluginsdk.Call{ID: fmt.Sprintf("%s:%d", q.task.ID, q.task.Round), Attempt: q.task.Failures + 1},
	}
}

func call[Req, Res any](ctx context.Context, q *question, request func(pluginsdk.Call) *Req,
	method func(hooks.Process, context.Context, *Req) (*Res, error),
) (*Res, error) {
	return hooks.One(ctx, q.room.hooks, q.occasion(), q.plugin, hooks.Question[Req, Res]{
		Hook: q.hook(), Ask: method,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *Req {
			q.reached = true
			return request(call)
		},
	})
}

// answer is a move with what the plugin has said.
func (q *question) answer(v verb, answer, feedback string, evidence []pluginsdk.Evidence, changes ...func(*ledger.Task)) (ledger.TaskMove, error) {
	move, err := moveBy(q.task, v, func(to *ledger.Task) {
		for _, change := range changes {
			change(to)
		}
	})
	move.Answer = &ledger.TaskAnswer{
		TaskID: q.task.ID, Iteration: q.task.CurrentIteration, Round: q.task.Round, Phase: q.task.Phase, Plugin: q.plugin.Info().Name,
		Answer: answer, Feedback: cut(feedback), Evidence: given(q.plugin.Info().Name, evidence), At: time.Now(),
	}
	return move, err
}

// create asks one plugin of OnTaskCreate's chain: what it changes is stored before the
// next is asked.
func (q *question) create(ctx context.Context) (ledger.TaskMove, error) {
	was := pluginsdk.TaskContext{
		Cwd: q.task.Cwd, Context: q.task.Context, Labels: q.task.Labels, PermissionMode: q.task.PermissionMode, AllowedTools: q.task.AllowedTools,
	}
	said, err := call(ctx, q, func(call pluginsdk.Call) *pluginsdk.OnTaskCreateRequest {
		return &pluginsdk.OnTaskCreateRequest{Call: call, Task: q.task.Task, Context: was}
	}, hooks.Process.OnTaskCreate)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	is := was.Changed(said)
	if err := checkContext(is); err != nil {
		return ledger.TaskMove{}, err
	}
	permits, err := q.permits(was, is)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	if is.Cwd != was.Cwd && !q.mayPermit() {
		is = withoutRights(is)
	}
	move, err := q.answer(note, ledger.AnswerTold, "", nil, func(to *ledger.Task) {
		to.Cwd, to.Context, to.Labels, to.PermissionMode, to.AllowedTools = is.Cwd, is.Context, is.Labels, is.PermissionMode, is.AllowedTools
		switch is.Cwd {
		case was.Cwd:
		case to.FirstCwd:
			to.CwdPlugin = ""
		default:
			to.CwdPlugin = q.plugin.Info().Name
		}
	})
	move.Permits = permits
	return move, err
}

// mayPermit reports whether the plugin may say what the task's runs may do.
func (q *question) mayPermit() bool {
	return slices.Contains(q.plugin.Info().Granted, pluginsdk.CapThreadsAdmin)
}

// withoutRights is the context of a task that a plugin without threads.admin has moved: what
// its runs may do unasked was said of another directory.
func withoutRights(c pluginsdk.TaskContext) pluginsdk.TaskContext {
	switch c.PermissionMode {
	case "plan", "default", "dontAsk": // they let it do no more than any task
	default:
		c.PermissionMode = ""
	}
	c.AllowedTools = nil
	return c
}

// permits says in words where the plugin moves the task, and what it lets the task do beyond
// what it might; that is refused (CodeDenied) to one which has not been granted threads.admin.
func (q *question) permits(was, is pluginsdk.TaskContext) (string, error) {
	var words []string
	if is.PermissionMode != was.PermissionMode {
		words = append(words, fmt.Sprintf("permissionMode from %q to %q", was.PermissionMode, is.PermissionMode))
	}
	if len(is.AllowedTools) > len(was.AllowedTools) {
		words = append(words, fmt.Sprintf("allowedTools from %.1000q to %.1000q", was.AllowedTools, is.AllowedTools))
	}
	if info := q.plugin.Info(); len(words) > 0 && !q.mayPermit() {
		return "", pluginsdk.Errorf(pluginsdk.CodeDenied, "%s: the plugin %s lacks the capability %s: harness plugin grant %s %s",
			strings.Join(words, ", "), info.Name, pluginsdk.CapThreadsAdmin, info.Name, pluginsdk.CapThreadsAdmin)
	}
	if is.Cwd != was.Cwd {
		words = append(words, fmt.Sprintf("cwd from %q to %q", was.Cwd, is.Cwd))
	}
	return strings.Join(words, ", "), nil
}

func checkContext(c pluginsdk.TaskContext) error {
	labels, rules := 0, len(strings.Join(c.AllowedTools, ""))
	for name, value := range c.Labels {
		labels += len(name) + len(value)
	}
	if err := ledger.CheckPermissionMode(c.PermissionMode); err != nil {
		return err
	}
	switch {
	case c.Cwd != "" && !filepath.IsAbs(c.Cwd):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd: %.100q is not an absolute path", c.Cwd)
	case len(c.Cwd) > maxCwd, len(c.Context) > maxContext, labels > maxLabels, rules > maxRules:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "cwd, context, labels, allowedTools: %d, %d, %d and %d bytes are more than the %d, %d, %d and %d allowed",
			len(c.Cwd), len(c.Context), labels, rules, maxCwd, maxContext, maxLabels, maxRules)
	}
	return nil
}

// review asks one plugin of OnTaskComplete's gate. Only a rejection is one.
func (q *question) review(ctx context.Context) (ledger.TaskMove, error) {
	result, err := q.result(ctx)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	said, err := call(ctx, q, func(call pluginsdk.Call) *pluginsdk.OnTaskCompleteRequest {
		return &pluginsdk.OnTaskCompleteRequest{Call: call, Task: q.task.Task, Result: result, Evidence: shown(q.task, q.answers, q.task.Round)}
	}, hooks.Process.OnTaskComplete)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	if said == nil {
		said = &pluginsdk.OnTaskCompleteResponse{}
	}
	switch said.Verdict {
	case "", pluginsdk.VerdictAccept:
		marks := q.task.Marks
		for _, mark := range said.Marks {
			marks = marked(marks, cutTo(mark, maxMark))
		}
		if len(marks) > maxMarks { // one that is left out would hold nothing back
			return ledger.TaskMove{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "marks: the task would have %d, and has at most %d", len(marks), maxMarks)
		}
		return q.answer(note, string(said.Verdict), said.Feedback, said.Evidence, func(to *ledger.Task) { to.Marks = marks })
	case pluginsdk.VerdictWait:
		return q.wait(string(said.Verdict), said.Feedback, said.Evidence, said.Marks...)
	case pluginsdk.VerdictReject:
	default:
		return ledger.TaskMove{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "verdict: %.50q is not one of accept, reject, wait and none", said.Verdict)
	}
	rejections := q.task.ValidationIterations + 1
	if rejections >= q.task.MaxValidationIterations {
		move, err := q.room.giveUp(q.task, fail, "rejected: "+cut(said.Feedback))
		if err != nil {
			return move, err
		}
		told, err := q.answer(note, string(said.Verdict), said.Feedback, said.Evidence)
		move.Answer, move.To.ValidationIterations = told.Answer, rejections
		return move, err
	}
	return q.answer(reject, string(said.Verdict), said.Feedback, said.Evidence, func(to *ledger.Task) {
		to.ValidationIterations, to.Feedback = rejections, cut(said.Feedback)
	})
}

// result is what the latest iteration came to, in its plugin's words where the run has
// none.
func (q *question) result(ctx context.Context) (pluginsdk.InvokeResult, error) {
	result := pluginsdk.InvokeResult{Text: q.task.Result}
	if q.task.RunID == "" {
		return result, nil
	}
	run, err := q.room.store.Run(ctx, q.task.RunID)
	if err == nil && run.State == pluginsdk.RunMerged {
		run, err = q.room.store.Run(ctx, run.MergedInto)
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return result, nil // it was deleted by hand
	}
	if err == nil && run.Result != nil {
		result = *run.Result
	}
	return result, err
}

// handOver asks one plugin of OnTaskValidated.
func (q *question) handOver(ctx context.Context) (ledger.TaskMove, error) {
	said, err := call(ctx, q, func(call pluginsdk.Call) *pluginsdk.OnTaskValidatedRequest {
		return &pluginsdk.OnTaskValidatedRequest{Call: call, Task: q.task.Task, Evidence: accepting(q.task, q.answers)}
	}, hooks.Process.OnTaskValidated)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	if said == nil {
		said = &pluginsdk.OnTaskValidatedResponse{}
	}
	goBack, err := q.goBack(ctx, said.CwdGone)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	switch said.Handover {
	case "", pluginsdk.HandoverDone:
		return q.answer(note, string(pluginsdk.HandoverDone), said.Reason, nil, goBack)
	case pluginsdk.HandoverAgain:
		if q.task.Agains < q.room.config.MaxAgains {
			return q.answer(again, string(said.Handover), said.Reason, nil, goBack, func(to *ledger.Task) { to.Agains, to.Round = to.Agains+1, to.Round+1 })
		}
		said.Reason = fmt.Sprintf("it was evaluated %d times and could not be handed over: %s", q.task.Agains+1, said.Reason)
	case pluginsdk.HandoverWait:
	default:
		return ledger.TaskMove{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "handover: %.50q is not one of done, again, wait", said.Handover)
	}
	move, err := q.wait(string(said.Handover), said.Reason, nil, said.Mark)
	goBack(&move.To)
	return move, err
}

// wait leaves the task to a person, for the reason that the plugin gives. The answer of the
// plugin is stored with the move.
func (q *question) wait(answer, reason string, evidence []pluginsdk.Evidence, marks ...string) (ledger.TaskMove, error) {
	move, err := q.room.leaveToAPerson(q.task, wait, cut(reason), "")
	if err != nil {
		return move, err
	}
	for _, mark := range marks {
		move.To.Marks = marked(move.To.Marks, cutTo(mark, maxMark))
	}
	if len(move.To.Marks) > maxMarks {
		return ledger.TaskMove{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "marks: the task would have %d, and has at most %d", len(move.To.Marks), maxMarks)
	}
	told, err := q.answer(note, answer, reason, evidence)
	move.Answer = told.Answer
	return move, err
}

// goBack returns what puts a task whose directory is no more, as the plugin says, back to where it
// was before OnTaskCreate, with the rights that it had there. Another plugin than the one that
// gave the directory is not believed while it is there: gates would no longer know whose word on
// the work counts.
func (q *question) goBack(ctx context.Context, gone bool) (change func(to *ledger.Task), err error) {
	if gone && q.task.CwdPlugin != q.plugin.Info().Name {
		_, err := os.Stat(q.task.Cwd)
		gone = errors.Is(err, fs.ErrNotExist)
	}
	if !gone {
		return func(*ledger.Task) {}, nil
	}
	thread, err := q.room.store.Thread(ctx, q.task.ThreadID)
	return func(to *ledger.Task) {
		to.Cwd, to.CwdPlugin, to.PermissionMode, to.AllowedTools = to.FirstCwd, "", thread.PermissionMode, to.AskedAllowedTools
	}, err
}

// shown is the evidence of the plugins that have accepted the work in a round, and of those
// that had no opinion, in their order, as much as a call is shown. What the plugin says that
// gave the task its directory is always among it: others cannot crowd it out.
func shown(task ledger.Task, answers []ledger.TaskAnswer, round int) (evidence []pluginsdk.Evidence) {
	whole := func(a ledger.TaskAnswer) bool { return task.CwdPlugin != "" && a.Plugin == task.CwdPlugin }
	pieces := make([][]pluginsdk.Evidence, len(answers))
	left := maxShown
	for i, a := range answers {
		if a.Round != round || a.Author != "" || a.Phase != ledger.PhaseReviewing || a.Answer == string(pluginsdk.VerdictReject) {
			continue
		}
		pieces[i] = given(a.Plugin, a.Evidence)
		if whole(a) {
			left -= size(pieces[i]...)
		}
	}
	for i, a := range answers {
		for _, e := range pieces[i] {
			if !whole(a) {
				left -= size(e)
			}
			if whole(a) || left >= 0 {
				evidence = append(evidence, e)
			}
		}
	}
	return evidence
}

// size is how many bytes evidence takes.
func size(evidence ...pluginsdk.Evidence) (bytes int) {
	for _, e := range evidence {
		bytes += len(e.Kind) + len(e.Command) + len(e.File) + len(e.Tree) + len(e.Plugin) + len(e.Output) + len(e.Diff)
	}
	return bytes
}

// accepting is what was shown in the round in which the work was accepted: what
// an older one has seen need not be there any more. A person who accepts does so with what
// was there when the task began to wait.
func accepting(task ledger.Task, answers []ledger.TaskAnswer) []pluginsdk.Evidence {
	round := task.Round
	for slices.ContainsFunc(answers, func(a ledger.TaskAnswer) bool { return a.Round == round && a.Author != "" }) {
		round--
	}
	return shown(task, answers, round)
}

// tell tells one plugin of OnTaskFailed.
func (q *question) tell(ctx context.Context) (ledger.TaskMove, error) {
	said, err := call(ctx, q, func(call pluginsdk.Call) *pluginsdk.OnTaskFailedRequest {
		return &pluginsdk.OnTaskFailedRequest{Call: call, Task: q.task.Task, Reason: q.task.Error}
	}, hooks.Process.OnTaskFailed)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	goBack, err := q.goBack(ctx, said != nil && said.CwdGone)
	if err != nil {
		return ledger.TaskMove{}, err
	}
	return q.answer(note, ledger.AnswerTold, "", nil, goBack, func(to *ledger.Task) {
		if said != nil && said.Note != "" {
			to.Error = cut(to.Error + "; " + said.Note)
		}
	})
}

// cut bounds a plugin's words.
func cut(words string) string { return cutTo(words, maxWords) }

func cutTo(words string, most int) string {
	if len(words) <= most {
		return words
	}
	return strings.ToValidUTF8(words[:most], "") + " [cut]"
}

// given is evidence with the plugin that gave it, whatever it says of that itself, as much
// of it as is kept.
func given(plugin string, evidence []pluginsdk.Evidence) []pluginsdk.Evidence {
	evidence = bounded(evidence)
	for i := range evidence {
		evidence[i].Plugin = plugin
	}
	return evidence
}

// bounded keeps of evidence as much as is kept: of outputs their ends, and the names of all
// pieces.
func bounded(evidence []pluginsdk.Evidence) []pluginsdk.Evidence {
	evidence = slices.Clone(evidence[:min(len(evidence), maxEvidence)])
	left := maxTexts
	for i := range evidence {
		e := &evidence[i]
		e.Kind, e.Command, e.File, e.Tree = cutTo(e.Kind, maxName), cutTo(e.Command, maxName), cutTo(e.File, maxName), cutTo(e.Tree, maxName)
		if most := min(maxWords, left); len(e.Output) > most {
			e.Output = "[cut] " + strings.ToValidUTF8(e.Output[len(e.Output)-most:], "")
		}
		left = max(0, left-len(e.Output))
		e.Diff = cutTo(e.Diff, min(maxWords, left))
		left = max(0, left-len(e.Diff))
	}
	return evidence
}
