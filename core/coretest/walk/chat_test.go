package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/core/coretest/installation"
)

// talking starts a daemon whose demo agent answers by a script.
func talking(t *testing.T, rules string) *installation.Installation {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(script, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return installation.Start(t, bin, installation.Options{Env: []string{"HARNESS_DEMO_SCRIPT=" + script, "HARNESS_ASK_TOOLS=all"}})
}

// post asks the daemon for something, and reads its answer into out, which may be nil.
func post(t *testing.T, d *installation.Installation, path, body string, out any) {
	t.Helper()
	answer, err := http.Post(d.URL+path, "application/json", strings.NewReader(body)) //nolint:noctx // a test's
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		t.Fatalf("%s: %s", path, answer.Status)
	}
	if out != nil {
		if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
			t.Fatal(err)
		}
	}
}

// thread makes one, and returns its id.
func thread(t *testing.T, d *installation.Installation, name string) string {
	t.Helper()
	var made struct{ ID string }
	post(t, d, "/api/threads", fmt.Sprintf(`{"name": %q}`, name), &made)
	return made.ID
}

// newest is the number of the last thing that was said in a thread.
func newest(t *testing.T, d *installation.Installation, thread string) int64 {
	t.Helper()
	answer, err := http.Get(d.URL + "/api/threads/" + thread + "/messages?last=true&limit=1&kind=text") //nolint:noctx // a test's
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var page struct{ Messages []struct{ ID int64 } }
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || len(page.Messages) != 1 {
		t.Fatal(page, err)
	}
	return page.Messages[0].ID
}

// count is how many elements a selector has.
func count(p *browser.Page, selector string) (n int) {
	p.Eval(fmt.Sprintf("document.querySelectorAll(%q).length", selector), &n)
	return n
}

const longAnswer = `[{"match": "tell", "pace": 120, "think": "I have to think about all that for a moment.", "toolName": "Bash", "toolInput": {"command": "ls"}, "toolResult": "a b",
	"text": "It **begins** here.\n\nThen come one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen words.\n\n1. first\n2. second\n\nAnd here it ends."}]`

// painted watches what the page shows of the answer, and when what it hears is shown.
const painted = `(() => {
	window.late = []; window.shrunk = 0; let before = "";
	document.addEventListener("harness:pipeline:stream", ({detail: {data: {event}}}) => {
		const word = event.type === "text_delta" && event.text.match(/[a-z]{5,}/)?.[0];
		if (!word) return;
		const heard = performance.now();
		const look = () => document.getElementById("turn").textContent.includes(word) ? late.push(performance.now() - heard) : document.getElementById("turn").dataset.run && requestAnimationFrame(look);
		requestAnimationFrame(look);
	});
})()`

// What the agent says stands on the page as it is said, for all who look; who comes in the
// middle sees what was said; and in the end it is there once.
func TestAnAnswerIsShownAsItIsSaid(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, longAnswer)
	id := thread(t, d, "Talk")
	ann, bob := b.Page(t, browser.Options{}), b.Page(t, browser.Options{Width: 375, Height: 667, Mobile: true})
	ann.Open(d.URL + "/chat/" + id)
	bob.Open(d.URL + "/chat/" + id)
	ann.Eval(painted, nil)
	ann.Type("#say", "Please tell me")
	ann.Press("Enter")
	bob.WaitText("#said-list", "Please tell me")
	ann.WaitText("#turn", "Bash")
	ann.WaitText("#turn", "one two")
	bob.WaitText("#turn", "one two")
	bob.Reload()
	bob.WaitText("#turn", "one two")
	for _, p := range []*browser.Page{ann, bob} {
		p.WaitText("#said-list .of-agent", "And here it ends.")
		p.WaitText("#said-list .of-agent strong", "begins")
		if n, m := count(p, "#said-list > li"), count(p, "#turn li"); n != 2 || m != 0 {
			t.Errorf("%d messages are shown and %d steps; want the question and its answer", n, m)
		}
	}
	// What that is to be is an aim of the benchmark (bench -only pages).
	var late []float64
	if ann.Eval("late.sort((a, b) => a - b)", &late); len(late) == 0 {
		t.Error("no word was shown before the answer was whole")
	} else {
		t.Logf("half of the words were shown later than %.0f ms after they came", late[len(late)/2])
	}
	ann.Eval(`document.querySelector(".work").open = true`, nil)
	ann.WaitText(".work", "I have to think")
}

