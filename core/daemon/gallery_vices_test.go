package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// script is a configuration whose demo agent has the rules of the exhibits.
func script(exhibits []exhibit) func(*daemon.Config) {
	var rules []string
	for _, e := range exhibits {
		if e.script != "" {
			rules = append(rules, e.script)
		}
	}
	return func(c *daemon.Config) {
		c.DemoScript = filepath.Join(c.Data, "script.json")
		if err := os.WriteFile(c.DemoScript, []byte("["+strings.Join(rules, ",")+"]"), 0o600); err != nil {
			panic(err)
		}
	}
}

// answered asks, and wants the answer that it gets without the vice: at the
// first attempt.
func (h *hall) answered(thread, content string) pluginsdk.Run {
	h.t.Helper()
	run := h.asked(thread, content)
	if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
		h.t.Errorf("%q: the run is %s at attempt %d: %.300s", content, run.State, run.Attempt, run.Error)
	}
	return run
}

// asked asks and returns the run, which is over.
func (h *hall) asked(thread, content string) pluginsdk.Run {
	h.t.Helper()
	id, err := h.ask(thread, content)
	if err != nil {
		h.t.Errorf("%q: %v", content, err)
		return pluginsdk.Run{}
	}
	return h.run(id)
}

// regrant has a plugin start anew with other rights.
func (h *hall) regrant(name string, grants ...pluginsdk.Capability) {
	h.t.Helper()
	h.disable(name)
	h.must(h.store.SetPluginGrants(h.t.Context(), name, withHooks(grants...), nil))
	h.enable(name)
}

// rows are all of a thread's.
func (h *hall) rows(thread string) []pluginsdk.Message {
	h.t.Helper()
	rows, err := h.store.Messages(h.t.Context(), pluginsdk.MessageQuery{ThreadID: thread, Limit: 1000})
	h.must(err)
	for len(rows) > 0 && len(rows)%1000 == 0 {
		more, err := h.store.Messages(h.t.Context(), pluginsdk.MessageQuery{ThreadID: thread, After: rows[len(rows)-1].ID, Limit: 1000})
		h.must(err)
		if len(more) == 0 {
			break
		}
		rows = append(rows, more...)
	}
	return rows
}

// prompt is what the reader, behind all others, was given of a run.
func (h *hall) prompt(run string) string { return h.file("prompt-" + run + ".txt") }

// said are the lines of a file that an exhibit wrote, of which the last one says
// that it has done its worst in a thread.
func (h *hall) said(file, thread string) (tries [][]string) {
	h.t.Helper()
	h.until("the end of what is done in "+thread, func() bool { return strings.Contains(h.file(file), "over "+thread+"\n") })
	for line := range strings.Lines(h.file(file)) {
		if try := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3); len(try) == 3 {
			tries = append(tries, try)
		}
	}
	return tries
}

