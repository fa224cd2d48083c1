package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

// following notes in a page when words were told by the daemon and when they stood in the
// page, what keys took until their character was drawn, and how long frames were.
const following = `void (() => {
	const now = () => performance.timeOrigin + performance.now();
	const seen = window.seen = { told: {}, stood: {}, keys: [], frames: [], deltas: 0 };
	const words = (text) => text.match(/w\d{5}/g) || [];
	document.addEventListener("harness:pipeline:stream", ({ detail }) => {
		if (detail.data.event.type !== "text_delta") return;
		seen.deltas++;
		for (const word of words(detail.data.event.text)) seen.told[word] ??= Date.parse(detail.timestamp);
	});
	let newest = "";
	new MutationObserver(() => {
		const text = document.getElementById("turn").textContent;
		const at = now();
		for (const word of words(text.slice(-600))) if (word > newest || !(word in seen.stood)) { seen.stood[word] ??= at; newest = word; }
	}).observe(document.body, { childList: true, characterData: true, subtree: true });
	document.getElementById("say").addEventListener("keydown", (event) => {
		requestAnimationFrame(() => {
			const drawn = new MessageChannel();
			drawn.port1.onmessage = () => seen.keys.push(performance.now() - event.timeStamp);
			drawn.port2.postMessage(0);
		});
	});
	let last = performance.now();
	const frame = (at) => { seen.frames.push(at - last); last = at; requestAnimationFrame(frame); };
	requestAnimationFrame(frame);
})()`

// followed is what following has noted.
type followed struct {
	Told, Stood  map[string]float64
	Keys, Frames []float64
	Deltas       int
}

// live is a page whose agent talks at 200 words a second while a person types.
func (b *bench) live(t testing.TB, f *filled) error {
	thread, err := f.client.thread()
	if err != nil {
		return err
	}
	p := browser.Start(t).Page(t, browser.Options{})
	p.Open(f.URL + "/chat/" + thread)
	p.Wait("#say")
	p.Eval(following, nil)
	used, err := f.meter()
	if err != nil {
		return err
	}
	p.Busy()
	began, before := time.Now(), p.Busy()
	runID, err := f.client.say(thread, "talk at length")
	if err != nil {
		return err
	}
	p.WaitTrue("seen.deltas > 0")
	p.Click("#say")
	typed, over := 0, make(chan error, 1)
	go func() {
		_, err := f.client.wait(runID)
		over <- err
	}()
	for going := true; going; {
		p.Press("x")
		typed++
		select {
		case err := <-over:
			if err != nil {
				return err
			}
			going = false
		case <-time.After(70 * time.Millisecond):
		}
	}
	took, busy := time.Since(began), p.Busy()-before
	var seen followed
	p.Eval("window.seen", &seen)
	if len(seen.Told) < b.words/2 || len(seen.Stood) < b.words/2 || len(seen.Keys) == 0 {
		return fmt.Errorf("of %d words %d were told and %d stood in the page, and %d of %d keys were drawn", b.words, len(seen.Told), len(seen.Stood), len(seen.Keys), typed)
	}
	var late []time.Duration
	for word, told := range seen.Told {
		if stood, ok := seen.Stood[word]; ok {
			late = append(late, milliseconds(stood-told))
		}
	}
	keys, frames := durations(seen.Keys), durations(seen.Frames)
	b.row("from a word of the agent to the page", "%s (aim %v), %.0f words a second in %.0f events, %s",
		spread(late), wordAim, float64(len(seen.Told))/took.Seconds(), float64(seen.Deltas)/took.Seconds(), load())
	b.row("from a key to its character meanwhile", "%s (aim %v)", spread(keys), wordAim)
	b.row("frames meanwhile", "%s", spread(frames))
	b.row("the page's own thread meanwhile", "CPU %.0f %% of a core", 100*busy.Seconds()/took.Seconds())
	for _, one := range used.perTurn(1) {
		if one.Process == "daemon" || strings.HasSuffix(one.Process, " web") {
			b.row(one.Process+" meanwhile", "CPU %.0f %% of a core", one.CPU/10/took.Seconds())
		}
	}
	b.note(figureWord, ms(quantile(late, 0.99)), "ms")
	b.note(figureKey, ms(quantile(keys, 0.99)), "ms")
	return nil
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

func durations(values []float64) (all []time.Duration) {
	for _, value := range values {
		all = append(all, milliseconds(value))
	}
	return all
}

// moment is an expression that resolves to the time at which a condition becomes true of a page.
func moment(name, condition string) string {
	return `void (window.` + name + ` = new Promise((resolve) => {
		const look = () => (` + condition + `) && resolve(performance.timeOrigin + performance.now());
		new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
	}))`
}

// doneAt is one that resolves to the time of an event on this page.
func doneAt(event string) string {
	return `void (window.did = new Promise((resolve) => addEventListener("` + event + `",
		() => resolve(performance.timeOrigin + performance.now()), { capture: true, once: true })))`
}

// together is two pages on one thread: what is done on one is seen on the other.
func (b *bench) together(t testing.TB, f *filled) error {
	thread, err := f.client.thread()
	if err != nil {
		return err
	}
	started := browser.Start(t)
	one, other := started.Page(t, browser.Options{}), started.Page(t, browser.Options{})
	for _, p := range []*browser.Page{one, other} {
		p.Open(f.URL + "/chat/" + thread)
		p.Wait("#say")
	}
	var said, asked, answered []time.Duration
	for n := range b.opens {
		text := fmt.Sprintf("permission number %d", n)
		one.Eval(doneAt("submit"), nil)
		other.Eval(moment("came", `document.getElementById("said-list").textContent.includes(`+quoted(text)+`)`), nil)
		other.Eval(moment("question", `document.querySelector("#asks .ask")`), nil)
		one.Type("#say", text)
		one.Press("Enter")
		from := evalled(one, "window.did")
		said, asked = append(said, evalled(other, "window.came")-from), append(asked, evalled(other, "window.question")-from)
		one.Wait("#asks .ask button.primary")
		one.Eval(doneAt("submit"), nil)
		other.Eval(moment("gone", `!document.querySelector("#asks .ask")`), nil)
		one.Click("#asks .ask button.primary")
		from = evalled(one, "window.did")
		answered = append(answered, evalled(other, "window.gone")-from)
		one.WaitTrue(`document.querySelectorAll("#said-list > [data-id]").length && !document.getElementById("state").dataset.phase`)
	}
	b.row("from a message until another page shows it", "%s (aim %v), %s", spread(said), togetherAim, load())
	b.row("the same until it shows what the agent asks", "%s", spread(asked))
	b.row("from an answer until another page shows it", "%s (aim %v)", spread(answered), togetherAim)
	b.note(figureTogether, ms(max(quantile(said, 0.99), quantile(answered, 0.99))), "ms")
	return nil
}
