package agentcheck

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The windows of a plan: the CLI reads them from the API's answers when it has a login.

// told are the windows that a world's agent was told of, the latest word on each.
type told struct {
	mu      sync.Mutex
	windows map[string]pluginsdk.PlanWindow
}

func (t *told) note(_ string, windows []pluginsdk.PlanWindow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, window := range windows {
		t.windows[window.Name] = window
	}
}

func (t *told) of(name string) pluginsdk.PlanWindow {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.windows[name]
}

// login has the CLI use a login instead of a key.
func login(w *world) {
	w.config.Env = slices.DeleteFunc(w.config.Env, func(entry string) bool { return strings.HasPrefix(entry, "ANTHROPIC_API_KEY=") })
	w.config.Env = append(w.config.Env, "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-test")
	w.told = &told{windows: map[string]pluginsdk.PlanWindow{}}
	w.config.OnPlan = w.told.note
}

// opens is when the windows of these lines open again.
func opens() time.Time { return time.Now().Add(90 * time.Minute).Truncate(time.Second) }

func windowFiguresAreTold(w *world) string {
	w.began()
	at := opens()
	w.api.SetWindows(&fakeapi.Windows{Status: fakeapi.Warning, Each: []fakeapi.Window{
		{Name: "5h", Used: 0.93, Reset: at}, {Name: "7d", Used: 0.41, Status: fakeapi.Allowed, Reset: at.Add(48 * time.Hour)},
	}})
	defer w.api.SetWindows(nil)
	w.say("say:nearly", "nearly")
	hours, week := w.told.of("five_hour"), w.told.of("seven_day")
	w.expect(hours.Status == pluginsdk.PlanWarning, "a nearly used-up window is reported as %q", hours.Status)
	w.expect(hours.ResetsAt.Equal(at), "the reset of a window is reported as %s instead of %s", hours.ResetsAt, at.UTC())
	if hours.Used == 0 || week.Used == 0 {
		return "the CLI reports that a window is nearly used up, but not the shares; Harness asks for them (get_usage)"
	}
	w.expect(hours.Used == 0.93 && week.Used == 0.41, "the used shares are reported as %v and %v instead of 0.93 and 0.41", hours.Used, week.Used)
	return ""
}

func usedUpWindowIsTold(w *world) string {
	w.began()
	at := opens()
	w.api.SetWindows(&fakeapi.Windows{Status: fakeapi.Rejected, Each: []fakeapi.Window{{Name: "5h", Used: 1, Reset: at}}})
	t := w.invoke(w.request("say:too much"))
	w.api.SetWindows(nil)
	w.expect(t.Failure != nil && t.Failure.Kind == pluginsdk.FailurePlan && t.Failure.Parked != nil, "a used-up window looks like another failure: %s", wordsOf(t.Failure))
	w.expect(t.Failure.Parked.Window == "five_hour", "a used-up window is reported as %q", t.Failure.Parked.Window)
	w.expect(t.Failure.Parked.Until.Equal(at), "a used-up window is reported to reset at %s instead of %s", t.Failure.Parked.Until, at.UTC())
	w.say("say:open again", "open again")
	return ""
}
