package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What the daemon does with the plugin, over the wire: a message of a person
// gets to the host, and the host's events to a client.
func TestOverTheWire(t *testing.T) {
	t.Setenv(addressVariable, "127.0.0.1:0")
	web := new(Plugin)
	plugin := plugintest.Serve(t, web, pluginsdk.Host{
		Settings: settingsOf(`{"auth":"network"}`), Events: events{}, Messages: submitter{},
	})
	if manifest := plugin.Manifest(); !manifest.Answers(pluginsdk.HookBroadcast) || !manifest.Exclusive {
		t.Errorf("manifest = %+v", manifest)
	}
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, err := chat(web, nil); status != 202 {
		t.Fatal(status, err)
	}
	conn, _ := dial(t, web, nil)
	var frame pluginsdk.Event
	if err := conn.ReadJSON(&frame); err != nil || frame.Type != "hello" || frame.Boot != "b" {
		t.Fatalf("%+v %v", frame, err)
	}
	event := pluginsdk.Event{Type: pluginsdk.EventPipelineStart, Boot: "b", Seq: 1, Data: []byte(`{"runId":"R"}`)}
	if err := broadcast(t, plugin, event); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadJSON(&frame); err != nil || string(frame.Data) != `{"runId":"R"}` {
		t.Fatalf("%+v %v", frame, err)
	}
	if err := plugin.Deactivate(context.Background()); err != nil {
		t.Error(err)
	}
}

// An installation from before the API knew deliveries has not granted them: it
// must work as before, and say what to grant to who asks for more.
func TestWithoutTheNewestGrantsTheRestWorks(t *testing.T) {
	t.Setenv(addressVariable, "127.0.0.1:0")
	host := plugintest.NewHost()
	host.SetSettings(json.RawMessage(`{"auth":"network"}`))
	denied := pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks the capability deliveries.read")
	host.Fail("Deliveries.List", denied)
	web := new(Plugin)
	plugin := host.Serve(t, web)
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, err := chat(web, nil); status != 202 {
		t.Error(status, err)
	}
	answer, err := http.Get("http://" + web.Addr().String() + "/api/deliveries")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var problem struct {
		Detail string `json:"detail"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || answer.StatusCode != http.StatusForbidden ||
		!strings.Contains(problem.Detail, "deliveries.read") {
		t.Errorf("%d %+v %v", answer.StatusCode, problem, err)
	}
	if err := plugin.Deactivate(context.Background()); err != nil {
		t.Error(err)
	}
}
