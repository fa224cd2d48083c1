package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// noon is the time at which a world begins.
var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// world is a host, a clock that the test sets, and the plugin, which may be another after a kill.
type world struct {
	*testing.T

	host   *plugintest.Host
	inner  *Plugin
	plugin process
	died   func() bool // whether the plugin was killed

	mu    sync.Mutex
	clock time.Time
	// answer is the agent: what it says to a prompt.
	answer func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult
	asked  []pluginsdk.StartTurnRequest
}

// process is what a daemon asks of the plugin: the plugin itself, or over the wire.
type process interface {
	pluginsdk.BroadcastHook
	pluginsdk.CommandHook
	pluginsdk.CheckHook
	pluginsdk.SettingsChangeHook
	pluginsdk.ToolProvider
	Activate(ctx context.Context) error
	Deactivate(ctx context.Context) error
}

func newWorld(t *testing.T, settings string) *world {
	t.Helper()
	w := &world{T: t, host: plugintest.NewHost(), clock: noon}
	w.answer = w.sums
	w.host.Agent = func(_ context.Context, request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		w.mu.Lock()
		w.asked = append(w.asked, request)
		answer := w.answer
		w.mu.Unlock()
		return answer(request)
	}
	if settings != "" {
		w.host.SetSettings(json.RawMessage(settings))
	}
	w.serve(plugintest.Death{})
	w.step() // it learns that nothing was before it
	return w
}

// serve starts a process of the plugin, to be killed at a call; it has the capabilities that its manifest asks for. One that
// is not to be killed is asked without the wire between, which takes most of the time under the race detector.
func (w *world) serve(at plugintest.Death) {
	w.Helper()
	w.inner = &Plugin{Now: w.now}
	w.inner.memory.Store(true) // as Activate does
	if at.Call > 0 {
		killed := w.host.ServeUntil(w.T, w.inner, at)
		w.plugin, w.died = killed, killed.Died
		return
	}
	host := w.host.As(w.inner.Manifest())
	host.Log = slog.New(slog.DiscardHandler)
	if err := w.inner.Start(w.Context(), host); err != nil {
		w.Fatal(err)
	}
	w.plugin = w.inner
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

// step has the plugin do what is due, and returns how long it would wait.
func (w *world) step() time.Duration {
	w.Helper()
	wait, err := w.inner.step(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return wait
}

// thread adds a thread, active now.
func (w *world) thread(thread pluginsdk.Thread) {
	if thread.Kind == "" {
		thread.Kind = pluginsdk.ThreadGeneral
	}
	if thread.Source == "" {
		thread.Source = "web"
	}
	if thread.LastActivity.IsZero() {
		thread.LastActivity = w.now()
	}
	w.host.AddThread(thread)
}

// says adds what a person says in a thread, and the answer; the core tells of its end.
func (w *world) says(threadID, words, reply string) {
	w.Helper()
	w.said(pluginsdk.Message{ThreadID: threadID, Author: "Ann", Source: "web", Content: words}, reply)
	w.told(threadID)
}

// said adds a message with its run and the answer, and returns the id of the run.
func (w *world) said(message pluginsdk.Message, reply string) string {
	w.Helper()
	message.Role, message.Kind = pluginsdk.RoleUser, pluginsdk.MessageText
	message.RunID = fmt.Sprintf("run-%s-%d", message.ThreadID, len(w.host.Messages(message.ThreadID)))
	id := w.host.AddMessage(message)
	w.host.AddRun(pluginsdk.Run{ID: message.RunID, ThreadID: message.ThreadID, MessageID: id, Kind: pluginsdk.RunMessage, State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Text: reply}, Events: []pluginsdk.StreamEvent{{Type: pluginsdk.StreamText, Text: reply}}})
	if reply != "" {
		w.host.AddMessage(pluginsdk.Message{ThreadID: message.ThreadID, Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Source: "agent", Content: reply, RunID: message.RunID, CreatedAt: message.CreatedAt})
	}
	return message.RunID
}

// told has the plugin told that a run has ended.
func (w *world) told(threadID string) {
	w.Helper()
	payload, err := json.Marshal(pluginsdk.CompletePayload{ThreadID: threadID, Kind: pluginsdk.RunMessage})
	if err != nil {
		w.Fatal(err)
	}
	_, err = w.plugin.OnBroadcast(w.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{{Type: pluginsdk.EventPipelineComplete, ThreadID: threadID, Data: payload, Seq: 1, Boot: "boot"}}})
	if err != nil {
		w.Fatal(err)
	}
}

// turns are the prompts that the agent was given, each once.
func (w *world) turns() []pluginsdk.StartTurnRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// prompted are the conversations in a prompt.
func prompted(t testing.TB, request pluginsdk.StartTurnRequest) (all []conversation) {
	t.Helper()
	at := strings.Index(request.Prompt, "\n[")
	if at < 0 {
		t.Fatalf("no data in the prompt:\n%s", request.Prompt)
	}
	if err := json.Unmarshal([]byte(request.Prompt[at:]), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// sums is an agent that sums each thread up by its first new message.
func (w *world) sums(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
	var answer summaryAnswer
	for _, one := range prompted(w.T, request) {
		row := struct {
			Thread string   `json:"thread"`
			Lines  []string `json:"lines"`
			Name   string   `json:"name"`
			Long   string   `json:"long"`
		}{Thread: one.Thread, Lines: []string{}}
		if len(one.New) > 0 {
			row.Lines = append(row.Lines, "they said: "+one.New[0].Text)
		}
		if one.Unnamed {
			row.Name = "About " + one.New[0].Text
		}
		if len(one.Long) > 0 {
			row.Long = fmt.Sprintf("all of %d messages, after %q", len(one.Long), one.Before)
		}
		answer.Threads = append(answer.Threads, row)
	}
	return structured(w.T, answer, 0.01)
}

func structured(t testing.TB, answer any, cost float64) pluginsdk.InvokeResult {
	t.Helper()
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Error(err)
	}
	return pluginsdk.InvokeResult{StructuredOutput: raw, CostUSD: cost}
}

// file is the text of a context file; empty: it is not there.
func (w *world) file(path string) string {
	w.Helper()
	answer, err := w.host.SDK().Workspace.Read(w.Context(), &pluginsdk.ReadWorkspaceRequest{Path: path})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return ""
	}
	if err != nil {
		w.Fatal(err)
	}
	return answer.Text
}

func (w *world) checks() []pluginsdk.Check {
	w.Helper()
	answer, err := w.plugin.OnCheck(w.Context(), &pluginsdk.OnCheckRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Checks
}

// served has the plugin deactivated, and a new process of it activated after a time.
func (w *world) served(away time.Duration) {
	w.Helper()
	w.inner.end, w.inner.ended = func() {}, make(chan struct{})
	close(w.inner.ended)
	if err := w.inner.Deactivate(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.pass(away)
	w.serve(plugintest.Death{})
	w.inner.activated = w.now()
}

// says at the world's time, which what was said before its begin is not.
func (w *world) saysNow(threadID, words, reply string) {
	w.Helper()
	w.said(pluginsdk.Message{ThreadID: threadID, Author: "Ann", Source: "web", Content: words, CreatedAt: w.now()}, reply)
	w.told(threadID)
}

// set changes the settings.
func (w *world) set(settings string) {
	w.Helper()
	if _, err := w.plugin.OnSettingsChange(w.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: []byte(settings)}); err != nil {
		w.Fatal(err)
	}
}
