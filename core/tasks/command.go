package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The command /tasks: what people in a thread see of the tasks below it, and their word
// on them. Who may write in a thread has no say on the tasks of others; all tasks are below
// the primary thread.

const (
	// leastOfID is how many characters of a task's id name it: its first or its last ones.
	// The first ones are the time.
	leastOfID = 6
	// shortID is how many of the last ones people are shown.
	shortID = 8
	// recentTasks is among how many of the newest tasks a part of an id is looked for,
	// beside those that are open.
	recentTasks = 200
	// listedTasks is how many tasks a list shows.
	listedTasks = 50
	// shownWords is how much is shown of a text, in characters.
	shownWords = 600
	// saidBy is in whose name a word is that has no author.
	saidBy = "a person"
)

// openStatuses are those in which a task is not over.
var openStatuses = []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting}

const commandUsage = "/tasks lists the open tasks below this thread, /tasks ID shows one; /tasks approve ID [WORDS], " +
	"/tasks reject ID WORDS and /tasks cancel ID [WHY] are a person's word on it"

// typed is what stands behind /tasks: [VERB] [ID [#ITERATION] [WORDS]].
type typed struct {
	verb      string // approve, reject, cancel; empty: only look
	id        string // or a part of it; empty: of none
	iteration int    // that the person has seen; 0: they do not say
	words     string
}

func parseTyped(args string) (t typed) {
	first, rest := cutWord(args)
	if slices.Contains([]string{"approve", "reject", "cancel"}, first) {
		t.verb = first
		first, rest = cutWord(rest)
	}
	t.id, t.words = first, rest
	if number, after := cutWord(rest); strings.HasPrefix(number, "#") {
		if n, err := strconv.Atoi(number[1:]); err == nil && n > 0 {
			t.iteration, t.words = n, after
		}
	}
	return t
}

// cutWord takes the first word off a text.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	if end := strings.IndexAny(text, " \t\n"); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}

// Word returns the word of what is typed behind /tasks, by which the inbox knows what it
// needs; empty: it only looks.
func (*Room) Word(args string) string { return parseTyped(args).verb }

// Command carries out what is typed behind /tasks in a thread, and returns the answer. The
// caller has checked that it was typed by somebody who may, and that what decides
// (Word) is a person's.
func (r *Room) Command(ctx context.Context, thread pluginsdk.Thread, by ledger.By, args string) (string, error) {
	command := parseTyped(args)
	switch {
	case command.verb == "" && command.id == "":
		return r.listCommand(ctx, thread)
	case command.id == "":
		return "", fmt.Errorf("which task? %s", commandUsage)
	case command.verb == "" && command.words != "":
		return "", fmt.Errorf("%.50q is not understood; %s", command.id, commandUsage)
	}
	task, err := r.named(ctx, thread, command.id)
	if err != nil {
		return "", err
	}
	decision := pluginsdk.DecideTaskRequest{
		ID: task.ID, Iteration: command.iteration, Verdict: pluginsdk.VerdictAccept, Feedback: command.words, Author: by.Author,
	}
	name := title(ledger.Task{Task: task})
	switch command.verb {
	case "approve":
		task, err = r.Decide(ctx, by, decision)
		return fmt.Sprintf("Iteration %d of task %s is approved, and is handed over now.", task.CurrentIteration, name), err
	case "reject":
		if command.words == "" {
			return "", fmt.Errorf("what is wrong with it? Its worker reads what stands behind /tasks reject %s", command.id)
		}
		decision.Verdict = pluginsdk.VerdictReject
		_, err = r.Decide(ctx, by, decision)
		return fmt.Sprintf("Task %s goes on with these words.", name), err
	case "cancel":
		if task.Status.Final() {
			return fmt.Sprintf("Task %s is over: it is %s.", name, task.Status), nil
		}
		by.Author = cmp.Or(by.Author, saidBy)
		reason := "cancelled by " + by.Author
		if command.words != "" {
			reason += ": " + command.words
		}
		task, err = r.Cancel(ctx, task.ID, reason, by)
		return fmt.Sprintf("Task %s is %s.", name, task.Status), err
	}
	return r.showCommand(ctx, task)
}

// listCommand lists the open tasks of the thread and below it.
func (r *Room) listCommand(ctx context.Context, thread pluginsdk.Thread) (string, error) {
	var lines []string
	waiting := 0
	err := r.eachOpen(ctx, func(task pluginsdk.Task) error {
		below, err := r.below(ctx, task, thread)
		if err != nil || !below {
			return err
		}
		if task.Status == pluginsdk.TaskWaiting {
			waiting++
		}
		if len(lines) < listedTasks {
			lines = append(lines, fmt.Sprintf("%s %s: %s", ending(task.ID), title(ledger.Task{Task: task}), standing(task)))
		}
		return nil
	})
	switch {
	case err != nil:
		return "", err
	case len(lines) == 0:
		return "There are no open tasks below this thread.", nil
	}
	head := "The open tasks below this thread"
	if waiting > 0 {
		head += fmt.Sprintf(", %d of them waiting for a person", waiting)
	}
	if len(lines) == listedTasks {
		head += fmt.Sprintf(" (the oldest %d)", listedTasks)
	}
	return head + ":\n" + strings.Join(lines, "\n") + "\n/tasks ID shows one.", nil
}

