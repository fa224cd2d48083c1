package inbox

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// coreCommands are answered by the core at once, outside the queue.
var coreCommands = []pluginsdk.CommandSpec{
	{Name: "help", Description: "list the commands"},
	{Name: "model", Usage: "/model [NAME]", Description: "show or set the thread's model; `/model default` clears it"},
	{Name: "new", Description: "forget the agent's session: the next message starts a fresh one"},
	{Name: "status", Description: "show what this thread is doing"},
	{Name: "stop", Description: "stop the turn that is running; what waits behind it stays"},
}

func isCoreCommand(name string) bool {
	for _, spec := range coreCommands {
		if spec.Name == name {
			return true
		}
	}
	return false
}

// coreCommand carries out a command that no plugin answers.
func (in *Inbox) coreCommand(ctx context.Context, thread pluginsdk.Thread, name, args string) ledger.Answer {
	var text string
	var err error
	switch name {
	case "help":
		text = in.help()
	case "stop":
		text, err = in.stopThread(ctx, thread.ID)
	case "new":
		text, err = in.newSession(ctx, thread)
	case "model":
		text, err = in.setModel(ctx, thread, args)
	case "status":
		text, err = in.status(ctx, thread)
	default:
		return ledger.Answer{State: pluginsdk.RunFailed,
			Text: fmt.Sprintf("There is no command /%s.\n\n%s", name, in.help())}
	}
	if err != nil {
		return ledger.Answer{State: pluginsdk.RunFailed, Text: fmt.Sprintf("/%s failed: %s", name, err)}
	}
	return ledger.Answer{State: pluginsdk.RunSucceeded, Text: text}
}

func (in *Inbox) help() string {
	lines := make([]string, 0, len(coreCommands))
	add := func(spec pluginsdk.CommandSpec, from string) {
		usage := spec.Usage
		if usage == "" {
			usage = "/" + spec.Name
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s — %s%s", usage, spec.Description, from), " —"))
	}
	for _, spec := range coreCommands {
		add(spec, "")
	}
	for _, command := range in.registry.Commands() {
		if command.Spec.Name != "*" && !isCoreCommand(command.Spec.Name) {
			add(command.Spec, " ("+command.Plugin+")")
		}
	}
	sort.Strings(lines)
	return "Commands:\n" + strings.Join(lines, "\n")
}

// stopThread stops the run that executes, or the one that waits to be tried
// again.
func (in *Inbox) stopThread(ctx context.Context, threadID string) (string, error) {
	if in.eachRunning(threadID, func(r running) { r.cancel(ErrStopped) }) {
		return "Stopping the turn that is running.", nil
	}
	retrying, err := in.retrying(ctx, threadID)
	if err != nil || retrying == "" {
		return "Nothing is running in this thread.", err
	}
	if _, err := in.Cancel(ctx, retrying); err != nil {
		return "", err
	}
	return "Stopped: the message that waited to be tried again is given up.", nil
}

// eachRunning calls fn for the runs of the thread that execute, and reports
// whether there are any.
func (in *Inbox) eachRunning(threadID string, fn func(running)) (any bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, run := range in.running {
		if run.threadID == threadID {
			fn(run)
			any = true
		}
	}
	return any
}

// retrying returns the thread's run that was begun and waits for its next
// attempt, or nothing.
func (in *Inbox) retrying(ctx context.Context, threadID string) (runID string, err error) {
	head, err := in.store.Runs(ctx, pluginsdk.RunQuery{
		ThreadID: threadID, States: []pluginsdk.RunState{pluginsdk.RunQueued}, Limit: 1,
	})
	if err != nil || len(head) == 0 || head[0].Attempt == 0 {
		return "", err
	}
	return head[0].ID, nil
}

func (in *Inbox) newSession(ctx context.Context, thread pluginsdk.Thread) (string, error) {
	retrying, err := in.retrying(ctx, thread.ID)
	if err != nil {
		return "", err
	}
	if retrying != "" || in.eachRunning(thread.ID, func(running) {}) {
		return "", errors.New("a turn is under way in this thread; /stop it first")
	}
	if err := in.store.ResetSession(ctx, thread.ID); err != nil {
		return "", err
	}
	return "The next message starts a fresh session.", nil
}

func (in *Inbox) setModel(ctx context.Context, thread pluginsdk.Thread, name string) (string, error) {
	switch name {
	case "":
		if thread.Model == "" {
			return "This thread uses the default model.", nil
		}
		return "This thread uses " + thread.Model + ".", nil
	case "default":
		name = ""
	}
	if strings.ContainsAny(name, " \t\n") {
		return "", fmt.Errorf("a model's name has no spaces in it: %q", name)
	}
	if _, err := in.store.UpdateThread(ctx, thread.ID, pluginsdk.ThreadPatch{Model: &name}); err != nil {
		return "", err
	}
	if name == "" {
		return "This thread uses the default model from its next turn on.", nil
	}
	return "This thread uses " + name + " from its next turn on.", nil
}

func (in *Inbox) status(ctx context.Context, thread pluginsdk.Thread) (string, error) {
	waiting, err := in.store.Waiting(ctx, thread.ID)
	if err != nil {
		return "", err
	}
	busy, here := "idle", 0
	if in.eachRunning(thread.ID, func(running) { here++ }) {
		busy = "working"
	}
	in.mu.Lock()
	others := len(in.running) - here
	in.mu.Unlock()
	model, session := thread.Model, thread.SessionID
	if model == "" {
		model = "default"
	}
	if session == "" {
		session = "none yet"
	}
	return fmt.Sprintf("Thread %s (%s): %s, %d waiting. Model: %s. Session: %s. Other threads working: %d.",
		thread.ID, thread.Kind, busy, waiting, model, session, others), nil
}
