package inbox

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/lanes"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// MaxContent is the longest message accepted, in bytes. Author, metadata and the
// attachments' names, types and places together may be as long.
const MaxContent = 1 << 20

// maxKey is the longest key accepted, in bytes.
const maxKey = 512

// Submit stores a plugin's message and its run and returns their ids. Repeated with the
// same source and key, it returns the first ones. A command of the core is carried out at
// once, a plugin's command is queued (beside the thread if a person has typed it and it
// concerns no conversation), and an unknown one is answered with the list of
// commands. What needs more than the person may who has typed it is refused (CodeDenied): a
// message needs ScopeChat, commands have a table. The caller checks whether the plugin
// may give the command; see Needs.
func (in *Inbox) Submit(ctx context.Context, by ledger.By, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	if err := validate(submission); err != nil {
		return pluginsdk.Accepted{}, err
	}
	if submission.CauseRunID != "" { // what a run causes is no person's
		submission.Author, submission.Scope = "", ""
	}
	return in.submit(ctx, by, submission, nil)
}

// Iterate is Submit for an iteration of a task. The transaction that stores the message
// and its run also moves the task, and stores the run's id in it (CodeStale: the task has
// been moved since). The message is never a command, whatever it looks like: it is for
// the agent.
func (in *Inbox) Iterate(ctx context.Context, plugin string, submission pluginsdk.Submission, move ledger.TaskMove) (pluginsdk.Accepted, error) {
	if err := validate(submission); err != nil {
		return pluginsdk.Accepted{}, err
	}
	return in.submit(ctx, ledger.By{Plugin: plugin}, submission, &move)
}

// Stored announces a message that another room has stored with its run, and has the run
// executed. The caller must have called HoldBack before it stored the run.
func (in *Inbox) Stored(ctx context.Context, accepted ledger.Accepted, submission pluginsdk.Submission) {
	in.figures.accepted.Add(1, string(pluginsdk.RunMessage))
	in.announce(accepted.Accepted, submission, nil)
	in.joinIn(ctx, accepted, false)
	in.wakeThread(accepted.ThreadID)
}

// WakeThread has the thread's queue looked at.
func (in *Inbox) WakeThread(threadID string) { in.wakeThread(threadID) }

// HoldBack keeps a run that is about to be stored from being executed until release,
// which is called once the run is announced.
func (in *Inbox) HoldBack(runID string) (release func()) { return in.holdBack(runID) }

func (in *Inbox) submit(ctx context.Context, by ledger.By, submission pluginsdk.Submission, task *ledger.TaskMove) (pluginsdk.Accepted, error) {
	if err := in.open(); err != nil {
		return pluginsdk.Accepted{}, err
	}
	if submission.ThreadID == "" {
		primary, err := in.primaryID(ctx)
		if err != nil {
			return pluginsdk.Accepted{}, err
		}
		submission.ThreadID = primary
	}
	id, err := uuid.NewV7()
	if err != nil {
		return pluginsdk.Accepted{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "make a run id: %w", err)
	}
	acceptance := ledger.Acceptance{
		RunID: id.String(), Plugin: by.Plugin, Origin: by.Origin, Submission: submission, Kind: pluginsdk.RunMessage,
		TraceID: strings.ReplaceAll(uuid.NewString(), "-", ""), MaxWaiting: in.config.MaxWaiting, MaxDepth: in.config.MaxDepth,
	}
	if task != nil {
		task.To.RunID = acceptance.RunID
		acceptance.Task = task
	} else if err := in.admit(ctx, submission); err != nil {
		return pluginsdk.Accepted{}, err
	} else if name, args, ok := pluginsdk.ParseCommand(submission.Content); ok {
		acceptance.Kind = pluginsdk.RunCommand
		if !in.pluginAnswers(name) {
			answer, err := in.answer(ctx, by, submission, name, args)
			if err != nil {
				return pluginsdk.Accepted{}, err
			}
			acceptance.Answer, acceptance.MaxWaiting = &answer, 0
			if answer.Gone != nil { // the thread has no place for it any more
				if submission.ThreadID, err = in.primaryID(ctx); err != nil {
					return pluginsdk.Accepted{}, err
				}
				acceptance.Submission = submission
			}
		} else if submission.CauseRunID == "" && (submission.Author != "" || submission.Scope != "") && in.concernsNoThread(name) {
			acceptance.BesideAs = name
		}
	}
	defer in.holdBack(acceptance.RunID)()
	accepted, err := in.accept(ctx, acceptance)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	for _, lane := range accepted.Lanes {
		in.outbox.Wake(lane.Plugin, lane.Target)
	}
	if !accepted.Existed {
		if acceptance.Answer == nil {
			in.figures.accepted.Add(1, string(acceptance.Kind))
		}
		in.announce(accepted.Accepted, submission, acceptance.Answer)
	}
	if !accepted.Claim.Found {
		if acceptance.Kind == pluginsdk.RunMessage {
			in.joinIn(ctx, accepted, submission.CauseRunID == "")
		}
		in.lanes.Wake(ledger.Queue{ThreadID: accepted.ThreadID, Command: acceptance.BesideAs})
	}
	return accepted.Accepted, nil
}

