package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type settingsOf string

func (s settingsOf) Get(context.Context, *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	return &pluginsdk.GetSettingsResponse{Settings: json.RawMessage(s)}, nil
}

// events stands at position 0 of its boot and keeps nothing.
type events struct{ pluginsdk.Events }

func (events) List(context.Context, *pluginsdk.ListEventsRequest) (*pluginsdk.ListEventsResponse, error) {
	return &pluginsdk.ListEventsResponse{Next: pluginsdk.Position{Boot: "b"}}, nil
}

func (events) Listen(context.Context, *pluginsdk.ListenEventsRequest) (*pluginsdk.ListenEventsResponse, error) {
	return &pluginsdk.ListenEventsResponse{Position: pluginsdk.Position{Boot: "b"}}, nil
}

// submitter accepts everything; with gate it waits for it first.
type submitter struct {
	pluginsdk.Messages
	entered, gate chan struct{}
}

func (s submitter) Submit(context.Context, *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	if s.gate != nil {
		close(s.entered)
		<-s.gate
	}
	return &pluginsdk.SubmitMessageResponse{Accepted: pluginsdk.Accepted{RunID: "R"}}, nil
}

func start(t *testing.T, settings string, messages pluginsdk.Messages) (*Plugin, error) {
	t.Helper()
	plugin := new(Plugin)
	t.Cleanup(func() { _ = plugin.Deactivate(context.Background()) })
	return plugin, plugin.Start(t.Context(), pluginsdk.Host{
		Settings: settingsOf(settings), Events: events{}, Messages: messages, Log: slog.New(slog.DiscardHandler),
	})
}

func activate(t *testing.T, settings string, messages pluginsdk.Messages) *Plugin {
	t.Helper()
	t.Setenv(addressVariable, "127.0.0.1:0")
	plugin, err := start(t, settings, messages)
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugin
}

