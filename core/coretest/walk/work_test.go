package walk

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/core/coretest/installation"
	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The real agent asks before it runs what nothing allows. Somebody allows it once, then
// lastingly, then denies another and says why; who has another page open sees that it is
// answered.
func TestTheAgentAsks(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := daemon{Installation: installation.Start(t, bin, installation.Options{API: fakeapi.Start(t)})}
	work := t.TempDir()
	thread := d.thread(t, object{"name": "At work", "cwd": work})
	call := func(name, then string) string {
		return fmt.Sprintf("usetool:Bash {\"command\": \"mkdir %s\", \"description\": \"Make %s\"}\nthen:%s", name, name, then)
	}
	made := func(name string) bool {
		_, err := os.Stat(filepath.Join(work, name))
		return err == nil
	}
	p, other := b.Page(t, browser.Options{}), b.Page(t, phone)
	for _, page := range []*browser.Page{p, other} {
		page.Open(d.URL + "/chat/" + thread)
		page.WaitTrue("window.harness.position.boot")
	}
	shown(t, "another page shows that it is answered", func() time.Duration {
		const name = "once"
		d.say(t, thread, "Ann", call(name, "It is there: "+name))
		p.WaitText("#asks .command", "mkdir "+name)
		other.WaitText("#asks .command", "mkdir "+name)
		took := apart(other, `!document.querySelector("#asks .ask")`, func() { p.Click("#asks .row .button.primary") })
		answers(t, p, "It is there: "+name)
		if !made(name) {
			t.Errorf("it was allowed and is not there: %s", name)
		}
		return took
	})

	d.say(t, thread, "Ann", call("lasting1", "It is there, lastingly"))
	p.WaitText("#asks .command", "mkdir lasting1")
	p.Click("#asks details:last-of-type > summary")
	p.Click("#asks .lasting")
	answers(t, p, "It is there, lastingly")
	p.Open(d.URL + "/system/approvals")
	p.WaitText("#approvals", "mkdir")
	p.Open(d.URL + "/chat/" + thread)

	d.say(t, thread, "Ann", "usetool:Bash {\"command\": \"touch denied\", \"description\": \"Make it\"}\nthen:I have understood that")
	p.WaitText("#asks .command", "touch denied")
	p.Click("#asks .ask-words:first-of-type > summary")
	p.Type("#asks textarea", "Not here: this is the shop's")
	p.Click("#asks .tone-bad")
	answers(t, p, "I have understood that")
	if made("denied") {
		t.Error("it was denied and is there")
	}
	var found struct{ Approvals []pluginsdk.Approval }
	d.call(t, http.MethodGet, "/api/approvals?state=denied", nil, &found)
	if len(found.Approvals) != 1 || found.Approvals[0].Words != "Not here: this is the shop's" {
		t.Errorf("what was denied: %+v", found.Approvals)
	}
}

// Two tabs have the same file: the second one that saves is told, has both texts before them,
// and puts them together. Nothing of either is lost.
func TestTheMemoryInTwoTabs(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t)
	d.remember(t, "context/shop.md", "It opens at nine.\n", "", "Ann")
	first, second := b.Page(t, browser.Options{}), b.Page(t, browser.Options{})
	for _, p := range []*browser.Page{first, second} {
		p.Open(d.URL + "/memory/file?path=context%2Fshop.md")
		p.Wait("#f-text")
	}
	first.Type("#f-text", "\nIt closes at five.")
	first.Click(".editor button.primary")
	first.WaitText("#said", "shop.md")
	second.Type("#f-text", "\nThere is bread.")
	second.Click(".editor button.primary")
	second.WaitText("main", "This file has changed since you opened it")
	second.WaitText("main pre", "It closes at five.")
	second.WaitTrue(`document.getElementById("f-text").value.includes("There is bread.")`)
	second.Type("#f-text", "\nIt closes at five.")
	second.Click(".editor button.primary")
	second.WaitText("#said", "shop.md")
	var file struct{ Text string }
	d.call(t, http.MethodGet, "/api/context/file?path=context/shop.md", nil, &file)
	if want := "It opens at nine.\n\nThere is bread.\nIt closes at five."; strings.TrimSpace(strings.ReplaceAll(file.Text, "\r\n", "\n")) != want {
		t.Errorf("the file says %q", file.Text)
	}
	second.Open(d.URL + "/memory/history?path=context%2Fshop.md")
	second.WaitText("main", "refused")
}

// archive makes a package of a directory, as one file.
func archive(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(dir)+".tar.gz")
	if output, err := exec.Command("tar", "-czf", path, "-C", dir, ".").CombinedOutput(); err != nil { //nolint:gosec // our own
		t.Fatalf("%v: %s", err, output)
	}
	return path
}