// accept stores the run. When no worker has its thread and a place is free, the same
// transaction claims the run, which is executed at once.
func (in *Inbox) accept(ctx context.Context, acceptance ledger.Acceptance) (accepted ledger.Accepted, err error) {
	queue := ledger.Queue{ThreadID: acceptance.Submission.ThreadID}
	if acceptance.Answer != nil || acceptance.BesideAs != "" || acceptance.Submission.CauseRunID != "" && in.isQuiet() {
		return in.store.Accept(ctx, acceptance)
	}
	lane := in.reserve(queue)
	if lane == nil {
		return in.store.Accept(ctx, acceptance)
	}
	err = pluginsdk.Errorf(pluginsdk.CodeInternal, "the store did not come back") // stays so if the store panics
	defer func() {
		in.doubt(queue, err) // the lane puts back what may have been claimed
		lane.Own.first = accepted.Claim
		lane.Begin()
	}()
	acceptance.Claimer = in.config.Owner
	return in.store.Accept(ctx, acceptance)
}

// open refuses messages while they could wait for an unknown time.
func (in *Inbox) open() error {
	switch in.lanes.Stage() {
	case lanes.Paused:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the connection to the database was lost; send the message again in a moment")
	case lanes.Stopped:
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "harness is stopping; send the message again when it is back")
	case lanes.Created, lanes.Started:
	}
	return nil
}

func validate(s pluginsdk.Submission) error {
	if strings.TrimSpace(s.Content) == "" && len(s.Attachments) == 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: a message needs text or an attachment")
	}
	return bounded(s)
}

// bounded refuses what is too long, and what does not say under what it is submitted.
func bounded(s pluginsdk.Submission) error {
	switch {
	case len(s.Content) > MaxContent:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "content: %d bytes is more than the %d allowed; send it as a file",
			len(s.Content), MaxContent)
	case accompanying(s) > MaxContent:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "author, metadata, attachments: %d bytes is more than the %d allowed",
			accompanying(s), MaxContent)
	case len(s.Key) > maxKey:
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: %d bytes is more than the %d allowed", len(s.Key), maxKey)
	case s.Source == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "source: a message must say where it comes from")
	case s.Key == "":
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "key: a message needs a key that is unique for its source")
	case s.Scope != "" && !s.Scope.Has(s.Scope):
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "scope: %.50q is not accepted; it takes read, chat, approve, work or admin, or nothing", s.Scope)
	}
	return nil
}

// accompanying returns how many bytes come with a message's content.
func accompanying(s pluginsdk.Submission) int {
	size := len(s.Author) + len(s.Metadata)
	for _, file := range s.Attachments {
		size += attachmentSize(file)
	}
	return size
}

