package validation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/plugins/validation/internal/checks"
	"github.com/seed-706843ae/harness/plugins/validation/internal/review"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// markDemo is on a task that no model has reviewed. Such work is merged by a person's word
// only.
const markDemo = "demo"

// OnTaskComplete runs the project's checks on the work, and then asks the reviewer. What
// is no verdict is an error, after which the core asks again, and in the end a person.
func (p *Plugin) OnTaskComplete(ctx context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	config := p.config.Load()
	scope := config.scopeOf(request.Task, request.Task.Labels)
	if scope == scopeNone {
		return &pluginsdk.OnTaskCompleteResponse{}, nil
	}
	words := atomic.Pointer[string]{}
	defer p.sayAlive(ctx, &words)()
	switch failure := request.Result.Failure; {
	case failure != nil:
		return reject("The last turn did not come to its end, so that there is nothing to accept: " + failure.Message), nil
	case strings.TrimSpace(request.Result.Text) == "":
		return reject("There is no answer. Say what was done, or answer what was asked; an empty answer is never accepted."), nil
	}
	r := &round{Plugin: p, task: request.Task, request: request, config: config, scope: scope, words: &words}
	said, err := r.decide(ctx)
	if said == nil || err != nil {
		return nil, err
	}
	own, err := r.shownOwn(ctx)
	said.Evidence = append(said.Evidence, own...)
	return said, err
}

// kindVerdict is the evidence which says of what tree an acceptance is.
const kindVerdict = "verdict"

func reject(feedback string, evidence ...pluginsdk.Evidence) *pluginsdk.OnTaskCompleteResponse {
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: feedback, Evidence: evidence}
}

