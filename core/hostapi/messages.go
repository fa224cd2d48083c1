package hostapi

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxRows and maxRowsBytes are how many rows one call appends, and how many bytes
	// of words they have.
	maxRows      = 1000
	maxRowsBytes = 4 << 20
	// maxKey is how long the key of a call may be, in bytes.
	maxKey = 512
	// maxPage is how much of message rows one answer carries, in bytes: half of what
	// the wire allows.
	maxPage = 8 << 20
)

type messages struct{ *caller }

// Submit is in no quota: the queues bound it, and a plugin that carries everybody's
// messages must not lose any.
func (s messages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	return counted(s.caller, "Messages.Submit", func() (*pluginsdk.SubmitMessageResponse, error) {
		submission, err := s.fromPlugin(request.Submission)
		if err != nil {
			return nil, err
		}
		if err := s.mayCommand(ctx, submission); err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		if in.origin.RunID != "" { // what the run causes is not for the plugin to say
			submission.CauseRunID = in.origin.RunID
		}
		accepted, err := s.Inbox.Submit(ctx, s.plugin, submission)
		return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, err
	})
}

// fromPlugin gives a submission the plugin's first source, if it names none, and
// refuses another's.
func (s messages) fromPlugin(submission pluginsdk.Submission) (pluginsdk.Submission, error) {
	sources := s.Grants.Sources(s.plugin)
	if submission.Source == "" && len(sources) > 0 {
		submission.Source = sources[0]
	}
	if !slices.Contains(sources, submission.Source) {
		return submission, pluginsdk.Errorf(pluginsdk.CodeDenied, "source: the plugin %s speaks for %s, not for %q; "+
			"a plugin names its sources in its manifest", s.plugin, sourceNames(sources), submission.Source)
	}
	return submission, nil
}

// mayCommand refuses a command of the core by which a plugin would do what it may
// not do itself.
func (s messages) mayCommand(ctx context.Context, submission pluginsdk.Submission) error {
	capability, needs := s.Inbox.Needs(submission.Content)
	if !needs {
		return nil
	}
	if !s.Grants.Granted(s.plugin, capability) {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command, and %w", lacks(s.plugin, capability))
	}
	if capability != pluginsdk.CapThreadsWrite {
		return nil
	}
	thread, err := s.threadOr(ctx, submission.ThreadID)
	if err != nil {
		return err
	}
	if err := s.mayChange(thread.Source, nil); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command that changes the thread; %w", err)
	}
	return nil
}

// threadOr returns a thread; of the empty id the primary one.
func (a *API) threadOr(ctx context.Context, id string) (pluginsdk.Thread, error) {
	if id != "" {
		return a.Store.Thread(ctx, id)
	}
	found, err := a.Store.Threads(ctx, pluginsdk.ThreadQuery{Kind: pluginsdk.ThreadPrimary, Limit: 1})
	if err == nil && len(found) == 0 {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no primary thread yet; start the daemon once")
	}
	if err != nil {
		return pluginsdk.Thread{}, err
	}
	return found[0], nil
}

// Append stores the rows and broadcasts them. A call made inside a hook writes
// under the fence of the hook's run when it writes to that run's thread, and the
// rows are the run's.
func (s messages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return serve(s.caller, "Messages.Append", func() (*pluginsdk.AppendMessagesResponse, error) {
		if err := checkKey(request.Key); err != nil {
			return nil, err
		}
		size, err := s.checkRows(request.Messages)
		if err != nil {
			return nil, err
		}
		in, err := s.granted(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		rows := ledger.Append{
			ThreadID: request.ThreadID, Plugin: s.plugin, Key: request.Key, Rows: request.Messages, Deliver: request.Deliver,
		}
		if fence := in.origin.Fence; fence != (ledger.Fence{}) && fence.ThreadID == request.ThreadID {
			rows.Fence, rows.RunID = &fence, in.origin.RunID
		}
		var made ledger.Appended
		err = s.write(ctx, len(rows.Rows), size, func() (err error) {
			made, err = s.Store.Append(ctx, rows)
			return err
		})
		s.announce(made)
		return &pluginsdk.AppendMessagesResponse{Messages: made.Messages}, err
	})
}

// announce tells everybody of rows that waits for them.
func (a *API) announce(made ledger.Appended) {
	for _, lane := range made.Lanes {
		a.Outbox.Wake(lane.Plugin, lane.Target)
	}
	for _, row := range made.Messages {
		a.Events.Publish(pluginsdk.EventThreadMessage, row.ThreadID, pluginsdk.MessagePayload{
			ThreadID: row.ThreadID, MessageID: row.ID, Role: row.Role, Kind: row.Kind,
		})
	}
}

// checkRows refuses rows that the plugin may not write, and too much at once. It
// returns how many bytes of words they have.
func (s messages) checkRows(rows []pluginsdk.NewMessage) (size int64, err error) {
	if len(rows) > maxRows {
		return 0, pluginsdk.Errorf(pluginsdk.CodeExhausted, "messages: at most %d at once, these are %d", maxRows, len(rows))
	}
	for n, row := range rows {
		if err := row.CheckFor(s.plugin); err != nil {
			return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "messages[%d]: %w", n, err)
		}
		size += sizeOfRow(row)
	}
	if size > maxRowsBytes {
		return 0, pluginsdk.Errorf(pluginsdk.CodeExhausted, "messages: at most %d bytes at once, these are %d", maxRowsBytes, size)
	}
	return size, nil
}

func checkKey(key string) error {
	if len(key) > maxKey {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: at most %d bytes, this has %d", maxKey, len(key))
	}
	return nil
}

// sizeOfRow is how many bytes of words a row has.
func sizeOfRow(row pluginsdk.NewMessage) int64 {
	size := len(row.Content) + len(row.Metadata) + len(row.Source) + len(row.Author) + len(row.Model)
	for _, file := range row.Attachments {
		size += len(file.Name) + len(file.Type) + len(file.Where)
	}
	return int64(size)
}

// sizeOf is how many bytes of words something small has, roughly.
func sizeOf(thing any) int64 {
	text, err := json.Marshal(thing)
	if err != nil {
		return 0 // it cannot be stored either
	}
	return int64(len(text))
}

func (s messages) List(ctx context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	return serve(s.caller, "Messages.List", func() (*pluginsdk.ListMessagesResponse, error) {
		rows, err := s.Store.Messages(ctx, request.Query)
		return &pluginsdk.ListMessagesResponse{Messages: page(rows, request.Query.Last)}, err
	})
}

// page cuts rows to what one answer carries, at least one: from the front, or
// with last from the end.
func page(rows []pluginsdk.Message, last bool) []pluginsdk.Message {
	size, n := 0, 0
	for n < len(rows) {
		row := rows[n]
		if last {
			row = rows[len(rows)-1-n]
		}
		size += len(row.Content) + len(row.Metadata)
		if n > 0 && size > maxPage {
			break
		}
		n++
	}
	if last {
		return rows[len(rows)-n:]
	}
	return rows[:n]
}
