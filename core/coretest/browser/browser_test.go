package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browser.EndShared()
	os.Exit(code)
}

const policy = "default-src 'self'; img-src 'self' http:; connect-src *"

// good is a page on which nothing is wrong; tests put something into its body, and into
// its style and script, which stand in files as the policy wants it.
const good = `<!doctype html><html lang="en"><head><title>Good</title><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="/style.css"><script src="/script.js" defer></script></head>
<body><main><h1>Good</h1><p>Read <a href="/">the manual</a> first.</p>
<form><label>Name <input id="name"></label> <button id="save" type="button">Save it</button></form>%s</main></body></html>`

const style = `body { margin: 8px; background: #fff; color: #000 } button, input { min-height: 28px; min-width: 60px }
#dark { display: none } @media (prefers-color-scheme: dark) { #dark { display: block } }`

// site serves good with what was put into it.
type site struct {
	*httptest.Server
	body, style, script string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	mux := http.NewServeMux()
	file := func(kind string, content *string, before string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, before, *content)
		}
	}
	mux.HandleFunc("/style.css", file("text/css", &s.style, style))
	mux.HandleFunc("/script.js", file("text/javascript", &s.script, ""))
	mux.HandleFunc("/picture", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/missing.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		w.WriteHeader(http.StatusNotFound)
	})
	mux.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "<p>%s</p>", r.Header.Get("Cookie")) })
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		socket, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		_, _, _ = socket.ReadMessage()
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		fmt.Fprintf(w, good, s.body)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// What is wrong on a page is found, by the words that say it, without the test looking for it.
func TestFaultsAreSeen(t *testing.T) {
	b, s, other := browser.Shared(t), newSite(t), newSite(t)
	for name, c := range map[string]struct {
		body, script string
		want         []string // at the least
	}{
		"a script in the page":         {body: `<script>document.title = "x"</script>`, want: []string{"content security policy: script-src-elem is violated"}},
		"a handler in the page":        {body: `<p id="h" onclick="x()">x</p>`, script: `document.getElementById("h").click()`, want: []string{"content security policy: script-src-attr is violated"}},
		"a style in the page":          {body: `<p style="color: red">x</p>`, want: []string{"content security policy: style-src-attr is violated"}},
		"eval":                         {script: `try { eval("1") } catch {}`, want: []string{"content security policy: script-src is violated"}},
		"an error on the console":      {script: `console.error("lost", 7)`, want: []string{"console error: lost 7"}},
		"an exception":                 {script: `nothing.there()`, want: []string{"uncaught exception: Uncaught ReferenceError: nothing is not defined"}},
		"a promise without an end":     {script: `Promise.reject(new Error("forgotten"))`, want: []string{"forgotten"}},
		"an image from elsewhere":      {body: `<img alt="x" src="` + other.URL + `/picture">`, want: []string{"request to another origin: " + other.URL}},
		"a request to a foreign host":  {script: `fetch("http://192.0.2.1/").catch(() => {})`, want: []string{"request to another origin: http://192.0.2.1/", "request failed: Fetch http://192.0.2.1/"}},
		"a websocket to elsewhere":     {script: `new WebSocket("` + strings.Replace(other.URL, "http", "ws", 1) + `/ws")`, want: []string{"websocket to another origin: ws://"}},
		"a failure of the server":      {script: `fetch("/broken")`, want: []string{"response 502: Fetch"}},
		"a style that is not there":    {body: `<link rel="stylesheet" href="/missing.css">`, want: []string{"response 404: Stylesheet"}},
		"an alert":                     {script: `alert("hello")`, want: []string{`dialog: alert("hello")`}},
		"a question":                   {script: `confirm("sure?")`, want: []string{`dialog: confirm("sure?")`}},
		"a refusal that a script gets": {script: `fetch("/refused")`},
		"nothing":                      {},
	} {
		t.Run(name, func(t *testing.T) {
			s.body, s.script = c.body, c.script
			p := b.Page(t, browser.Options{})
			p.Open(s.URL)
			for _, words := range c.want {
				p.WaitFault(words)
			}
			rest := p.Faults()
			if len(c.want) == 0 && len(rest) > 0 {
				t.Errorf("%q on a page without faults", rest)
			}
		})
	}
}

