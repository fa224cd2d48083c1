package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// coreCommands are the commands that the core answers at once, outside of the queue.
var coreCommands = []pluginsdk.CommandSpec{
	{
		Name: "busy", Usage: "/busy [MODE]", Description: "show or set what a message does that comes during a turn: " +
			"queue (wait), steer (go into the turn), collect (wait, then all as one), interrupt (stop the turn)",
		Options: []pluginsdk.CommandOption{{Name: "mode", Type: pluginsdk.OptionChoice, Choices: []string{
			string(pluginsdk.BusyQueue), string(pluginsdk.BusySteer), string(pluginsdk.BusyCollect), string(pluginsdk.BusyInterrupt),
		}}},
	},
	{Name: "help", Description: "list the commands"},
	{
		Name: "model", Usage: "/model [NAME]", Description: "show or set the thread's model; `/model default` clears it",
		Options: []pluginsdk.CommandOption{{Name: "name", Type: pluginsdk.OptionModel}},
	},
	{
		Name: "plan", Usage: "/plan [go [MODEL|fallback]]", Description: "show how much of the agent's plan is used, and what waits for it; " +
			"`/plan go` has this thread's parked message go on now: as it is, with another model, or with the fallback key",
		Options: []pluginsdk.CommandOption{
			{Name: "go", Type: pluginsdk.OptionFlag, Named: true}, {Name: "with", Type: pluginsdk.OptionModel},
		},
	},
	{Name: "new", Description: "forget the agent's session: the next message starts a fresh one"},
	{Name: "status", Description: "show what this thread is doing"},
	{Name: "retry", Description: "give the last message that was not answered once more"},
	{
		Name: "tasks", Usage: "/tasks [approve|reject|cancel] [ID] [WORDS]", Description: "list the open tasks below this thread, show one, or have your word on it",
		Options: []pluginsdk.CommandOption{
			{Name: "word", Type: pluginsdk.OptionChoice, Choices: []string{"approve", "reject", "cancel"}},
			{Name: "task", Type: pluginsdk.OptionTask}, {Name: "words", Type: pluginsdk.OptionText},
		},
	},
	{
		Name: "thread", Usage: "/thread [WORD] [VALUE]", Description: "show this thread, or change it: new NAME, rename NAME, archive, unarchive, " +
			"branch [MESSAGE], delete, or model, effort, permission, dir, account, ask, busy, instructions with a value",
		Options: []pluginsdk.CommandOption{
			{Name: "word", Type: pluginsdk.OptionChoice}, {Name: "value", Type: pluginsdk.OptionText},
		},
	},
	{
		Name: "stop", Usage: "/stop [all]", Description: "stop the turn that is running; what waits behind it stays, with `all` it is dropped",
		Options: []pluginsdk.CommandOption{{Name: "all", Type: pluginsdk.OptionFlag, Named: true}},
	},
}

func isCoreCommand(name string) bool {
	for _, spec := range coreCommands {
		if spec.Name == name {
			return true
		}
	}
	return false
}

// Reserved returns the names of the core's commands, which no plugin can own: those that
// people type, and notify, which the agent gives.
func Reserved() []string {
	names := []string{"notify"}
	for _, spec := range coreCommands {
		names = append(names, spec.Name)
	}
	return names
}

// typed is a command that is answered at once.
type typed struct {
	name, args string
	caused     bool // by a run: it is not a person's
}

// coreCommand carries out a command that no plugin answers. by says who gave it.
func (in *Inbox) coreCommand(ctx context.Context, thread pluginsdk.Thread, by ledger.By, command typed) ledger.Answer {
	var text string
	var err error
	var gone *pluginsdk.Thread
	args := command.args
	switch command.name {
	case "help":
		text = in.help()
	case "busy":
		text, err = in.setBusyMode(ctx, thread, args)
	case "retry":
		text, err = in.retryLast(ctx, thread.ID, by)
	case "stop":
		text, err = in.stopCommand(ctx, thread.ID, by, args)
	case "new":
		text, err = in.newSession(ctx, thread)
	case "model":
		text, err = in.setModel(ctx, thread, args)
	case "status":
		text, err = in.status(ctx, thread)
	case "tasks":
		text, err = in.tasksCommand(ctx, thread, by, command)
	case "plan":
		text, err = in.planCommand(ctx, thread, by, command)
	case "thread":
		var deleted bool
		if text, deleted, err = in.threadCommand(ctx, thread, by, command); deleted {
			gone = &thread
		}
	default:
		return ledger.Answer{State: pluginsdk.RunFailed,
			Text: fmt.Sprintf("There is no command /%s.\n\n%s", command.name, in.help())}
	}
	if err != nil {
		return ledger.Answer{State: pluginsdk.RunFailed, Text: fmt.Sprintf("/%s failed: %s", command.name, err)}
	}
	return ledger.Answer{State: pluginsdk.RunSucceeded, Text: text, Gone: gone}
}

