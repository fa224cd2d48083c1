package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

const (
	// openAim is how soon a page of the dashboard shows something.
	openAim = 200 * time.Millisecond
	// wordAim is how soon what the agent says stands in the page, and how soon a key shows
	// its character.
	wordAim = 50 * time.Millisecond
	// togetherAim is how soon a page shows what was done on another.
	togetherAim = 300 * time.Millisecond
	// weightAim is how many KB a page loads the first time.
	weightAim = 150
)

// The pages that aims are set for.
const (
	pageHot     = "a thread of many messages"
	pageThreads = "the list of threads"
)

// The demo agent's script: it works at tasks, talks at 200 words a second, or asks first.
const (
	talking    = `[{"match": "BLOCKED:", "text": "It is done.\nDONE: all of it"}, {"match": "talk at length", "pace": %d, "text": %q}, {"match": "permission number", "ask": true, "toolName": "Bash", "toolInput": {"command": "true"}, "toolResult": "it is so", "text": "It is done."}]`
	pace       = 5 // milliseconds
	spokenWord = "w%05d"
)

// dashboard measures the pages, from outside and in a browser, where there is much to show.
func (b *bench) dashboard() error {
	for n, database := range b.databases() {
		measures := []func(testing.TB, *filled) error{b.held, b.opened, b.firstSight, b.live, b.together}
		if n > 0 {
			measures = nil // what a browser does with an answer is the same
		}
		if err := b.dashboardOn(database, measures); err != nil {
			return fmt.Errorf("%s: %w", database.name, err)
		}
	}
	return nil
}