// A power cut in the middle of an answer loses nothing: what is said meanwhile is sent when the
// daemon is back, once, and both are answered, once.
func TestAPowerCutInAConversation(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, longAnswer)
	id := thread(t, d, "Talk")
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + id)
	p.Type("#say", "Please tell me")
	p.Press("Enter")
	p.WaitText("#turn", "one two")
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Type("#say", "Are you there?")
	p.Press("Enter")
	p.WaitText(".pending", "Not sent yet")
	p.Type("#say", "half a thought")
	if err := d.Up(); err != nil {
		t.Fatal(err)
	}
	p.WaitTrue(`document.querySelectorAll("#said-list .of-agent").length === 2 && !document.querySelector(".pending")`)
	if n := count(p, "#said-list .of-person"); n != 2 {
		t.Errorf("%d questions are shown; want 2", n)
	}
	p.WaitTrue(`document.getElementById("say").value === "half a thought"`)
	p.Faults() // of requests that nobody answered
	p.Reload()
	p.WaitTrue(`document.getElementById("say").value === "half a thought"`)
	if n, m := count(p, "#said-list .of-person"), count(p, "#said-list .of-agent"); n != 2 || m != 2 {
		t.Errorf("after a reload there are %d questions and %d answers; want 2 of each", n, m)
	}
}

// What the agent asks is shown to all who look, and closes for all when one has answered.
func TestWhatTheAgentAsksIsAnsweredOnce(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "may you", "ask": true, "toolName": "Bash", "toolInput": {"command": "git push"}, "toolResult": "pushed", "text": "Done."}]`)
	id := thread(t, d, "Ask")
	ann, bob := b.Page(t, browser.Options{}), b.Page(t, browser.Options{})
	ann.Open(d.URL + "/chat/" + id)
	bob.Open(d.URL + "/chat/" + id)
	ann.Type("#say", "may you?")
	ann.Press("Enter")
	ann.WaitText(".ask", "git push")
	bob.WaitText(".ask", "git push")
	bob.Click(`.ask button[value="allow"]`)
	ann.WaitGone(".ask")
	ann.WaitText("#said-list .of-line", "allowed")
	ann.WaitText("#said-list .of-agent", "Done.")
	bob.WaitGone(".ask")
}

// Who is about to answer is not disturbed by what else happens: an answer to another question,
// somebody's words.
func TestAnAnswerIsNotDisturbed(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "may you", "ask": true, "toolName": "AskUserQuestion", "toolInput": {"questions": [{"question": "Which?", "header": "Q", "multiSelect": false,
		"options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}]}]}, "text": "Thanks."}]`)
	id := thread(t, d, "Ask")
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + id)
	p.Type("#say", "may you?")
	p.Press("Enter")
	p.WaitText(".ask", "Which?")
	p.Click(`.ask input[value="Blue"]`)
	p.Type(`.ask input[name="t0"]`, "like the sea")
	p.Type("#say", "half a thought")
	post(t, d, "/api/chat", fmt.Sprintf(`{"threadId": %q, "content": "I am here too", "author": "Bob"}`, id), nil)
	p.WaitText("#said-list", "I am here too")
	var chosen string
	p.Eval(`document.querySelector(".ask input:checked")?.value + ", " + document.querySelector('.ask input[name="t0"]').value + ", " + document.getElementById("say").value + ", " + document.activeElement.id`, &chosen)
	if chosen != "Blue, like the sea, half a thought, say" {
		t.Errorf("what was chosen and typed is %q", chosen)
	}
	p.Click(".ask .button.primary")
	p.WaitGone(".ask")
	p.WaitText("#said-list .of-agent", "Thanks.")
}

