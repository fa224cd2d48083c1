package pluginhost

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// asksNews asks the plugin news for a job, with what it is to do.
func asksNews(ctx context.Context, h *Host, name, how string) (pluginsdk.OnCronResponse, error) {
	return h.AskCron(ctx, ledger.Behalf{}, name, pluginsdk.CronQuestion{JobID: "7", Job: "inbox", Data: how})
}

// A job that asks a plugin costs a turn only when there is news. Whatever the plugin does, nothing but
// that one question fails, and the person reads what to do about it.
func TestAPluginSaysWhetherThereIsNewsForAJob(t *testing.T) {
	limited := hooks.New(hooks.Config{Deadlines: map[pluginsdk.Hook]time.Duration{pluginsdk.HookCron: 300 * time.Millisecond}}, nil, nil)
	config := Config{Hooks: limited, Failures: 1000, Settings: func(context.Context, ledger.Plugin) (Settings, error) {
		return Settings{Redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}, nil
	}}
	h, r := startOn(t, config, &bus{}, "news", "first")
	if _, err := asksNews(t.Context(), h, "news", "says a letter"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "harness plugin enable news") {
		t.Errorf("while it is off: %v", err)
	}
	_, _ = serving(t, h, r, "news"), serving(t, h, r, "first")

	for how, want := range map[string]pluginsdk.OnCronResponse{
		"says a letter":  {News: true, Text: "inbox: a letter"},
		"says my canary": {News: true, Text: "inbox: my [secret]"},
		"garbled":        {News: true, Text: "\uFFFD"}, // the wire has no other text
		"quiet a letter": {}, "mute": {},
	} {
		if got, err := asksNews(t.Context(), h, "news", how); err != nil || got != want {
			t.Errorf("%s: %+v, %v", how, got, err)
		}
	}
	for _, broken := range []struct {
		name, how string
		code      pluginsdk.Code
		words     string
	}{
		{"nobody", "", pluginsdk.CodeNotFound, `"nobody" is not installed`},
		{"first", "", pluginsdk.CodeStale, "first does not answer OnCron"},
		{"news", "error", pluginsdk.CodeInternal, "hostile on purpose"},
		{"news", "panic", pluginsdk.CodeInternal, "failed in OnCron"},
		{"news", "long", pluginsdk.CodeInternal, "at most 65536"},
		{"news", "exit", pluginsdk.CodeUnavailable, "news"},
		{"news", "hang", pluginsdk.CodeDeadline, "has not answered within 300ms"},
	} {
		before := r.row("news").Failures
		if got, err := asksNews(t.Context(), h, broken.name, broken.how); pluginsdk.CodeOf(err) != broken.code || !strings.Contains(err.Error(), broken.words) || got.News {
			t.Errorf("%s %s: %+v, %s: %v", broken.name, broken.how, got, pluginsdk.CodeOf(err), err)
		}
		if broken.name == "news" {
			r.until(t, "the count of "+broken.how, func() bool { return r.row("news").Failures > before })
		}
		waitFor(t, func() bool { got, err := asksNews(t.Context(), h, "news", "says again"); return err == nil && got.News }) // once it is up again
	}
}

// A plugin that hangs holds up as many questions as are allowed, and is asked no more; who gives up is
// told so.
func TestAPluginIsAskedOnlySoManyQuestionsAtOnce(t *testing.T) {
	h, r := startOn(t, Config{Hooks: hooks.New(hooks.Config{}, nil, nil)}, &bus{}, "news")
	instance := serving(t, h, r, "news")
	ctx, giveUp := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range maxCronQuestions {
		waiting.Go(func() {
			if _, err := asksNews(ctx, h, "news", "hang"); pluginsdk.CodeOf(err) != pluginsdk.CodeCancelled {
				t.Errorf("who gave up was told %v", err)
			}
		})
	}
	waitFor(t, func() bool { return instance.cronQuestions.Load() == maxCronQuestions })
	if _, err := asksNews(t.Context(), h, "news", "says more"); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		t.Errorf("one more: %v", err)
	}
	giveUp()
	waiting.Wait()
	if got, err := asksNews(t.Context(), h, "news", "says more"); err != nil || !got.News {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}
