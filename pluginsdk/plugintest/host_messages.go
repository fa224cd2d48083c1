package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type messages struct{ h *Host }

// AddMessage puts a message into the host and returns its id; one without an
// id is given the next.
func (h *Host) AddMessage(message pluginsdk.Message) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.addMessage(message).ID
}

func (h *Host) addMessage(message pluginsdk.Message) pluginsdk.Message {
	if message.ID == 0 {
		message.ID = h.next()
	}
	if message.CreatedAt.IsZero() {
		message.CreatedAt = now()
	}
	h.messages = append(h.messages, message)
	return message
}

// Messages returns the messages of a thread, oldest first: those that were put
// in, submitted and appended.
func (h *Host) Messages(threadID string) []pluginsdk.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return filter(h.messages, func(m pluginsdk.Message) bool { return m.ThreadID == threadID })
}

// Submissions returns what was submitted, without repetitions.
func (h *Host) Submissions() []pluginsdk.Submission {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.submissions)
}

func (s messages) Submit(ctx context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	leave, err := s.h.enter(ctx, "Messages.Submit")
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	defer leave()
	key := "submission " + submission.Source + "/" + submission.Key
	accepted, repeated, err := once(s.h, key, submission, func() pluginsdk.Accepted { return s.accept(submission) })
	accepted.Repeated = repeated
	return accepted, err
}

func (s messages) accept(submission pluginsdk.Submission) pluginsdk.Accepted {
	run := pluginsdk.Run{
		ID: s.h.nextID("run"), ThreadID: submission.ThreadID, Kind: pluginsdk.RunMessage,
		State: pluginsdk.RunQueued, CauseRunID: submission.CauseRunID, QueuedAt: now(),
	}
	message := s.h.addMessage(pluginsdk.Message{
		ThreadID: submission.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText,
		Source: submission.Source, Author: submission.Author, Content: submission.Content,
		Attachments: submission.Attachments, Metadata: submission.Metadata, RunID: run.ID,
	})
	run.MessageID = message.ID
	s.h.runs = append(s.h.runs, run)
	s.h.submissions = append(s.h.submissions, submission)
	return pluginsdk.Accepted{ThreadID: submission.ThreadID, MessageID: message.ID, RunID: run.ID}
}

func (s messages) Append(ctx context.Context, threadID, key string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	leave, err := s.h.enter(ctx, "Messages.Append")
	if err != nil {
		return nil, err
	}
	defer leave()
	if key == "" {
		return s.append(threadID, key, rows), nil
	}
	stored, _, err := once(s.h, "append "+threadID+"/"+key, rows, func() []pluginsdk.Message {
		return s.append(threadID, key, rows)
	})
	return slices.Clone(stored), err
}

func (s messages) append(threadID, key string, rows []pluginsdk.NewMessage) []pluginsdk.Message {
	stored := make([]pluginsdk.Message, 0, len(rows))
	for _, row := range rows {
		stored = append(stored, s.h.addMessage(pluginsdk.Message{
			ThreadID: threadID, Role: row.Role, Kind: row.Kind, Source: row.Source, Author: row.Author,
			Content: row.Content, Model: row.Model, Metadata: row.Metadata, Attachments: row.Attachments,
			RunID: row.RunID, Key: key,
		}))
	}
	return stored
}

// List knows all of a query but the order of runs that BeforeRunID asks for:
// it takes the messages before that run's first, all when it has none.
func (s messages) List(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	leave, err := s.h.enter(ctx, "Messages.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	rows := s.h.messages
	if query.BeforeRunID != "" {
		if first := slices.IndexFunc(rows, func(m pluginsdk.Message) bool { return m.RunID == query.BeforeRunID }); first >= 0 {
			rows = rows[:first]
		}
	}
	found := filter(rows, func(m pluginsdk.Message) bool {
		return m.ThreadID == query.ThreadID &&
			(query.After == 0 || m.ID > query.After) &&
			(query.Before == 0 || m.ID < query.Before) &&
			(len(query.Roles) == 0 || slices.Contains(query.Roles, m.Role)) &&
			(len(query.Kinds) == 0 || slices.Contains(query.Kinds, m.Kind))
	})
	if !query.Last {
		return page(found, query.Limit), nil
	}
	slices.Reverse(found)
	found = page(found, query.Limit)
	slices.Reverse(found)
	return found, nil
}