func (b *bench) dashboardOn(database database, measures []func(testing.TB, *filled) error) (err error) {
	dir, err := os.MkdirTemp("", "harness-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	script := filepath.Join(dir, "script.json")
	var words strings.Builder
	for n := range b.words {
		fmt.Fprintf(&words, spokenWord+" ", n)
	}
	if err := os.WriteFile(script, fmt.Appendf(nil, talking, pace, words.String()), 0o600); err != nil {
		return err
	}
	database.env = append(database.env, "HARNESS_DEMO_SCRIPT="+script)
	f, err := b.openFilled(database, b.shown, (*filled).converse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	b.row(database.name, "%v; filled in %v", f.volume, f.filling.Round(time.Second))
	if err := errors.Join(b.fresh(f), f.work()); err != nil {
		return err
	}
	if err := b.answers(f); err != nil {
		return err
	}
	if len(measures) > 0 && os.Getenv("HARNESS_TEST_CHROMIUM") == "" {
		b.row("in a browser", "left out: HARNESS_TEST_CHROMIUM is not set (.ci/test-env sets it)")
		return nil
	}
	for _, measure := range measures {
		if err := b.table.Flush(); err != nil { // it takes minutes, and each part is worth having
			return err
		}
		if err := browse(func(t testing.TB) error { return measure(t, f) }); err != nil {
			return err
		}
	}
	return nil
}

// converse makes of the filled rows what agents write: of ten rows of the hot thread eight are
// what the agent did on its way, and what it says has lists and code. All are indexed.
func (f *filled) converse() (err error) {
	db, err := f.database.open(f.Dir)
	if err != nil {
		return err
	}
	said := "## What I found\n\nThe *second* change is the one: `store.Open` waits.\n\n" + strings.Repeat("- a point that takes a line, with [a link](https://example.com)\n", 5) +
		"\n```go\nfunc open(path string) (*sql.DB, error) {\n\treturn sql.Open(\"sqlite\", path)\n}\n```\n\n" + strings.Repeat("Words that somebody wrote. ", 12)
	_, did := db.Exec(`UPDATE messages SET kind = 'tool_call', role = 'assistant' WHERE thread_id = $1 AND id / 2 % 10 > 1`, f.landmarks.hot)
	_, spoke := db.Exec(`UPDATE messages SET content = $1 WHERE thread_id = $2 AND kind = 'text' AND role = 'assistant'`, said, f.landmarks.hot)
	if err := errors.Join(did, spoke, db.Close()); err != nil {
		return err
	}
	return f.reindex()
}

// work gives every page something to show: tasks, schedules, notes.
func (f *filled) work() error {
	primary, err := f.client.primary()
	if err != nil {
		return err
	}
	for range 20 {
		if err := f.client.delegate(primary); err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		open, err := f.client.openTasks()
		if err != nil || open == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d tasks are not over", open)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// load is what the machine was at, for those who read the figures.
func load() string {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	return "load " + strings.Fields(string(content))[0]
}

// answers is what the daemon and the plugin take to answer with a page.
func (b *bench) answers(f *filled) error {
	hot, ordinary := "/chat/"+f.landmarks.hot, func(n int) string { return "/chat/" + f.landmarks.ordinary[n%walk] }
	type asked struct {
		name string
		path func(n int) string
	}
	pages := []asked{
		{pageHot, func(int) string { return hot }},
		{"an older page of it", func(n int) string { return fmt.Sprintf("%s/older?before=%d", hot, f.landmarks.before[n%walk]) }},
		{"ordinary threads", ordinary},
		{pageThreads, func(int) string { return "/threads" }},
		{"threads by a word of their names", func(n int) string { return "/threads/list?q=" + url.QueryEscape(fmt.Sprint("thread ", n)) }},
		{"threads by what no name has", func(n int) string { return fmt.Sprintf("/threads/list?q=nothing+%d", n) }},
		{"what is new in a thread", func(int) string { return hot + "/news?after=" + fmt.Sprint(f.volume.messages()) }},
	}
	for _, path := range entries {
		pages = append(pages, asked{path, func(int) string { return path }})
	}
	for _, page := range pages {
		var times []time.Duration
		var used meter
		bytes := 0
		for n := range warmUp/2 + b.asked {
			if n == warmUp/2 {
				var err error
				if used, err = f.meter(); err != nil {
					return err
				}
			}
			began := time.Now()
			body, err := f.client.get(page.path(n))
			if err != nil {
				return err
			}
			times = append(times, time.Since(began))
			bytes = len(body)
		}
		times = times[warmUp/2:]
		cpu := used.perTurn(b.asked)
		b.row(f.database.name+": "+page.name, "%s, CPU %.1f ms (daemon %.1f), %d KB of HTML, %s", spread(times), cpu[0].CPU, cpu[1].CPU, bytes>>10, load())
		b.note(figureAnswered(f.database.name, page.name), ms(quantile(times, 0.99)), "ms")
	}
	return nil
}

// opened is how long a browser takes until it shows a page that it has the assets of.
func (b *bench) opened(t testing.TB, f *filled) error {
	p := browser.Start(t).Page(t, browser.Options{})
	for _, page := range []struct{ name, path, seen string }{
		{pageHot, "/chat/" + f.landmarks.hot, "#said-list li"},
		{pageThreads, "/threads", "#thread-list li"},
	} {
		var painted, loaded, busy []time.Duration
		p.Open(f.URL + page.path)
		p.Busy()
		for range b.opens {
			p.Open(f.URL + page.path)
			p.Wait(page.seen)
			painted = append(painted, p.Paint())
			loaded = append(loaded, navigated(p, "loadEventEnd"))
			busy = append(busy, p.Busy())
		}
		b.row(page.name+", until it is painted", "%s (aim %v), %s", spread(painted), openAim, load())
		b.row(page.name+", until it is loaded", "%s", spread(loaded))
		b.row(page.name+", CPU of the page's own thread for that", "%s", spread(busy))
		b.note(figurePainted(page.name), ms(quantile(painted, 0.5)), "ms")
	}
	return b.found(p, f)
}

// found is how long it takes from a word in the list's field until the list is of that word.
// Of it 150 ms are those that the page waits for the next letter.
func (b *bench) found(p *browser.Page, f *filled) error {
	var times []time.Duration
	for n := range b.opens {
		name := fmt.Sprint("thread ", b.shown.threads/2+n)
		p.Open(f.URL + "/threads")
		p.Eval(`void (window.found = new Promise((resolve) => {
			let from = 0;
			document.querySelector("#find").addEventListener("input", () => (from = performance.now()));
			new MutationObserver(() => {
				const rows = [...document.querySelectorAll("#thread-list li")];
				if (rows.length && rows.every((row) => row.textContent.includes(`+quoted(name)+`))) resolve(performance.now() - from);
			}).observe(document.body, { childList: true, subtree: true });
		}))`, nil)
		p.Type("#find", name)
		times = append(times, evalled(p, "window.found"))
	}
	b.row("from the last letter of a search to its threads", "%s, of it 150 ms for the next letter (aim %v), %s", spread(times), togetherAim, load())
	return nil
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// evalled is a number of milliseconds that a page says.
func evalled(p *browser.Page, expression string) time.Duration {
	var milliseconds float64
	p.Eval(expression, &milliseconds)
	return time.Duration(milliseconds * float64(time.Millisecond))
}

// navigated is a moment of the page's navigation, from its start.
func navigated(p *browser.Page, moment string) time.Duration {
	p.WaitTrue(`performance.getEntriesByType("navigation")[0].` + moment + ` > 0`)
	return evalled(p, `performance.getEntriesByType("navigation")[0].`+moment)
}
