package inbox

import (
	"cmp"
	"context"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// need is what a command needs.
type need struct {
	command string
	word    string // what stands behind it; empty: it changes nothing; anything: whatever has no row of its own
	// capability is what a plugin needs to submit it, beside messages.submit; empty: nothing.
	capability pluginsdk.Capability
	// scope is what the person needs who types it.
	scope pluginsdk.TokenScope
	// people says that a person must have typed it: what a run causes cannot.
	people bool
}

// anything stands for each word that has no row of its own.
const anything = "*"

// goOnWith stands for what follows /plan go.
const goOnWith = "go MODEL"

// needs are the core's commands that need more than to be said. A command that has no row
// needs ScopeChat and no capability.
var needs = []need{
	{"busy", anything, pluginsdk.CapThreadsWrite, pluginsdk.ScopeChat, false},
	{"model", anything, pluginsdk.CapThreadsWrite, pluginsdk.ScopeApprove, false},
	{"new", "", pluginsdk.CapThreadsWrite, pluginsdk.ScopeChat, false},
	{"new", anything, pluginsdk.CapThreadsWrite, pluginsdk.ScopeChat, false},
	{"plan", goOnWith, pluginsdk.CapRunsControl, pluginsdk.ScopeApprove, true}, // a model or the fallback
	{"plan", anything, pluginsdk.CapRunsControl, pluginsdk.ScopeChat, true},    // go
	{"retry", "", pluginsdk.CapRunsControl, pluginsdk.ScopeChat, false},
	{"retry", anything, pluginsdk.CapRunsControl, pluginsdk.ScopeChat, false},
	{"stop", "", pluginsdk.CapRunsControl, pluginsdk.ScopeChat, false},
	{"stop", anything, pluginsdk.CapRunsControl, pluginsdk.ScopeChat, false},
	{"tasks", "", pluginsdk.CapTasksRead, pluginsdk.ScopeChat, false},
	{"tasks", anything, pluginsdk.CapTasksDecide, pluginsdk.ScopeApprove, true}, // approve, reject, cancel
	{"thread", "delete", pluginsdk.CapThreadsWrite, pluginsdk.ScopeAdmin, true},
	{"thread", "permission", pluginsdk.CapThreadsAdmin, pluginsdk.ScopeAdmin, true},
	{"thread", "dir", pluginsdk.CapThreadsAdmin, pluginsdk.ScopeAdmin, true},
	{"thread", "account", pluginsdk.CapThreadsAdmin, pluginsdk.ScopeAdmin, true},
	{"thread", "ask", pluginsdk.CapThreadsWrite, pluginsdk.ScopeAdmin, true},
	{"thread", "model", pluginsdk.CapThreadsWrite, pluginsdk.ScopeApprove, false},
	{"thread", "effort", pluginsdk.CapThreadsWrite, pluginsdk.ScopeApprove, false},
	{"thread", "instructions", pluginsdk.CapThreadsWrite, pluginsdk.ScopeApprove, false},
	{"thread", anything, pluginsdk.CapThreadsWrite, pluginsdk.ScopeChat, false}, // new, rename, archive, unarchive, branch, busy
}

// needsOf returns what a command of the core needs with what stands behind it.
func (in *Inbox) needsOf(command, args string) need {
	word := args
	switch command {
	case "tasks":
		word = in.tasks.Word(args)
	case "thread":
		word = in.threads.Word(args)
	case "plan":
		if words := strings.Fields(args); len(words) > 1 && words[0] == "go" {
			word = goOnWith
		}
	}
	for _, row := range needs {
		if row.command == command && (row.word == word || row.word == anything && word != "") {
			return row
		}
	}
	return need{command: command, scope: pluginsdk.ScopeChat}
}

// Needs returns the capability, beside messages.submit, that a plugin needs to submit the
// text; false: none. Of threads.write the caller also checks what changing this very thread
// needs.
func (in *Inbox) Needs(content string) (pluginsdk.Capability, bool) {
	name, args, ok := pluginsdk.ParseCommand(content)
	if !ok || !isCoreCommand(name) {
		return "", false
	}
	capability := in.needsOf(name, args).capability
	return capability, capability != ""
}

// scopeOf returns what a person needs to type a command. Of plugins that answer it the one
// that demands most decides: which of them will answer is not known yet.
func (in *Inbox) scopeOf(name, args string) pluginsdk.TokenScope {
	if isCoreCommand(name) {
		return in.needsOf(name, args).scope
	}
	scope := pluginsdk.ScopeChat
	for _, command := range in.registry.Commands() {
		if (command.Spec.Name == name || command.Spec.Name == "*") && command.Spec.Scope.Has(scope) {
			scope = command.Spec.Scope
		}
	}
	return scope
}

// admit refuses a message, or a command, that needs more than the person may who has typed it,
// where the plugin says what they may. One that was submitted before was admitted then.
func (in *Inbox) admit(ctx context.Context, s pluginsdk.Submission) error {
	what, needed := "a message", pluginsdk.ScopeChat
	if name, args, ok := pluginsdk.ParseCommand(s.Content); ok {
		what, needed = written(name), in.scopeOf(name, args)
	}
	if s.Scope == "" || s.Scope.Has(needed) {
		return nil
	}
	if known, err := in.store.Known(ctx, s.Source, s.Key); err != nil || known {
		return err
	}
	return mayNot(what, needed, s.Scope)
}

// mayNot refuses what a person's right is too little for.
func mayNot(what string, needed, has pluginsdk.TokenScope) error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s needs the right %s, and you have %s; "+
		"ask the owner of this installation for it, or somebody who has it to type this", what, needed, has)
}

// written is a command as a refusal names it.
func written(name string) string { return "/" + name + ", as it is written here," }

// admitRetry refuses that a command is carried out once more for somebody who may not type it.
// A run or a task repeats no command, and no command is repeated that a run has caused: either
// would make it a person's.
func (in *Inbox) admitRetry(run pluginsdk.Run, content string, by ledger.By) error {
	name, args, ok := pluginsdk.ParseCommand(content)
	if !ok || run.Kind != pluginsdk.RunCommand {
		return nil
	}
	if cause := cmp.Or(by.RunID, by.TaskID, run.CauseRunID); cause != "" {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "/%s is a command, and comes from %s: only what a person has typed is carried out once more, for a person", name, cause)
	}
	if needed := in.scopeOf(name, args); by.Scope != "" && !by.Scope.Has(needed) {
		return mayNot(written(name), needed, by.Scope)
	}
	return nil
}

// admitResume refuses a model or the fallback for a parked run to somebody who may not type it.
func (in *Inbox) admitResume(request pluginsdk.ResumeRunRequest, by ledger.By) error {
	if request.Model == "" && !request.Fallback || by.Scope == "" {
		return nil
	}
	if needed := in.needsOf("plan", goOnWith).scope; !by.Scope.Has(needed) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a parked run goes on with another model, or with the fallback key, which is billed, "+
			"for somebody with the right %s, and you have %s; without these it can go on for you", needed, by.Scope)
	}
	return nil
}
