package hostapi

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type messages struct{ *caller }

// atOnceMost is how long a command that the core answers at once may be, and as long
// may be what comes with it, in bytes; atOnceAnswer is what its answer counts for.
const (
	atOnceMost   = 16 << 10
	atOnceAnswer = 4 << 10
)

// Submit has quotas of its own, beside the bounds of the queues: each message may make a turn
// that is paid for. What the core answers at once is in no queue, and counts in the plugin's
// rows and bytes a minute.
func (s messages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	return counted(s.caller, "Messages.Submit", func() (*pluginsdk.SubmitMessageResponse, error) {
		submission, err := s.fromPlugin(request.Submission)
		if err != nil {
			return nil, err
		}
		if err := s.mayCommand(ctx, submission); err != nil {
			return nil, err
		}
		by, err := s.submits(ctx, &submission)
		if err != nil {
			return nil, err
		}
		permits, err := s.mayRun(ctx, submission, by)
		if err != nil {
			return nil, err
		}
		if err := s.maySubmit(submission); err != nil {
			return nil, err
		}
		if err := s.checkAttachments(ctx, submission.Attachments); err != nil {
			return nil, err
		}
		// Before it is done, as for a turn: what a run may do beyond its thread is in the log, always.
		if err := s.audit(ctx, "message "+submission.Source+"/"+submission.Key, permits); err != nil {
			return nil, err
		}
		accepted, err := s.Inbox.Submit(ctx, by, submission)
		return &pluginsdk.SubmitMessageResponse{Accepted: accepted}, err
	})
}

// submits says whose a submission is, and has the submission say the same: what a run causes
// is no person's, and of a person whose token the plugin has shown the token says the name and
// the scope.
func (s messages) submits(ctx context.Context, submission *pluginsdk.Submission) (ledger.By, error) {
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return ledger.By{}, err
	}
	if cause := in.origin.Cause(); cause != "" { // is not for the plugin to say
		submission.CauseRunID = cause
	}
	by, err := s.label(ctx, submission.Author)
	if err != nil {
		return ledger.By{}, err
	}
	switch {
	case in.origin.Cause() != "" || in.origin.TaskID != "":
		by.Author, by.Scope = "", ""
		by.ThreadID, by.RunID, by.TaskID, by.Apart = in.origin.Fence.ThreadID, in.origin.Cause(), in.origin.TaskID, in.origin.Apart
		by.Token, by.TokenName = "", ""
	case submission.CauseRunID != "":
		by = ledger.By{Plugin: s.plugin, Origin: pluginsdk.Origin{RunID: submission.CauseRunID}}
	case by.Token == "":
		by.Scope = submission.Scope
	}
	submission.Author, submission.Scope = by.Author, by.Scope
	return by, nil
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
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return err
	}
	if in.origin.TaskID != "" && in.origin.Cause() == "" && capability != pluginsdk.CapTasksRead { // of what a run causes, the inbox knows which commands are a person's
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command, and comes from a hook of the task %s; only a person and a run give commands", in.origin.TaskID)
	}
	if capability == pluginsdk.CapTasksDecide && in.besideRuns() {
		return s.outsideOfHooks(ctx, personal["Tasks.Decide"])
	}
	if capability != pluginsdk.CapThreadsWrite {
		return nil
	}
	thread, err := s.threadOr(ctx, submission.ThreadID)
	if submission.Key != "" && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil // there is nothing to change; the inbox tells whoever deleted it, and asks again, of that
	}
	if err != nil {
		return err
	}
	if err := s.mayChange(thread.Source, nil); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "content: this is a command that changes the thread; %w", err)
	}
	return nil
}

// maySubmit counts what is submitted: a message, or a command that the core answers at once,
// with its answer. It refuses such a command that is too long.
func (s messages) maySubmit(submission pluginsdk.Submission) error {
	content := len(submission.Content)
	with := len(submission.Author) + len(submission.Metadata) + sizeOfAttachments(submission.Attachments)
	if !s.Inbox.AtOnce(submission.Content) {
		return s.Quotas.submit(s.plugin, int64(content+with))
	}
	if content > atOnceMost {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: this is read as a command, which has at most %d bytes, and has %d; "+
			"if it is none, say it without the slash that it begins with", atOnceMost, content)
	}
	if with > atOnceMost {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "author, metadata, attachments: of a command at most %d bytes, this has %d", atOnceMost, with)
	}
	return s.Quotas.pace(s.plugin, 2, int64(content+with+atOnceAnswer)+2*ledger.RowBytes)
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