// checkWindbag looks at the threads in which the windbag had its say. They would
// never be answered again, and a plugin that did nothing would be blamed.
func checkWindbag(h *hall) {
	h.t.Helper()
	blameless := h.blameless(witnessName, "reader", "activity", "context", "time", "web")
	var runs []pluginsdk.Run
	all := []string{"/gust", "/gust", "hello", "/groan", "hello", "sigh", "/new", "hello"}
	for _, mode := range []pluginsdk.OnFailure{pluginsdk.FailClosed, pluginsdk.FailOpen} {
		h.witnessFails(mode)
		thread := h.thread("victim of wind, " + string(mode))
		if mode == pluginsdk.FailOpen { // a failure would be held against the witness all the same
			all = []string{"/gust", "hello", "sigh", "hello"}
		}
		for _, content := range all {
			if content == "sigh" || content == "/groan" {
				runs = append(runs, h.asked(thread, content))
				continue
			}
			runs = append(runs, h.answered(thread, content))
		}
		for _, run := range runs {
			if prompt := h.prompt(run.ID); len(prompt) > 2<<20+1024 || !utf8.ValidString(prompt) {
				h.t.Errorf("%s: the next plugin is given a prompt of %d bytes, in whole letters: %v", mode, len(prompt), utf8.ValidString(prompt))
			}
		}
		for _, row := range h.rows(thread) {
			limit := 1<<20 + 1024
			switch {
			case row.Plugin == "windbag" && !strings.Contains(row.Content, "[cut here: "):
				limit = 8 << 20 // what it has stored itself
			case row.Role == pluginsdk.RoleSystem:
				limit = 256<<10 + 1024
			}
			if len(row.Content) > limit || !utf8.ValidString(row.Content) {
				h.t.Errorf("%s: a row %s %s of %s has %d bytes, in whole letters: %v",
					mode, row.Role, row.Kind, row.Source, len(row.Content), utf8.ValidString(row.Content))
			}
		}
	}
	h.answered(h.thread("victim of bluster"), "/bluster")
	h.until("the end of the windbag's own runs", func() bool {
		runs, err := h.store.Runs(h.t.Context(), pluginsdk.RunQuery{Limit: 1000})
		h.must(err)
		return !slices.ContainsFunc(runs, func(run pluginsdk.Run) bool { return !run.State.Final() })
	})
	own, err := h.store.Threads(h.t.Context(), pluginsdk.ThreadQuery{Source: "windbag"})
	h.must(err)
	for _, thread := range own {
		if long := len(thread.Name) + len(thread.Instructions) + len(thread.Model) + len(thread.Effort); long > 1<<20 {
			h.t.Errorf("every plugin is told %d bytes of a thread", long)
		}
		runs, err := h.store.Runs(h.t.Context(), pluginsdk.RunQuery{ThreadID: thread.ID})
		h.must(err)
		for _, run := range runs {
			if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
				h.t.Errorf("in the windbag's own thread a run is %s at attempt %d: %.300s", run.State, run.Attempt, run.Error)
			}
		}
	}
	run := h.answered(h.thread("victim of a preface"), "what the person says")
	if prompt := h.prompt(run.ID); !strings.Contains(prompt, "what the person says") {
		h.t.Errorf("the agent is not told what the person says, but ...%s", prompt[max(len(prompt)-300, 0):])
	}
	if row := h.row("windbag"); len(row.LastError) > 64<<10 {
		h.t.Errorf("the operator reads an error of %d bytes", len(row.LastError))
	}
	for line := range strings.Lines(h.log.String()) {
		if len(line) > 64<<10 {
			h.t.Errorf("the log has a line of %d bytes: %.200s", len(line), line)
		}
	}
	for _, run := range runs {
		if len(run.Error) > 256<<10+1024 {
			h.t.Errorf("a run's error has %d bytes", len(run.Error))
		}
	}
	blameless()
	h.turns(audience)
}

// blameless remembers what is held against plugins that did nothing, and returns
// a function that wants it to be no more.
func (h *hall) blameless(names ...string) func() {
	h.t.Helper()
	before := make(map[string]ledger.Plugin)
	for _, name := range names {
		before[name] = h.row(name)
	}
	return func() {
		h.t.Helper()
		for _, name := range names {
			if now := h.row(name); now.Failures != before[name].Failures || now.LastError != before[name].LastError || now.Restarts != before[name].Restarts {
				h.t.Errorf("%s is blamed: %d failures, %d restarts, %.300q", name, now.Failures, now.Restarts, now.LastError)
			}
		}
	}
}

// witnessFails says what becomes of a step in which the witness fails.
func (h *hall) witnessFails(mode pluginsdk.OnFailure) {
	h.t.Helper()
	h.must(h.store.EditPlugin(h.t.Context(), witnessName, "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.OnFailure = make(map[pluginsdk.Hook]pluginsdk.OnFailure)
		for _, hook := range witnessed {
			row.OnFailure[hook] = mode
		}
		return "", nil
	}))
}