// What is typed is kept, commands are completed, files go along, and what waits can be stopped.
func TestWritingAMessage(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "slow", "delay": 60000}, {"match": "", "text": "Good."}]`)
	id := thread(t, d, "Write")
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + id)
	p.Type("#say", "/sto")
	p.WaitText("#commands", "/stop")
	p.Press("Enter")
	p.WaitTrue(`document.getElementById("say").value === "/stop "`)
	p.Eval(`(() => { const f = document.getElementById("say"); f.value = ""; f.dispatchEvent(new Event("input")) })()`, nil)
	p.Drop(".talk", browser.File{Name: "notes.txt", Type: "text/plain", Content: []byte("some words")})
	p.WaitText("#chips", "notes.txt")
	p.WaitTrue(`!!document.querySelector(".chip[data-file]")`)
	p.Reload()
	p.WaitText("#chips", "notes.txt")
	p.Type("#say", "look at it")
	p.Press("Enter")
	p.WaitText("#said-list .of-person .file", "notes.txt")
	p.WaitText("#said-list .of-agent", "Good.")
	p.Type("#say", "slow now")
	p.Press("Enter")
	p.WaitText("#state", "Working")
	p.Type("#say", "and this")
	p.Press("Enter")
	p.WaitText("#state", "1 message waits")
	p.WaitText("#said-list li:last-child .mark", "waits")
	p.Click(`.talk-stop button[value="drop"]`)
	p.WaitTrue(`document.getElementById("state").dataset.phase === ""`)
	p.WaitText("#said-list", "not answered: it was stopped")
}

// Who looks on sees what somebody corrects elsewhere, while it waits, and then its answer.
func TestACorrectionIsShown(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "slow", "delay": 60000}, {"match": "helo", "text": "Who?"}, {"match": "hello", "text": "Hello, Cleo."}]`)
	manifest := object{
		"name": "elsewhere", "version": "1.0.0", "description": "People elsewhere", "commands": []object{{"name": "said"}, {"name": "meant"}},
		"capabilities": []object{{"capability": "messages.submit", "reason": "to say what they say"}},
	}
	d.MustRun(t, "plugin", "install", pack(t, manifest, map[string]string{}), "--yes", "--grant", "all", "--enable")
	id, aside := thread(t, d, "Talk"), thread(t, d, "Aside")
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + id)
	p.Type("#say", "slow, please")
	p.Press("Enter")
	p.WaitText("#state", "Working")
	d.MustRun(t, "--thread", aside, "said", id, "helo", "there")
	p.WaitText("#said-list li:last-child", "helo there")
	p.WaitText("#said-list li:last-child .mark", "waits")
	d.MustRun(t, "--thread", aside, "meant", id, "hello", "there")
	p.WaitText("#said-list li:last-child .words", "hello there")
	p.WaitText("#said-list li:last-child .mark", "waits")
	p.WaitText("#said-list li:last-child .when", "edited")
	if n := count(p, "#said-list .of-person"); n != 2 {
		t.Errorf("%d messages of people are shown; want 2", n)
	}
	d.MustRun(t, "stop", "--thread", id)
	p.WaitText("#said-list .of-agent", "Hello, Cleo.")
}