// Amend is in the quotas of calls, and of rows and bytes a minute: no queue bounds how often
// a message is amended. It takes no room, as what people submit takes none. It keeps the label
// of who has said it, so an agent does not correct what a person has said.
func (s messages) Amend(ctx context.Context, request *pluginsdk.AmendMessageRequest) (*pluginsdk.AmendMessageResponse, error) {
	return serve(s.caller, "Messages.Amend", func() (*pluginsdk.AmendMessageResponse, error) {
		of, err := s.fromPlugin(pluginsdk.Submission{Source: request.Source})
		if err != nil {
			return nil, err
		}
		switch by, err := s.label(ctx, ""); {
		case err != nil:
			return nil, err
		case by.OfAgent():
			return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "only a person corrects what they have said, and this comes from %s", by)
		}
		if err := s.checkAttachments(ctx, request.Attachments); err != nil {
			return nil, err
		}
		if err := s.Quotas.pace(s.plugin, 1, int64(len(request.Content)+sizeOfAttachments(request.Attachments))+ledger.RowBytes); err != nil {
			return nil, err
		}
		release, err := s.Quotas.mayWrite(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		defer release()
		message, err := s.Inbox.Amend(ctx, ledger.Amendment{
			Plugin: s.plugin, ThreadID: request.ThreadID, Source: of.Source, Key: request.Key,
			Content: request.Content, Attachments: request.Attachments,
		})
		return &pluginsdk.AmendMessageResponse{Message: message}, err
	})
}

// Append stores the rows and broadcasts them. A call made inside a hook writes
// under the fence of the hook's run when it writes to that run's thread, and the
// rows are the run's.
func (s messages) Append(ctx context.Context, request *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return serve(s.caller, "Messages.Append", func() (*pluginsdk.AppendMessagesResponse, error) {
		if err := checkKey(request.Key); err != nil {
			return nil, err
		}
		if request.ThreadID == "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "threadId: rows are of a thread")
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
		} else {
			by, err := s.label(ctx, "")
			if err != nil {
				return nil, err
			}
			rows.Origin = by.Origin
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
		err := row.CheckFor(s.plugin)
		if err == nil {
			err = s.checkBeside(s.plugin, row)
		}
		if err != nil {
			return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "messages[%d]: %w", n, err)
		}
		size += sizeOfRow(row)
	}
	if size > maxRowsBytes {
		return 0, pluginsdk.Errorf(pluginsdk.CodeExhausted, "messages: at most %d bytes at once, these are %d", maxRowsBytes, size)
	}
	return size, nil
}

func (s messages) List(ctx context.Context, request *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	return serve(s.caller, "Messages.List", func() (*pluginsdk.ListMessagesResponse, error) {
		rows, more, err := s.Store.MessagePage(ctx, request.Query)
		some := page(rows, request.Query.Last, sizeOfMessage)
		return &pluginsdk.ListMessagesResponse{Messages: some, More: more || len(some) < len(rows)}, err
	})
}

// checkBeside refuses a row whose fields beside its words are too long, or that offers a command
// which is not the plugin's: a button could do what its plugin may not, under any name.
func (a *API) checkBeside(plugin string, row pluginsdk.NewMessage) error {
	if err := checkSides(row); err != nil {
		return err
	}
	return row.CheckActions(func(command string) bool { return a.Grants.OwnsCommand(plugin, command) })
}

// checkSides refuses a row whose fields beside its words are too long.
func checkSides(row pluginsdk.NewMessage) error {
	return checkLengths(
		length{"source", len(row.Source), maxWord},
		length{"model", len(row.Model), maxWord},
		length{"metadata", len(row.Metadata), maxMetadata},
		length{"attachments", sizeOfAttachments(row.Attachments), maxAttachments},
	)
}

func sizeOfAttachments(attachments []pluginsdk.Attachment) (size int) {
	for _, file := range attachments {
		size += len(file.Name) + len(file.Type) + len(file.Where)
	}
	return size
}

// sizeOfRow is how many bytes of words a new row has.
func sizeOfRow(row pluginsdk.NewMessage) int64 {
	return int64(len(row.Content) + len(row.Metadata) + len(row.Source) + len(row.Model) + sizeOfAttachments(row.Attachments))
}

// sizeOfMessage is how many bytes a row has in an answer, with something for what is
// of fixed length.
func sizeOfMessage(row pluginsdk.Message) int64 {
	const fixed = 64
	return fixed + int64(len(row.ThreadID)+len(row.Role)+len(row.Kind)+len(row.Source)+len(row.Plugin)+len(row.Author)+len(row.Scope)+
		len(row.Content)+len(row.Model)+len(row.Metadata)+sizeOfAttachments(row.Attachments)+len(row.Attachments)*fixed/4+
		len(row.RunID)+len(row.Key))
}