// A plugin is installed from its package, after what it asks for was shown; it is set, turned
// off and on, replaced by its next version, and taken back.
func TestAPlugin(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t)
	first, next := archive(t, pack(t, shop("shop", "1.0.0"), map[string]string{})), archive(t, pack(t, shop("shop", "2.0.0"), map[string]string{}))
	p := b.Page(t, browser.Options{})
	plugin := d.URL + "/plugins/shop"
	p.Open(d.URL + "/plugins/install")
	p.Upload("#f-archive", first)
	p.Click("main form button.primary")
	p.WaitText("main", "Nothing is done yet")
	p.WaitText(".wants", "remembers what was sold")
	p.Click(`.wants input[value="messages.read"]`) // it is strong, and not granted unasked
	p.Click(".plan .row .button.primary")
	p.WaitText("#standing", "Version 1.0.0")
	p.WaitText("#standing", "serving")

	p.Open(plugin + "?tab=settings")
	p.Eval(`document.getElementsByName("set/seats")[0].type = "text"`, nil) // what the browser would hold back
	p.Type(`[name="set/seats"]`, "00")
	p.Click(".settings button.primary")
	p.WaitText(".field.wrong", "12")
	p.Eval(`document.getElementsByName("set/seats")[0].value = ""`, nil)
	p.Type(`[name="set/seats"]`, "7")
	p.Click(".settings button.primary")
	p.WaitGone(".field.wrong")
	var set struct {
		Values struct{ Seats int }
	}
	eventually(t, "the setting", func() bool {
		d.call(t, http.MethodGet, "/api/plugins/shop/settings", nil, &set)
		return set.Values.Seats == 7
	})

	p.Open(plugin)
	p.Click(".page-actions button")
	p.WaitText("#standing", "disabled")
	p.Click(".page-actions button")
	p.WaitText("#standing", "serving")

	p.Open(d.URL + "/plugins/install?upgrade=shop")
	p.Upload("#f-archive", next)
	p.Click("main form button.primary")
	p.WaitText("main", "What changes")
	p.Click(".plan .row .button.primary")
	p.WaitText("#standing", "Version 2.0.0")
	p.Open(plugin + "/rollback")
	p.Click(".plan .row .button.primary")
	p.WaitText("#standing", "Version 1.0.0")
}

// Work is handed on, handed in, sent back and accepted, and then it is in the repository.
func TestATask(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, rule{"match": "too bright", "text": "It is darker.\nDONE: the sign is dark blue"},
		rule{"match": "Blue, please", "text": "It is painted.\nDONE: the sign is blue"}, rule{"match": "Paint the sign", "times": 1, "text": "BLOCKED: Which colour?"})
	dir := d.repository(t)
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/tasks/new")
	p.Type("#f-text", "Paint the sign in SIGN.md")
	p.Type("#f-dir", dir)
	p.Click("main form button.primary")
	p.WaitText("#task", "Which colour?")
	var id string
	p.Eval(`location.pathname.split("/").pop()`, &id)
	paint(t, d.task(t, id, pluginsdk.TaskWaiting))
	p.Type("[name=words]", "Blue, please")
	p.Click("button[name=do][value=go-on]")
	p.Wait("button[name=do][value=reject]")
	p.Type("[name=words]", "This is too bright")
	p.Click("button[name=do][value=reject]")
	p.WaitText("#task", "dark blue")
	p.Wait("button[name=do][value=accept]")
	p.Click("button[name=do][value=accept]")
	p.WaitText("#task", "completed")
	p.Open(d.URL + "/tasks/" + id + "?tab=changes")
	p.WaitText(".diff", "The sign is blue.")
	text, err := os.ReadFile(filepath.Join(dir, "SIGN.md"))
	if err != nil || !strings.Contains(string(text), "blue") {
		t.Errorf("the sign says %q, %v", text, err)
	}
}

// words returns what the main part of a page says before any script has run, for the owner of the session.
func words(t *testing.T, address string, session []*http.Cookie) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	for _, cookie := range session {
		request.AddCookie(cookie)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := html.Parse(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	var said strings.Builder
	for one := range page.Descendants() {
		if one.Type == html.TextNode && inMain(one) {
			said.WriteString(one.Data)
		}
	}
	return strings.TrimSpace(said.String())
}

// inMain reports whether a text is shown in the main part of its page.
func inMain(text *html.Node) (inside bool) {
	for one := range text.Ancestors() {
		switch one.DataAtom {
		case atom.Script, atom.Template, atom.Style:
			return false
		case atom.Main:
			inside = true
		}
	}
	return inside
}

// Without script every page can be read, and its forms say, allow, keep and decide.
func TestWithoutScript(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	l := live(t)
	p := b.Page(t, browser.Options{NoScript: true})
	session, err := owner.Session(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range l.pages() {
		if said := words(t, l.URL+path, session); len(said) < 20 {
			t.Errorf("%s says %q", name, said)
		}
	}
	p.Open(l.URL + "/chat/" + l.talk)
	p.Type("#say", "Hello without script")
	p.Click(".send")
	p.WaitText("#said-list", "Hello without script")
	p.Open(l.URL + "/chat/" + l.asking)
	p.Eval(`document.documentElement.id = "asked"`, nil)
	p.Click("#asks .row .button.primary")
	p.WaitGone("#asked") // the redirect of the form would abort the next page
	eventually(t, "the answer to what was allowed", func() bool {
		var found struct{ Messages []pluginsdk.Message }
		l.call(t, http.MethodGet, "/api/threads/"+l.asking+"/messages?role=assistant&last=true&limit=3", nil, &found)
		text, err := json.Marshal(found.Messages)
		return err == nil && strings.Contains(string(text), "It is deployed.")
	})
	p.Open(l.URL + "/memory/file?path=context%2Fshop.md")
	p.Type("#f-text", "Without script, too.")
	p.Click(".editor button.primary")
	p.WaitText("#said", "shop.md")
	p.Open(l.URL + "/tasks/" + l.waiting)
	p.Type("[name=words]", "Bazaar")
	p.Click("button[name=do][value=go-on]")
	p.WaitText("#said", "")
	eventually(t, "the worker to go on", func() bool {
		return l.task(t, l.waiting, pluginsdk.TaskWaiting, pluginsdk.TaskRunning).CurrentIteration > 1
	})
}
