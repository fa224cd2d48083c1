package summaries

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// What people in threads apart, schedules, tasks and plugins say is in no prompt and in no summary.
func TestWhoseWordsNeverEnter(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "mine", Kind: pluginsdk.ThreadPrimary})
	w.thread(pluginsdk.Thread{ID: "apart", Apart: true})
	w.thread(pluginsdk.Thread{ID: "strangers", Source: "discord"})
	w.thread(pluginsdk.Thread{ID: "job", Kind: pluginsdk.ThreadCron, Source: "cron"})
	w.thread(pluginsdk.Thread{ID: "work", Kind: pluginsdk.ThreadTask})
	w.thread(pluginsdk.Thread{ID: "own", Source: name})
	for _, id := range []string{"apart", "strangers", "job", "work", "own"} {
		w.says(id, "secret of "+id, "secret answer of "+id)
	}
	w.said(pluginsdk.Message{ThreadID: "mine", Source: "cron", Plugin: "cron", Content: "secret of a schedule"}, "secret answer to a schedule")
	w.said(pluginsdk.Message{ThreadID: "mine", Author: "x", Content: "secret of an agent", Origin: pluginsdk.Origin{RunID: "run"}}, "secret answer to an agent")
	w.host.AddMessage(pluginsdk.Message{ThreadID: "mine", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "evil", Content: "secret of a plugin"})
	w.host.AddMessage(pluginsdk.Message{ThreadID: "mine", Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageToolResult, Content: "secret of a tool"})
	w.host.AddMessage(pluginsdk.Message{ThreadID: "mine", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "cron", Plugin: "cron", Content: "Schedule digest: secret of what a schedule has told"})
	w.says("mine", "an open word", "an open answer")
	w.pass(gather)
	w.step()
	turns := w.turns()
	if len(turns) != 1 || strings.Contains(turns[0].Prompt, "secret") || !strings.Contains(turns[0].Prompt, "an open answer") {
		t.Fatalf("%d turns: %s", len(turns), turns[0].Prompt)
	}
	if text := w.file(summariesFile); !strings.Contains(text, "the primary thread (thread mine") || strings.Contains(text, "secret") {
		t.Errorf("the file is\n%s", text)
	}
}