// sayAlive says until the returned function is called that the call is at work, in these
// words: the core ends a call that is silent for 5 minutes.
func (p *Plugin) sayAlive(ctx context.Context, words *atomic.Pointer[string]) (stop func()) {
	stopped := make(chan struct{})
	ticks := time.NewTicker(cmp.Or(p.Beat, time.Minute))
	go func() {
		defer ticks.Stop()
		for {
			message := "the work is looked at"
			if said := words.Load(); said != nil {
				message = *said
			}
			pluginsdk.ReportProgress(ctx, pluginsdk.Progress{Message: message})
			select {
			case <-ticks.C:
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}

// round is one evaluation of a task's work.
type round struct {
	*Plugin
	task    pluginsdk.Task
	request *pluginsdk.OnTaskCompleteRequest
	config  *config
	scope   scope
	words   *atomic.Pointer[string]
	own     own
}

func (r *round) says(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	r.words.Store(&words)
}

// decide goes on where the round was left, when the plugin was ended in the middle of it.
func (r *round) decide(ctx context.Context) (*pluginsdk.OnTaskCompleteResponse, error) {
	kept, err := r.load(ctx, r.task)
	if err != nil {
		return nil, err
	}
	if answer, err := r.recordOwn(ctx, &kept); answer != nil || err != nil {
		return answer, err
	}
	if r.scope == scopeAll && kept.Call == r.request.Call.ID && kept.Work.Tree == cmp.Or(r.own.Tree, r.evidence("tree").Tree) && laidOut(kept.Work) {
		if err := scratch.Empty(kept.Turn.Cwd); err != nil {
			return nil, err
		}
		return r.ask(ctx, kept)
	}
	work, at, err := r.work(ctx)
	if err != nil {
		return nil, err
	}
	if r.scope == scopeChecks {
		return r.passes(ctx, work, at)
	}
	var before []string
	if work.Code {
		var rejected *pluginsdk.OnTaskCompleteResponse
		if before, rejected, err = r.check(ctx, &work, at); rejected != nil || err != nil {
			return rejected, err
		}
	}
	stands := kept.Accepted
	if stands != nil && stands.Iteration != r.task.CurrentIteration {
		stands = nil
	}
	if id := r.evidence("patch-id").Output; stands != nil && id != "" && strings.TrimSpace(id) == stands.PatchID {
		verdict := stands.Verdict
		verdict.Feedback = strings.TrimSpace("The reviewer has accepted this very patch before; the checks were run again. " + verdict.Feedback)
		return answer(work, &verdict, stands.Demo), nil
	}
	desk, err := r.desk.Dir(ctx, r.host.State)
	if err != nil {
		return nil, err
	}
	paper := review.Paper{Task: r.task, Paths: r.evidence("paths").Output, Diff: r.evidence("diff").Diff, Gone: before}
	var parts []review.Part
	switch {
	case r.own.Tree != "":
		if unread, err := r.layOutOwn(ctx, &work, &paper); unread != nil || err != nil {
			return unread, err
		}
	case work.Code && work.Tree != "":
		large := false
		if parts, large, err = r.layOut(ctx, &work, &paper); err != nil {
			return nil, err
		}
		if large {
			return r.tooLarge(work, paper), nil
		}
	}
	next := record{Call: r.request.Call.ID, Turn: r.turn(work, paper, desk), Parts: len(parts), Work: work, Accepted: stands, Own: kept.Own}
	if len(parts) > 0 {
		next.Turn.Prompt = ""
		if err := r.saveParts(ctx, r.task, r.prompts(work, paper, parts)); err != nil {
			return nil, err
		}
	}
	for _, outcomes := range [][]checks.Outcome{next.Work.Ran, next.Work.BaseRan} {
		for n := range outcomes {
			outcomes[n].Output = outcomes[n].End(maxKept)
		}
	}
	if err := r.save(ctx, r.task, next); err != nil {
		return nil, err
	}
	return r.ask(ctx, next)
}

// maxKept is how much of the output of a check that has passed is kept, in bytes.
const maxKept = 2 << 10

// evidence is the first piece of a kind that the plugin has given which gave the task its
// directory: what others say of the work is not believed.
func (r *round) evidence(kind string) pluginsdk.Evidence {
	maker := r.task.CwdPlugin
	i := slices.IndexFunc(r.request.Evidence, func(e pluginsdk.Evidence) bool { return e.Kind == kind && maker != "" && e.Plugin == maker })
	if i < 0 {
		return pluginsdk.Evidence{}
	}
	return r.request.Evidence[i]
}

// work is what is to be reviewed, and where the worker has made it. Work in a checkout of git's
// that has changed nothing there is an answer: git says so, and not what was shown of the
// change, which may be less than there is.
func (r *round) work(ctx context.Context) (work review.Work, at place, err error) {
	work.Result = cut(r.request.Result.Text)
	work.Request = cut(r.task.OriginalMessage) + "\n" + cut(r.task.Prompt)
	if r.task.Cwd == "" {
		return work, at, nil
	}
	at = placeOf(r.task, r.task.Cwd, r.task.Labels)
	work.Root = at.root
	shown := r.evidence("tree")
	if review.Object(shown.Tree) {
		work.Tree = shown.Tree
		if inside, err := filepath.Rel(shown.File, at.cwd); filepath.IsAbs(shown.File) && err == nil && filepath.IsLocal(inside) {
			at.root, work.Root = filepath.Clean(shown.File), filepath.Clean(shown.File)
		}
		base := r.evidence("base")
		if review.Object(base.Tree) {
			work.Base = base.Tree
		}
		if base.File != "" {
			at.repository = filepath.Clean(base.File)
		}
	}
	if _, err := exec.LookPath("git"); err != nil && work.Tree != "" {
		return work, at, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "what a reviewer quotes of the tree %s cannot be read: %w; install git", work.Tree, err)
	}
	switch {
	case r.own.Tree != "":
		work.Tree = r.own.Tree
		if r.list(&work, at); at.checkout || len(work.Ran) > 0 {
			_, err = r.copyObjects(ctx, work, forChecks)
		}
	case work.Tree != "":
		changed, err := r.changed(ctx, &work)
		if !changed || err != nil {
			return work, at, err
		}
	default:
		r.list(&work, at)
	}
	if work.Code = at.checkout || work.Tree != r.own.Tree || len(work.Ran) > 0; work.Code {
		work.Request, work.Result = "", "" // nothing is quoted from them
	}
	return work, at, err
}

// list has the work name the checks of the project in a place, before they are run. It returns
// those commands that the project was checked by when the task began, and is not any more.
func (r *round) list(work *review.Work, at place) (gone []string) {
	gone = strings.FieldsFunc(r.task.Labels[labelChecks], func(c rune) bool { return c == '\n' })
	work.Ran = nil
	for _, check := range r.find(at) {
		work.Ran = append(work.Ran, checks.Outcome{Check: check})
		gone = slices.DeleteFunc(gone, func(command string) bool { return command == check.Command })
	}
	return gone
}

// maxQuoted is how much of a text evidence can be quoted from, in bytes.
const maxQuoted = 64 << 10

func cut(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "")
}

// check runs the checks: of a tree in a checkout of their own, which goes with them. Where one
// has found something the work is rejected, and the reviewer is not asked. One that cannot be
// run has not passed: there is no verdict then, because nothing that the worker does could mend
// it. gone are the commands of which there are no checks any more.
func (r *round) check(ctx context.Context, work *review.Work, at place) (gone []string, rejected *pluginsdk.OnTaskCompleteResponse, err error) {
	if work.Tree == "" {
		gone = r.list(work, at)
		rejected, err = r.runChecks(ctx, work)
		return gone, rejected, err
	}
	dir, err := r.worksOf(ctx, r.task)
	if err != nil {
		return nil, nil, err
	}
	// What the work changes of the checks is known before any of it is run.
	back, err := r.checkFiles(ctx, &objects.Store{Dir: filepath.Join(dir, forChecks, storeName)}, *work, at)
	if err != nil {
		return nil, nil, err
	}
	gone, rejected, err = r.checkThere(ctx, work, at)
	if rejected == nil && err == nil && len(back) > 0 {
		rejected, err = r.checkAsBefore(ctx, work, at, back)
	}
	return gone, rejected, err
}

// checkThere runs the checks of the work in a checkout of their own.
func (r *round) checkThere(ctx context.Context, work *review.Work, at place) (gone []string, rejected *pluginsdk.OnTaskCompleteResponse, err error) {
	there, leave, err := r.checkout(ctx, *work, at, forChecks, nil)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	if rejected, err = r.setUp(ctx, work, there); rejected == nil && err == nil {
		gone = r.list(work, there)
		rejected, err = r.runChecks(ctx, work)
	}
	// Where they were run is no more: others are told the places that the worker knows.
	for n := range work.Ran {
		elsewhere(&work.Ran[n], there.root, at.root)
	}
	if rejected != nil {
		rejected.Feedback = strings.ReplaceAll(rejected.Feedback, there.root, at.root)
		for n := range rejected.Evidence {
			rejected.Evidence[n].Output = strings.ReplaceAll(rejected.Evidence[n].Output, there.root, at.root)
		}
	}
	return gone, rejected, err
}

// kindSetUp is of the command that readies a checkout.
const kindSetUp checks.Kind = "set-up"

// setUpCheck is the command that readies a checkout, as the worktree was readied.
func (r *round) setUpCheck(there place) (checks.Check, bool) {
	said := r.evidence("setup")
	if said.Command == "" || said.File != "" && !filepath.IsLocal(said.File) {
		return checks.Check{}, false
	}
	return checks.Check{Kind: kindSetUp, Command: said.Command, Dir: filepath.Join(there.root, said.File), Source: "set-up command"}, true
}

// setUp readies the checkout in which the checks are run.
func (r *round) setUp(ctx context.Context, work *review.Work, there place) (*pluginsdk.OnTaskCompleteResponse, error) {
	command, ok := r.setUpCheck(there)
	if !ok {
		return nil, nil //nolint:nilnil // there is nothing to do
	}
	r.says("readying a checkout for the checks: %s", command.Command)
	outcome, err := r.config.runner.Run(ctx, command)
	switch {
	case err != nil || outcome.Passed():
		return nil, err
	case outcome.Unable != "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the checkout for the checks of %s could not be readied: %s: %s", work.Root, command.Command, outcome.Unable)
	}
	return reject("A fresh checkout of this work cannot be readied. Mend that, and hand it in again.\n\n" + told(outcome)), nil
}