func attachmentSize(file pluginsdk.Attachment) int {
	return len(file.Name) + len(file.Type) + len(file.Where)
}

// primaryID returns the id of the primary thread, which never changes.
func (in *Inbox) primaryID(ctx context.Context) (string, error) {
	if id := in.primary.Load(); id != nil {
		return *id, nil
	}
	thread, err := in.store.Primary(ctx)
	if err != nil {
		return "", err
	}
	in.primary.Store(&thread.ID)
	return thread.ID, nil
}

// holdBack keeps the run from being executed before it is announced, so that chat:message
// precedes its other events.
func (in *Inbox) holdBack(runID string) (release func()) {
	announced := make(chan struct{})
	in.mu.Lock()
	defer in.mu.Unlock()
	in.announcing[runID] = announced
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.announcing, runID)
		close(announced)
	}
}

// answer carries out a command of the core, unless it is a repeated submission: that was
// carried out, and Accept returns the first answer.
func (in *Inbox) answer(ctx context.Context, by ledger.By, s pluginsdk.Submission, name, args string) (ledger.Answer, error) {
	known, err := in.store.Known(ctx, s.Source, s.Key)
	if err != nil {
		return ledger.Answer{}, err
	}
	thread, err := in.store.Thread(ctx, s.ThreadID)
	switch {
	case known && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound: // by the first one, which is where its answer is
		return ledger.Answer{State: pluginsdk.RunSucceeded, Gone: &pluginsdk.Thread{}}, nil
	case err != nil:
		return ledger.Answer{}, err
	case known:
		return ledger.Answer{State: pluginsdk.RunSucceeded}, nil
	}
	by.Author, by.Scope, by.RunID = s.Author, s.Scope, cmp.Or(by.RunID, s.CauseRunID)
	if by.Author == "" && s.CauseRunID == "" { // a message that a run causes is not a person's
		by.Author = "a person"
	}
	return in.coreCommand(ctx, thread, by, typed{name: name, args: args, caused: s.CauseRunID != ""}), nil
}

// announce publishes a message that was accepted.
func (in *Inbox) announce(accepted pluginsdk.Accepted, s pluginsdk.Submission, answer *ledger.Answer) {
	in.events.Publish(pluginsdk.EventChatMessage, accepted.ThreadID, pluginsdk.ChatMessage{
		ThreadID: accepted.ThreadID, MessageID: accepted.MessageID, RunID: accepted.RunID,
		Source: s.Source, Author: s.Author, Content: s.Content,
	})
	if answer != nil {
		in.events.Publish(pluginsdk.EventPipelineComplete, accepted.ThreadID, pluginsdk.CompletePayload{
			ThreadID: accepted.ThreadID, RunID: accepted.RunID, CommandsHandled: 1, Kind: pluginsdk.RunCommand,
		})
	}
}

func (in *Inbox) pluginAnswers(name string) bool {
	if isCoreCommand(name) {
		return false
	}
	for _, command := range in.registry.Commands() {
		if command.Spec.Name == name || command.Spec.Name == "*" {
			return true
		}
	}
	return false
}

// concernsNoThread reports whether a plugin's command concerns no conversation: all plugins say so
// that declare it by its name.
func (in *Inbox) concernsNoThread(name string) bool {
	declared := false
	for _, command := range in.registry.Commands() {
		if command.Spec.Name != name {
			continue
		}
		if !command.Spec.Beside {
			return false
		}
		declared = true
	}
	return declared
}

// AtOnce reports whether a text is a command that Submit answers itself: one of the core,
// or one that no plugin declares. Such a command is stored with its answer, and is in no
// queue.
func (in *Inbox) AtOnce(content string) bool {
	name, _, ok := pluginsdk.ParseCommand(content)
	return ok && !in.pluginAnswers(name)
}
