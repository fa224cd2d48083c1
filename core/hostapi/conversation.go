package hostapi

import (
	"context"
	"regexp"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type threads struct{ *caller }

func (s threads) Get(ctx context.Context, id string) (pluginsdk.Thread, error) {
	return s.store.Thread(ctx, id)
}

func (s threads) List(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	return s.store.Threads(ctx, query)
}

func (s threads) Create(ctx context.Context, thread pluginsdk.NewThread) (pluginsdk.Thread, error) {
	if thread.Kind == pluginsdk.ThreadPrimary {
		return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "kind: there is one primary thread, and it exists")
	}
	made, created, err := s.store.CreateThread(ctx, thread)
	if err == nil && created {
		s.events.Publish(pluginsdk.EventThreadCreated, made.ID, pluginsdk.ThreadPayload{ThreadID: made.ID, Name: made.Name})
	}
	return made, err
}

func (s threads) Update(ctx context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	thread, err := s.store.UpdateThread(ctx, id, patch)
	if err == nil {
		s.events.Publish(pluginsdk.EventThreadUpdated, thread.ID, pluginsdk.ThreadPayload{ThreadID: thread.ID, Name: thread.Name})
	}
	return thread, err
}

type messages struct{ *caller }

// reservedKey is the form of the keys of a run's own rows.
var reservedKey = regexp.MustCompile(`:(reply|error|command:\d+|denied:\d+)$`)

// relays are the sources that a plugin may submit under besides its own name:
// the terminal has no plugin and comes in through the web's API.
var relays = map[string]string{"cli": "web"}

func (s messages) Submit(ctx context.Context, submission pluginsdk.Submission) (pluginsdk.Accepted, error) {
	if relays[submission.Source] != s.plugin {
		submission.Source = s.plugin
	}
	in, err := s.granted(ctx, s.plugin)
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if in.origin.RunID != "" { // what the run causes is not for the plugin to say
		submission.CauseRunID = in.origin.RunID
	}
	return s.inbox.Submit(ctx, submission)
}

// Append stores the rows and broadcasts them. A call made inside a hook writes
// under the fence of the hook's run when it writes to that run's thread.
func (s messages) Append(ctx context.Context, threadID, key string, rows []pluginsdk.NewMessage) ([]pluginsdk.Message, error) {
	fence, err := s.fence(ctx)
	if err != nil {
		return nil, err
	}
	if reservedKey.MatchString(key) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "key %q: the core's own rows have keys of this form; choose another", key)
	}
	if fence != nil && fence.ThreadID != threadID {
		fence = nil
	}
	made, err := s.store.Append(ctx, fence, threadID, key, s.plugin, rows)
	if err != nil {
		return nil, err
	}
	s.announce(fence, made)
	return made, nil
}

// announce broadcasts rows of others than the running pipeline, whose own
// events tell of them.
func (s messages) announce(fence *ledger.Fence, made []pluginsdk.Message) {
	if fence != nil {
		return
	}
	for _, row := range made {
		s.events.Publish(pluginsdk.EventMessageAppended, row.ThreadID, pluginsdk.MessagePayload{
			ThreadID: row.ThreadID, MessageID: row.ID, Role: row.Role, Kind: row.Kind,
		})
	}
}

func (s messages) List(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	rows, err := s.store.Messages(ctx, query)
	return page(rows, query.Last), err
}

// maxPage is how much of message rows one answer carries, in bytes: half of
// what the wire allows.
const maxPage = 8 << 20

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
