package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestFramesAreAsDocumented(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("")
	f.hub.Broadcast([]pluginsdk.Event{f.stream.add("pipeline:start", "T", `{"threadId":"T","runId":"R"}`)})
	_, raw, err := p.conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"event": "pipeline:start", "threadId": "T", "data": map[string]any{"threadId": "T", "runId": "R"},
		"timestamp": "2025-11-21T09:00:00Z", "boot": boot, "seq": 1.0,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("frame = %s", raw)
	}
}

// A client must be able to resume from its hello even if nothing happened
// before it lost the connection.
func TestHelloSaysWhereTheStreamStands(t *testing.T) {
	f := open(t, Limits{})
	if _, hello := f.join(""); hello.Boot != boot || hello.Seq != 0 {
		t.Errorf("before the first event: %+v", hello)
	}
	f.happen("a", "")
	f.happen("b", "")
	if _, hello := f.join(""); hello.Seq != 2 {
		t.Errorf("after two events: %+v", hello)
	}
	p, hello := f.join("?boot=" + boot + "&seq=0")
	if hello.Seq != 0 {
		t.Errorf("resumed: %+v", hello)
	}
	p.expect("a@1", "b@2")
}

func TestEventsArriveInOrderAndOnce(t *testing.T) {
	f := open(t, Limits{})
	one, _ := f.join("")
	two, _ := f.join("")
	batch := []pluginsdk.Event{f.stream.add("a", "", `{}`), f.stream.add("b", "", `{}`)}
	f.hub.Broadcast(batch)
	f.hub.Broadcast(batch) // a hook is at least once
	f.happen("c", "")
	one.expect("a@1", "b@2", "c@3")
	two.expect("a@1", "b@2", "c@3")
}

func TestThreadFilter(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("?thread=T1&thread=T2")
	f.happen("a", "T1")
	f.happen("b", "T3")
	f.happen("c", "")
	f.happen(pluginsdk.EventResync, "") // concerns everybody
	f.happen("d", "T2")
	p.expect("a@1", "resync@4", "d@5")

	resumed, _ := f.join("?thread=T3&boot=" + boot + "&seq=0")
	f.happen("e", "T3")
	resumed.expect("b@2", "resync@4", "e@6")
}

// Who follows a thread is told what its tasks ask people, live and after a reconnect, and of
// nothing else in their threads.
func TestThreadFilterLetsThroughWhatIsAskedBelow(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("?thread=top")
	ask := func(kind pluginsdk.EventType, threadID, data string) {
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add(kind, threadID, data)})
	}
	ask(pluginsdk.EventApprovalRequested, "task", `{"aboveThreadIds":["between","top"]}`)
	ask(pluginsdk.EventApprovalRequested, "other", `{"aboveThreadIds":["between"]}`)
	ask(pluginsdk.EventPipelineStart, "task", `{"aboveThreadIds":["between","top"]}`)
	ask(pluginsdk.EventApprovalResolved, "task", `{"aboveThreadIds":["top"]}`)
	ask(pluginsdk.EventApprovalResolved, "task", `{"aboveThreadIds":"top"}`)
	f.happen("last", "top")
	p.expect("approval:requested@1", "approval:resolved@4", "last@6")
	resumed, _ := f.join("?thread=top&boot=" + boot + "&seq=0")
	resumed.expect("approval:requested@1", "approval:resolved@4", "last@6")
}

// A page that shows one conversation, and hears how the others stand, is not told each word
// that is written in those.
func TestStreamFilter(t *testing.T) {
	f := open(t, Limits{})
	shown, _ := f.join("?stream=T1&stream=T2")
	both, _ := f.join("?thread=T1&thread=T3&stream=T1")
	none, _ := f.join("?stream=none")
	for _, id := range []string{"T1", "T2", "T3"} {
		f.happen(pluginsdk.EventPipelineStart, id)
		f.happen(pluginsdk.EventPipelineStream, id)
	}
	f.happen(pluginsdk.EventPluginState, "")
	resumed, _ := f.join("?stream=T3&boot=" + boot + "&seq=2")
	shown.expect("pipeline:start@1", "pipeline:stream@2", "pipeline:start@3", "pipeline:stream@4", "pipeline:start@5", "plugin:state@7")
	both.expect("pipeline:start@1", "pipeline:stream@2", "pipeline:start@5")
	none.expect("pipeline:start@1", "pipeline:start@3", "pipeline:start@5", "plugin:state@7")
	resumed.expect("pipeline:start@3", "pipeline:start@5", "pipeline:stream@6", "plugin:state@7")
}

