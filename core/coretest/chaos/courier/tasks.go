package courier

import (
	"context"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The courier's part in its tasks: it writes each call down, and sometimes dies before it
// answers.

// asked writes a call down.
func (p *Plugin) asked(call pluginsdk.Call, hook pluginsdk.Hook, task pluginsdk.Task) error {
	if task.Plugin != Name {
		return nil // others see to it
	}
	event := Event{Key: task.Key, What: Asked, ID: task.ID, Iteration: task.CurrentIteration, Hook: string(hook), CallID: call.ID}
	p.mu.Lock()
	dies := p.settings.conduct(event.about(), p.tries[event.about()]) == Exit && p.mayDie()
	p.tries[event.about()]++
	p.mu.Unlock()
	if err := p.note(event); err != nil {
		return err
	}
	if dies {
		die()
	}
	return nil
}

// OnTaskCreate has nothing to change.
func (p *Plugin) OnTaskCreate(_ context.Context, request *pluginsdk.OnTaskCreateRequest) (*pluginsdk.OnTaskCreateResponse, error) {
	return nil, p.asked(request.Call, pluginsdk.HookTaskCreate, request.Task)
}

// OnTaskComplete rejects work as often as its task says, and then accepts it. Of the tasks of
// others it lies about what their work is.
func (p *Plugin) OnTaskComplete(_ context.Context, request *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	if err := p.asked(request.Call, pluginsdk.HookTaskComplete, request.Task); err != nil {
		return nil, err
	}
	if request.Task.Plugin != Name {
		return &pluginsdk.OnTaskCompleteResponse{Evidence: forged()}, nil // no opinion
	}
	wanted, err := strconv.Atoi(request.Task.Labels[rejections])
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the task's label %s: %w", rejections, err)
	}
	if request.Task.ValidationIterations < wanted {
		return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictReject, Feedback: "once more"}, nil
	}
	return &pluginsdk.OnTaskCompleteResponse{Verdict: pluginsdk.VerdictAccept}, nil
}

// emptyTree is the name that git gives to a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// forged is what only the maker of a task's work can say: as if nothing had been changed.
func forged() []pluginsdk.Evidence {
	return []pluginsdk.Evidence{
		{Kind: "tree", Tree: emptyTree}, {Kind: "base", Tree: emptyTree}, {Kind: "paths"}, {Kind: "diff"}, {Kind: "patch", Output: "forged"},
		{Kind: "command", Command: "make test"},
	}
}

// OnTaskValidated has nothing to hand over.
func (p *Plugin) OnTaskValidated(_ context.Context, request *pluginsdk.OnTaskValidatedRequest) (*pluginsdk.OnTaskValidatedResponse, error) {
	return nil, p.asked(request.Call, pluginsdk.HookTaskValidated, request.Task)
}

// OnTaskFailed has nobody else to tell.
func (p *Plugin) OnTaskFailed(_ context.Context, request *pluginsdk.OnTaskFailedRequest) (*pluginsdk.OnTaskFailedResponse, error) {
	return nil, p.asked(request.Call, pluginsdk.HookTaskFailed, request.Task)
}