// standing says where a task stands, on one line.
func standing(task pluginsdk.Task) string {
	words := string(task.Status)
	if len(task.Marks) > 0 {
		words += " (" + strings.Join(task.Marks, ", ") + ")"
	}
	words += fmt.Sprintf(", iteration %d of %d, %.2f of %.2f USD", task.CurrentIteration, task.MaxIterations, task.CostUSD, task.CostCapUSD)
	if task.Error != "" {
		words += ": " + glimpse(strings.Join(strings.Fields(task.Error), " "))
	}
	return words
}

// showCommand shows one task, and what a person can say of it.
func (r *Room) showCommand(ctx context.Context, task pluginsdk.Task) (string, error) {
	answers, err := r.store.TaskAnswers(ctx, task.ID, task.CurrentIteration)
	if err != nil {
		return "", err
	}
	lines := []string{
		fmt.Sprintf("Task %s %s", task.ID, title(ledger.Task{Task: task})),
		standing(task),
		fmt.Sprintf("made %s, worked on in thread %s", task.CreatedAt.Format("2006-01-02 15:04 MST"), task.ThreadID),
	}
	for _, answer := range answers {
		if answer.Phase != ledger.PhaseReviewing || answer.Answer == "" && answer.Author == "" {
			continue // it is no opinion
		}
		line := fmt.Sprintf("%s: %s", cmp.Or(answer.Author, answer.Plugin), cmp.Or(answer.Answer, "go on"))
		if answer.Feedback != "" {
			line += ": " + glimpse(answer.Feedback)
		}
		lines = append(lines, line)
	}
	if task.Result != "" {
		lines = append(lines, "Its result of iteration "+strconv.Itoa(task.CurrentIteration)+":\n"+glimpse(task.Result))
	}
	id := ending(task.ID)
	if task.Status == pluginsdk.TaskWaiting {
		if task.Result != "" {
			lines = append(lines, fmt.Sprintf("/tasks approve %s #%d accepts it as it is", id, task.CurrentIteration))
		}
		lines = append(lines, fmt.Sprintf("/tasks reject %s #%d WORDS has the worker go on with these words", id, task.CurrentIteration))
	}
	if !task.Status.Final() {
		lines = append(lines, fmt.Sprintf("/tasks cancel %s ends it", id))
	}
	return strings.Join(lines, "\n"), nil
}

// glimpse is the beginning of a text.
func glimpse(text string) string {
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > shownWords {
		return strings.TrimSpace(string(runes[:shownWords-1])) + "…"
	}
	return text
}

// ending is the part of a task's id that people are shown.
func ending(id string) string { return id[max(0, len(id)-shortID):] }

// named is the task of the thread, or below it, that an id or a part of one names. Another
// thread's is not found.
func (r *Room) named(ctx context.Context, thread pluginsdk.Thread, id string) (pluginsdk.Task, error) {
	absent := fmt.Errorf("there is no task %.50q below this thread; /tasks lists the open ones, "+
		"and an id is given whole or by %d or more of its first or last characters", id, leastOfID)
	if found, err := r.store.TaskState(ctx, id); err == nil {
		below, err := r.below(ctx, found.Task, thread)
		if err == nil && !below {
			err = absent
		}
		return found.Task, err
	} else if pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return pluginsdk.Task{}, err
	}
	if len(id) < leastOfID {
		return pluginsdk.Task{}, absent
	}
	found := make(map[string]pluginsdk.Task)
	keep := func(task pluginsdk.Task) error {
		if !strings.HasPrefix(task.ID, id) && !strings.HasSuffix(task.ID, id) {
			return nil
		}
		below, err := r.below(ctx, task, thread)
		if below {
			found[task.ID] = task
		}
		return err
	}
	newest, err := r.store.Tasks(ctx, pluginsdk.TaskQuery{Newest: true, Limit: recentTasks})
	for _, task := range newest {
		err = errors.Join(err, keep(task))
	}
	if err = errors.Join(err, r.eachOpen(ctx, keep)); err != nil {
		return pluginsdk.Task{}, err
	}
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	switch len(ids) {
	case 0:
		return pluginsdk.Task{}, absent
	case 1:
		return found[ids[0]], nil
	}
	return pluginsdk.Task{}, fmt.Errorf("%q is part of more than one id: %s", id, strings.Join(ids, ", "))
}

// eachOpen calls fn for the tasks that are not over, the oldest first.
func (r *Room) eachOpen(ctx context.Context, fn func(pluginsdk.Task) error) error {
	query := pluginsdk.TaskQuery{Statuses: openStatuses}
	for {
		open, err := r.store.Tasks(ctx, query)
		if err != nil || len(open) == 0 {
			return err
		}
		for _, task := range open {
			if err := fn(task); err != nil {
				return err
			}
		}
		query.After = open[len(open)-1].ID
	}
}

// below reports whether a task is worked on in the thread, or one above it is, or was made
// for it. All are below the primary thread.
func (r *Room) below(ctx context.Context, task pluginsdk.Task, thread pluginsdk.Thread) (bool, error) {
	for {
		if thread.Kind == pluginsdk.ThreadPrimary || task.ThreadID == thread.ID || task.ParentThreadID == thread.ID {
			return true, nil
		}
		if task.ParentTaskID == "" {
			return false, nil
		}
		above, err := r.store.TaskState(ctx, task.ParentTaskID)
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return false, nil // it was deleted by hand
		}
		if err != nil {
			return false, err
		}
		task = above.Task
	}
}