const (
	hoardRows  = 20_000
	hoardBytes = 8 << 20
)

// checkHoarder looks at what the hoarder got hold of. The disk would be full and
// nobody would know of whom.
func checkHoarder(h *hall) {
	h.t.Helper()
	for _, what := range []string{"Metrics.Record", "Messages.Append"} {
		h.until("the refusal of "+what, func() bool {
			return strings.Contains(h.file("hoarder.txt"), what+"\t"+string(pluginsdk.CodeExhausted)+"\t")
		})
	}
	for line := range strings.Lines(h.file("hoarder.txt")) {
		try := strings.SplitN(line, "\t", 3)
		if try[1] == string(pluginsdk.CodeExhausted) && !strings.HasSuffix(try[0], "15 MiB") && !containsAll(try[2], []string{"again"}) {
			h.t.Errorf("it is not told when to try again: %s", line)
		}
	}
	h.must(h.store.EditPlugin(h.t.Context(), "hoarder", "test", "plugin.test", func(row *ledger.Plugin) (string, error) {
		row.Limits.StoredBytes = hoardBytes / 2
		return "", nil
	}))
	h.until("the refusal of more in all", func() bool { return strings.Contains(h.file("hoarder.txt"), "in all") })
	h.turns(audience) // while it goes on
	h.until("the figures", func() bool {
		shown := h.figures("hoarder")
		return shown.HeldBack > 0 && slices.ContainsFunc(shown.Host, func(f figures) bool { return f.Name == "Metrics.Record" && f.Errors > 0 })
	})
	h.until("the metrics", func() bool {
		return containsAll(h.get("/metrics"), []string{`harness_plugin_held_back_total{plugin="hoarder"} `, `"Metrics.Record"`})
	})
	threads, err := h.store.Threads(h.t.Context(), pluginsdk.ThreadQuery{Source: "hoarder", Limit: 1000})
	h.must(err)
	for _, thread := range threads {
		if len(thread.Name) > 64<<10 {
			h.t.Errorf("a thread's name has %d bytes", len(thread.Name))
		}
		for _, row := range h.rows(thread.ID) {
			if len(row.Content) > 4<<20 {
				h.t.Errorf("a row of the kind %s has %d bytes", row.Kind, len(row.Content))
			}
		}
	}
	if size := h.databaseBytes(); size > 8*hoardBytes {
		h.t.Errorf("the database has %d MiB: %d are allowed to the hoarder", size>>20, 2*hoardBytes>>20)
	}
}

// databaseBytes is what the database takes on the disk.
func (h *hall) databaseBytes() (size int64) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.config.Data, "harness.db*"))
	h.must(err)
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	return size
}

// get is a page of the API.
func (h *hall) get(path string) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.base+path, nil)
	h.must(err)
	response, err := http.DefaultClient.Do(request)
	h.must(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	h.must(err)
	return string(content)
}

// figures are those of a plugin's calls, and of one kind of them, as the API
// shows them.
type figures struct {
	Name                                string
	Errors, Slow, HeldBack, RowsDropped int64
	Host                                []figures
}

func (h *hall) figures(name string) figures {
	h.t.Helper()
	var shown struct{ Figures figures }
	h.call(http.MethodGet, "/api/plugins/"+name, nil, &shown)
	return shown.Figures
}

