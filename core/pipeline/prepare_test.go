package pipeline

import (
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// hooksOf makes plugins answer these hooks alone.
func hooksOf(b *bench, of ...[]pluginsdk.Hook) {
	for i, hooks := range of {
		b.plugins[i].info.Manifest.Hooks = hooks
	}
}

// Plugins that put text in front of whatever the prompt is are asked at the same time, without
// the prompt. One that returns a whole prompt all the same is passed over.
func TestPrefixesAreAskedForTogether(t *testing.T) {
	b := newBench("a", "b", "c", "liar")
	var both sync.WaitGroup
	both.Add(2)
	for _, plugin := range b.plugins {
		plugin.info.Manifest.PromptPrefix = plugin.info.Name != "a"
	}
	for _, plugin := range b.plugins[1:3] {
		plugin.prefix = func(r *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
			both.Done()
			both.Wait() // one after the other, the test would never come past this
			if r.Prompt != "" {
				t.Errorf("%s is given %q", plugin.info.Name, r.Prompt)
			}
			return &pluginsdk.OnBeforeInvokeResponse{Prefix: plugin.info.Name}, nil
		}
	}
	b.plugins[3].prefix = func(*pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
		lie := "nobody has said anything"
		return &pluginsdk.OnBeforeInvokeResponse{Prompt: &lie}, nil
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got, want := b.agent.requests[0].Prompt, "c\n\n---\n\nb\n\n---\n\na([thread T,"; !strings.HasPrefix(got, want) {
		t.Errorf("the prompt is %q, want it to begin with %q", got, want)
	}
}

// Who only wants to know that a run has begun does not hold up who makes its prompt;
// what it did to the run is stored with the intent, in its place, all the same.
func TestStartIsToldBesideThePrompt(t *testing.T) {
	b := newBench("a", "b")
	hooksOf(b, []pluginsdk.Hook{pluginsdk.HookPipelineStart}, []pluginsdk.Hook{pluginsdk.HookBeforeRun, pluginsdk.HookBeforeInvoke})
	for _, plugin := range b.plugins {
		plugin.effects = func(hook pluginsdk.Hook) *pluginsdk.Effects { return row(string(hook)) }
	}
	asked := make(chan struct{})
	b.plugins[0].notify = func(pluginsdk.Hook) error {
		<-asked
		return nil
	}
	b.plugins[1].before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
		close(asked) // in the order of the steps, the test would never come here
		return r.Prompt, nil
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := keys(b.store.intents[0].Effects); got != "b OnBeforeRun, a OnPipelineStart, b OnBeforeInvoke" {
		t.Errorf("5a stores %q", got)
	}
}

// A plugin is asked one thing at a time, in the order of the steps.
func TestStartIsNotToldBesideThePluginsOwnHooks(t *testing.T) {
	for _, next := range []pluginsdk.Hook{pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke} {
		b := newBench("a", "b")
		hooksOf(b, []pluginsdk.Hook{pluginsdk.HookPipelineStart}, []pluginsdk.Hook{pluginsdk.HookPipelineStart, next})
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Join(b.journal.lines, "\n")
		first, second := strings.Index(lines, "OnPipelineStart b"), strings.Index(lines, string(next)+" b")
		if first < 0 || second < first {
			t.Errorf("order was\n%s", lines)
		}
	}
}

// What fails closed beside the prompt fails the attempt before the agent has it, and
// what was done to the run until then is not lost with it.
func TestStartThatFailsBesideThePrompt(t *testing.T) {
	b := newBench("a", "b")
	hooksOf(b, []pluginsdk.Hook{pluginsdk.HookPipelineStart}, []pluginsdk.Hook{pluginsdk.HookBeforeInvoke})
	b.plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookPipelineStart: pluginsdk.FailClosed}
	b.plugins[0].notify = func(pluginsdk.Hook) error { return pluginsdk.Errorf(pluginsdk.CodeInternal, "no") }
	b.plugins[1].effects = func(hook pluginsdk.Hook) *pluginsdk.Effects { return row(string(hook)) }
	left, err := b.line.Handle(t.Context(), t.Context(), b.claim)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || len(b.store.intents) > 0 {
		t.Errorf("%v, and %d intents", err, len(b.store.intents))
	}
	if got := keys(left.Effects); got != "b OnBeforeInvoke" {
		t.Errorf("left %q", got)
	}
}

// A panic beside the prompt ends the attempt and nothing else.
func TestStartThatPanicsBesideThePrompt(t *testing.T) {
	b := newBench("a", "b")
	hooksOf(b, []pluginsdk.Hook{pluginsdk.HookPipelineStart}, []pluginsdk.Hook{pluginsdk.HookBeforeInvoke})
	b.plugins[0].notify = func(pluginsdk.Hook) error { panic("a fault") }
	if err := b.handle(); err == nil || len(b.store.intents) > 0 {
		t.Errorf("%v, and %d intents", err, len(b.store.intents))
	}
}

// The answer of a turn goes to the disk with its reply; where commands lie between them,
// or no reply follows, by itself.
func TestWhichResultsGoToTheDiskAtOnce(t *testing.T) {
	plain := newBench("a")
	command := newBench("a")
	command.agent.answer = says("[COMMAND type=notify thread=primary]It is done.[/COMMAND]\nOK.")
	failed := newBench("a")
	failed.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "no", Retryable: true})
	for name, c := range map[string]struct {
		b    *bench
		soon bool
	}{"an answer": {plain, true}, "an answer with a command": {command, false}, "a failure": {failed, false}} {
		_ = c.b.handle()
		if got := c.b.store.results[0].MayWaitForDisk; got != c.soon {
			t.Errorf("%s: soon is %t", name, got)
		}
	}
}
