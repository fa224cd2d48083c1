package terminal

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// TaskLog shows what was said in a task's thread, and what goes on there.
type TaskLog struct {
	Client *client.Client
	Task   pluginsdk.Task
	Screen *Screen
	// Follow goes on with what happens until the task is over.
	Follow bool
	// Ticks are when to look whether the task is over: what tells of it may be lost.
	Ticks <-chan time.Time
}

// Run shows what there is and, if it follows, what happens, until the task is over or ctx
// ends. It returns the task as it is then.
func (l *TaskLog) Run(ctx context.Context) (pluginsdk.Task, error) {
	chat := &Chat{
		Client: l.Client, Thread: pluginsdk.Thread{ID: l.Task.ThreadID}, Screen: l.Screen,
		turns: make(map[string]*turn), mine: make(map[string]bool), answered: make(map[string]bool),
	}
	if !l.Follow {
		_, err := l.past(ctx, chat)
		return l.Task, err
	}
	// In this order nothing is missed in between: what happens, what is at work, what was said.
	chat.talk = l.Client.Converse(l.Task.ThreadID, 0)
	defer chat.talk.Close()
	chat.listen(ctx)
	chat.attend()
	open, err := l.Client.OpenRuns(ctx, l.Task.ThreadID)
	if err != nil {
		return l.Task, err
	}
	last, err := l.past(ctx, chat)
	if err != nil {
		return l.Task, err
	}
	for _, run := range open {
		if run.Kind != pluginsdk.RunTurn {
			l.follow(chat, pluginsdk.Accepted{ThreadID: run.ThreadID, MessageID: run.MessageID, RunID: run.ID})
		}
	}
	chat.asks.look(ctx)
	over, err := l.look(ctx)
	for err == nil && !over {
		select {
		case <-ctx.Done():
			chat.Screen.Line(chat.Screen.Dim("(the task goes on)"))
			return l.Task, nil
		case <-l.Ticks:
			over, err = l.look(ctx)
		case notice := <-chat.talk.Notices():
			if event := notice.Event; event != nil && event.Type == pluginsdk.EventChatMessage {
				if said := payload[pluginsdk.ChatMessage](*event); said.MessageID <= last {
					l.follow(chat, pluginsdk.Accepted{ThreadID: said.ThreadID, MessageID: said.MessageID, RunID: said.RunID})
					continue
				}
			}
			chat.heed(ctx, notice)
			switch {
			case notice.Back, notice.Event != nil && notice.Event.Type == pluginsdk.EventResync:
				over, err = l.look(ctx)
			case notice.Event != nil:
				over, err = l.told(ctx, *notice.Event)
			}
		}
	}
	if err == nil {
		l.say(l.Task.Status, l.Task.Error)
	}
	return l.Task, err
}

// past shows what was said so far, and returns the id of the last row that was shown.
func (l *TaskLog) past(ctx context.Context, chat *Chat) (last int64, err error) {
	rows, err := l.Client.Messages(ctx, l.Task.ThreadID, 0, pluginsdk.MessageText, pluginsdk.MessageStatus, pluginsdk.MessageNotification)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		last = row.ID
		if row.Kind == pluginsdk.MessageStatus && !client.Readable(row) {
			continue
		}
		switch row.Role {
		case pluginsdk.RoleUser:
			chat.said(row.Source, row.Author, row.Content)
		case pluginsdk.RoleAssistant:
			l.Screen.Passage()
			l.Screen.Text(row.Content)
			l.Screen.Fresh()
		case pluginsdk.RoleSystem:
			l.Screen.Line(l.Screen.Dim(Clean(row.Content)))
		}
		if row.Role != pluginsdk.RoleUser && row.RunID != "" {
			chat.answered[row.RunID] = true
		}
	}
	return last, nil
}

// follow follows a run whose message was shown, and whose end was not.
func (*TaskLog) follow(chat *Chat, run pluginsdk.Accepted) {
	if !chat.answered[run.RunID] && chat.turns[run.RunID] == nil {
		chat.track(run, &turn{foreign: true})
	}
}

// told shows what an event says of the task.
func (l *TaskLog) told(ctx context.Context, event pluginsdk.Event) (over bool, err error) {
	about := payload[pluginsdk.TaskPayload](event)
	if about.TaskID != l.Task.ID {
		return false, nil
	}
	switch event.Type { //nolint:exhaustive // the others are of no task
	case pluginsdk.EventTaskValidated, pluginsdk.EventTaskFailed, pluginsdk.EventTaskCancelled:
		return l.look(ctx)
	case pluginsdk.EventTaskCreated, pluginsdk.EventTaskProgress, pluginsdk.EventTaskEvaluated:
		l.say(about.Status, about.Detail)
	}
	return false, nil
}

// say shows where the task stands.
func (l *TaskLog) say(status pluginsdk.TaskStatus, detail string) {
	words := "task " + l.Task.ID + " is " + string(status)
	if detail != "" {
		words += ": " + Short(detail, recentLimit)
	}
	switch status { //nolint:exhaustive // the others are neither good nor bad
	case pluginsdk.TaskCompleted:
		words = l.Screen.Green(words)
	case pluginsdk.TaskFailed, pluginsdk.TaskCancelled:
		words = l.Screen.Red(words)
	case pluginsdk.TaskWaiting:
		words = l.Screen.Yellow(words + "; harness task show " + l.Task.ID)
	default:
		words = l.Screen.Dim(words)
	}
	l.Screen.Line(words)
}

// look reads the task, and reports whether it is over. A daemon that is away for the moment
// is asked again.
func (l *TaskLog) look(ctx context.Context) (over bool, err error) {
	history, err := l.Client.Task(ctx, l.Task.ID)
	if err != nil {
		if client.Passing(err) || ctx.Err() != nil {
			return false, nil
		}
		return false, err
	}
	l.Task = history.Task
	return l.Task.Status.Final() && !l.Task.CompletedAt.IsZero(), nil
}