// runChecks runs the checks that the work names.
func (r *round) runChecks(ctx context.Context, work *review.Work) (*pluginsdk.OnTaskCompleteResponse, error) {
	var list []checks.Check
	for _, o := range work.Ran {
		list = append(list, o.Check)
	}
	if missing := r.config.runner.Missing(list); len(missing) > 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the checks of %s could not be run: there is no program %s; install it, or say with the setting checks what is to be run (an empty command: nothing)",
			work.Root, strings.Join(missing, ", "))
	}
	var failed, unable []string
	for n, check := range list {
		r.says("running %s (%d of %d)", check.Command, n+1, len(list))
		outcome, err := r.config.runner.Run(ctx, check)
		if err != nil {
			return nil, err
		}
		work.Ran[n] = outcome
		switch {
		case outcome.Passed():
		case outcome.Unable != "":
			unable = append(unable, fmt.Sprintf("%s could not be run: %s", check.Command, outcome.Unable))
		default:
			failed = append(failed, told(outcome))
		}
	}
	if len(failed) > 0 {
		return reject("The project's checks do not pass on this work. Mend that, and hand it in again.\n\n"+strings.Join(failed, "\n\n"), ran(*work)...), nil
	}
	if len(unable) > 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the checks of %s are incomplete: %s; put that right, or say with the setting checks what is to be run (an empty command: nothing)",
			work.Root, strings.Join(unable, "; "))
	}
	return nil, nil //nolint:nilnil // all have passed
}

