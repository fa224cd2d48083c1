package live

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// later has an hour pass, and the hub look whether anybody is there.
func (f *fixture) later() {
	f.hub.mu.Lock()
	now := f.hub.now().Add(time.Hour)
	f.hub.now = func() time.Time { return now }
	f.hub.mu.Unlock()
	f.hub.rest()
}

func (f *fixture) heard(want ...string) {
	f.Helper()
	if got := f.stream.calls(); !slices.Equal(got, want) {
		f.Errorf("the host was asked for %q, want %q", got, want)
	}
}

// unseen publishes an event that the plugin is not told of, for the hub is asleep.
func (f *fixture) unseen(kind pluginsdk.EventType, threadID, data string) {
	f.stream.add(kind, threadID, data)
}

// While nobody looks, the plugin is told next to nothing; a client or a page has it told all
// from then on, and the last one to leave does not.
func TestEventsAreHeardWhileSomebodyLooks(t *testing.T) {
	f := open(t, Limits{})
	f.heard("token:revoked")
	f.unseen("a", "", `{}`)
	p, hello := f.join("")
	f.heard("token:revoked", "all")
	if hello.Seq != 1 {
		t.Errorf("hello = %+v", hello)
	}
	f.later()
	f.heard("token:revoked", "all") // a client is there
	f.happen("b", "")
	p.expect("b@2")
	_ = p.conn.Close()
	for n := 1; n > 0; {
		f.hub.mu.Lock()
		n = len(f.hub.clients)
		f.hub.mu.Unlock()
	}
	f.hub.rest()
	f.heard("token:revoked", "all") // it has just left
	f.later()
	f.heard("token:revoked", "all", "token:revoked")
	f.unseen("c", "", `{}`)
	if at := f.hub.Position(); at.Seq != 3 {
		t.Errorf("a page begins at %+v", at)
	}
	f.heard("token:revoked", "all", "token:revoked", "all")
}

// What is published while the hub wakes is told at once, and is listed as well: a client that
// comes then, also one that goes on from where it was, gets each event once.
func TestTheFirstClientMissesNothing(t *testing.T) {
	f := open(t, Limits{})
	f.unseen("asleep", "", `{}`)
	f.stream.between = func() {
		for range 5 { // more than a page
			f.happen("meanwhile", "")
		}
		f.stream.mu.Lock()
		f.stream.between = nil
		f.stream.mu.Unlock()
	}
	p, hello := f.join("")
	if hello.Seq != 6 {
		t.Errorf("hello = %+v", hello)
	}
	again, _ := f.join("?boot=" + boot + "&seq=0")
	f.happen("live", "")
	p.expect("live@7")
	again.expect("asleep@1", "meanwhile@2", "meanwhile@3", "meanwhile@4", "meanwhile@5", "meanwhile@6", "live@7")
}

// What is told only after the catching up was not listed yet.
func TestEventsThatAreToldWhileTheHubWakesAreKept(t *testing.T) {
	f := open(t, Limits{})
	f.unseen("asleep", "", `{}`)
	once := sync.OnceFunc(func() {
		f.stream.mu.Lock()
		late := pluginsdk.Event{Type: "late", Data: []byte(`{}`), Boot: boot, Seq: 2}
		f.stream.mu.Unlock()
		f.hub.Broadcast([]pluginsdk.Event{late}) // which the page that is asked for has not
	})
	f.stream.asked = func(pluginsdk.Position) { once() }
	if _, hello := f.join(""); hello.Seq != 2 {
		t.Errorf("hello = %+v", hello)
	}
}

