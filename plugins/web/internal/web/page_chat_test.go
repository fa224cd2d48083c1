package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const hostileText = `<img src=x onerror=alert(1)><script>alert("x")</script>`

// conversation is an instance with a thread in which something was said, and nobody has to log in.
func conversation(t *testing.T) *browser {
	s := openSite(t, `{"auth":"network"}`, times{})
	s.host.AddThread(pluginsdk.Thread{ID: "A", Source: "web", SourceID: "2", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, Name: "Rain " + hostileText})
	return s.browser()
}

// reads reads a page, which there must be, and which has and lacks words.
func (b *browser) reads(path string, has []string, lacks ...string) string {
	b.Helper()
	shown := b.expect(path, b.visit(path, "Accept", "text/html"), http.StatusOK, has...)
	for _, word := range lacks {
		if strings.Contains(shown.body, word) {
			b.Errorf("%s has %q", path, word)
		}
	}
	return shown.body
}

func (b *browser) said(role pluginsdk.Role, kind pluginsdk.MessageKind, run, content, metadata string) int64 {
	return b.host.AddMessage(pluginsdk.Message{
		ThreadID: "A", Role: role, Kind: kind, Source: "agent", Content: content, RunID: run, Metadata: json.RawMessage(metadata),
	})
}

// What was said stands there with who said it, what went wrong with a way to try again, what an
// answer took; not what says only that a run began. Nothing that anybody wrote is markup.
func TestAConversationIsShown(t *testing.T) {
	b := conversation(t)
	b.host.AddMessage(pluginsdk.Message{ThreadID: "A", Role: "user", Kind: "text", Source: "web", Author: "Ann " + hostileText, Content: "**Will** it rain? " + hostileText, RunID: "r1",
		Attachments: []pluginsdk.Attachment{{Name: `map".png`, Type: "image/png", Size: 5, Where: "file:f1"}, {Name: "list.txt", Type: "text/plain", Size: 2048, Where: "file:f2"}}})
	b.said("system", "status", "r1", "Pipeline started", `{"event":"pipeline_start"}`)
	b.said("assistant", "thinking", "r1", "secretly thought", "")
	b.said("assistant", "text", "r1", "It *will*. "+hostileText, "")
	b.said("system", "status", "r1", "Pipeline completed", `{"event":"pipeline_complete","durationMs":12000,"inputTokens":4000,"outputTokens":200,"toolCalls":3}`)
	b.said("system", "status", "r2", "I could not answer: overloaded", `{"event":"pipeline_error"}`)
	b.said("system", "notification", "", "The build is **done**", "")
	b.said("system", "status", "", "Ann allowed it once", `{"event":"approval_allowed","approvalId":"p"}`)
	body := b.reads("/chat/A", []string{
		"<strong>Will</strong> it rain?", "<em>will</em>", "Ann &lt;img", "Worked 12 s · 3 tools · 4,200 tokens", "I could not answer: overloaded", `action="/chat/A/retry"`,
		"<strong>done</strong>", "Ann allowed it once", `src="/api/files/f1/content"`, `href="/api/files/f2/content"`, "2.0 kB", "Rain &lt;img", `role="log"`,
	}, "Pipeline", "secretly", "<img src=x", "<script>alert")
	if n := strings.Count(body, "<h1"); n != 1 {
		t.Errorf("%d h1", n)
	}
	if answer := b.visit("/chat"); answer.status != http.StatusSeeOther || answer.header.Get("Location") != "/chat/T" {
		t.Errorf("the chat leads with %d to %s", answer.status, answer.header.Get("Location"))
	}
	b.expect("no thread", b.visit("/chat/none", "Accept", "text/html"), http.StatusNotFound)
}

// What its author has corrected says so, and is among what an open page asks for when it hears
// of that.
func TestAMessageThatWasAmended(t *testing.T) {
	b := conversation(t)
	id := b.said("user", "text", "", "hello, not helo", `{"editedAt":"2026-01-02T03:04:05Z"}`)
	last := b.said("user", "text", "", "and this", "")
	b.reads("/chat/A", []string{"edited,"})
	shown := b.reads(fmt.Sprintf("/chat/A/news?after=%d", id-1), []string{fmt.Sprintf(`id="m%d"`, id), "hello, not helo", fmt.Sprintf(`id="m%d"`, last)})
	if n := strings.Count(shown, "edited,"); n != 1 {
		t.Errorf("%d messages say that they were amended", n)
	}
}