// Commands returns all commands that people can type, the core's and the plugins', by name.
func (in *Inbox) Commands() []pluginsdk.Command {
	var all []pluginsdk.Command
	for _, spec := range coreCommands {
		if spec.Name == "thread" {
			spec.Options = slices.Clone(spec.Options)
			spec.Options[0].Choices = in.threads.Verbs()
		}
		all = append(all, pluginsdk.Command{CommandSpec: spec})
	}
	for _, command := range in.registry.Commands() {
		if !isCoreCommand(command.Spec.Name) {
			all = append(all, pluginsdk.Command{CommandSpec: command.Spec, Plugin: command.Plugin})
		}
	}
	slices.SortStableFunc(all, func(a, b pluginsdk.Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (in *Inbox) help() string {
	lines := []string{"Commands:"}
	for _, command := range in.Commands() {
		if command.Name == "*" {
			continue
		}
		// A command is listed under its own name, even if its usage has another.
		words := strings.Fields(command.Usage)
		if len(words) > 0 && strings.TrimPrefix(words[0], "/") == command.Name {
			words = words[1:]
		}
		line := strings.Join(append([]string{"/" + command.Name}, words...), " ") + " — " + command.Description
		if command.Plugin != "" {
			line += " (" + command.Plugin + ")"
		}
		lines = append(lines, strings.TrimRight(line, " —"))
	}
	return strings.Join(lines, "\n")
}

// tasksCommand has a person's word on a task carried out, or what there is of tasks shown.
// What a run has caused is no person's word: an agent must not approve its own work by
// way of a plugin that submits for it.
func (in *Inbox) tasksCommand(ctx context.Context, thread pluginsdk.Thread, by ledger.By, command typed) (string, error) {
	if command.caused && in.needsOf("tasks", command.args).people {
		return "", errors.New("only a person has a word on a task, and this message was caused by a run")
	}
	by.Author = authorText(by.Author)
	return in.tasks.Command(ctx, thread, by, command.args)
}

// threadCommand has the thread shown or changed. What a run has caused is no person's word.
func (in *Inbox) threadCommand(ctx context.Context, thread pluginsdk.Thread, by ledger.By, command typed) (text string, deleted bool, err error) {
	if command.caused && in.needsOf("thread", command.args).people {
		return "", false, errors.New("only a person does that to a thread, and this message was caused by a run")
	}
	by.Author = authorText(by.Author)
	return in.threads.Command(ctx, thread, by, command.args)
}

func (in *Inbox) newSession(ctx context.Context, thread pluginsdk.Thread) (string, error) {
	busy, err := in.underWay(ctx, thread.ID)
	if err != nil {
		return "", err
	}
	if busy {
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
	if _, err := in.threads.Update(ctx, thread.ID, pluginsdk.ThreadPatch{Model: &name}); err != nil {
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
	busy := "idle"
	if in.eachRunning(thread.ID, func(running) {}) {
		busy = "working"
	}
	others := in.runningElsewhere(thread.ID)
	model, session := thread.Model, thread.SessionID
	if model == "" {
		model = "default"
	}
	if session == "" {
		session = "none yet"
	}
	text := fmt.Sprintf("Thread %s (%s): %s, %d waiting. When busy: %s. Model: %s. Session: %s. Other threads working: %d.",
		thread.ID, thread.Kind, busy, waiting, thread.BusyMode, model, session, others)
	if parked, err := in.parked(ctx, thread.ID); err != nil || parked.ID != "" {
		return text + " It waits for an answer to what the agent asks.", err
	}
	if parked, err := in.planned(ctx, thread.ID); err != nil || parked.ID != "" {
		if err != nil {
			return "", err
		}
		return text + " " + in.told(*parked.Parked), nil
	}
	retrying, err := in.retrying(ctx, thread.ID)
	if err != nil || retrying.ID == "" {
		return text, err
	}
	return text + fmt.Sprintf(" Attempt %d of %d failed: %s. The next one is due at %s.",
		retrying.Attempt, in.config.MaxAttempts, retrying.Error, retrying.NextAttemptAt.Format(time.TimeOnly+" MST")), nil
}

// runningElsewhere counts the runs that execute elsewhere than in a thread's queue, but for commands
// beside their threads.
func (in *Inbox) runningElsewhere(threadID string) (n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, run := range in.running {
		if run.beside && run.kind != pluginsdk.RunCommand || !run.beside && run.threadID != threadID {
			n++
		}
	}
	return n
}

func (in *Inbox) setBusyMode(ctx context.Context, thread pluginsdk.Thread, name string) (string, error) {
	if name == "" {
		return fmt.Sprintf("When this thread is busy, a message takes the way %q.", thread.BusyMode), nil
	}
	mode := pluginsdk.BusyMode(name)
	if _, err := in.threads.Update(ctx, thread.ID, pluginsdk.ThreadPatch{BusyMode: &mode}); err != nil {
		return "", err
	}
	return fmt.Sprintf("From now on, a message that comes while this thread is busy takes the way %q.", mode), nil
}