// checkClimber looks at what the climber got at. What the agent may do in
// somebody's thread would not be what that person has decided, and the answers
// would go elsewhere.
func checkClimber(h *hall) {
	h.t.Helper()
	thread := h.thread("victim of the climber")
	h.answered(thread, "hello")
	before, err := h.store.Thread(h.t.Context(), thread)
	h.must(err)
	audited, err := h.store.AuditEntries(h.t.Context(), "", 1000)
	h.must(err)
	h.answered(thread, "hello again")
	own := []string{ // what threads.write is for
		"own create", "own name", "own model", "own model flag", "own effort flag", "own instructions", "own status", "own busy", "own read",
	}
	for _, try := range h.said("climber.txt", before.Name) {
		switch {
		case slices.Contains(own, try[0]):
		case try[0] == "another's branch" && strings.Contains(try[2], "messages.read"):
		case try[0] == "another's delete" && strings.Contains(try[2], "only a person deletes threads"):
		case try[1] != string(pluginsdk.CodeDenied) && try[1] != string(pluginsdk.CodeInvalid):
			h.t.Errorf("%s: %s, %s", try[0], try[1], try[2])
		case !strings.Contains(try[2], "threads.admin") && try[1] == string(pluginsdk.CodeDenied):
			h.t.Errorf("%s: it is not told which right it lacks: %s", try[0], try[2])
		}
	}
	now, err := h.store.Thread(h.t.Context(), thread)
	h.must(err)
	before.LastActivity = now.LastActivity
	if now != before {
		h.t.Errorf("the thread was\n%+v and is\n%+v", before, now)
	}
	entries, err := h.store.AuditEntries(h.t.Context(), "", 1000)
	h.must(err)
	if len(entries) != len(audited) {
		h.t.Errorf("refused tries are audited as if they had been done: %+v", entries[len(audited):])
	}
	h.checkClimbed("climber")

	h.regrant("climber", pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin)
	again := h.thread("victim of the admin")
	before, err = h.store.Thread(h.t.Context(), again)
	h.must(err)
	h.answered(again, "hello")
	persons := 0 // tries that were refused because only a person does that, and not for want of the grant, as those of before
	for _, try := range h.said("climber.txt", "victim of the admin") {
		if strings.Contains(try[2], "only a person says what a thread may do") {
			persons++
		}
		moves := strings.ContainsAny(try[0], " ") && (strings.Contains(try[0], "cwd") || strings.Contains(try[0], "acceptEdits") || strings.Contains(try[0], "reportTo"))
		if moves && try[1] != string(pluginsdk.CodeDenied) {
			h.t.Errorf("with threads.admin, inside of a run: %s: %s, %s", try[0], try[1], try[2])
		}
		if try[1] == "done" && (strings.Contains(try[0], "bypass") || strings.Contains(try[0], "permission flag")) {
			h.t.Errorf("with threads.admin: %s: %s", try[0], try[1])
		}
	}
	if persons == 0 {
		h.t.Error("with threads.admin, inside of a run, nothing is told to be a person's")
	}
	if _, err := h.ask(again, "hello"); err != nil {
		h.t.Error(err)
	}
	now, err = h.store.Thread(h.t.Context(), again)
	h.must(err)
	if now.Cwd != before.Cwd || now.PermissionMode != before.PermissionMode || now.ReportTo != before.ReportTo || now.Account != before.Account {
		h.t.Errorf("the thread was\n%+v and is\n%+v", before, now)
	}
	h.checkClimbed("climber")
}

// checkClimbed looks at the climber's own threads, in which the agent may do no
// more than in others.
func (h *hall) checkClimbed(source string) {
	h.t.Helper()
	threads, err := h.store.Threads(h.t.Context(), pluginsdk.ThreadQuery{Source: source, Limit: 1000})
	h.must(err)
	for _, thread := range threads {
		if thread.PermissionMode != "" || thread.Cwd != "" || thread.ReportTo != (pluginsdk.Target{}) || thread.Kind != pluginsdk.ThreadGeneral {
			h.t.Errorf("a thread of its own is %+v", thread)
		}
	}
}