// A long conversation is shown by its end; what is before and around a message can be had, and
// no message is left out or shown twice.
func TestALongConversationIsShownInPieces(t *testing.T) {
	b := conversation(t)
	for n := range 100 {
		b.said("user", "text", "", fmt.Sprintf("message %d!", n), "")
		if n%3 == 0 {
			b.said("system", "status", "", "Pipeline started", `{"event":"pipeline_start"}`)
		}
	}
	seen, path := map[string]int{}, "/chat/A"
	for pages := 0; path != ""; pages++ {
		body := b.reads(path, nil)
		for _, match := range regexp.MustCompile(`message \d+!`).FindAllString(body, -1) {
			seen[match]++
		}
		path = ""
		if shown := strings.Count(body, `<li class="message`); pages < 2 && shown != 40 {
			t.Errorf("page %d shows %d messages", pages, shown)
		}
		if match := regexp.MustCompile(`id="older"[^>]*href="([^"]+)"`).FindStringSubmatch(body); match != nil {
			path = match[1]
		}
		if pages > 5 {
			t.Fatal("there is no end of pages")
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d of 100 messages were shown", len(seen))
	}
	for message, n := range seen {
		if n != 1 {
			t.Errorf("%s was shown %d times", message, n)
		}
	}
	var middle int64
	for _, row := range b.host.Messages("A") {
		if row.Content == "message 30!" {
			middle = row.ID
		}
	}
	b.reads(fmt.Sprintf("/chat/A?around=%d", middle), []string{"message 30!", "message 29!", "message 31!", "To the newest"}, "message 99!")
	b.reads(fmt.Sprintf("/chat/A/older?before=%d", middle), []string{"message 29!"}, "message 30!")
	b.expect("a word for a number", b.visit("/chat/A?before=x", "Accept", "text/html"), http.StatusUnprocessableEntity, "the id of a message")
}

// A message that is too long for its page is cut there, and whole on its own.
func TestALongMessageIsCut(t *testing.T) {
	b := conversation(t)
	message := b.said("assistant", "text", "r", strings.Repeat("many words\n", 5000)+"the end", "")
	b.reads("/chat/A", []string{"many words", "Show all 55 kB"}, "the end")
	b.reads(fmt.Sprintf("/chat/A/messages/%d", message), []string{"the end"})
	for n := range 20 {
		b.said("user", "text", "", fmt.Sprintf("%d: %s", n, strings.Repeat("twenty thousand bytes", 1000)), "")
	}
	if shown := strings.Count(b.reads("/chat/A", nil), `<li class="message`); shown < 5 || shown > 10 {
		t.Errorf("of 20 long messages a page shows %d", shown)
	}
	b.expect("another thread's", b.visit(fmt.Sprintf("/chat/T/messages/%d", message), "Accept", "text/html"), http.StatusNotFound)
}

// multipartForm is what a browser sends of a form with files.
func (b *browser) multipartForm(path string, fields url.Values, files map[string]string) got {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, values := range fields {
		for _, value := range values {
			_ = form.WriteField(name, value) // into memory
		}
	}
	for name, content := range files {
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(part, content) // into memory
	}
	_ = form.Close() // into memory
	request, err := http.NewRequest(http.MethodPost, b.server.url()+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Origin", b.server.url())
	request.Header.Set("Accept", "text/html")
	return b.do(b.client, request)
}

// Without script a form says it, with its files, and says it once. What is refused stands in
// its field again, with the reason, and its files with it.
func TestSayingWithoutScript(t *testing.T) {
	b := conversation(t)
	key := regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(b.reads("/chat/A", nil))[1]
	sent := b.multipartForm("/chat/A", url.Values{"key": {key}, "content": {"Look at\r\nthis"}}, map[string]string{"a.txt": "bytes"})
	if sent.status != http.StatusSeeOther || sent.header.Get("Location") != "/chat/A#end" {
		t.Fatalf("%d %s %s", sent.status, sent.header.Get("Location"), sent.body)
	}
	b.expect("other words with the same key", b.submit("/chat/A", "", url.Values{"key": {key}, "content": {"something else"}}), http.StatusUnprocessableEntity, "something else")
	for range 2 { // the answer to the first was lost
		b.expect("once", b.submit("/chat/A", "", url.Values{"key": {"k1"}, "content": {"once"}}), http.StatusSeeOther)
	}
	submitted := b.host.Submissions()
	if len(submitted) != 2 || submitted[0].ThreadID != "A" || submitted[0].Content != "Look at\nthis" || len(submitted[0].Attachments) != 1 || submitted[0].Attachments[0].Name != "a.txt" {
		t.Fatalf("%+v", submitted)
	}
	refused := b.multipartForm("/chat/A", url.Values{"key": {"k2"}, "content": {strings.Repeat("long ", 60<<10)}}, map[string]string{"b.txt": "kept"})
	b.expect("too long", refused, http.StatusUnprocessableEntity, "The message has", "long long", `name="file" value="`, "b.txt", `aria-invalid="true"`)
	file := regexp.MustCompile(`name="file" value="([^"]+)"`).FindStringSubmatch(refused.body)[1]
	b.expect("with the file of the one before", b.submit("/chat/A", "", url.Values{"key": {"k4"}, "content": {"shorter"}, "file": {file}}), http.StatusSeeOther)
	if last := b.host.Submissions()[2]; last.Content != "shorter" || len(last.Attachments) != 1 || last.Attachments[0].Name != "b.txt" {
		t.Errorf("%+v", last)
	}
	b.expect("nothing", b.submit("/chat/A", "", url.Values{"key": {"k3"}, "content": {" "}}), http.StatusUnprocessableEntity, "must not be empty")
	if n := len(b.host.Submissions()); n != 3 {
		t.Errorf("%d messages were accepted", n)
	}
}

// Who may only read is offered nothing to do, and refused what they send all the same.
func TestAReaderOfAConversation(t *testing.T) {
	s := demanding(t)
	s.host.AddThread(pluginsdk.Thread{ID: "A", Source: "web", SourceID: "2", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, Name: "Rain"})
	s.host.AddMessage(pluginsdk.Message{ThreadID: "A", Role: "user", Kind: "text", Content: "hello", RunID: "r"})
	asked := s.host.Ask(pluginsdk.Approval{ThreadID: "A", RunID: "r", Tool: "Bash", Title: "Bash: rm", Input: json.RawMessage(`{"command":"rm -r all"}`)})
	reader, chatter := s.logIn("Rita", pluginsdk.ScopeRead), s.logIn("Cleo", pluginsdk.ScopeChat)
	reader.reads("/chat/A", []string{"hello", "You may read this conversation", "rm -r all", "scope approve"}, `id="compose"`, "/branch", "/edit", "/stop", `name="choice"`)
	reader.reads("/threads", []string{"Rain"}, "/threads/new")
	reader.reads("/chat/A/settings", []string{"Rain"}, ">Save<", "Directory", "/archive")
	chatter.reads("/chat/A", []string{`id="compose"`, "/branch"}, `name="choice"`)
	chatter.reads("/chat/A/settings", []string{">Save<", "/archive"}, "Directory", "/delete", "Permission mode")
	for path, form := range map[string]url.Values{
		"/chat/A": {"content": {"hi"}}, "/chat/A/stop": {}, "/chat/A/busy": {"mode": {"steer"}}, "/chat/A/branch": {}, "/chat/A/settings": {"name": {"x"}},
		"/chat/A/archive": {}, "/threads": {"name": {"x"}}, "/chat/A/retry": {"run": {"r"}}, "/chat/A/edit": {"message": {"1"}},
	} {
		reader.expect(path, reader.submit(path, "", form), http.StatusForbidden)
	}
	chatter.expect("decide", chatter.submit("/chat/A/decide", "", url.Values{"id": {asked.ID}, "choice": {"allow"}}), http.StatusForbidden)
	chatter.expect("delete", chatter.submit("/chat/A/delete", "", url.Values{"sure": {"yes"}}), http.StatusForbidden)
	chatter.expect("the directory", chatter.submit("/chat/A/settings", "", url.Values{"cwd": {"/etc"}}), http.StatusSeeOther)
	if thread := s.thread("A"); thread.Cwd != "" || thread.Name != "Rain" {
		t.Errorf("%+v", thread)
	}
}

func (s *instance) thread(id string) pluginsdk.Thread {
	s.Helper()
	found, err := s.host.SDK().Threads.Get(s.Context(), &pluginsdk.GetThreadRequest{ID: id})
	if err != nil {
		s.Fatal(err)
	}
	return found.Thread
}

// heard tells the plugin of an event, as the daemon would while somebody looks.
func (s *instance) heard(seq uint64, kind pluginsdk.EventType, payload any) {
	s.Helper()
	s.hub.Position() // somebody looks
	data, err := json.Marshal(payload)
	if err != nil {
		s.Fatal(err)
	}
	event := pluginsdk.Event{Type: kind, ThreadID: "A", Data: data, Timestamp: time.Now(), Boot: "boot", Seq: seq}
	if _, err := s.OnBroadcast(s.Context(), &pluginsdk.OnBroadcastRequest{Events: []pluginsdk.Event{event}}); err != nil {
		s.Fatal(err)
	}
}

// Who opens the page in the middle of an answer sees what has been said and done so far, and
// where that is true.
func TestAnAnswerUnderWay(t *testing.T) {
	b := conversation(t)
	b.host.AddRun(pluginsdk.Run{ID: "r", ThreadID: "A", MessageID: 7, Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning, StartedAt: time.Now()})
	b.host.AddRun(pluginsdk.Run{ID: "next", ThreadID: "A", MessageID: 8, Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued, QueuedAt: time.Now()})
	b.host.AddMessage(pluginsdk.Message{ID: 8, ThreadID: "A", Role: "user", Kind: "text", Content: "and then?", RunID: "next"})
	step := func(seq uint64, event pluginsdk.StreamEvent) {
		b.heard(seq, pluginsdk.EventPipelineStream, pluginsdk.StreamPayload{ThreadID: "A", RunID: "r", Event: event})
	}
	b.heard(101, pluginsdk.EventPipelineStart, pluginsdk.RunRef{ThreadID: "A", RunID: "r", MessageID: 7, Attempt: 1})
	step(102, pluginsdk.StreamEvent{Type: pluginsdk.StreamThinking, Text: "let me see"})
	step(103, pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: "Bash", ToolUseID: "u1", Input: json.RawMessage(`{"command":"ls <b>"}`)})
	b.reads("/chat/A", []string{"let me see", "ls &lt;b&gt;", "running", "Working…", "1 message waits", "Stop all", `data-mark="now">waits`, `data-seq="103"`})
	step(104, pluginsdk.StreamEvent{Type: pluginsdk.StreamToolResult, ToolUseID: "u1", Text: "two files"})
	step(105, pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: "There **are** "})
	b.reads("/chat/A/turn", []string{"two files", "There <strong>are</strong>", `data-writing="text"`, `data-seq="105"`, `data-run="r"`}, ">running<")
	b.host.FinishRun("r", pluginsdk.InvokeResult{Text: "There **are** two."})
	b.heard(106, pluginsdk.EventPipelineComplete, pluginsdk.CompletePayload{ThreadID: "A", RunID: "r"})
	b.reads("/chat/A/news?after=8", []string{"There <strong>are</strong> two.", `data-run=""`, `data-tail="true"`, `id="asks"`, `id="state"`}, "two files")
}