// maxTold is how much of the end of a check's output the worker is told, in bytes.
const maxTold = 4 << 10

func told(o checks.Outcome) string {
	how := fmt.Sprintf("ended with exit code %d", o.ExitCode)
	switch {
	case o.Late:
		how = "took longer than it may, and was ended"
	case o.Check.Silent && o.ExitCode == 1:
		how = "names what is not as it should be"
	}
	return fmt.Sprintf("`%s` (%s) %s:\n\n%s", o.Check.Command, o.Check.Kind, how, o.End(maxTold))
}

// ran is the evidence of the checks.
func ran(work review.Work) (evidence []pluginsdk.Evidence) {
	for _, o := range work.Ran {
		e := pluginsdk.Evidence{Kind: "command", Command: o.Check.Command, ExitCode: o.ExitCode, Output: o.Output, Tree: work.Tree}
		if o.Unable != "" {
			e.Output = "could not be run: " + o.Unable
		}
		evidence = append(evidence, e)
	}
	return append(evidence, ranBefore(work)...)
}

// turn is what the reviewer is asked, without its key.
func (r *round) turn(work review.Work, paper review.Paper, desk string) pluginsdk.StartTurnRequest {
	return pluginsdk.StartTurnRequest{
		Purpose: "validation", ThreadID: r.task.ThreadID, TaskID: r.task.ID, Session: pluginsdk.SessionFresh,
		Prompt:       work.With(r.request.Result.Text).Prompt(paper),
		SystemPrompt: review.SystemPrompt, Model: r.config.Model, JSONSchema: review.Schema(work.Code, 0),
		PermissionMode: "default", Cwd: desk, AllowedTools: review.MayRead(work.Root), DisallowedTools: review.MayNot(),
		CostCapUSD: r.config.ReviewCostUSD, Timeout: time.Duration(r.config.ReviewSeconds) * time.Second,
	}
}

const (
	// maxReviews is how many reviews are paid for in a round.
	maxReviews = 3
	// maxTurns is how many turns are begun in a round, with those that never got a place.
	maxTurns = 30
)

// prompts ask for the reviews of the parts of a work.
func (r *round) prompts(work review.Work, paper review.Paper, parts []review.Part) (prompts []string) {
	for _, part := range parts {
		paper.Part = part
		prompts = append(prompts, work.With(r.request.Result.Text).Prompt(paper))
	}
	return prompts
}

// ask asks a reviewer for the work or, where it is reviewed in parts, one for each part, one after
// the other. The first that rejects does so for the whole work; none but the last accepts it.
func (r *round) ask(ctx context.Context, kept record) (*pluginsdk.OnTaskCompleteResponse, error) {
	if kept.Parts == 0 {
		verdict, demo, err := r.askFor(ctx, kept, kept.Call)
		if err != nil {
			return nil, err
		}
		return r.conclude(ctx, kept, verdict, demo)
	}
	var accepted []*review.Verdict
	demo := false
	for n := 1; n <= kept.Parts; n++ {
		part := kept
		var err error
		if part.Turn.Prompt, err = r.loadPart(ctx, r.task, n); err != nil {
			return nil, err
		}
		part.Work.Part, part.Turn.JSONSchema = n, review.Schema(kept.Work.Code, n)
		verdict, made, err := r.askFor(ctx, part, fmt.Sprintf("%s/part-%d", kept.Call, n))
		if err != nil {
			return nil, err
		}
		demo = demo || made
		if verdict.Verdict != pluginsdk.VerdictAccept {
			return r.conclude(ctx, kept, verdict.Of(n, kept.Parts), demo)
		}
		accepted = append(accepted, verdict)
	}
	return r.conclude(ctx, kept, review.Together(accepted), demo)
}