// A thread that becomes apart while the turn is made, or that is gone, has no section any more.
func TestThreadsThatAreGoneLeaveTheFile(t *testing.T) {
	w := newWorld(t, "")
	w.thread(pluginsdk.Thread{ID: "t1", Name: "One"})
	w.thread(pluginsdk.Thread{ID: "t2", Name: "Two"})
	w.says("t1", "first", "Yes.")
	w.says("t2", "second", "Yes.")
	w.pass(gather)
	w.step()
	archive := archiveDir + "threads-2026-10.md"
	w.host.SetContextFile(archive, "# Archive\n\n## One (thread t1, 2026-10-01)\n- first\n\n## Two (thread t2, 2026-10-01)\n- second\n")
	if _, err := w.host.SDK().Threads.Delete(t.Context(), &pluginsdk.DeleteThreadRequest{ID: "t1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.plugin.OnBroadcast(t.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{{Type: pluginsdk.EventThreadDeleted, ThreadID: "t1", Seq: 2, Boot: "boot"}}}); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	w.step()
	if text := w.file(summariesFile); strings.Contains(text, "first") || !strings.Contains(text, "second") || len(w.turns()) != 1 {
		t.Errorf("%d turns, and the file is\n%s", len(w.turns()), text)
	}
	if text := w.file(archive); text != "# Archive\n\n## Two (thread t2, 2026-10-01)\n- second\n" {
		t.Errorf("the archive is\n%s", text)
	}
	w.says("t2", "more", "Yes.")
	w.pass(time.Hour)
	w.step()
	lists := slices.DeleteFunc(w.host.Calls(), func(call plugintest.HostCall) bool { return call.Method != "Workspace.List" })
	if len(w.turns()) != 2 || len(lists) != 1 {
		t.Errorf("the archives are looked through %d times for one deletion", len(lists))
	}
}

// apartLater has all threads apart from a moment on.
type apartLater struct {
	pluginsdk.Threads

	apart atomic.Bool
}

func (a *apartLater) Get(ctx context.Context, request *pluginsdk.GetThreadRequest) (*pluginsdk.GetThreadResponse, error) {
	answer, err := a.Threads.Get(ctx, request)
	if err == nil {
		answer.Thread.Apart = a.apart.Load()
	}
	return answer, err
}

// A thread that has become apart while the turn was made is not written of.
func TestAThreadThatBecomesApart(t *testing.T) {
	w := newWorld(t, "")
	host := w.host.As(w.inner.Manifest())
	later := &apartLater{Threads: host.Threads}
	host.Threads = later
	w.inner = &Plugin{Now: w.now}
	w.plugin = plugintest.Serve(t, w.inner, host)
	w.answer = func(request pluginsdk.StartTurnRequest) pluginsdk.InvokeResult {
		later.apart.Store(true)
		return w.sums(request)
	}
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.says("t", "hello", "Hello.")
	w.pass(gather)
	w.step()
	if text := w.file(summariesFile); len(w.turns()) != 1 || text != "" {
		t.Errorf("%d turns, and the file is\n%s", len(w.turns()), text)
	}
}

// What is kept does not grow without end: an archive that is full is followed by another, and it is known of a bounded number
// of threads how far they are summarised.
func TestWhatIsKeptIsBounded(t *testing.T) {
	w := newWorld(t, "")
	w.host.SetContextFile(archiveDir+"threads-2026-11.md", strings.Repeat("x", archiveBytes))
	if err := w.inner.archive(t.Context(), "threads", "one\n"); err != nil {
		t.Fatal(err)
	}
	if got := w.file(archiveDir + "threads-2026-11-2.md"); !strings.HasSuffix(got, "\n\none\n") || len(w.file(archiveDir+"threads-2026-11.md")) != archiveBytes {
		t.Errorf("the second archive is %q", got)
	}
	many := &work{Cursors: make(map[string]int64)}
	for n := range int64(mostCursors + 3) {
		many.Cursors[strconv.FormatInt(n, 10)] = n
	}
	if err := w.inner.save(t.Context(), many); err != nil || len(many.Cursors) != mostCursors || many.Cursors["2"] != 0 || many.Cursors["3"] != 3 {
		t.Errorf("%d cursors, %v", len(many.Cursors), err)
	}
}

// busyWorkspace has somebody write a file each time between its being read and written.
type busyWorkspace struct {
	pluginsdk.Workspace
	w     *world
	path  string
	times int
}

func (b *busyWorkspace) Read(ctx context.Context, request *pluginsdk.ReadWorkspaceRequest) (*pluginsdk.ReadWorkspaceResponse, error) {
	answer, err := b.Workspace.Read(ctx, request)
	if request.Path == b.path && request.Version == "" && b.times > 0 {
		b.times--
		b.w.host.SetContextFile(b.path, b.w.file(b.path)+fmt.Sprintf("\nwords in between %d\n", b.times))
	}
	return answer, err
}

// What people and the agent write while the plugin does is not lost.
func TestEditsInBetweenAreNeverLost(t *testing.T) {
	w := newWorld(t, "")
	w.host.SetContextFile(summariesFile, "# Thread summaries\n\nBy hand.\n")
	host := w.host.As(w.inner.Manifest())
	busy := &busyWorkspace{Workspace: host.Workspace, w: w, path: summariesFile, times: mostTries - 2}
	host.Workspace = busy
	w.inner = &Plugin{Now: w.now}
	w.plugin = plugintest.Serve(t, w.inner, host)
	w.thread(pluginsdk.Thread{ID: "t", Name: "Talk"})
	w.says("t", "hello", "Hello.")
	w.pass(gather)
	w.step()
	text := w.file(summariesFile)
	if busy.times != 0 || !strings.Contains(text, "## Talk (thread t, 2026-11-28)\n- they said: hello\n") || !strings.Contains(text, "By hand.") || strings.Count(text, "words in between") != mostTries-2 {
		t.Errorf("the file is\n%s", text)
	}
}
