package store_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newThread(t testing.TB, s *store.Store, sourceID string) pluginsdk.Thread {
	t.Helper()
	s.SetCarrier(discordCarries)
	th, _, err := s.CreateThread(context.Background(), pluginsdk.NewThread{Source: "discord", SourceID: sourceID})
	if err != nil {
		t.Fatalf("create thread: %s", err)
	}
	return th
}

// discordCarries is a daemon with a plugin that carries the replies of its own
// threads.
func discordCarries(source string) (string, bool) { return source, source == "discord" }

func accept(t testing.TB, s *store.Store, threadID, content string) ledger.Accepted {
	t.Helper()
	accepted, err := s.Accept(context.Background(), acceptance(threadID, uuid.NewString(), content))
	if err != nil {
		t.Errorf("accept: %s", err)
	}
	return accepted
}

func acceptance(threadID, key, content string) ledger.Acceptance {
	return ledger.Acceptance{
		RunID: uuid.Must(uuid.NewV7()).String(), Kind: pluginsdk.RunMessage, MaxWaiting: 1000,
		Submission: pluginsdk.Submission{ThreadID: threadID, Source: "discord", Key: key, Content: content, Author: "ann"},
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// must returns the value of a call that the test does not expect to fail.
func must[T any](t testing.TB) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wantCode(t testing.TB, err error, code pluginsdk.Code) {
	t.Helper()
	if pluginsdk.CodeOf(err) != code {
		t.Errorf("got error %v (code %q), want code %q", err, pluginsdk.CodeOf(err), code)
	}
}

// claim takes the head of a thread's queue, which must be there.
func claim(t testing.TB, s *store.Store, threadID string) ledger.Claim {
	t.Helper()
	c, err := s.Claim(context.Background(), threadID, "test")
	if err != nil || !c.Found {
		t.Fatalf("claim of thread %s: found %v, error %v", threadID, c.Found, err)
	}
	return c
}

// finish ends a run with a reply.
func finish(t testing.TB, s *store.Store, c ledger.Claim, reply string) {
	t.Helper()
	_, err := s.Finish(context.Background(), c.Fence, ledger.Finish{
		RunID: c.Run.ID, State: pluginsdk.RunSucceeded,
		Rows: []ledger.Row{{Key: c.Run.ID + ":reply", Message: text(pluginsdk.RoleAssistant, reply)}},
	})
	if err != nil {
		t.Fatalf("finish: %s", err)
	}
}

func text(role pluginsdk.Role, content string) pluginsdk.NewMessage {
	return pluginsdk.NewMessage{Role: role, Kind: pluginsdk.MessageText, Content: content}
}

func contents(messages []pluginsdk.Message) []string {
	out := []string{}
	for _, m := range messages {
		out = append(out, m.Content)
	}
	return out
}

// add appends rows without a key, of the core's.
func add(t testing.TB, s *store.Store, threadID string, rows ...pluginsdk.NewMessage) []pluginsdk.Message {
	t.Helper()
	return must[ledger.Appended](t)(s.Append(context.Background(), ledger.Append{ThreadID: threadID, Rows: rows})).Messages
}

// put and drop write a plugin's own state.
func put(s *store.Store, plugin, key string, value []byte) error {
	return second(s.WriteState(context.Background(), ledger.StateWrite{Plugin: plugin, Key: key, Value: value}))
}

func drop(s *store.Store, plugin, key string) error {
	return second(s.WriteState(context.Background(), ledger.StateWrite{Plugin: plugin, Key: key, Delete: true}))
}

// absorb merges all that waits and can be merged.
func absorb(t testing.TB, s *store.Store, c ledger.Claim) []pluginsdk.Message {
	t.Helper()
	waiting := must[[]pluginsdk.Message](t)(s.Absorbable(context.Background(), c.Fence, c.Run.ID))
	return must[[]pluginsdk.Message](t)(s.Absorb(context.Background(), c.Fence, c.Run.ID, waiting))
}

// stateKeys are a plugin's keys with a prefix, in order.
func stateKeys(t testing.TB, s *store.Store, plugin, prefix string) []string {
	t.Helper()
	page := must[pluginsdk.ListStateResponse](t)(s.ListState(context.Background(), plugin, pluginsdk.ListStateRequest{Prefix: prefix, KeysOnly: true}))
	var keys []string
	for _, entry := range page.Entries {
		keys = append(keys, entry.Key)
	}
	return keys
}