func TestClientsThatComeTogetherWakeTheHubOnce(t *testing.T) {
	f := open(t, Limits{})
	f.unseen("asleep", "", `{}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if at := f.hub.Position(); at.Seq != 1 {
				t.Errorf("a page begins at %+v", at)
			}
		})
	}
	all.Wait()
	f.heard("token:revoked", "all")
}

// A host that does not tell events must not leave a client that waits for them for ever.
func TestNobodyIsLetInWhoWouldHearNothing(t *testing.T) {
	f := open(t, Limits{})
	f.stream.mu.Lock()
	f.stream.refuses = errors.New("away")
	f.stream.mu.Unlock()
	if answer, _ := f.refused(""); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%s", answer.Status)
	}
	if at := f.hub.Position(); at != (pluginsdk.Position{}) {
		t.Errorf("a page begins at %+v", at)
	}
	if turn, ok := f.hub.Turn("T"); ok || turn.At != (pluginsdk.Position{}) {
		t.Errorf("a page has %+v", turn)
	}
	f.unseen("pipeline:start", "T", `{"threadId":"T","runId":"R","messageId":1,"attempt":1}`)
	f.stream.mu.Lock()
	f.stream.refuses = nil
	f.stream.mu.Unlock()
	if turn, ok := f.hub.Turn("T"); !ok || turn.RunID != "R" || !turn.FromStart || turn.At.Seq != 1 {
		t.Errorf("then %+v", turn)
	}
}

// A host that cannot be asked at the start is asked again by who comes first.
func TestAStartWithoutAHostLosesNothing(t *testing.T) {
	f := &fixture{T: t, stream: &stream{refuses: errors.New("away")}}
	f.hub = NewHub(f.stream, Limits{}, slog.New(slog.DiscardHandler))
	f.hub.Open(t.Context())
	defer f.hub.Close(context.Background())
	f.unseen("a", "", `{}`)
	f.stream.refuses = nil
	if at := f.hub.Position(); at.Seq != 1 {
		t.Errorf("a page begins at %+v", at)
	}
}

// A daemon that knows no rules tells all, always.
func TestAnOlderDaemonTellsAll(t *testing.T) {
	f := &fixture{T: t, stream: &stream{refuses: pluginsdk.Errorf(pluginsdk.CodeUnimplemented, "no such method")}}
	f.hub = NewHub(f.stream, Limits{}, slog.New(slog.DiscardHandler))
	f.hub.Open(t.Context())
	defer f.hub.Close(context.Background())
	f.happen("a", "")
	f.later()
	f.happen("b", "")
	if at := f.hub.Position(); at.Seq != 2 {
		t.Errorf("a page begins at %+v", at)
	}
	f.heard("token:revoked")

	late := &fixture{T: t, stream: &stream{refuses: errors.New("away")}}
	late.hub = NewHub(late.stream, Limits{}, slog.New(slog.DiscardHandler))
	late.hub.Open(t.Context())
	late.stream.refuses = f.stream.refuses
	late.happen("a", "")
	if at := late.hub.Position(); at.Seq != 1 {
		t.Errorf("found out late: a page begins at %+v", at)
	}
}

// What a turn did while nobody looked is shown to who comes; what is not kept any more, or was
// missed, is not made up.
func TestATurnIsReadThatNobodyHasSeen(t *testing.T) {
	f := open(t, Limits{})
	f.unseen("pipeline:start", "T", `{"threadId":"T","runId":"R","messageId":1,"attempt":1}`)
	f.unseen("pipeline:stream", "T", `{"threadId":"T","runId":"R","event":{"type":"text","text":"word"}}`)
	for range 4 {
		f.unseen("other", "", `{}`)
	}
	if turn, ok := f.hub.Turn("T"); !ok || len(turn.Blocks) != 1 || !turn.FromStart || turn.At.Seq != 6 {
		t.Errorf("%+v", turn)
	}
	f.later()
	f.unseen("pipeline:complete", "T", `{"threadId":"T","runId":"R"}`)
	f.unseen("other", "", `{}`)
	f.stream.forgot = 8
	if turn, ok := f.hub.Turn("T"); ok || turn.At.Seq != 8 {
		t.Errorf("after events that are gone: %+v", turn)
	}
	f.unseen("pipeline:start", "T", `{"threadId":"T","runId":"S","messageId":1,"attempt":1}`)
	f.later()
	f.hub.Broadcast([]pluginsdk.Event{{Type: pluginsdk.EventResync, Boot: boot, Seq: 9}})
	if turn, ok := f.hub.Turn("T"); ok {
		t.Errorf("after a resync: %+v", turn)
	}
}