// How an answer came about is told by its run, and once that was cleared by the rows of the
// thread: with what changed in files, and of what is long the beginning.
func TestHowAnAnswerCameAbout(t *testing.T) {
	b := conversation(t)
	edit := `{"file_path":"/src/a.go","old_string":"one\ntwo\n","new_string":"one\n<three>\n"}`
	b.host.AddRun(pluginsdk.Run{
		ID: "r", ThreadID: "A", State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Text: "done"},
		Events: []pluginsdk.StreamEvent{
			{Type: pluginsdk.StreamText, Text: "First I look."}, {Type: pluginsdk.StreamToolCall, ToolName: "Edit", ToolUseID: "u1", Input: json.RawMessage(edit)},
			{Type: pluginsdk.StreamToolResult, ToolUseID: "u1", Text: strings.Repeat("line\n", 2000) + "the last line", IsError: true}, {Type: pluginsdk.StreamText, Text: "done"},
		},
	})
	b.reads("/chat/A/steps/r", []string{"First I look.", "/src/a.go", "&lt;three&gt;", `class="added"`, `class="removed"`, "failed", "Show all", `href="/runs/r"`}, "the last line", ">done<", "<three>")
	b.reads("/chat/A/steps/r/u1", []string{"the last line"})
	b.host.AddRun(pluginsdk.Run{ID: "old", ThreadID: "A", State: pluginsdk.RunSucceeded})
	b.said("assistant", "thinking", "old", "hm, hm", "")
	b.said("assistant", "tool_call", "old", "mcp__harness__time__now", `{"toolName":"mcp__harness__time__now","toolUseId":"u2","input":{"zone":"UTC"}}`)
	b.said("assistant", "tool_result", "old", "noon", `{"toolUseId":"u2","success":true,"durationMs":1500}`)
	b.reads("/chat/A/steps/old", []string{"hm, hm", "time: now", "zone", "noon", "1.5 s"})
	b.expect("no step", b.visit("/chat/A/steps/r/none", "Accept", "text/html"), http.StatusNotFound)
}

