package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// moveBy is the move that a verb makes of a task, and what else changes with it.
func moveBy(task ledger.Task, v verb, change func(to *ledger.Task)) (ledger.TaskMove, error) {
	to, err := v.of(task)
	if err == nil {
		leaveOwn(&to, v)
	}
	if err == nil && change != nil {
		change(&to)
	}
	return ledger.TaskMove{From: task, To: to}, err
}

// giveUp is the move that begins a task's end: fail or cancel.
func (*Room) giveUp(task ledger.Task, v verb, reason string) (ledger.TaskMove, error) {
	return moveBy(task, v, func(to *ledger.Task) { to.Error = reason })
}

// leaveToAPerson is the move after which a task waits for a person, who is told in the
// parent's thread.
func (r *Room) leaveToAPerson(task ledger.Task, v verb, reason, mark string) (ledger.TaskMove, error) {
	move, err := moveBy(task, v, func(to *ledger.Task) { to.Error, to.Marks = reason, marked(to.Marks, mark) })
	if err != nil {
		return move, err
	}
	move.Notice, err = notice(move.To, fmt.Sprintf("waiting:%d", task.Epoch), fmt.Sprintf("Task %s waits for a person: %s", title(task), reason))
	return move, err
}

// over is the move that ends a task, with all that its parent is told: a row in the
// parent's thread, which people get, and, if the task asks for it, a message to the
// parent's agent.
func (r *Room) over(task ledger.Task, v verb) (ledger.TaskMove, error) {
	move, err := moveBy(task, v, func(to *ledger.Task) { to.CompletedAt = time.Now() })
	if err != nil {
		return move, err
	}
	words, short := fmt.Sprintf("Task %s has failed: %s", title(task), task.Error), "has failed"
	switch move.To.Status { //nolint:exhaustive // these are the ends
	case pluginsdk.TaskCompleted:
		words, short = fmt.Sprintf("Task %s is completed.", title(task)), "is completed"
		if len(task.Marks) > 0 {
			words = fmt.Sprintf("Task %s is completed (%s).", title(task), strings.Join(task.Marks, ", "))
		}
		words += "\n\n" + task.Result
		if task.OwnDirectory {
			words += "\n\nIts files are in " + task.Cwd
		}
	case pluginsdk.TaskCancelled:
		words, short = fmt.Sprintf("Task %s was cancelled: %s", title(task), task.Error), "was cancelled"
	}
	if move.Notice, err = notice(move.To, "end", words); err != nil || !task.Wake {
		return move, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return move, pluginsdk.Errorf(pluginsdk.CodeInternal, "make a run id: %w", err)
	}
	move.Wake = &ledger.Acceptance{
		RunID: id.String(), Kind: pluginsdk.RunMessage, MaxDepth: r.config.MaxDepth, TraceID: strings.ReplaceAll(uuid.NewString(), "-", ""),
		Submission: pluginsdk.Submission{
			ThreadID: task.ParentThreadID, Source: ledger.SourceTask, Key: task.ID + "/wake", CauseRunID: cmp.Or(task.RunID, task.CauseRunID),
			Content: fmt.Sprintf("Task %s (%s) %s: see the notification of it.", title(task), task.ID, short),
		},
	}
	return move, nil
}

// noticeMetadata is the metadata of a row in the parent's thread.
type noticeMetadata struct {
	Event      string               `json:"event"`
	FromThread string               `json:"fromThread"`
	Task       string               `json:"task"`
	Status     pluginsdk.TaskStatus `json:"status"`
	Iteration  int                  `json:"iteration,omitempty"`
}

func notice(task ledger.Task, key, words string) (*ledger.Row, error) {
	metadata, err := json.Marshal(noticeMetadata{Event: "task", FromThread: task.ThreadID, Task: task.ID, Status: task.Status, Iteration: task.CurrentIteration})
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "say what a notice is of: %w", err)
	}
	return &ledger.Row{Key: "task:" + task.ID + ":" + key, Message: pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: ledger.SourceTask, Content: cut(words), Metadata: metadata,
	}}, nil
}

// titleMax is how many characters of its message name a task.
const titleMax = 60

// title is how people know a task.
func title(task ledger.Task) string {
	text := strings.TrimSpace(task.OriginalMessage)
	if text == "" {
		text = strings.TrimSpace(task.Prompt)
	}
	line, _, _ := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > titleMax {
		line = string(runes[:titleMax-1]) + "…"
	}
	return "“" + line + "”"
}

// move stores a move, and tells whom it concerns.
func (r *Room) move(ctx context.Context, m ledger.TaskMove) (ledger.TaskMoved, error) {
	if m.Wake != nil {
		defer r.inbox.HoldBack(m.Wake.RunID)()
	}
	moved, err := r.store.MoveTask(ctx, m)
	if err != nil {
		return moved, err
	}
	r.config.Fault("moved", m.From.ID)
	for _, lane := range moved.Lanes {
		r.outbox.Wake(lane.Plugin, lane.Target)
	}
	if moved.NoticeID != 0 {
		r.events.Publish(pluginsdk.EventThreadMessage, m.From.ParentThreadID, pluginsdk.MessagePayload{
			ThreadID: m.From.ParentThreadID, MessageID: moved.NoticeID, Role: m.Notice.Message.Role, Kind: m.Notice.Message.Kind,
		})
	}
	if moved.Woken.RunID != "" {
		r.inbox.Stored(ctx, moved.Woken, m.Wake.Submission)
	}
	r.announce(m)
	return moved, nil
}

// announce publishes what a move has made of a task. Answers and failed calls that
// change nothing that others see are not told.
func (r *Room) announce(m ledger.TaskMove) {
	if m.From.CompletedAt.IsZero() && !m.To.CompletedAt.IsZero() {
		r.figures.ended.Add(1, string(m.To.Status))
	}
	kind := pluginsdk.EventTaskProgress
	was, is := state{m.From.Status, m.From.Phase}, state{m.To.Status, m.To.Phase}
	switch is {
	case completed:
		kind = pluginsdk.EventTaskValidated
	case failed:
		kind = pluginsdk.EventTaskFailed
	case cancelled:
		kind = pluginsdk.EventTaskCancelled
	case was:
		if m.To.CurrentIteration == m.From.CurrentIteration {
			return
		}
	case running, handing, waiting:
		if was == reviewing {
			kind = pluginsdk.EventTaskEvaluated
		}
	}
	detail := m.To.Error
	if is == running {
		detail = m.To.Feedback
	}
	r.publish(kind, m.To, detail)
}

func (r *Room) publish(kind pluginsdk.EventType, task ledger.Task, detail string) {
	r.events.Publish(kind, task.ThreadID, pluginsdk.TaskPayload{
		TaskID: task.ID, ThreadID: task.ThreadID, Status: task.Status, Detail: cut(detail), Plugin: task.Plugin, ParentTaskID: task.ParentTaskID,
	})
}
