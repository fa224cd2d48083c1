package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type messages struct{ view }

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
// in, submitted, appended and applied.
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

func (s messages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	leave, err := s.h.enter(ctx, "Messages.Submit")
	if err != nil {
		return nil, err
	}
	defer leave()
	submission := request.Submission
	if submission.Source == "" {
		submission.Source = s.manifest.SpeaksFor()[0]
	}
	if !s.speaksFor(submission.Source) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "source: the plugin %s does not speak for %q; a plugin names its sources in its manifest", s.manifest.Name, submission.Source)
	}
	key := "submission " + submission.Source + "/" + submission.Key
	accepted, repeated, err := once(s.h, key, submission, func() pluginsdk.Accepted { return s.h.accept(submission) })
	accepted.Existed = repeated
	return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, err
}

// accept stores a submission with its run, which nothing executes.
func (h *Host) accept(submission pluginsdk.Submission) pluginsdk.Accepted {
	run := pluginsdk.Run{
		ID: h.nextID("run"), ThreadID: submission.ThreadID, Kind: pluginsdk.RunMessage,
		State: pluginsdk.RunQueued, CauseRunID: submission.CauseRunID, QueuedAt: now(),
	}
	message := h.addMessage(pluginsdk.Message{
		ThreadID: submission.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText,
		Source: submission.Source, Author: submission.Author, Content: submission.Content,
		Attachments: submission.Attachments, Metadata: submission.Metadata, RunID: run.ID,
	})
	run.MessageID = message.ID
	h.runs = append(h.runs, run)
	h.submissions = append(h.submissions, submission)
	return pluginsdk.Accepted{ThreadID: submission.ThreadID, MessageID: message.ID, RunID: run.ID}
}

// Append stores the rows, and a Delivery of each that is to be delivered.
func (s messages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	leave, err := s.h.enter(ctx, "Messages.Append")
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, row := range request.Messages {
		if err := row.CheckFor(s.manifest.Name); err != nil && !s.any {
			return nil, err
		}
	}
	do := func() []pluginsdk.Message {
		call, _ := pluginsdk.CallFrom(ctx)
		return s.append(request, call.RunID)
	}
	if request.Key == "" {
		return &pluginsdk.AppendMessagesResponse{Messages: do()}, nil
	}
	stored, _, err := once(s.h, s.key("append", request.ThreadID+"/"+request.Key), request, do)
	return &pluginsdk.AppendMessagesResponse{Messages: slices.Clone(stored)}, err
}

func (s messages) append(request *pluginsdk.AppendMessagesRequest, runID string) []pluginsdk.Message {
	stored := make([]pluginsdk.Message, 0, len(request.Messages))
	for i, row := range request.Messages {
		message := s.row(request.ThreadID, row)
		message.RunID = runID
		if request.Key != "" {
			message.Key = numbered(s.manifest.Name, request.Key, i)
		}
		message = s.h.addMessage(message)
		if request.Deliver && (row.Kind == pluginsdk.MessageText || row.Kind == pluginsdk.MessageNotification) {
			s.h.deliver(message)
		}
		stored = append(stored, message)
	}
	return stored
}

// row is what becomes of a plugin's row.
func (v view) row(threadID string, row pluginsdk.NewMessage) pluginsdk.Message {
	if row.Source == "" {
		row.Source = v.manifest.Name
	}
	return pluginsdk.Message{
		ThreadID: threadID, Role: row.Role, Kind: row.Kind, Source: row.Source, Plugin: v.manifest.Name,
		Content: row.Content, Model: row.Model, Metadata: row.Metadata, Attachments: row.Attachments,
	}
}

// List knows all of a query but the order of runs that BeforeRunID asks for:
// it takes the messages before that run's first, all when it has none.
func (s messages) List(ctx context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	leave, err := s.h.enter(ctx, "Messages.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query, rows := request.Query, s.h.messages
	if query.BeforeRunID != "" {
		if first := slices.IndexFunc(rows, func(m pluginsdk.Message) bool { return m.RunID == query.BeforeRunID }); first >= 0 {
			rows = rows[:first]
		}
	}
	found := filter(rows, func(m pluginsdk.Message) bool {
		return m.ThreadID == query.ThreadID &&
			(query.After == 0 || m.ID > query.After) &&
			(query.Before == 0 || m.ID < query.Before) &&
			(query.RunID == "" || m.RunID == query.RunID) &&
			(len(query.Roles) == 0 || slices.Contains(query.Roles, m.Role)) &&
			(len(query.Kinds) == 0 || slices.Contains(query.Kinds, m.Kind))
	})
	if !query.Last {
		rows := page(found, query.Limit)
		return &pluginsdk.ListMessagesResponse{Messages: rows, More: len(rows) < len(found)}, nil
	}
	slices.Reverse(found)
	last := page(found, query.Limit)
	slices.Reverse(last)
	return &pluginsdk.ListMessagesResponse{Messages: last, More: len(last) < len(found)}, nil
}
