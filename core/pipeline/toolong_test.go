package pipeline

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who reads that the prompt was too long reads which plugin has made it so. Before this no
// plugin was named, and every turn failed.
func TestAPromptThatIsTooLongNamesThePlugins(t *testing.T) {
	b := newBench("small", "big")
	b.plugins[0].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) { return r.Prompt + "!", nil }
	b.plugins[1].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
		return r.Prompt + strings.Repeat("x", 1<<20), nil
	}
	b.store.rows = []pluginsdk.Message{{ID: 6, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "rows", Plugin: "rows", Content: strings.Repeat("y", 5000)}}
	b.claim.Message.Plugin = "web"
	b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "Prompt is too long", APIStatus: 400})
	err := b.handle()
	for _, want := range []string{"Prompt is too long", "from plugins: big 1048576, rows 5000, web 5, small 1.", "`harness plugin disable big`", "/new"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if !strings.Contains(b.store.results[0].AgentRun.Error, "big 1048576") {
		t.Errorf("stored: %s", b.store.results[0].AgentRun.Error)
	}
}

// Nobody is blamed who did nothing, nor for another failure.
func TestWhoIsNotBlamedForALongPrompt(t *testing.T) {
	for name, row := range map[string]struct {
		failure pluginsdk.Failure
		said    string
	}{
		"the conversation": {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "input length and max_tokens exceed context limit"}, "none of them from a plugin"},
		"overloaded":       {pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "Overloaded"}, ""},
		"the agent's word": {pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "prompt is too long"}, ""},
	} {
		b := newBench("shortens")
		b.plugins[0].before = func(*pluginsdk.OnBeforeInvokeRequest) (string, error) { return "p", nil }
		b.agent.answer = failsWith(&row.failure)
		err := b.handle()
		if err == nil || !strings.Contains(err.Error(), row.said) || (row.said == "") == strings.Contains(err.Error(), "The prompt of this turn") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
