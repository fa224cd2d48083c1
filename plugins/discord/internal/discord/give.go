package discord

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// inFlight keeps deliveries to a channel back while a message is submitted from there, and jobs
// for runs without a record while any message is submitted: a run can begin, and its answer be
// on its way, before the run's record is stored.
type inFlight struct {
	mu       sync.Mutex
	channels map[string][]chan struct{} // each is closed at its submission's end
}

// begin notes a submission from a channel. over is to be called at its end.
func (f *inFlight) begin(channel string) (over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ended := make(chan struct{})
	f.channels[channel] = append(f.channels[channel], ended)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(ended)
		left := slices.DeleteFunc(slices.Clone(f.channels[channel]), func(other chan struct{}) bool { return other == ended })
		if f.channels[channel] = left; len(left) == 0 {
			delete(f.channels, channel)
		}
	}
}

// wait returns when what is being submitted from a channel now is over, or the context is.
func (f *inFlight) wait(ctx context.Context, channel string) error {
	f.mu.Lock()
	under := f.channels[channel]
	f.mu.Unlock()
	return awaitAll(ctx, under)
}

// waitAll is wait for the submissions from all channels.
func (f *inFlight) waitAll(ctx context.Context) error {
	f.mu.Lock()
	all := slices.Concat(slices.Collect(maps.Values(f.channels))...)
	f.mu.Unlock()
	return awaitAll(ctx, all)
}

// awaitAll returns when all channels are closed, or the context is over.
func awaitAll(ctx context.Context, all []chan struct{}) error {
	for _, ended := range all {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// thread is the id of the thread of a channel, which is made with its first message. Where
// others speak than the owner, its agent does not work in the owner's workspace.
func (p *Plugin) thread(ctx context.Context, of string, channel wire.Channel) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: of, SourceID: channel.ID, Name: threadName(channel), OwnDirectory: of != sourceOwner,
	}})
	if err != nil {
		return "", err
	}
	return made.Thread.ID, nil
}

// threadName is what people know a channel by.
func threadName(channel wire.Channel) string {
	switch {
	case channel.Direct() && len(channel.Recipients) > 0:
		return "Discord: " + text.Name(channel.Recipients[0].Name(), nameUnits)
	case channel.Direct():
		return "Discord: direct messages"
	case channel.Name == "":
		return "Discord: " + channel.ID
	}
	return "#" + text.Name(channel.Name, nameUnits)
}

// give submits what a person has said, and notes what is known of its run: note fills that
// in. What was submitted before, in other words, was edited since: it is changed, if the
// answer has not begun.
func (p *Plugin) give(ctx context.Context, said pluginsdk.Submission, channel string, note func(*record)) error {
	defer p.at.begin(channel)()
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	submitted, err := p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: said})
	var accepted pluginsdk.Accepted
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeConflict:
		amended, err := p.amend(ctx, said.Source, said.Key, said.Content)
		if err != nil || amended.RunID == "" {
			return err
		}
		accepted = pluginsdk.Accepted{ThreadID: amended.ThreadID, RunID: amended.RunID, Existed: true}
	case err != nil:
		return err
	default:
		accepted = submitted.Accepted
	}
	if accepted.Existed {
		run, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: accepted.RunID})
		if err != nil || run.Run.State.Final() {
			return err
		}
	}
	err = p.runs.begin(ctx, accepted.RunID, func(r *record) {
		r.Channel, r.Thread = channel, accepted.ThreadID
		note(r)
		if !accepted.Existed {
			p.reactions.bare(r.Questions)
		}
	})
	if err == nil {
		p.reactions.waits(accepted.RunID)
		p.tidy()
	}
	return err
}

// amend changes the words of a message whose run has not begun, and returns what it is now.
// One that has goes on as it began: then the message is zero. CodeNotFound: it was never
// submitted.
func (p *Plugin) amend(ctx context.Context, source, key, content string) (pluginsdk.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	amended, err := p.host.Messages.Amend(ctx, &pluginsdk.AmendMessageRequest{Source: source, Key: key, Content: content})
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are the caller's
	case "":
		return amended.Message, nil
	case pluginsdk.CodeStale, pluginsdk.CodeInvalid, pluginsdk.CodeDenied, pluginsdk.CodeUnimplemented:
		p.host.Log.Info("what was edited stays as it was taken in", "message", key, "err", err)
		return pluginsdk.Message{}, nil
	}
	return pluginsdk.Message{}, err
}

// passing reports whether what went wrong may go right later: Discord is away or busy, the
// daemon is, the disk is full. What the host refuses for good is the other case.
func passing(err error) bool {
	var refusal *rest.Error
	if errors.As(err, &refusal) {
		return rest.Passing(err)
	}
	switch pluginsdk.CodeOf(err) {
	case pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeConflict, pluginsdk.CodeDenied, pluginsdk.CodeUnimplemented, pluginsdk.CodeStale:
		return false
	case pluginsdk.CodeExhausted, pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeInternal:
		return true
	}
	return true
}

// nonce is the name under which Discord takes what is posted again for what it has: of the
// same kind, id and part it is always the same. At most 25 characters.
// Source: resources/message#create-message-jsonform-params.
func nonce(kind, id string, part int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", kind, id, part))
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15])
}