// What the agent asks is shown with all that it would do, and answered where it is asked.
func TestTheAgentAsks(t *testing.T) {
	b := conversation(t)
	b.host.AddThread(pluginsdk.Thread{ID: "B", Source: "delegation", SourceID: "t", Kind: pluginsdk.ThreadTask, ParentThreadID: "A"})
	command := strings.Repeat("echo line\n", 900) + "rm -r everything"
	input, _ := json.Marshal(map[string]string{"command": command, "why": hostileText}) //nolint:errchkjson // texts
	tool := b.host.Ask(pluginsdk.Approval{ThreadID: "A", RunID: "r", Tool: "Bash", Title: "Bash: echo", Input: input, Note: "it may already have been done", Choices: []pluginsdk.ApprovalChoice{
		{ID: "allow", Label: "Allow once", Allow: true}, {ID: "rule:command", Label: "Always", Allow: true, Rule: "each echo in here"}, {ID: "deny", Label: "Deny"},
	}})
	question := b.host.Ask(pluginsdk.Approval{ThreadID: "B", RunID: "r2", Kind: pluginsdk.ApprovalQuestion, Tool: "AskUserQuestion", Title: "Which?", Questions: []pluginsdk.AgentQuestion{
		{Text: "Which colour?", Options: []pluginsdk.QuestionOption{{Label: "Red", Description: "warm"}, {Label: "Blue"}}}, {Text: "Which days?", Multiple: true, Options: []pluginsdk.QuestionOption{{Label: "Mon"}, {Label: "Tue"}}},
	}})
	plan := b.host.Ask(pluginsdk.Approval{ThreadID: "A", RunID: "r3", Kind: pluginsdk.ApprovalPlan, Tool: "ExitPlanMode", Title: "The plan", Text: "1. **first**\n2. then"})
	b.reads("/chat/A", []string{
		"rm -r everything", "&lt;img src=x", "it may already have been done", "each echo in here", "Which colour?", "warm", `type="checkbox" name="q1"`, "the thread of a task",
		"<strong>first</strong>",
	})
	decide := func(form url.Values) {
		t.Helper()
		b.expect("decide", b.submit("/chat/A/decide", "", form), http.StatusSeeOther)
	}
	b.expect("half an answer", b.submit("/chat/A/decide", "", url.Values{"id": {question.ID}, "questions": {"2"}, "q0": {"Red"}}), http.StatusUnprocessableEntity, "each of the questions")
	decide(url.Values{"id": {question.ID}, "questions": {"2"}, "q0": {"Red"}, "q1": {"Mon", "Tue"}, "t1": {"not too early"}})
	decide(url.Values{"id": {tool.ID}, "choice": {"deny"}, "words": {"not today"}})
	decide(url.Values{"id": {plan.ID}, "choice": {"allow"}})
	b.expect("too late", b.submit("/chat/A/decide", "", url.Values{"id": {tool.ID}, "choice": {"allow"}}), http.StatusConflict)
	find := func(id string) pluginsdk.Approval {
		t.Helper()
		found, err := b.host.SDK().Approvals.Get(t.Context(), &pluginsdk.GetApprovalRequest{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return found.Approval
	}
	if a := find(tool.ID); a.State != pluginsdk.ApprovalDenied || a.Words != "not today" {
		t.Errorf("%+v", a)
	}
	if a := find(question.ID); a.State != pluginsdk.ApprovalAllowed || len(a.Answers) != 2 || len(a.Answers[1].Labels) != 2 || a.Answers[1].Text != "not too early" {
		t.Errorf("%+v", a)
	}
	if a := find(plan.ID); a.State != pluginsdk.ApprovalAllowed {
		t.Errorf("%+v", a)
	}
	b.reads("/chat/A", nil, "rm -r everything", "Which colour?")
}

// Threads are found by name and by pages, the archived ones apart; a new one says its first
// message, once.
func TestThreads(t *testing.T) {
	b := conversation(t)
	for n := range 60 {
		b.host.AddThread(pluginsdk.Thread{ID: fmt.Sprintf("N%d", n), Source: "web", SourceID: fmt.Sprint("n", n), Kind: pluginsdk.ThreadGeneral, Name: fmt.Sprintf("Trip %d!", n), Status: pluginsdk.ThreadActive, LastActivity: time.Now().Add(-time.Hour * time.Duration(n))})
	}
	b.host.AddThread(pluginsdk.Thread{ID: "X", Source: "web", SourceID: "x", Kind: pluginsdk.ThreadGeneral, Name: "Put away", Status: pluginsdk.ThreadArchived})
	b.host.AddMessage(pluginsdk.Message{ThreadID: "N3", Role: "assistant", Kind: "text", Content: "news"})
	b.host.AddRun(pluginsdk.Run{ID: "r", ThreadID: "N2", State: pluginsdk.RunRunning, Kind: pluginsdk.RunMessage})
	b.reads("/threads", []string{"Trip 0!", "Trip 40!", "More", "not read", ", working", `href="/chat/T"`}, "Trip 55!", "Put away")
	b.reads("/threads?from=N49", []string{"Trip 55!"}, "Trip 40!")
	b.reads("/threads?q=trip+7", []string{"Trip 7!", "Trip 17!"}, "Trip 8!")
	b.reads("/threads/list?q=nothing", []string{"No thread is called that"})
	b.reads("/chat/A?archive=1", []string{"Put away"}, "Trip 7!")
	form := url.Values{"key": {"k"}, "content": {"Where is it warm?"}, "name": {""}}
	first := b.submit("/threads", "", form)
	if again := b.submit("/threads", "", form); first.status != http.StatusSeeOther || first.header.Get("Location") != again.header.Get("Location") {
		t.Fatalf("%d %v, then %d %v", first.status, first.header, again.status, again.header)
	}
	if made := b.host.Submissions(); len(made) != 1 || b.thread(made[0].ThreadID).Name != "Where is it warm?" {
		t.Errorf("%+v", made)
	}
	long := b.submit("/threads", "", url.Values{"key": {"k2"}, "name": {strings.Repeat("n", 300)}, "content": {"kept words"}})
	b.expect("a long name", long, http.StatusUnprocessableEntity, "kept words", "name")
}

// The settings of a thread are changed where they are shown, and only those that were.
func TestSettingsOfAThread(t *testing.T) {
	b := conversation(t)
	b.reads("/chat/A/settings", []string{"Directory", "Permission mode", "/delete"})
	b.host.AddThread(pluginsdk.Thread{ID: "old", Source: "web", SourceID: "o", Kind: pluginsdk.ThreadGeneral, PermissionMode: "of an older version"})
	b.expect("what is not changed", b.submit("/chat/old/settings", "", url.Values{"name": {"New"}, "permissionMode": {"of an older version"}}), http.StatusSeeOther)
	b.reads("/chat/T/settings", nil, "/delete", "/archive")
	sent := b.submit("/chat/A/settings", "", url.Values{"name": {"Sun"}, "model": {"opus"}, "busyMode": {"steer"}, "cwd": {"/work"}})
	b.expect("saved", sent, http.StatusSeeOther)
	if a := b.thread("A"); a.Name != "Sun" || a.Model != "opus" || a.BusyMode != pluginsdk.BusySteer || a.Cwd != "/work" || a.PermissionMode != "" {
		t.Errorf("%+v", a)
	}
	b.expect("wrong", b.submit("/chat/A/settings", "", url.Values{"name": {"Moon"}, "busyMode": {"sing"}}), http.StatusUnprocessableEntity, `value="Moon"`, `id="w-busyMode"`)
	b.expect("busy", b.submit("/chat/A/busy", "", url.Values{"mode": {"interrupt"}}), http.StatusSeeOther)
	b.expect("archived", b.submit("/chat/A/archive", "", url.Values{}), http.StatusSeeOther)
	if a := b.thread("A"); a.Status != pluginsdk.ThreadArchived || a.BusyMode != pluginsdk.BusyInterrupt {
		t.Errorf("%+v", a)
	}
	b.expect("not sure", b.submit("/chat/A/delete", "", url.Values{}), http.StatusUnprocessableEntity, "tick the box")
	b.expect("deleted", b.submit("/chat/A/delete", "", url.Values{"sure": {"yes"}}), http.StatusSeeOther)
	b.expect("gone", b.visit("/chat/A", "Accept", "text/html"), http.StatusNotFound)
}

// What was said is said differently in a thread that has what was before it, and a branch has
// all of it.
func TestSayingItDifferently(t *testing.T) {
	b := conversation(t)
	first := b.said("user", "text", "r1", "a question", "")
	answer := b.said("assistant", "text", "r1", "an answer", "")
	second := b.said("user", "text", "r2", "a worse question", "")
	b.reads(fmt.Sprintf("/chat/A/edit?message=%d", second), []string{"a worse question"})
	edit := func(message int64, key, words string) string {
		t.Helper()
		sent := b.submit("/chat/A/edit", "", url.Values{"message": {fmt.Sprint(message)}, "key": {key}, "content": {words}})
		b.expect("edit", sent, http.StatusSeeOther)
		return strings.TrimSuffix(strings.TrimPrefix(sent.header.Get("Location"), "/chat/"), "#end")
	}
	made := edit(second, "k1", "a better question")
	if again := edit(second, "k1", "a better question"); again != made {
		t.Errorf("sent twice, it is two threads: %s and %s", made, again)
	}
	var words []string
	for _, row := range b.host.Messages(made) {
		if row.Kind == pluginsdk.MessageText {
			words = append(words, row.Content)
		}
	}
	if strings.Join(words, ", ") != "a question, an answer, a better question" {
		t.Errorf("%q", words)
	}
	if rows := b.host.Messages(edit(first, "k2", "the first one")); len(rows) != 1 || rows[0].Content != "the first one" {
		t.Errorf("%+v", rows)
	}
	b.expect("nothing", b.submit("/chat/A/edit", "", url.Values{"message": {fmt.Sprint(second)}, "key": {"k3"}, "content": {" "}}), http.StatusUnprocessableEntity, "must not be empty")
	branched := b.submit("/chat/A/branch", "", url.Values{"message": {fmt.Sprint(answer)}, "key": {"k4"}})
	b.expect("branch", branched, http.StatusSeeOther)
	b.reads(branched.header.Get("Location"), []string{"an answer"}, "a worse question")
}

// Stopping keeps what waits or drops it, as was said; what has no answer says so, and can be
// tried again.
func TestStopping(t *testing.T) {
	b := conversation(t)
	b.host.AddRun(pluginsdk.Run{ID: "r", ThreadID: "A", MessageID: 7, Kind: pluginsdk.RunMessage, State: pluginsdk.RunCancelled})
	b.host.AddMessage(pluginsdk.Message{ID: 7, ThreadID: "A", Role: "user", Kind: "text", Content: "never mind", RunID: "r"})
	b.reads("/chat/A", []string{"not answered: it was stopped", `name="run" value="r"`})
	b.expect("retry", b.submit("/chat/A/retry", "", url.Values{"run": {"r"}}), http.StatusSeeOther)
	if calls := b.host.Submissions(); len(b.host.Messages("A")) < 2 {
		t.Errorf("it was not tried again: %+v", calls)
	}
	b.host.AddRun(pluginsdk.Run{ID: "works", ThreadID: "A", Kind: pluginsdk.RunMessage, State: pluginsdk.RunRunning})
	b.host.AddRun(pluginsdk.Run{ID: "waits", ThreadID: "A", Kind: pluginsdk.RunMessage, State: pluginsdk.RunQueued})
	state := func(id string) pluginsdk.RunState {
		t.Helper()
		found, err := b.host.SDK().Runs.Get(t.Context(), &pluginsdk.GetRunRequest{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return found.Run.State
	}
	b.expect("stop", b.submit("/chat/A/stop", "", url.Values{"queue": {"keep"}}), http.StatusSeeOther)
	if state("works") != pluginsdk.RunCancelled || state("waits") != pluginsdk.RunQueued {
		t.Errorf("after a stop: %s, %s", state("works"), state("waits"))
	}
	b.expect("stop all", b.submit("/chat/A/stop", "", url.Values{"queue": {"drop"}}), http.StatusSeeOther)
	if state("waits") != pluginsdk.RunCancelled {
		t.Errorf("what waits is %s after all was stopped", state("waits"))
	}
}

// A plugin's row offers commands of that plugin: a press types one in the thread, with the right of who presses, once. The
// words of others make no button, and a form that was made up types nothing.
func TestTheButtonsOfARow(t *testing.T) {
	s := demanding(t)
	s.host.AddThread(pluginsdk.Thread{ID: "A", Source: "web", SourceID: "2", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, Name: "Rain"})
	s.host.AddThread(pluginsdk.Thread{ID: "B", Source: "web", SourceID: "3", Kind: pluginsdk.ThreadGeneral, Status: pluginsdk.ThreadActive, Name: "Sun"})
	const metadata = `{"actions":[{"label":"Turn \"off\" <b>","command":"/lamp off \"<i>\""},{"label":"Show","command":"/lamp show"}]}`
	add := func(change func(*pluginsdk.Message)) string {
		row := pluginsdk.Message{
			ThreadID: "A", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "lamps", Plugin: "lamps",
			Content: "The lamp is on. To see it: /lamp show", Metadata: json.RawMessage(metadata),
		}
		change(&row)
		return fmt.Sprint(s.host.AddMessage(row))
	}
	person := add(func(m *pluginsdk.Message) {
		m.Role, m.Kind, m.Author = pluginsdk.RoleUser, pluginsdk.MessageText, "Ann"
	})
	agent := add(func(m *pluginsdk.Message) {
		m.Role, m.Kind, m.Plugin = pluginsdk.RoleAssistant, pluginsdk.MessageText, ""
	})
	reader, chatter := s.logIn("Rita", pluginsdk.ScopeRead), s.logIn("Cleo", pluginsdk.ScopeChat)
	chatter.reads("/chat/A", nil, `action="/chat/A/press"`)
	row := add(func(*pluginsdk.Message) {})
	reader.reads("/chat/A", []string{"The lamp is on."}, "/press", `name="command"`)
	page := chatter.reads("/chat/A", []string{
		`action="/chat/A/press"`, `name="command" value="/lamp off &#34;&lt;i&gt;&#34;" title="/lamp off &#34;&lt;i&gt;&#34;"`, "Turn &#34;off&#34; &lt;b&gt;",
		`<code class="muted" dir="auto">/lamp off &#34;&lt;i&gt;&#34;</code>`,
	}, `dir="auto">/lamp show</code>`)
	key := regexp.MustCompile(`name="key" value="([^"]+)">\s*<span class="row"><button class="button small" name="command"`).FindStringSubmatch(page)
	if key == nil {
		t.Fatal("the form has no key")
	}
	press := func(what string, by *browser, thread, message, command string, status int, says ...string) {
		t.Helper()
		form := url.Values{"message": {message}, "command": {command}, "key": {key[1]}}
		by.expect(what, by.submit("/chat/"+thread+"/press", "", form), status, says...)
	}
	const off = `/lamp off "<i>"`
	press("of a plugin that is off", chatter, "A", row, off, http.StatusConflict, "the plugin lamps, which has written this, does not have the command /lamp at the moment")
	s.host.AddCommand(pluginsdk.Command{Plugin: "lamps", CommandSpec: pluginsdk.CommandSpec{Name: "lamp"}})
	press("by a reader", reader, "A", row, off, http.StatusForbidden)
	press("of a person's message", chatter, "A", person, off, http.StatusConflict, "does not offer")
	press("of an agent's", chatter, "A", agent, off, http.StatusConflict, "does not offer")
	press("another command", chatter, "A", row, "/thread delete", http.StatusConflict, "does not offer")
	press("in another thread", chatter, "B", row, off, http.StatusNotFound)
	s.host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeDenied, "/lamp needs the right work"))
	press("without the command's right", chatter, "A", row, off, http.StatusForbidden, "needs the right work")
	s.host.Fail("Messages.Submit", nil)
	if said := s.host.Submissions(); len(said) != 0 {
		t.Fatalf("submitted %+v", said)
	}
	press("twice", chatter, "A", row, off, http.StatusSeeOther)
	press("twice", chatter, "A", row, off, http.StatusSeeOther)
	press("another one", chatter, "A", row, "/lamp show", http.StatusSeeOther)
	said := s.host.Submissions()
	if len(said) != 2 || said[0].Content != off || said[0].ThreadID != "A" || said[0].Author != "Cleo" || said[1].Content != "/lamp show" {
		t.Errorf("submitted %+v", said)
	}
	s.host.Fail("Commands.List", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away"))
	press("while the host is away", chatter, "A", row, off, http.StatusServiceUnavailable)
}

// A command that came to be another plugin's is not typed by the button of who had it before.
func TestTheButtonOfACommandThatIsAnothers(t *testing.T) {
	b := conversation(t)
	b.host.AddCommand(pluginsdk.Command{Plugin: "rival", CommandSpec: pluginsdk.CommandSpec{Name: "lamp"}})
	row := b.host.AddMessage(pluginsdk.Message{
		ThreadID: "A", Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "lamps", Plugin: "lamps", Content: "x", Metadata: json.RawMessage(`{"actions":[{"label":"Off","command":"/lamp off"}]}`),
	})
	b.reads("/chat/A", []string{`title="/lamp off"`})
	b.expect("press", b.submit("/chat/A/press", "", url.Values{"message": {fmt.Sprint(row)}, "command": {"/lamp off"}}), http.StatusConflict, "does not have the command")
	if said := b.host.Submissions(); len(said) != 0 {
		t.Errorf("submitted %+v", said)
	}
}
