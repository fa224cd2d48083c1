package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator upgrades, goes back, and meets versions that cannot work, while
// people are being answered: no turn fails or is lost, each is one version's
// from its first hook to its last, and a version that failed answers none.
func TestUpgradesUnderLoadLoseNothing(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "")
	in.demo(`[{"match":"","delay":15,"text":"done"}]`) // so that runs lie across an upgrade
	h := in.harbour()
	in.start()
	h.open()
	h.serve("1.0.0", ferryName, lighthouse)
	load := h.load(4, ferryName, lighthouse)
	load.more(8)
	for _, fault := range []string{"activate", "describe", "start"} {
		h.serve("2.0.0", ferryName, lighthouse)
		h.set(ferryName)
		load.more(8)
		h.fail(fault, ferryName, lighthouse)
		load.more(8)
		h.serve("1.0.0", ferryName, lighthouse)
		load.more(8)
	}
	turns := load.end()
	for _, name := range []string{ferryName, lighthouse} {
		h.heard(name, turns)
		h.judge(name, turns, false)
		h.alone(name)
	}
}

// An operator turns plugins off and on while people are being answered: the
// answers go on, with what the plugins add or without it.
func TestTogglesUnderLoadLoseNothing(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "")
	in.demo(`[{"match":"","delay":15,"text":"done"}]`)
	h := in.harbour()
	in.start()
	h.open()
	names := []string{ferryName, lighthouse}
	h.serve("1.0.0", names...)
	load := h.load(4) // nobody gives a command to a plugin that is off
	load.more(8)
	shipped := []string{"time", "context", "activity"}
	for range 2 {
		for _, group := range [][]string{shipped, names} {
			h.toggle(false, group...)
			load.more(8)
			h.toggle(true, group...)
			load.more(8)
		}
	}
	turns := load.end()
	for _, name := range names {
		h.judge(name, turns, true)
		h.alone(name)
	}
	for _, name := range shipped {
		if row := plugin(t, h.store, name); row.Restarts != 0 || row.Failures != 0 {
			t.Errorf("a toggle counted as a fault of %s: %+v", name, row)
		}
	}
}

// A run that one version has begun is that version's to the end, however long
// it takes, and then the old process ends.
func TestALongRunEndsWithTheVersionThatBeganIt(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "")
	h := in.harbour()
	in.start()
	h.open()
	h.serve("1.0.0", ferryName)
	watch, slow, quick := in.watch(), in.thread("slow"), in.thread("quick")
	held := in.chat(slow, "wait for the tide")
	in.until("the run is held in a hook", func() bool {
		return slices.ContainsFunc(h.journal(ferryName), func(e ferryEntry) bool { return e.Run == held.RunID && e.Hook == "OnBeforeInvoke" })
	})
	h.serve("2.0.0", ferryName)
	passing, _ := in.say(watch, quick, "hello")
	if err := os.WriteFile(filepath.Join(h.dir, "tide"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in.until("the run's end", func() bool { return in.run(held.RunID).State.Final() })
	for run, want := range map[string]string{held.RunID: "1.0.0", passing.RunID: "2.0.0"} {
		if got := h.versionsOf(ferryName, run); in.run(run).State != pluginsdk.RunSucceeded || len(got) != 1 || got[want] != len(hooksOfATurn) {
			t.Errorf("a run that began with %s is %s; hooks by version: %v", want, in.run(run).State, got)
		}
	}
	h.alone(ferryName)
}

// hooksOfATurn are those that every turn with the agent passes in a ferry.
var hooksOfATurn = []string{
	"OnPipelineStart", "OnMessage", "OnBeforeInvoke", "OnAfterInvoke", "OnBeforeReply", "OnPipelineComplete",
}

// versionsOf counts the calls of a run by the versions that answered them.
func (h *harbour) versionsOf(name, run string) map[string]int {
	h.in.t.Helper()
	counted := make(map[string]int)
	for _, entry := range h.journal(name) {
		if entry.Run == run {
			counted[entry.Version]++
		}
	}
	return counted
}

// serve makes a version the one that is to run, of several plugins at once, and
// waits until calls go to it.
func (h *harbour) serve(version string, names ...string) {
	h.in.t.Helper()
	h.change(version, "", "plugin serves", names)
}

// fail does so with a version that cannot work, and waits until it has failed.
func (h *harbour) fail(fault string, names ...string) {
	h.in.t.Helper()
	h.change("3.0.0-"+fault, fault, "plugin could not be replaced", names)
	for _, name := range names {
		h.in.until("what the operator reads of "+fault, func() bool {
			return strings.Contains(plugin(h.in.t, h.store, name).LastError, "the one that was to replace it failed: ")
		})
	}
}

func (h *harbour) change(version, fault, said string, names []string) {
	h.in.t.Helper()
	lines := func(name string) (n int) {
		for line := range strings.Lines(h.in.log.String()) {
			if strings.Contains(line, said) && strings.Contains(line, " plugin="+name+" ") {
				n++
			}
		}
		return n
	}
	before := make(map[string]int)
	for _, name := range names {
		before[name] = lines(name)
		h.use(name, version, fault)
	}
	for _, name := range names {
		h.in.until(name+" "+version+": "+said, func() bool { return lines(name) > before[name] })
	}
}

// set changes a setting, and waits until the plugin was told.
func (h *harbour) set(name string) {
	t := h.in.t
	t.Helper()
	value := fmt.Sprintf(`{"tide":%d}`, time.Now().UnixNano()%1e9)
	err := h.store.EditPluginSettings(t.Context(), name, "test", func(_ json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
		return json.RawMessage(value), sealed, "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.in.until("the new settings", func() bool {
		return slices.ContainsFunc(h.journal(name), func(e ferryEntry) bool {
			return e.Hook == "OnSettingsChange" && strings.ReplaceAll(e.Value, " ", "") == value
		})
	})
}

// alone waits until the process that serves is the only one left of a plugin.
func (h *harbour) alone(name string) {
	h.in.t.Helper()
	var newest int
	pids := make(map[int]bool)
	for _, entry := range h.journal(name) {
		if entry.Hook == "Start" {
			newest = entry.PID
			pids[entry.PID] = true
		}
	}
	h.in.until("the end of old processes of "+name, func() bool {
		alive := 0
		for pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				alive++
			}
		}
		return alive <= 1
	})
	if err := syscall.Kill(newest, 0); err != nil {
		h.in.t.Errorf("the newest process of %s (%d of them) has ended: %v", name, len(pids), err)
	}
}