func chat(plugin *Plugin, headers map[string]string) (int, error) {
	request, err := http.NewRequest("POST", "http://"+plugin.Addr().String()+"/api/chat", strings.NewReader(`{"content":"hi"}`))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	request.Host = request.Header.Get("Host")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

func dial(t *testing.T, plugin *Plugin, headers http.Header) (*websocket.Conn, int) {
	t.Helper()
	conn, answer, err := websocket.DefaultDialer.Dial("ws://"+plugin.Addr().String()+"/ws", headers)
	if answer == nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil, answer.StatusCode
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	return conn, answer.StatusCode
}

func TestManifest(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if err := manifest.Check(); err != nil {
		t.Fatal(err)
	}
	if manifest.Name != "web" || !manifest.Exclusive {
		t.Errorf("manifest = %+v", manifest)
	}
	if !slices.Equal(manifest.Sources, []string{"web", "cli"}) {
		t.Errorf("sources = %v: what the terminal says would be refused", manifest.Sources)
	}
	var environment []string
	for _, asked := range manifest.Environment {
		environment = append(environment, asked.Name)
	}
	if !slices.Equal(environment, []string{"HARNESS_HTTP_ADDR", "HARNESS_VERSION", "HARNESS_OWNER_TOKEN", "HARNESS_TLS_CERT", "HARNESS_TLS_KEY"}) {
		t.Errorf("environment = %v", environment)
	}
	asked := map[pluginsdk.Capability]bool{}
	for _, request := range manifest.Capabilities {
		asked[request.Capability] = true
	}
	for _, needed := range []pluginsdk.Capability{
		"messages.submit", "messages.read", "threads.read", "threads.write", "threads.admin", "runs.read", "runs.control",
		"crons.read", "crons.write", "tasks.read", "tasks.write", "tasks.decide", "approvals.read", "approvals.decide",
		"files.read", "files.write",
		"deliveries.read", "deliveries.control", "events.read", "metrics.read", "plugins.read", "plugins.admin", "tools.call",
		"commands.read", "workspace.read", "workspace.write",
		"tokens.check", "tokens.admin", "installation.read", "installation.control", "installation.backup", "accounts.write",
		"turns.read", "turns.change", "turns.decide", "tasks.prepare", "tasks.judge",
	} {
		if !asked[needed] {
			t.Errorf("%s is needed and not asked for", needed)
		}
		delete(asked, needed)
	}
	if len(asked) > 0 {
		t.Errorf("%v are asked for and not needed", asked)
	}
	var plugin any = new(Plugin)
	if _, ok := plugin.(pluginsdk.BroadcastHook); !ok {
		t.Error("OnBroadcast is not answered")
	}
	if _, ok := plugin.(pluginsdk.Activator); !ok {
		t.Error("it cannot be activated")
	}
}

func broadcast(t *testing.T, plugin pluginsdk.BroadcastHook, events ...pluginsdk.Event) error {
	t.Helper()
	_, err := plugin.OnBroadcast(t.Context(), &pluginsdk.OnBroadcastRequest{Events: events})
	return err
}

// A person says something, and sees what becomes of it.
func TestChatAndEvents(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	conn, _ := dial(t, plugin, nil)
	var frame pluginsdk.Event
	if err := conn.ReadJSON(&frame); err != nil || frame.Type != "hello" || frame.Boot != "b" {
		t.Fatalf("%+v %v", frame, err)
	}
	if status, err := chat(plugin, nil); status != http.StatusAccepted {
		t.Fatal(status, err)
	}
	if err := broadcast(t, plugin, pluginsdk.Event{Type: pluginsdk.EventPipelineStart, Boot: "b", Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadJSON(&frame); err != nil || frame.Type != pluginsdk.EventPipelineStart || frame.Seq != 1 {
		t.Fatalf("%+v %v", frame, err)
	}
}

// The guard must stand in front of what is really served.
func TestOtherSitesAreKeptOut(t *testing.T) {
	plugin := activate(t, `{"auth":"network","allowedHosts":["harness.example.org"]}`, submitter{})
	for _, c := range []struct {
		headers map[string]string
		want    int
	}{
		{nil, 202},
		{map[string]string{"Host": "harness.example.org"}, 202},
		{map[string]string{"Origin": "http://" + plugin.Addr().String()}, 202},
		{map[string]string{"Host": "evil.example"}, 403},
		{map[string]string{"Origin": "http://evil.example"}, 403},
		{map[string]string{"Content-Type": "text/plain"}, 415},
	} {
		if status, err := chat(plugin, c.headers); status != c.want {
			t.Errorf("%v: %d %v; want %d", c.headers, status, err, c.want)
		}
	}
	if _, status := dial(t, plugin, http.Header{"Origin": {"http://evil.example"}}); status != http.StatusForbidden {
		t.Errorf("another site's socket: %d", status)
	}
	if _, status := dial(t, plugin, http.Header{"Host": {"evil.example"}}); status != http.StatusForbidden {
		t.Errorf("another name's socket: %d", status)
	}
}

func TestSettingsChangeWhileServing(t *testing.T) {
	plugin := activate(t, ``, submitter{})
	change := func(raw string) error {
		_, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(raw)})
		return err
	}
	headers := map[string]string{"Host": "harness.example.org"}
	expect := func(want int) {
		t.Helper()
		if status, err := chat(plugin, headers); status != want {
			t.Errorf("%d %v; want %d", status, err, want)
		}
	}
	expect(403)
	if err := change(`{"auth":"network","allowedHosts":["harness.example.org"]}`); err != nil {
		t.Fatal(err)
	}
	expect(202)
	for raw, wrong := range map[string]string{
		`{"allowedHosts":["http://x"]}`: "http://x",
		`{"allowedHost":[]}`:            "allowedHost",
	} {
		if err := change(raw); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	expect(202) // the last good ones stay
	if _, err := start(t, `{"allowedHosts":["http://x"]}`, nil); err == nil {
		t.Error("Start takes wrong settings")
	}
}

func TestAddresses(t *testing.T) {
	for address, wrong := range map[string]string{
		"0.0.0.0:0":      "",
		"[::]:0":         "",
		":0":             "",
		"192.0.2.1:3001": "no address",
		"3001":           "HOST:PORT",
		"127.0.0.1":      "HOST:PORT",
		"127.0.0.1:http": "port",
		"127.0.0.1:":     "port",
		"localhost:0":    "",
		"127.0.0.1:0":    "",
	} {
		listener, err := listen(t.Context(), address)
		if wrong == "" {
			if err != nil {
				t.Errorf("%s: %v", address, err)
				continue
			}
			_ = listener.Close()
			continue
		}
		if code := pluginsdk.CodeOf(err); code != pluginsdk.CodeInvalid && wrong != "no address" || !strings.Contains(err.Error(), wrong) ||
			!strings.Contains(err.Error(), addressVariable) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The usual reason that a daemon does not come up is its own predecessor.
func TestPortInUseIsExplained(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	t.Setenv(addressVariable, other.Addr().String())
	plugin, err := start(t, `{}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = plugin.Activate(t.Context())
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Fatalf("err = %v", err)
	}
	for _, want := range []string{other.Addr().String(), "in use", "--port", "PORT"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if plugin.Addr() != nil {
		t.Error("it believes that it listens")
	}
	_ = other.Close()
	if err := plugin.Activate(t.Context()); err != nil {
		t.Errorf("once the port is free: %v", err)
	}
}

func TestDeactivateAndActivateAgain(t *testing.T) {
	plugin := activate(t, `{"auth":"network"}`, submitter{})
	for range 3 {
		if err := plugin.Activate(t.Context()); err != nil { // already active
			t.Fatal(err)
		}
		conn, _ := dial(t, plugin, nil)
		address := plugin.Addr().String()
		deactivated := make(chan error, 1)
		go func() { deactivated <- plugin.Deactivate(context.Background()) }()
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				if !websocket.IsCloseError(err, websocket.CloseGoingAway) {
					t.Errorf("the socket ended with %v", err)
				}
				break
			}
		}
		if err := <-deactivated; err != nil {
			t.Fatal(err)
		}
		if err := plugin.Deactivate(t.Context()); err != nil { // already inactive
			t.Fatal(err)
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			t.Fatal("it still listens")
		}
		if err := broadcast(t, plugin, pluginsdk.Event{Type: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Activate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status, err := chat(plugin, nil); status != 202 {
			t.Fatal(status, err)
		}
	}
}

// Whoever has sent a message gets the answer that it is kept, even when the
// daemon stops at that moment.
func TestDeactivateLetsRequestsEnd(t *testing.T) {
	messages := submitter{entered: make(chan struct{}), gate: make(chan struct{})}
	plugin := activate(t, `{"auth":"network"}`, messages)
	address := plugin.Addr().String()
	answered := make(chan int, 1)
	go func() {
		status, _ := chat(plugin, nil)
		answered <- status
	}()
	<-messages.entered
	deactivated := make(chan error, 1)
	go func() { deactivated <- plugin.Deactivate(context.Background()) }()
	for { // until nothing new is taken in
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	select {
	case err := <-deactivated:
		t.Fatalf("it did not wait for the request: %v", err)
	default:
	}
	close(messages.gate)
	if status := <-answered; status != http.StatusAccepted {
		t.Errorf("status = %d", status)
	}
	if err := <-deactivated; err != nil {
		t.Error(err)
	}
}

func TestDeactivateIsBounded(t *testing.T) {
	messages := submitter{entered: make(chan struct{}), gate: make(chan struct{})}
	plugin := activate(t, `{"auth":"network"}`, messages)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = chat(plugin, nil)
	}()
	<-messages.entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := plugin.Deactivate(over); err != nil {
		t.Error(err)
	}
	<-answered
	close(messages.gate)
}

// A person looking at the log must find where to go.
func TestAddressIsLogged(t *testing.T) {
	t.Setenv(addressVariable, "127.0.0.1:0")
	log := new(bytes.Buffer)
	plugin := new(Plugin)
	host := pluginsdk.Host{Settings: settingsOf(`{}`), Events: events{}, Log: slog.New(slog.NewTextHandler(log, nil))}
	if err := plugin.Start(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	address := plugin.Addr().String()
	if err := plugin.Deactivate(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "http://"+address) {
		t.Errorf("log = %s", log)
	}
}