// A page that asks before it is left is left, and that is no fault.
func TestAPageMayBeLeft(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.script = `addEventListener("beforeunload", (e) => e.preventDefault())`
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	p.Type("#name", "x")
	p.Open(s.URL + "/cookie")
	p.WaitGone("#name")
}

func TestAPageIsJudged(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	wide := func(p *browser.Page) []string { return p.Overflow() }
	small := func(p *browser.Page) []string { return p.SmallTargets() }
	unseen := func(p *browser.Page) []string { return p.FocusInvisible() }
	axe := func(p *browser.Page) (words []string) {
		for _, v := range p.Axe() {
			words = append(words, v.String())
		}
		return words
	}
	for name, c := range map[string]struct {
		body, style string
		judge       func(*browser.Page) []string
		want        []string // a part of each
	}{
		"good, wide":                   {judge: wide},
		"good, small":                  {judge: small},
		"good, unseen":                 {judge: unseen},
		"good, axe":                    {judge: axe},
		"wide":                         {body: `<div><p id="w">x</p></div>`, style: `#w { width: 500px }`, judge: wide, want: []string{"p#w: reaches to 508 of 375"}},
		"wide, hidden by the body":     {body: `<p id="w">x</p>`, style: `body { overflow-x: hidden } #w { width: 500px }`, judge: wide, want: []string{"p#w"}},
		"wide, but scrolled by itself": {body: `<div id="s"><p id="w">x</p></div>`, style: `#s { overflow-x: auto } #w { width: 500px }`, judge: wide},
		"wide, beside what scrolls":    {body: `<div id="s"><p id="v">x</p></div><p id="w">x</p>`, style: `#s { overflow-x: auto } #v, #w { width: 500px }`, judge: wide, want: []string{"p#w"}},
		"small, side by side": {body: `<div><button id="a">x</button><button id="b">y</button></div>`, style: `#a, #b { all: unset; font-size: 12px; padding: 0 2px }`,
			judge: small, want: []string{"button#a:", "button#b:"}},
		"small, with room":          {body: `<div><button id="a">x</button></div>`, style: `div { padding: 40px } #a { all: unset; font-size: 12px }`, judge: small},
		"small, with a label":       {body: `<div><label id="l"><input id="a" type="checkbox"> Always</label><button>x</button></div>`, style: `#l { display: inline-block; padding: 8px } #a { min-width: 0; min-height: 0; width: 13px }`, judge: small},
		"unseen":                    {body: `<button id="u">x</button><a id="v" href="/">y</a>`, style: `#u:focus, #v:focus { outline: none }`, judge: unseen, want: []string{"button#u", "a#v"}},
		"unseen, transparent":       {body: `<button id="u">x</button>`, style: `#u:focus { outline: 2px solid transparent }`, judge: unseen, want: []string{"button#u"}},
		"seen with the keyboard":    {body: `<button id="u">x</button><button id="v">y</button>`, style: `#u:focus, #v:focus { outline: none } #u:focus-visible, #v:focus-visible { outline: 2px solid #000 }`, judge: unseen},
		"unseen, with the keyboard": {body: `<button id="u">x</button><button id="v">y</button>`, style: `#u:focus:focus-visible, #v:focus:focus-visible { outline: none }`, judge: unseen, want: []string{"button#u", "button#v"}},
		"seen by its shadow":        {body: `<button id="u">x</button>`, style: `#u { transition: box-shadow 2s } #u:focus { outline: none; box-shadow: 0 0 0 2px #000 }`, judge: unseen},
		"seen by its label":         {body: `<label>A <input id="u" type="radio"></label>`, style: `#u { opacity: 0 } #u:focus { outline: none } label:focus-within { outline: 2px solid #000 }`, judge: unseen},
		"axe: contrast":             {body: `<p id="c">pale</p>`, style: `#c { color: #ccc }`, judge: axe, want: []string{"color-contrast (serious)"}},
		"axe: no name":              {body: `<button id="n"></button>`, judge: axe, want: []string{"button-name (critical)"}},
		"axe: a small target":       {body: `<div><button id="a">x</button><button id="b">y</button></div>`, style: `#a, #b { all: unset; font-size: 12px; padding: 0 2px }`, judge: axe, want: []string{"target-size (serious)"}},
		"axe: comes in slowly":      {body: `<p id="c">slow</p>`, style: `@keyframes in { from { opacity: 0.1 } } #c { animation: in 1000s }`, judge: axe},
	} {
		t.Run(name, func(t *testing.T) {
			s.body, s.style, s.script = c.body, c.style, ""
			p := b.Page(t, browser.Options{Width: 375, Height: 667, Mobile: true})
			p.Open(s.URL)
			found := c.judge(p)
			if len(found) != len(c.want) {
				t.Fatalf("%q is found; want %q", found, c.want)
			}
			for n, want := range c.want {
				if !strings.Contains(found[n], want) {
					t.Errorf("%q is found; want %q", found[n], want)
				}
			}
		})
	}
}