func TestResumeReplaysWhatWasMissed(t *testing.T) {
	f := open(t, Limits{})
	for range 8 { // more than two pages
		f.happen("missed", "")
	}
	p, hello := f.join("?boot=" + boot + "&seq=1")
	if hello.Seq != 1 {
		t.Errorf("hello = %+v", hello)
	}
	f.happen("live", "")
	p.expect("missed@2", "missed@3", "missed@4", "missed@5", "missed@6", "missed@7", "missed@8", "live@9")
}

// What happens while the replay is under way is kept at once and broadcast a
// little later: it must come once, and nothing around it may be missing.
func TestReplayAndLiveEventsMeetWithoutGapOrDuplicate(t *testing.T) {
	f := open(t, Limits{})
	for range 4 {
		f.happen("missed", "")
	}
	f.hub.Position() // it is awake
	var mu sync.Mutex
	var behind []pluginsdk.Event // kept, and not broadcast yet
	f.stream.asked = func(pluginsdk.Position) {
		mu.Lock()
		defer mu.Unlock()
		behind = append(behind, f.stream.add("meanwhile", "", `{}`), f.stream.add("meanwhile", "", `{}`))
		f.hub.Broadcast(behind[:1])
		behind = behind[1:]
	}
	p, _ := f.join("?boot=" + boot + "&seq=0")
	p.expect("missed@1", "missed@2", "missed@3", "missed@4") // the last page has been asked for
	mu.Lock()
	f.hub.Broadcast(behind)
	mu.Unlock()
	f.happen("last", "")
	p.expect("meanwhile@5", "meanwhile@6", "meanwhile@7", "meanwhile@8", "last@9")
}

func TestResync(t *testing.T) {
	cases := []struct {
		name, query string
		spoil       func(*stream)
	}{
		{"no longer kept", "?boot=" + boot + "&seq=1", func(s *stream) { s.forgot = 2 }},
		{"another boot", "?boot=before&seq=1", nil},
		{"from the future", "?boot=" + boot + "&seq=99", nil},
		{"host cannot say", "?boot=" + boot + "&seq=1", func(s *stream) { s.err = errors.New("away") }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := open(t, Limits{})
			for range 3 {
				f.happen("missed", "")
			}
			if c.spoil != nil {
				c.spoil(f.stream)
			}
			p, hello := f.join(c.query)
			if hello.Boot != boot || hello.Seq != 3 {
				t.Errorf("hello = %+v", hello)
			}
			f.happen("live", "")
			p.expect("resync@3", "live@4")
		})
	}
}

func TestResyncWhenEventsAreForgottenDuringTheReplay(t *testing.T) {
	f := open(t, Limits{})
	for range 8 {
		f.happen("missed", "")
	}
	f.hub.Position() // it is awake
	f.stream.asked = func(after pluginsdk.Position) {
		if after.Seq == 3 {
			f.stream.mu.Lock()
			f.stream.forgot = 5
			f.stream.mu.Unlock()
		}
	}
	p, _ := f.join("?boot=" + boot + "&seq=0")
	f.happen("live", "")
	p.expect("missed@1", "missed@2", "missed@3", "resync@8", "live@9")
}

// A resync of the host says that the plugin itself missed events; whoever
// listens to the plugin missed them too.
func TestHostsResyncIsPassedOn(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("")
	f.happen("a", "")
	f.hub.Broadcast([]pluginsdk.Event{{Type: pluginsdk.EventResync, Boot: boot, Seq: 1}})
	f.happen("b", "")
	p.expect("a@1", "resync@1", "b@2")
}

// A client that does not read must cost bounded memory, hold nobody up, and be
// able to go on later without having missed anything.
func TestSlowClientIsDisconnectedAndCanResume(t *testing.T) {
	f := open(t, Limits{QueueFrames: 4, WriteTimeout: time.Minute, CloseGrace: time.Minute})
	p, _ := f.join("")
	slow := f.only()
	payload := `"` + strings.Repeat("x", 64<<10) + `"`
	for slow.ctx.Err() == nil { // until the socket's buffers and the queue are full
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add("big", "", payload)})
	}
	code, text, got := p.farewell()
	if code != websocket.CloseTryAgainLater || text != "too slow, reconnect with boot & seq" {
		t.Errorf("closed with %d %q", code, text)
	}
	for i, event := range got {
		if event.Seq != uint64(i)+1 {
			t.Fatalf("frame %d has seq %d", i, event.Seq)
		}
	}
	if len(got) == len(f.stream.events) {
		t.Fatalf("%d of %d events arrived", len(got), len(f.stream.events))
	}
	back, _ := f.join(fmt.Sprintf("?boot=%s&seq=%d", boot, len(got)))
	if next := back.next(); next.Seq != uint64(len(got))+1 {
		t.Errorf("resumed at %d; want %d", next.Seq, len(got)+1)
	}
}