// checkForger looks at what stands in the thread in others' names. The agent
// would do what the operator never said.
func checkForger(h *hall) {
	h.t.Helper()
	thread := h.thread("victim of the forger")
	first := h.answered(thread, "hello")
	done := 0
	for _, try := range h.said("forger.txt", "victim of the forger") {
		if try[1] == "done" {
			done++
		}
	}
	if done == 0 {
		h.t.Error("it may not even write in its own name")
	}
	second := h.answered(thread, "hello again")
	persons := make(map[string]int)
	for _, row := range h.rows(thread) {
		if !strings.Contains(row.Content, "forged") {
			continue
		}
		told := row.Kind == pluginsdk.MessageText || row.Kind == pluginsdk.MessageNotification || row.Kind == pluginsdk.MessageSummary
		switch {
		case row.Plugin != "forger":
			h.t.Errorf("written by %q: %s %s of %s, %.80q", row.Plugin, row.Role, row.Kind, row.Source, row.Content)
		case row.Role == pluginsdk.RoleUser || row.Author != "":
			persons[fmt.Sprintf("%s %s by %q", row.Role, row.Kind, row.Author)]++
		case told && (row.Role != pluginsdk.RoleSystem || row.Source != "forger"):
			h.t.Errorf("told to the agent as of %s %s: %.80q", row.Role, row.Source, row.Content)
		}
	}
	if len(persons) > 0 {
		h.t.Errorf("rows in a person's name: %v", persons)
	}
	for _, run := range []pluginsdk.Run{first, second} {
		if got := rowsOf(h.rows(thread), run.ID); !strings.Contains(got, "Pipeline completed") || !strings.Contains(got, "reply") {
			h.t.Errorf("a run has lost rows of its own, to forged keys: it has %s", got)
		}
	}
	h.until("the figures", func() bool { return h.figures("forger").RowsDropped > 0 })
	prompt := h.prompt(second.ID)
	if !strings.Contains(prompt, "[forger]: forged") {
		h.t.Errorf("the prompt does not say whose the rows are: %s", prompt)
	}
	if _, after, forged := strings.Cut(prompt, "\n[the operator]: "); forged {
		h.t.Errorf("the agent reads, as the operator's: %.40s", after)
	}
}

// checkVentriloquist looks at who has stopped what. A person would find the
// agent stopped, the conversation gone, and be told that it was her own doing.
func checkVentriloquist(h *hall) {
	h.t.Helper()
	thread := h.thread("victim of the voice")
	before, err := h.store.Thread(h.t.Context(), thread)
	h.must(err)
	running := h.chat(thread, "take your time")
	for _, try := range h.said("ventriloquist.txt", before.Name) {
		if try[1] != string(pluginsdk.CodeDenied) && try[1] != string(pluginsdk.CodeInvalid) {
			h.t.Errorf("%q: %s, %s", try[0], try[1], try[2])
		}
	}
	if run := h.run(running.RunID); run.State != pluginsdk.RunRunning {
		h.t.Errorf("the run is %s: %s", run.State, run.Error)
	}
	now, err := h.store.Thread(h.t.Context(), thread)
	h.must(err)
	if now.Model != before.Model || now.BusyMode != before.BusyMode || now.SessionID != before.SessionID {
		h.t.Errorf("the thread was\n%+v and is\n%+v", before, now)
	}
	for _, row := range h.rows(thread) {
		if strings.HasPrefix(strings.TrimSpace(row.Content), "/") {
			h.t.Errorf("in the thread: %s %s of %s by %q: %q", row.Role, row.Kind, row.Source, row.Author, row.Content)
		}
	}
	h.call(http.MethodPost, "/api/threads/"+thread+"/stop", map[string]string{"queue": "drop"}, nil)
	<-h.endOf(running.RunID)
	if said := h.run(running.RunID).Error; !strings.Contains(said, daemon.OwnerName) {
		h.t.Errorf("a stop of the owner's is told as %q", said)
	}

	h.regrant("ventriloquist", pluginsdk.CapMessagesSubmit, pluginsdk.CapRunsControl)
	for _, name := range []string{"victim of a stop", "victim of a cancel", "victim of a command"} {
		stopped := h.asked(h.thread(name), "take your time")
		if stopped.State != pluginsdk.RunCancelled || !strings.Contains(stopped.Error, "ventriloquist") {
			h.t.Errorf("%s: the run is %s: %q", name, stopped.State, stopped.Error)
		}
		var said string
		for _, row := range h.rows(stopped.ThreadID) {
			if row.RunID == stopped.ID && row.Role != pluginsdk.RoleUser {
				said += row.Content + "\n"
			}
		}
		if !strings.Contains(said, "ventriloquist") || strings.Contains(said, "a person") {
			h.t.Errorf("%s: the thread says %q; what was tried:\n%s", name, said, h.file("ventriloquist.txt"))
		}
	}
}