// After a desk, a phone is judged by all rules, but the contrast only of what the desk does not show.
func TestALayoutIsJudged(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.body = `<p id="both">pale</p><p id="phone">pale</p><p id="dark">pale in the dark</p><button id="n"></button>`
	s.style = `#both { color: #ccc } #phone, #dark, #n { display: none } #phone { color: #ccc }
		@media (prefers-color-scheme: dark) { #dark { color: #ccc } }
		@media (max-width: 500px) { #phone, #dark, #n { display: block } }`
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	p.Axe()
	phone := browser.Options{Width: 375, Height: 667, Mobile: true}
	for _, look := range []struct {
		dark, colours bool
		want          []string
	}{
		{false, false, []string{"button-name: #n", "color-contrast: #phone"}},
		{true, true, []string{"color-contrast: #phone #dark"}},
	} {
		as := phone
		as.Dark = look.dark
		p.Look(as)
		var found []string
		for _, v := range p.AxeOfLayout(look.colours) {
			words := v.Rule + ":"
			for _, node := range v.Nodes {
				words += " " + node.Selector
			}
			found = append(found, words)
		}
		slices.Sort(found)
		if !slices.Equal(found, look.want) {
			t.Errorf("dark %v: %q is found; want %q", look.dark, found, look.want)
		}
	}
}

// What a person does reaches the page as if it were done by one.
func TestAPersonActs(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.body = `<ol id="log"></ol><input id="file" type="file" hidden multiple><textarea id="area" aria-label="Area">before</textarea><div id="zone">zone</div>`
	s.script = `const note = (words) => { const li = document.createElement("li"); li.textContent = words; document.getElementById("log").append(li) };
const on = (id, kind, act) => document.getElementById(id).addEventListener(kind, act);
on("save", "click", (e) => note("clicked, trusted: " + e.isTrusted + ", name: " + document.getElementById("name").value));
on("file", "change", async (e) => note("chosen: " + e.target.files[0].name + " " + await e.target.files[0].text()));
on("area", "paste", async (e) => note("pasted: " + e.clipboardData.files[0].type + " " + await e.clipboardData.files[0].text()));
on("zone", "drop", async (e) => { e.preventDefault(); note("dropped: " + e.dataTransfer.files[0].name) });
addEventListener("keydown", (e) => { if (e.ctrlKey && e.key === "k") { note("Control+k") } });`
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	p.Type("#name", "Ünï 漢")
	p.Click("#save")
	p.WaitText("#log", "clicked, trusted: true, name: Ünï 漢")
	p.Type("#area", " and\nafter")
	var value string
	if p.Eval(`document.getElementById("area").value`, &value); value != "before and\nafter" {
		t.Errorf("the area has %q", value)
	}
	p.Press("Control+k", "Shift+Tab", "Tab")
	p.WaitText("#log", "Control+k")
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Upload("#file", path)
	p.WaitText("#log", "chosen: a.txt content")
	p.Paste("#area", browser.File{Name: "p.png", Type: "image/png", Content: []byte("picture")})
	p.WaitText("#log", "pasted: image/png picture")
	p.Drop("#zone", browser.File{Name: "d.txt", Type: "text/plain", Content: []byte("x")})
	p.WaitText("#log", "dropped: d.txt")
	p.Reload()
	p.WaitGone("#log li")
}

