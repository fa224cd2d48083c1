package promptcontext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// shownIn returns which of the context files a fresh prompt of a thread shows.
func (f fixture) shownIn(kind pluginsdk.ThreadKind, source string) string {
	f.Helper()
	prompt := f.promptIn(pluginsdk.Thread{ID: "T", Kind: kind, Source: source})
	if !strings.Contains(prompt, "[user]: hi") {
		f.Errorf("%s thread of %s: the history of the thread itself is missing: %s", kind, source, prompt)
	}
	var shown []string
	for _, name := range []string{"memory.md", "world-state.md", "system.md"} {
		if strings.Contains(prompt, name) {
			shown = append(shown, name)
		}
	}
	return strings.Join(shown, " ")
}

func (f fixture) set(settings string) error {
	_, err := f.plugin.OnSettingsChange(f.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)})
	return err
}

// What the agent knows of its owner must not be in front of a stranger's
// message, nor go to a worker that was given a task only.
func TestWhichThreadsGetTheFiles(t *testing.T) {
	f := start(t)
	for _, name := range []string{"memory.md", "world-state.md", "system.md"} {
		f.write(name, "content")
	}
	f.thread.say("user", "text", "hi")
	const all, none = "memory.md world-state.md system.md", ""
	for _, arrangement := range []struct {
		settings string
		want     map[string]string // by kind and source of the thread
	}{
		{`{}`, map[string]string{
			"primary/web": all, "general/web": all, "general/cli": all, "cron/cron": all, "cron/web": all,
			"general/discord-owner": all, "task/discord-owner": none, "general/discord": none, "general/slack-like": none, "general/": none, "/": none,
			"task/task": none, "task/web": none, "task/cli": none,
		}},
		{`{"threads":["primary","general/discord"]}`, map[string]string{
			"primary/web": all, "general/discord": all, "general/discord-two": none, "general/discord-owner": none, "general/web": none, "cron/cron": none, "task/discord": none,
		}},
		{`{"threads":["general","task"]}`, map[string]string{
			"general/discord": all, "general/web": all, "task/task": all, "primary/web": none,
		}},
		{`{"filesForOthers":["system.md","not-there.md"]}`, map[string]string{
			"primary/web": all, "general/discord": "system.md", "task/task": "system.md",
		}},
		{`{"threads":[]}`, map[string]string{"primary/web": none, "general/web": none, "cron/cron": none}},
	} {
		if err := f.set(arrangement.settings); err != nil {
			t.Fatal(err)
		}
		for thread, want := range arrangement.want {
			kind, source, _ := strings.Cut(thread, "/")
			if got := f.shownIn(pluginsdk.ThreadKind(kind), source); got != want {
				t.Errorf("%s: a thread %s is shown %q; want %q", arrangement.settings, thread, got, want)
			}
		}
	}
}

// Not even the names of files are told to whom they are withheld from.
func TestWithheldFilesAreNotNamed(t *testing.T) {
	f := start(t)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "plan-to-leave"} {
		f.write(name+".md", strings.Repeat("x", defaultFileBytes))
	}
	f.write("public.md", "for all")
	if err := f.set(`{"filesForOthers":["public.md"]}`); err != nil {
		t.Fatal(err)
	}
	want := "# Context\n\n## public.md\n\nfor all\n\n---\n\nHEADER\n\nhello"
	if got := f.promptIn(pluginsdk.Thread{ID: "T", Kind: pluginsdk.ThreadGeneral, Source: "discord"}); got != want {
		t.Errorf("prompt of %d bytes ends %q", len(got), got[max(0, len(got)-200):])
	}
}

// A thread that is misspelt would silently get nothing, and one that the
// operator meant to leave out could get all.
func TestWrongAudiencesAreNamed(t *testing.T) {
	f := start(t)
	f.write("memory.md", "m")
	for settings, wrong := range map[string]string{
		`{"threads":["primary","genral/web"]}`: `threads has "genral/web"`,
		`{"threads":["discord"]}`:              `threads has "discord"`,
		`{"threads":["general/"]}`:             `threads has "general/"`,
		`{"threads":["general/Web"]}`:          `threads has "general/Web"`,
		`{"threads":["general/web/1"]}`:        `threads has "general/web/1"`,
		`{"threads":[" primary"]}`:             `threads has " primary"`,
		`{"threads":[""]}`:                     `threads has ""`,
		`{"threads":"primary"}`:                `threads`,
		`{"filesForOthers":["system"]}`:        `filesForOthers has "system"`,
		`{"filesForOthers":["../secret.md"]}`:  `filesForOthers has "../secret.md"`,
		`{"filesForOthers":[".hidden.md"]}`:    `filesForOthers has ".hidden.md"`,
		`{"filesForOthers":["*"]}`:             `filesForOthers has "*"`,
	} {
		if err := f.set(settings); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v; want CodeInvalid with %s", settings, err, wrong)
		}
	}
	f.expect("session", "# Context\n\n## memory.md\n\nm\n\n---\n\nHEADER\n\nhello")
}

// Who speaks in a thread apart learns nothing of its owner, whatever kind and source it has.
func TestAThreadApartIsShownNothingOfItsOwner(t *testing.T) {
	shown := audience{Threads: append(ownersThreads(), "task"), FilesForOthers: []string{"system.md"}}
	for _, thread := range []pluginsdk.Thread{
		{Kind: pluginsdk.ThreadGeneral, Source: "web"}, {Kind: pluginsdk.ThreadCron, Source: "cron"},
		{Kind: pluginsdk.ThreadTask, Source: "task"}, {Kind: pluginsdk.ThreadGeneral, Source: "discord-owner"},
	} {
		if !shown.shows(thread, "memory.md") {
			t.Errorf("the owner's %+v is not shown memory", thread)
		}
		if thread.Apart = true; shown.shows(thread, "memory.md") || !shown.shows(thread, "system.md") {
			t.Errorf("%+v is shown its owner's memory, or not what is for others", thread)
		}
	}
}