// heard waits until a plugin was told of the end of every turn, by one version
// or another.
func (h *harbour) heard(name string, turns []turn) {
	h.in.t.Helper()
	h.in.until("the events of "+name, func() bool {
		told := make(map[string]bool)
		for _, entry := range h.journal(name) {
			if entry.Hook == "OnBroadcast" {
				for run := range strings.FieldsSeq(entry.Value) {
					told[run] = true
				}
			}
		}
		if told[string(pluginsdk.EventResync)] {
			h.in.t.Fatalf("%s was told that it has missed events", name)
		}
		return !slices.ContainsFunc(turns, func(turn turn) bool { return !told[turn.run] })
	})
}

// judge compares what a plugin has noted with what people were answered. gaps
// says that the plugin was off at times.
func (h *harbour) judge(name string, turns []turn, gaps bool) {
	t := h.in.t
	t.Helper()
	entries := h.journal(name)
	byRun := make(map[string][]ferryEntry)
	broadcasts := make(map[string]int)
	for _, entry := range entries {
		byRun[entry.Run] = append(byRun[entry.Run], entry)
		if entry.Hook != "Start" && strings.HasPrefix(entry.Version, "3") {
			t.Errorf("%s %s, which cannot work, was called: %s", name, entry.Version, entry.Hook)
		}
		if entry.Hook == "OnBroadcast" {
			broadcasts[entry.Version]++
		}
	}
	answered := make(map[string]int)
	for _, turn := range turns {
		answered[h.judgeTurn(name, turn, byRun[turn.run], gaps)]++
	}
	t.Logf("%s: %d turns, by version %v; events %v", name, len(turns), answered, broadcasts)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		if !gaps && (answered[version] == 0 || broadcasts[version] == 0) {
			t.Errorf("%s %s answered %d turns and %d events", name, version, answered[version], broadcasts[version])
		}
	}
	if row := plugin(t, h.store, name); row.Restarts != 0 || row.Failures != 0 {
		t.Errorf("what an operator did counted as a fault of %s: %d restarts, %d failures: %s", name, row.Restarts, row.Failures, row.LastError)
	}
}

// judgeTurn returns the version that the turn was answered with; empty: none.
func (h *harbour) judgeTurn(name string, turn turn, entries []ferryEntry, gaps bool) (version string) {
	t := h.in.t
	t.Helper()
	want := hooksOfATurn
	if turn.command != "" {
		want = []string{"OnPipelineStart", "OnCommand", "OnPipelineComplete"}
		if turn.command != name {
			want = []string{"OnPipelineStart", "OnPipelineComplete"}
		}
	}
	var hooks []string
	for _, entry := range entries {
		if version == "" {
			version = entry.Version
		}
		if entry.Version != version {
			t.Errorf("run %s: %s answers %s, which began with %s", turn.run, entry.Version, entry.Hook, version)
		}
		hooks = append(hooks, entry.Hook)
	}
	if !gaps && !slices.Equal(hooks, want) {
		t.Errorf("run %s (%q): %s was asked %v; want %v", turn.run, turn.command, name, hooks, want)
	}
	if turn.command != "" && turn.command != name {
		return version
	}
	stamps := strings.Count(turn.reply, "<"+name+" ")
	answered := slices.Contains(hooks, "OnBeforeReply") || slices.Contains(hooks, "OnCommand")
	if stamps > 1 || answered && !strings.Contains(turn.reply, "<"+name+" "+version+">") {
		t.Errorf("run %s, answered by %s %s: %q", turn.run, name, version, turn.reply)
	}
	return version
}