func TestSilentClientIsDropped(t *testing.T) {
	f := open(t, Limits{PingInterval: time.Millisecond, PongTimeout: 20 * time.Millisecond})
	f.join("")           // and never reads, so it answers no ping
	f.hub.serving.Wait() // until nothing of it is left
}

func TestPingsKeepAClient(t *testing.T) {
	f := open(t, Limits{PingInterval: time.Millisecond, PongTimeout: time.Minute})
	p, _ := f.join("")
	pings := 0
	answer := p.conn.PingHandler()
	p.conn.SetPingHandler(func(data string) error {
		if pings++; pings == 3 {
			f.happen("a", "")
		}
		return answer(data)
	})
	p.expect("a@1")
	if pings < 3 {
		t.Errorf("%d pings", pings)
	}
}

func TestClientThatTalksTooMuchIsDropped(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("")
	if err := p.conn.WriteMessage(websocket.TextMessage, make([]byte, readLimit+1)); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := p.farewell(); code != websocket.CloseMessageTooBig {
		t.Errorf("closed with %d", code)
	}
}

// Text that is none says that the other side is broken, or no WebSocket client at all.
func TestTextThatIsNotUTF8EndsTheConnection(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("")
	if err := p.conn.WriteMessage(websocket.TextMessage, []byte("gr\xfc\xdfe")); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := p.farewell(); code != websocket.CloseInvalidFramePayloadData {
		t.Errorf("closed with %d", code)
	}
}

// What was begun cannot be taken back, so that no close frame fits behind it: who takes
// nothing at all is cut off in the middle of a frame, as the docs say, and holds nothing up.
func TestClientThatStallsIsCutOff(t *testing.T) {
	f := open(t, Limits{WriteTimeout: 500 * time.Millisecond, QueueBytes: 1 << 30, QueueFrames: 1 << 30})
	p, _ := f.join("")
	big := `"` + strings.Repeat("x", 1<<20) + `"`
	for range 32 {
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add("a", "", big)})
	}
	f.hub.serving.Wait() // nobody reads
	for {
		var event pluginsdk.Event
		err := p.conn.ReadJSON(&event)
		if err == nil {
			continue
		}
		if websocket.IsCloseError(err, websocket.CloseTryAgainLater) || !websocket.IsUnexpectedCloseError(err) {
			t.Errorf("it ends with %v", err)
		}
		return
	}
}

func TestCloseSendsClientsAwayAndOpenLetsThemBack(t *testing.T) {
	f := open(t, Limits{})
	p, _ := f.join("")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		f.hub.Close(context.Background())
	}()
	if code, _, _ := p.farewell(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
	<-closed
	if answer, detail := f.refused(""); answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(detail, "stopping") {
		t.Errorf("after Close: %d %s", answer.StatusCode, detail)
	}
	f.happen("meanwhile", "")
	f.hub.Open(t.Context())
	again, hello := f.join("")
	if hello.Seq != 1 {
		t.Errorf("hello = %+v", hello)
	}
	f.happen("a", "")
	again.expect("a@2")
}

// A client that does not read the farewell must not hold up the stop.
func TestCloseIsBounded(t *testing.T) {
	f := open(t, Limits{WriteTimeout: time.Hour, CloseGrace: time.Hour, QueueBytes: 1 << 30, QueueFrames: 1 << 30})
	f.join("")
	payload := `"` + strings.Repeat("x", 1<<20) + `"`
	for range 64 { // more than the socket's buffers hold
		f.hub.Broadcast([]pluginsdk.Event{f.stream.add("big", "", payload)})
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	f.hub.Close(over)
}

func TestTooManyClients(t *testing.T) {
	f := open(t, Limits{Clients: 1})
	f.join("")
	answer, detail := f.refused("")
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(detail, "too many") || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", answer.StatusCode, detail)
	}
}

func TestWrongQueriesAreNamed(t *testing.T) {
	f := open(t, Limits{})
	for query, wrong := range map[string]string{
		"?boot=x":                              "boot and seq",
		"?seq=1":                               "boot and seq",
		"?boot=x&seq=first":                    "boot and seq",
		"?boot=x&seq=-1":                       "boot and seq",
		"?thread=":                             "thread is empty",
		"?" + strings.Repeat("thread=x&", 101): "thread is given more than 100",
		"?stream=":                             "stream is empty",
		"?stream=T&stream=none":                "give none alone",
		"?" + strings.Repeat("stream=x&", 101): "stream is given more than 100",
	} {
		answer, detail := f.refused(query)
		if answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(detail, wrong) {
			t.Errorf("%s: %d %s", query, answer.StatusCode, detail)
		}
	}
}

func TestPlainRequestGetsAProblem(t *testing.T) {
	f := open(t, Limits{})
	answer, err := http.Get("http" + strings.TrimPrefix(f.url, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest || answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s", answer.Status, answer.Header.Get("Content-Type"))
	}
}
