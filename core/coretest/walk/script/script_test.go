// Package script_test is what the script of every page of the dashboard does in a browser
// when the daemon behind it does what is rare, to the moment.
package script_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

// scripted serves a page with what every page's script is made of, and nothing else of the
// dashboard, so that what happens to it can be arranged to the moment.
type scripted struct {
	*httptest.Server
	sockets, pages, posts, lines atomic.Int64

	away   atomic.Bool   // it answers no socket
	event  chan string   // what the sockets say; empty: one ends
	answer chan struct{} // lets a form be answered
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{event: make(chan string, 10), answer: make(chan struct{}, 10)}
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, said string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Page</title><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<meta name="htmx-config" content='{"allowEval":false,"includeIndicatorStyles":false}'>
<script src="/assets/vendor/htmx.min.js" defer></script><script src="/assets/vendor/idiomorph-ext.min.js" defer></script><script src="/assets/app.js" defer></script></head>
<body data-follows=""><main id="main"><div id="said">%s</div><h1>Page</h1><p id="live" data-live="task:">%d</p>
<form id="wrong" method="post" action="/only-posted" data-swap><button>Send</button></form>
<form id="away" method="post" action="/done" data-swap><button>Do</button></form></main>
<div id="toasts"></div><div id="connection" hidden></div></body></html>`, said, s.pages.Add(1))
	}
	files := http.FileServer(http.Dir("../../../../plugins/web/internal/site/assets"))
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", files))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { page(w, "") })
	mux.HandleFunc("GET /bare", func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<script>Object.defineProperty(window, "sessionStorage", { get() { throw new Error("none") } })</script>`)
	})
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<div hx-get="/lines" hx-trigger="every 100ms"></div>`)
	})
	mux.HandleFunc("GET /lines", func(http.ResponseWriter, *http.Request) { s.lines.Add(1) })
	mux.HandleFunc("GET /chat", func(w http.ResponseWriter, _ *http.Request) {
		page(w, `<section class="talk"><form id="compose" method="post" data-thread="T"><label>Say <textarea id="say"></textarea></label>
