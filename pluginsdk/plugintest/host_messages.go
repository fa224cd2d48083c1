package plugintest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

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
	if submission.Source, err = s.source(submission.Source); err != nil {
		return nil, err
	}
	key := submissionKey(submission.Source, submission.Key)
	said := submission // as in the core, who repeats it makes no difference
	said.Author, said.Scope, said.Metadata = "", "", nil
	accepted, repeated, err := once(s.h, key, said, func() pluginsdk.Accepted { return s.h.accept(s.manifest.Name, submission) })
	accepted.Existed = repeated
	return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, err
}

// source is the one that a plugin names, or its first; another's is refused.
func (v view) source(named string) (string, error) {
	if named == "" {
		named = v.manifest.SpeaksFor()[0]
	}
	if !v.speaksFor(named) {
		return "", pluginsdk.Errorf(pluginsdk.CodeDenied, "source: the plugin %s does not speak for %q; a plugin names its sources in its manifest", v.manifest.Name, named)
	}
	return named, nil
}

func submissionKey(source, key string) string { return "submission " + source + "/" + key }

// Amend changes a message until its run begins, which is when the test says so (BeginRun).
func (s messages) Amend(ctx context.Context, request *pluginsdk.AmendMessageRequest) (*pluginsdk.AmendMessageResponse, error) {
	leave, err := s.h.enter(ctx, "Messages.Amend")
	if err != nil {
		return nil, err
	}
	defer leave()
	source, err := s.source(request.Source)
	if err != nil {
		return nil, err
	}
	before, known := s.h.made[submissionKey(source, request.Key)]
	accepted, _ := before.result.(pluginsdk.Accepted)
	at := slices.IndexFunc(s.h.messages, func(m pluginsdk.Message) bool { return m.ID == accepted.MessageID })
	if !known || at < 0 || request.ThreadID != "" && request.ThreadID != accepted.ThreadID {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "key: %s has submitted no message as %q", source, request.Key)
	}
	message := s.h.messages[at]
	amended := message
	amended.Content = request.Content
	if len(request.Attachments) > 0 {
		amended.Attachments = slices.Clone(request.Attachments)
	}
	switch {
	case message.Plugin != s.manifest.Name && !s.any:
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "key: the message was submitted by the plugin %s, not by %s", message.Plugin, s.manifest.Name)
	case isCommand(message.Content) || isCommand(amended.Content):
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: a command is not amended, and no message becomes one; submit it under a key of its own")
	case strings.TrimSpace(amended.Content) == "" && len(amended.Attachments) == 0:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: a message needs text or an attachment")
	case amended.Content == message.Content && slices.Equal(amended.Attachments, message.Attachments):
		return &pluginsdk.AmendMessageResponse{Message: message}, nil
	case !s.h.waits(accepted.RunID):
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "the message cannot be amended: its run has begun, or is over")
	}
	now := now()
	if amended.Metadata, err = withEditedAt(amended.Metadata, now); err != nil {
		return nil, err
	}
	s.h.messages[at] = amended
	return &pluginsdk.AmendMessageResponse{Message: amended}, s.h.amend(source, request.Key, amended)
}

func isCommand(content string) bool {
	_, _, is := pluginsdk.ParseCommand(content)
	return is
}

// waits reports whether a run has not begun.
func (h *Host) waits(runID string) bool {
	return slices.ContainsFunc(h.runs, func(r pluginsdk.Run) bool {
		return r.ID == runID && r.State == pluginsdk.RunQueued && r.Attempt == 0 && r.StartedAt.IsZero()
	})
}

// amend has a submission recognised also as what it says now.
func (h *Host) amend(source, key string, message pluginsdk.Message) error {
	of := slices.IndexFunc(h.submissions, func(s pluginsdk.Submission) bool { return s.Source == source && s.Key == key })
	if of < 0 {
		return nil
	}
	submission := h.submissions[of]
	submission.Content, submission.Attachments = message.Content, message.Attachments
	submission.Author, submission.Scope, submission.Metadata = "", "", nil
	encoded, err := json.Marshal(submission)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %w", key, err)
	}
	before := h.made[submissionKey(source, key)]
	before.now = encoded
	h.made[submissionKey(source, key)] = before
	return nil
}

// withEditedAt returns metadata that say when the message was amended.
func withEditedAt(metadata json.RawMessage, at time.Time) (json.RawMessage, error) {
	fields := make(map[string]any)
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &fields); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metadata: want a JSON object")
		}
	}
	fields["editedAt"] = at
	return json.Marshal(fields)
}

// accept stores a plugin's submission with its run, which nothing executes.
func (h *Host) accept(plugin string, submission pluginsdk.Submission) pluginsdk.Accepted {
	run := pluginsdk.Run{
		ID: h.nextID("run"), ThreadID: submission.ThreadID, Kind: pluginsdk.RunMessage,
		State: pluginsdk.RunQueued, CauseRunID: submission.CauseRunID, QueuedAt: now(),
		OnBehalfOf: h.rootOf(submission.CauseRunID),
	}
	if submission.Options != nil {
		run.Purpose = cmp.Or(submission.Options.Purpose, plugin)
	}
	message := h.addMessage(pluginsdk.Message{
		ThreadID: submission.ThreadID, Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText,
		Source: submission.Source, Plugin: plugin, Author: submission.Author, Content: submission.Content,
		Attachments: submission.Attachments, Metadata: submission.Metadata, RunID: run.ID, Scope: submission.Scope,
	})
	run.MessageID = message.ID
	h.runs = append(h.runs, run)
	h.submissions = append(h.submissions, submission)
	return pluginsdk.Accepted{ThreadID: submission.ThreadID, MessageID: message.ID, RunID: run.ID}
}

// rootOf is who stands at the root of the causes of what a run causes.
func (h *Host) rootOf(cause string) pluginsdk.OnBehalf {
	i := slices.IndexFunc(h.runs, func(r pluginsdk.Run) bool { return cause != "" && r.ID == cause })
	if i < 0 {
		return pluginsdk.OnBehalf{}
	}
	run := h.runs[i]
	if run.OnBehalfOf != (pluginsdk.OnBehalf{}) {
		return run.OnBehalfOf
	}
	root := pluginsdk.OnBehalf{Source: run.Plugin}
	for _, m := range h.messages {
		if m.RunID == run.ID && m.Role == pluginsdk.RoleUser {
			root = pluginsdk.OnBehalf{Source: m.Source, Author: m.Author}
		}
	}
	return root
}

// Append stores the rows, and a Delivery of each that is to be delivered.
func (s messages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	leave, err := s.h.enter(ctx, "Messages.Append")
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, row := range request.Messages {
		err := row.CheckFor(s.manifest.Name)
		if err == nil {
			err = row.CheckActions(s.declares)
		}
		if err != nil && !s.any {
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

// declares reports whether the plugin's manifest has a command.
func (v view) declares(command string) bool {
	return slices.ContainsFunc(v.manifest.Commands, func(spec pluginsdk.CommandSpec) bool { return spec.Name == command })
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