// A click waits until a person could make it.
func TestAClickHitsWhatIsMeant(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.body = `<p id="state">nothing</p><div id="cover"></div>`
	s.style = `#cover { position: fixed; inset: 0 }`
	s.script = `const button = document.getElementById("save"), cover = document.getElementById("cover");
button.disabled = true;
setTimeout(() => { button.disabled = false; setTimeout(() => cover.remove(), 200) }, 200);
for (const what of [button, cover]) { what.addEventListener("click", () => document.getElementById("state").textContent = what.localName) }`
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	p.Click("#save")
	p.WaitText("#state", "button")
}

// A page without a network keeps no connection, and gets new ones once there is one again.
func TestTheNetworkGoes(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.body = `<p id="state"></p>`
	s.script = `const state = document.getElementById("state");
const open = () => { const ws = new WebSocket("ws://" + location.host + "/ws"); ws.onopen = () => state.textContent = "open"; ws.onclose = () => { state.textContent = "closed " + ++closed; if (closed === 1) { open() } } };
let closed = 0; addEventListener("online", open); open()`
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	p.WaitText("#state", "open")
	p.SetOffline(true)
	p.WaitText("#state", "closed 2") // the second was not let in
	p.WaitTrue("!navigator.onLine")
	p.Eval(`fetch("/refused").then(() => "it came", () => "it failed").then((r) => state.textContent = r)`, nil)
	p.WaitText("#state", "it failed")
	p.SetOffline(false)
	p.WaitText("#state", "open")
}

func TestWhatAPageIsOpenedWith(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.body = `<p id="dark">dark</p><noscript><p id="plain">plain</p></noscript>`
	s.script = `document.querySelector("h1").textContent = "scripted"`
	p := b.Page(t, browser.Options{Dark: true})
	p.Open(s.URL)
	p.Wait("#dark")
	p.WaitText("h1", "scripted")
	p = b.Page(t, browser.Options{NoScript: true, Width: 375, Height: 667, Mobile: true})
	p.Open(s.URL)
	p.Wait("#plain")
	p.WaitGone("#dark")
	if p.Text("h1") != "Good" {
		t.Error("the script ran")
	}
	if found := p.Axe(); len(found) > 0 {
		t.Errorf("without scripts: %v", found)
	}
	p.Click("#save")
	p = b.Page(t, browser.Options{Cookies: []http.Cookie{{Name: "session", Value: "secret", HttpOnly: true, SameSite: http.SameSiteStrictMode}}})
	p.Open(s.URL + "/cookie")
	p.WaitText("p", "session=secret")
	p = b.Page(t, browser.Options{})
	p.Open(s.URL + "/cookie")
	if p.Text("p") != "" {
		t.Error("a page has another's cookie")
	}
}

func TestWhatAPageCosts(t *testing.T) {
	b, s := browser.Shared(t), newSite(t)
	s.style = "/* " + strings.Repeat("x", 5000) + " */"
	p := b.Page(t, browser.Options{})
	p.Open(s.URL)
	all := p.Transferred()
	at := slices.IndexFunc(all, func(r browser.Resource) bool { return r.Type == "Stylesheet" })
	if at < 0 || all[at].Bytes < 5000 || all[at].Bytes > 6000 || all.Bytes() < all[at].Bytes+500 {
		t.Errorf("transferred:\n%s", all)
	}
	if paint := p.Paint(); paint <= 0 {
		t.Errorf("painted after %v", paint)
	}
	dir := t.TempDir()
	p.Screenshot(filepath.Join(dir, "seen.png"))
	p.ScreenshotWhole(filepath.Join(dir, "whole.png"))
	for _, name := range []string{"seen.png", "whole.png"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasPrefix(string(content), "\x89PNG") {
			t.Errorf("%s is no picture: %v", name, err)
		}
	}
}

// A browser leaves no process behind.
func TestABrowserEnds(t *testing.T) {
	var home string
	t.Run("open", func(t *testing.T) {
		p := browser.Start(t).Page(t, browser.Options{})
		p.Open(newSite(t).URL)
		home = "HOME=" + filepath.Dir(t.TempDir()) // the browser's is beside it
		if len(having(home)) == 0 {
			t.Fatal("no process has the test's home")
		}
	})
	if left := having(home); home != "" && len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
}

// having are the processes with something in their environment.
func having(entry string) (found []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if content, err := os.ReadFile(path); err == nil && strings.Contains(string(content), entry) {
			found = append(found, path)
		}
	}
	return found
}