// dawdling leaves a hook two seconds, and all hooks of a run that are open three
// together.
func dawdling(c *daemon.Config) {
	c.HookBudget = 3 * time.Second
	c.HookDeadlines = make(map[pluginsdk.Hook]time.Duration)
	for _, hook := range witnessed {
		c.HookDeadlines[hook] = 2 * time.Second
	}
}

// checkDawdler looks at a turn in which each hook takes as long as it may. A
// person would wait seven times as long, and nobody could say for whom.
func checkDawdler(h *hall) {
	h.t.Helper()
	blameless := h.blameless(witnessName, "activity", "context", "time", "web")
	watch, thread := h.watch(), h.thread("victim of the dawdler")
	var waiting pluginsdk.WaitingPayload
	var listening sync.WaitGroup
	accepted := h.chat(thread, "hello")
	listening.Go(func() {
		for _, event := range watch.end(accepted.RunID) {
			if event.Event == string(pluginsdk.EventPipelineWaiting) {
				_ = json.Unmarshal(event.Data, &waiting)
			}
		}
	})
	h.turns(audience) // meanwhile
	listening.Wait()
	watch.leave()
	if waiting.Plugin != "dawdler" || waiting.Hook == "" {
		h.t.Errorf("while the run waits, the events say %+v", waiting)
	}
	run := h.run(accepted.RunID)
	if run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
		h.t.Errorf("the run is %s at attempt %d: %s", run.State, run.Attempt, run.Error)
	}
	h.inspect([]string{thread}, 1)
	// Each takes 1.8 s of the 3 s.
	if asked := strings.Count(h.file("dawdler.txt"), run.ID); asked < 1 || asked > 2 {
		h.t.Errorf("it was waited for %d times:\n%s", asked, h.file("dawdler.txt"))
	}
	h.until("the figures", func() bool { return h.figures("dawdler").Slow > 0 })
	blameless()
}

// checkPeddler looks at what the agent is offered. The tools of a plugin that
// has few would be crowded out.
func checkPeddler(h *hall) {
	h.t.Helper()
	var listed struct {
		Tools []struct {
			Name, Plugin, Description string
		}
	}
	h.call(http.MethodGet, "/api/tools", nil, &listed)
	bytes, found := 0, make(map[string]bool)
	for _, tool := range listed.Tools {
		bytes += len(tool.Description)
		found[tool.Name] = true
	}
	if !found["modest__measure"] || !found["modest__weigh"] || !found["time__current_time"] || !found["peddler__ware0"] {
		h.t.Errorf("the agent is offered %d tools: %v", len(listed.Tools), found)
	}
	if bytes > 128<<10 || len(listed.Tools) > 128 {
		h.t.Errorf("the agent is offered %d tools with %d bytes of descriptions", len(listed.Tools), bytes)
	}
	for name, want := range map[string]string{"peddler": "of the 128 tools of peddler", "modest": "", "time": ""} {
		var row struct{ Problem string }
		if h.call(http.MethodGet, "/api/plugins/"+name, nil, &row); !strings.Contains(row.Problem, want) || (want == "") != (row.Problem == "") {
			h.t.Errorf("of %s the operator reads %q", name, row.Problem)
		}
	}
	thread := h.thread("customer")
	run := h.answered(thread, "weigh it")
	h.used(pluginsdk.Accepted{ThreadID: thread, RunID: run.ID}, "modest", "modest__weigh", "used weigh", false)
}