// turn is a message that was answered.
type turn struct {
	run, thread, reply string
	command            string // empty: it went to the agent
}

// load is people who go on talking, each in a thread, and now and then give one
// of the commands.
type load struct {
	h        *harbour
	commands []string
	cancel   context.CancelFunc
	people   sync.WaitGroup

	mu    sync.Mutex
	turns []turn
	errs  []error
}

func (h *harbour) load(people int, commands ...string) *load {
	h.in.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{h: h, commands: commands, cancel: cancel}
	h.in.t.Cleanup(func() {
		cancel()
		l.people.Wait()
	})
	for n := range people {
		thread := h.in.thread(fmt.Sprintf("person %d", n))
		l.people.Go(func() { l.talk(ctx, thread) })
	}
	return l
}

func (l *load) talk(ctx context.Context, thread string) {
	for n := 0; ctx.Err() == nil; n++ {
		said := turn{thread: thread}
		content := "hello"
		if n%4 == 3 && len(l.commands) > 0 {
			said.command = l.commands[n/4%len(l.commands)]
			content = "/" + said.command
		}
		err := l.say(content, &said)
		l.mu.Lock()
		l.turns = append(l.turns, said)
		if err != nil {
			l.errs = append(l.errs, err)
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// say sends a message and waits for the end of its run.
func (l *load) say(content string, said *turn) error {
	body, err := json.Marshal(map[string]string{"threadId": said.thread, "content": content})
	if err != nil {
		return err
	}
	response, err := http.Post(l.h.in.base+"/api/chat", "application/json", bytes.NewReader(body)) //nolint:noctx // it ends by itself
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var accepted pluginsdk.Accepted
	if err := json.NewDecoder(response.Body).Decode(&accepted); err != nil || accepted.RunID == "" {
		return fmt.Errorf("POST /api/chat: %s %w", response.Status, err)
	}
	said.run = accepted.RunID
	deadline := time.Now().Add(patience)
	for {
		run, err := l.h.store.Run(context.Background(), said.run)
		switch {
		case err != nil:
			return err
		case run.State == pluginsdk.RunSucceeded && run.Attempt == 1:
			return nil
		case run.State.Final(), run.Attempt > 1:
			return fmt.Errorf("run %s is %s at attempt %d: %s", run.ID, run.State, run.Attempt, run.Error)
		case time.Now().After(deadline):
			return fmt.Errorf("run %s was not answered", run.ID)
		}
		<-time.After(2 * time.Millisecond) // the daemon signals to its own clients only
	}
}

// more waits until so many more turns have been taken, so that what was done
// before lies between turns.
func (l *load) more(turns int) {
	l.h.in.t.Helper()
	l.mu.Lock()
	want := len(l.turns) + turns
	l.mu.Unlock()
	l.h.in.until("more turns", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err := errors.Join(l.errs...); err != nil {
			l.h.in.t.Fatal(err)
		}
		return len(l.turns) >= want
	})
}

// end lets everybody finish and returns what they were answered.
func (l *load) end() []turn {
	t := l.h.in.t
	t.Helper()
	l.cancel()
	l.people.Wait()
	if err := errors.Join(l.errs...); err != nil {
		t.Fatal(err)
	}
	replies := make(map[string]string)
	for _, turn := range l.turns {
		if _, read := replies[turn.thread]; !read {
			replies[turn.thread] = ""
			l.h.read(turn.thread, replies)
		}
	}
	for n, turn := range l.turns {
		if l.turns[n].reply = replies[turn.run]; l.turns[n].reply == "" {
			t.Errorf("run %s has no answer", turn.run)
		}
	}
	return l.turns
}

// read puts what a thread's people were answered into replies, by run.
func (h *harbour) read(thread string, replies map[string]string) {
	h.in.t.Helper()
	query := pluginsdk.MessageQuery{ThreadID: thread, Limit: 1000, Roles: []pluginsdk.Role{pluginsdk.RoleAssistant, pluginsdk.RoleSystem}, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}}
	for {
		page, err := h.store.Messages(h.in.t.Context(), query)
		if err != nil {
			h.in.t.Fatal(err)
		}
		for _, message := range page {
			replies[message.RunID] += message.Content
		}
		if len(page) < query.Limit {
			return
		}
		query.After = page[len(page)-1].ID
	}
}