// askFor asks one reviewer, and once more when what it says is no verdict. The turns have a key that
// begins with their round's or part's and ends with their number: those that were begun before the
// plugin was ended, or before the core asked again, are found again, and gone through in
// order.
func (r *round) askFor(ctx context.Context, kept record, key string) (verdict *review.Verdict, demo bool, err error) {
	var faults error // of what the last review said
	last := errors.New("an older version of this plugin has asked for them")
	for n, paid := 1, 0; n <= maxTurns && paid < maxReviews; n++ {
		turn := kept.Turn
		turn.Key = fmt.Sprintf("%s/%d", key, n)
		if faults != nil {
			turn.Prompt = review.Again(turn.Prompt, faults)
		}
		r.says("the reviewer is at work (%sreview %d of at most %d)", ofParts(kept), paid+1, maxReviews)
		started, err := r.host.Agent.Start(ctx, &turn)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict && err != nil {
			paid++ // an older version of the plugin has asked it in other words
			continue
		}
		if err != nil {
			return nil, false, err
		}
		ended, err := r.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: started.RunID})
		if err != nil {
			return nil, false, err
		}
		if unbegun(ended) {
			if started.Existed {
				continue
			}
			return nil, false, pluginsdk.Errorf(pluginsdk.CodeExhausted, "the review could not begin: %s", ended.Error)
		}
		if paid++; ended.State != pluginsdk.RunSucceeded || ended.Result == nil || ended.Result.Failure != nil {
			last, faults = fmt.Errorf("the review %s: %s", ended.State, ended.Error), nil
			if !started.Existed || costly(ended) {
				return nil, false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "there is no verdict: %w", last)
			}
			continue
		}
		verdict, wrong := r.read(ctx, kept.Work, ended.Result)
		if wrong == nil {
			return verdict, ended.Result.Demo, nil
		}
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		r.log.Warn("a review is no verdict", "task", r.task.ID, "run", started.RunID, "err", wrong)
		last, faults = wrong, wrong
	}
	return nil, false, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "there is no verdict after %d reviews, and no other is asked for in this round: %w", maxReviews, last)
}

// ofParts says which part of several a record asks for.
func ofParts(kept record) string {
	if kept.Parts == 0 {
		return ""
	}
	return fmt.Sprintf("part %d of %d, ", kept.Work.Part, kept.Parts)
}

// unbegun reports whether a turn has got no place: nothing was paid for it.
func unbegun(ended *pluginsdk.WaitTurnResponse) bool {
	return ended.State != pluginsdk.RunSucceeded && ended.Result == nil && strings.HasPrefix(ended.Error, "exhausted")
}

// costly reports whether a review has come to its cap: another one would too.
func costly(ended *pluginsdk.WaitTurnResponse) bool {
	return ended.Result != nil && ended.Result.Failure != nil && ended.Result.Failure.Kind == pluginsdk.FailureBudget
}

func (r *round) read(ctx context.Context, work review.Work, result *pluginsdk.InvokeResult) (*review.Verdict, error) {
	if result.Demo {
		return work.Unchecked(result.StructuredOutput)
	}
	return work.Read(ctx, result.StructuredOutput)
}

// conclude keeps an acceptance for as long as the patch stays the same, and answers.
func (r *round) conclude(ctx context.Context, kept record, verdict *review.Verdict, demo bool) (*pluginsdk.OnTaskCompleteResponse, error) {
	id := strings.TrimSpace(r.evidence("patch-id").Output)
	if verdict.Verdict == pluginsdk.VerdictAccept && id != "" {
		kept.Accepted = &accepted{PatchID: id, Iteration: r.task.CurrentIteration, Verdict: *verdict, Demo: demo}
		if err := r.save(ctx, r.task, kept); err != nil {
			return nil, err
		}
	}
	return answer(kept.Work, verdict, demo), nil
}

// answer is a verdict as the core is told it: the checks that were run come first.
func answer(work review.Work, verdict *review.Verdict, demo bool) *pluginsdk.OnTaskCompleteResponse {
	said := &pluginsdk.OnTaskCompleteResponse{
		Verdict: verdict.Verdict, Feedback: verdict.Feedback, Evidence: slices.Concat(ran(work), verdict.Evidence),
	}
	if verdict.Verdict == pluginsdk.VerdictAccept && work.Tree != "" {
		// First: what follows may be more than is kept.
		said.Evidence = slices.Insert(said.Evidence, 0, pluginsdk.Evidence{Kind: kindVerdict, Tree: work.Tree, Output: string(verdict.Verdict)})
	}
	if demo {
		said.Marks = []string{markDemo}
	}
	return said
}
