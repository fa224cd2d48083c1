package adapter

import (
	"context"
	"time"

	"github.com/seed-706843ae/harness/plugins/examples/slack-like/internal/chat"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// cursorKey is where the plugin's state has the cursor.
const cursorKey = "cursor"

const (
	hostTime     = 30 * time.Second // bounds a call of the host
	waitTime     = 2 * time.Minute  // bounds a long poll of the service
	defaultPause = time.Second
	maxPause     = time.Minute
)

// listen reads until ctx ends. read is its logic.
func (p *Plugin) listen(ctx context.Context) {
	pause := p.firstPause()
	for ctx.Err() == nil {
		p.forgetChanges() // what is read now, is read with the newest settings
		err := p.read(ctx)
		if err == nil {
			pause = p.firstPause()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		p.host.Log.Warn("messages cannot be read; trying again", "error", err.Error(), "in", pause.String())
		p.rest(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

func (p *Plugin) firstPause() time.Duration {
	if p.Pause > 0 {
		return p.Pause
	}
	return defaultPause
}

func (p *Plugin) forgetChanges() {
	select {
	case <-p.changed:
	default:
	}
}

// rest waits, but no longer than until there are new settings.
func (p *Plugin) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.changed:
	case <-ctx.Done():
	}
}

// read takes what people wrote since the cursor. The cursor moves on only when
// all of it is accepted: what is read again after a crash has the same keys,
// and a submission that is repeated does nothing.
func (p *Plugin) read(ctx context.Context) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	cursor, err := p.cursor(ctx)
	if err != nil {
		return err
	}
	updates, err := p.wait(ctx, client, cursor)
	if err != nil {
		return err
	}
	for _, update := range updates.Updates {
		if err := p.submit(ctx, update); err != nil {
			return err
		}
	}
	if updates.Next == cursor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	_, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: cursorKey, Value: []byte(updates.Next)})
	return err
}

func (p *Plugin) wait(ctx context.Context, client *chat.Client, cursor string) (chat.Updates, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	return client.Wait(ctx, cursor)
}

func (p *Plugin) cursor(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: cursorKey})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(answer.Entry.Value), nil
}

// submit gives a message to the thread of its channel, which is made with the
// first one. Once accepted, it will be answered, whatever happens to anybody.
func (p *Plugin) submit(ctx context.Context, update chat.Update) error {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: source, SourceID: update.Channel, Name: "#" + update.Channel,
	}})
	if err != nil {
		return err
	}
	_, err = p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: made.Thread.ID, Source: source, Key: update.ID, Author: update.Author, Content: update.Text,
	}})
	switch code := pluginsdk.CodeOf(err); code { //nolint:exhaustive // the others may pass
	case pluginsdk.CodeInvalid, pluginsdk.CodeConflict:
		// Such a message will never be accepted. It must not hold up the next.
		p.host.Log.Error("a message was not accepted", "channel", update.Channel, "message", update.ID, "error", err.Error())
		return nil
	}
	return err
}