// Who reads what was said long ago stays there, whatever is said meanwhile.
func TestReadingBack(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "", "text": "An answer.\n\nIt has two paragraphs."}]`)
	id := thread(t, d, "Long")
	for n := range 60 {
		d.MustRun(t, "send", "--thread", id, fmt.Sprintf("question %d", n))
	}
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + id)
	p.WaitText("#said-list li:last-child", "An answer")
	p.Eval(`document.getElementById("scroll").scrollTop = 300`, nil)
	p.WaitTrue(`document.querySelectorAll("#said-list > li").length > 60`)
	place := `(() => { const top = document.getElementById("scroll").getBoundingClientRect().top; const one = [...document.querySelectorAll("#said-list > li")].find((l) => l.getBoundingClientRect().bottom > top); return { id: one.id, top: one.getBoundingClientRect().top } })()`
	var before, after struct {
		ID  string
		Top float64
	}
	p.Eval(place, &before)
	d.MustRun(t, "send", "--thread", id, "one more")
	p.WaitText("#new", "new message")
	if p.Eval(place, &after); before.ID != after.ID || math.Abs(before.Top-after.Top) > 4 {
		t.Errorf("what is read has moved from %+v to %+v", before, after)
	}
	p.Click("#new")
	p.WaitTrue(`(() => { const s = document.getElementById("scroll"); return s.scrollHeight - s.scrollTop - s.clientHeight < 2 })()`)
	p.WaitGone("#new")

	// A page that is open for days keeps the end of what was said, and finds the rest again.
	var first string // kept here: a page that gets much at once loads itself anew
	p.Eval(`document.querySelector("#said-list > li").id`, &first)
	for n := range 150 {
		post(t, d, "/api/chat", fmt.Sprintf(`{"threadId": %q, "content": "later %d"}`, id, n), nil)
	}
	d.MustRun(t, "send", "--thread", id, "the end")
	p.WaitTrue(fmt.Sprintf(`document.getElementById("m%d") !== null`, newest(t, d, id)))
	if n := count(p, "#said-list > li"); n > 300 {
		t.Errorf("the page has %d messages", n)
	}
	// It asks again when the daemon does not answer, without anybody scrolling away and back.
	p.Eval(`{ const fetched = window.fetch; window.cut = 0; window.fetch = (...of) => String(of[0]).includes("/older") && !window.cut++ ? Promise.reject(new TypeError("cut")) : fetched(...of) }`, nil)
	p.Eval(`window.back = setInterval(() => { document.getElementById("scroll").scrollTop = 0 }, 50)`, nil)
	p.WaitTrue(fmt.Sprintf(`document.getElementById(%q) !== null`, first))
	p.Eval(`clearInterval(window.back)`, nil)
	p.WaitTrue(`window.cut > 1`)
}

// Conversations can be used by everybody, on every screen, in both themes, also without script.
func TestConversationsAreForEverybody(t *testing.T) {
	b := browser.Shared(t)
	d := talking(t, `[{"match": "may you", "ask": true, "toolName": "Bash", "toolInput": {"command": "git push origin `+strings.Repeat("very-long-name-", 20)+`"}}, {"match": "fail", "failure": {"kind": "api", "message": "refused"}},
		{"match": "", "think": "hm", "toolName": "Edit", "toolInput": {"file_path": "/a.go", "old_string": "a", "new_string": "b"}, "toolResult": "ok", "text": "# Words\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`+"```go\\nfunc main() {}\\n```"+`\n\nمرحبا 中文"}]`)
	id := thread(t, d, "A conversation with a long name that does not fit into any list of threads at all")
	d.MustRun(t, "send", "--thread", id, "hello")
	_, failed := d.Run(t.Context(), "send", "--thread", id, "fail")
	if failed == nil {
		t.Error("the run has not failed")
	}
	post(t, d, "/api/chat", fmt.Sprintf(`{"threadId": %q, "content": "may you?"}`, id), nil)
	var said struct{ Messages []struct{ ID int64 } }
	answer, err := http.Get(d.URL + "/api/threads/" + id + "/messages?role=user&limit=1") //nolint:noctx // a test's
	if err = errors.Join(err, json.NewDecoder(answer.Body).Decode(&said), answer.Body.Close()); err != nil || len(said.Messages) == 0 {
		t.Fatal(err, said)
	}
	paths := []string{"/chat/" + id, "/threads", "/threads/new", "/chat/" + id + "/settings", fmt.Sprintf("/chat/%s/edit?message=%d", id, said.Messages[0].ID)}
	p, plain := b.Page(t, browser.Options{}), b.Page(t, browser.Options{NoScript: true})
	for _, path := range paths {
		p.Look(browser.Options{})
		p.Open(d.URL + path)
		if path == paths[0] {
			p.WaitText(".ask", "git push")
			p.Eval(`document.querySelector(".work").open = true`, nil)
			p.Wait(".work .step")
		}
		forEverybody(t, p, path+" on a desk")
		// A wider screen shows the same in more room, in other colours.
		p.Look(browser.Options{Width: 1920, Height: 1080, Dark: true})
		forEverybody(t, p, path+" on a wide screen in the dark", "color-contrast", "target-size")
		p.Look(browser.Options{Width: 360, Height: 640, Mobile: true, Dark: true})
		forEverybody(t, p, path+" on a phone in the dark")
		if path == paths[0] {
			p.Look(browser.Options{})
			for _, hidden := range p.FocusInvisible() {
				t.Errorf("the focus cannot be seen on %s", hidden)
			}
		}
		plain.Open(d.URL + path)
		if path == paths[0] {
			plain.WaitText(".ask", "git push")
		}
		forEverybody(t, plain, path+" without script")
	}
}

// forEverybody says what somebody cannot use on a page as it is looked at now: what breaks
// these rules of axe, or any where none is named, what is too wide and what is too small.
func forEverybody(t *testing.T, p *browser.Page, where string, rules ...string) {
	t.Helper()
	for _, wrong := range p.Axe(rules...) {
		t.Errorf("%s: %s", where, wrong)
	}
	for what, found := range map[string][]string{"too wide": p.Overflow(), "too small": p.SmallTargets()} {
		if len(found) > 0 {
			t.Errorf("%s: %s: %s", where, what, strings.Join(found, ", "))
		}
	}
}