<p id="compose-wrong"></p><ul id="chips"></ul><input type="file" aria-label="Files"></form></section><script src="/assets/composer.js" defer></script>`)
	})
	mux.HandleFunc("POST /only-posted", func(w http.ResponseWriter, _ *http.Request) {
		s.posts.Add(1)
		<-s.answer
		page(w, "<p>This is wrong with it.</p>")
	})
	mux.HandleFunc("POST /done", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/next", http.StatusSeeOther) })
	told := false
	mux.HandleFunc("GET /next", func(w http.ResponseWriter, _ *http.Request) {
		said := ""
		if !told {
			said, told = "<p>It is done.</p>", true
		}
		page(w, said)
	})
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			http.Error(w, "it is away", http.StatusServiceUnavailable)
			return
		}
		socket, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		s.sockets.Add(1)
		defer s.sockets.Add(-1)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _, _ = socket.ReadMessage()
		}()
		for words := `{"event":"hello"}`; ; {
			if socket.WriteMessage(websocket.TextMessage, []byte(words)) != nil {
				return
			}
			select {
			case words = <-s.event:
				if words == "" {
					return
				}
			case <-gone:
				return
			}
		}
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// A form that is pressed twice is sent once, and what is wrong with it is shown where it was
// sent from: where it was sent to can perhaps not be opened.
func TestAFormIsSentOnceAndAnsweredInPlace(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/")
	p.Click("#wrong button")
	p.Click("#wrong button")
	s.answer <- struct{}{}
	s.answer <- struct{}{}
	p.WaitText("#said", "This is wrong with it.")
	p.WaitTrue(`location.pathname === "/"`)
	if posts := s.posts.Load(); posts != 1 {
		t.Errorf("it was sent %d times", posts)
	}
	p.Click("#wrong button")
	p.WaitTrue(`!document.querySelector("#wrong button").classList.contains("working")`)
	if posts := s.posts.Load(); posts != 2 {
		t.Errorf("once more, and it was sent %d times", posts)
	}
	p.Click("#away button")
	p.WaitTrue(`location.pathname === "/next"`)
	p.WaitText("#toasts", "It is done.")
}

// A browser whose network comes and goes has one socket, and not one more each time.
func TestAPageHasOneSocket(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/")
	for range 2 {
		s.away.Store(true)
		s.event <- ""
		p.WaitTrue(`!document.getElementById("connection").hidden`)
		s.away.Store(false)
		p.Eval(`void dispatchEvent(new Event("online"))`, nil)
		p.WaitTrue(`document.getElementById("connection").hidden`)
	}
	p.Eval(`new Promise((done) => setTimeout(done, 5000))`, nil) // what was put off is tried by then
	if sockets := s.sockets.Load(); sockets != 1 {
		t.Errorf("it has %d sockets", sockets)
	}
	p.Faults() // that it could not connect
}

// However much happens, a page asks for itself about once a second.
func TestManyEventsAreFewQuestions(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/")
	before := s.pages.Load()
	stop := make(chan struct{})
	go func() {
		often := time.NewTicker(20 * time.Millisecond)
		defer often.Stop()
		for {
			select {
			case <-often.C:
				select {
				case s.event <- `{"event":"task:changed"}`:
				default:
				}
			case <-stop:
				return
			}
		}
	}()
	p.Eval(`new Promise((done) => setTimeout(done, 4000))`, nil)
	close(stop)
	if asked := s.pages.Load() - before; asked < 2 || asked > 6 {
		t.Errorf("it has asked %d times within 4 seconds", asked)
	}
}

// A conversation that is open twice: the one where nothing is typed takes nothing of what was
// typed in the other away.
func TestADraftIsOfThePageWhereItIsTyped(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/chat")
	p.Eval(`localStorage.setItem("harness-draft-T", JSON.stringify({ text: "typed elsewhere", files: [] }))`, nil)
	p.Open(s.URL + "/chat")
	p.WaitTrue(`document.getElementById("say").value === "typed elsewhere"`)
	p.Type("#say", " and here")
	p.Open(s.URL + "/chat")
	p.WaitTrue(`document.getElementById("say").value.includes("and here")`)
	p.Eval(`localStorage.removeItem("harness-draft-T")`, nil) // the other page has sent it
	p.Open(s.URL + "/")
	var kept *string
	p.Eval(`localStorage.getItem("harness-draft-T")`, &kept)
	if kept != nil {
		t.Errorf("what was sent elsewhere is a draft again: %s", *kept)
	}
}

// A page that nobody looks at does not ask again and again.
func TestWhatNobodyLooksAtIsNotAskedFor(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/log")
	p.Eval(`new Promise((done) => setTimeout(done, 1000))`, nil)
	if s.lines.Load() == 0 {
		t.Fatal("it has not asked while somebody looks")
	}
	p.Eval(`void Object.defineProperty(document, "hidden", { get: () => true })`, nil)
	p.Eval(`new Promise((done) => setTimeout(done, 500))`, nil) // what is under way ends
	before := s.lines.Load()
	p.Eval(`new Promise((done) => setTimeout(done, 1500))`, nil)
	if asked := s.lines.Load() - before; asked != 0 {
		t.Errorf("it has asked %d times", asked)
	}
}

// A browser that keeps nothing for pages can use them.
func TestAPageWorksWhereNothingIsKept(t *testing.T) {
	s, b := newScripted(t), browser.Start(t)
	p := b.Page(t, browser.Options{})
	p.Open(s.URL + "/bare")
	p.WaitTrue(`document.getElementById("connection").hidden && window.harness !== undefined`)
	p.Click("#away button")
	p.WaitTrue(`location.pathname === "/next"`)
}
