package promptcontext

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What the daemon sees, over the wire.
func TestOverTheWire(t *testing.T) {
	f := start(t)
	f.write("memory.md", "likes tea")
	f.thread.say("user", "text", "hi")
	plugin := plugintest.Serve(t, new(Plugin), f.host(`{"maxFileBytes":100}`))
	if manifest := plugin.Manifest(); !manifest.Answers(pluginsdk.HookBeforeInvoke) || !manifest.Answers(pluginsdk.HookSettingsChange) {
		t.Errorf("hooks = %v", manifest.Hooks)
	}
	got, err := plugin.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{
		Call: pluginsdk.Call{ID: "C", RunID: "R", Token: "token"}, Thread: pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadPrimary}, Prompt: "hello",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Context\n\n## memory.md\n\nlikes tea\n\n---\n\n# Conversation History\n\n[user]: hi\n\n---\n\nhello"
	if *got.Prompt != want {
		t.Errorf("got %q; want %q", *got.Prompt, want)
	}
	_, err = plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: []byte(`{"dir":"relative"}`)})
	if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("a wrong setting: %v", err)
	}
}
