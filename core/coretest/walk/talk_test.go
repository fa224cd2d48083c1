package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var phone = browser.Options{Width: 360, Height: 740, Mobile: true}

// story is many words, by which it can be told whether one is missing.
func story(words int) string {
	var all []string
	for n := range words {
		all = append(all, fmt.Sprintf("word%d", n))
	}
	return strings.Join(all, " ")
}

// endless is a rule for an answer that lasts for as long as a test looks at it.
func endless(match string) rule {
	return rule{"match": match, "pace": 40, "text": story(2000)}
}

// strange is a phone that nobody is logged in on.
var strange = browser.Options{Width: phone.Width, Height: phone.Height, Mobile: true, Stranger: true}

// invited returns an address with which somebody logs in.
func (d daemon) invited(t *testing.T, name, scope string) (link string) {
	t.Helper()
	printed := d.MustRun(t, "token", "login", name, "--scope", scope)
	link = regexp.MustCompile(`http\S+`).FindString(printed)
	if link == "" {
		t.Fatalf("no link to log in: %s", printed)
	}
	return link
}

// answers waits until the agent has said these words.
func answers(t *testing.T, p *browser.Page, words string) {
	t.Helper()
	p.WaitTrue(fmt.Sprintf(`[...document.querySelectorAll("#said-list > .of-agent")].some((m) => m.innerText.includes(%q))`, words))
}

// saidOnce checks that a conversation has these words in one message, and no other.
func saidOnce(t *testing.T, p *browser.Page, words string) {
	t.Helper()
	var found int
	written, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}
	p.Eval(`[...document.querySelectorAll("#said-list > .message, .talk .pending, #turn")].filter((m) => m.innerText.includes(`+string(written)+`)).length`, &found)
	if found != 1 {
		t.Errorf("%q stands %d times in the conversation", words, found)
	}
}

// Somebody opens the dashboard by the command line, says something, sees the answer grow,
// stops it, has something wait behind another, and puts a word in. The link is good once.
func TestANewUser(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, endless("a long story"), rule{"match": "something short", "text": "Here it is, in short."}, rule{"match": "a word in between", "text": "I have heard it."})
	link := strings.TrimSpace(d.MustRun(t, "open", "--print"))
	p := b.Page(t, browser.Options{Stranger: true})
	p.Open(d.URL)
	p.Wait("input[type=password]")
	p.Open(link)
	p.WaitText("h1", "Overview")
	second := b.Page(t, browser.Options{Stranger: true})
	second.Open(link)
	second.WaitText("main", "was used already")
	p.Click(".rail a[data-key=c]")
	p.Wait("#say")

	p.Type("#say", "Tell me a long story\n")
	p.WaitText("#turn", "word7")
	p.WaitText("#state", "Working")
	p.Click("#state button[value=keep]")
	p.WaitGone("#state .talk-stop")
	saidOnce(t, p, "Tell me a long story")

	p.Type("#say", "Tell me a long story, again\n")
	p.WaitText("#turn", "word7")
	p.Type("#say", "Then something short\n")
	p.WaitText("#state", "1 message waits")
	p.Click("#state button[value=keep]")
	p.WaitText("#said-list", "Here it is, in short.")
	p.WaitGone("#state .talk-stop")

	p.Click(".menu > summary")
	p.Click("button[name=mode][value=steer]")
	p.WaitText(".menu > summary", "told to the agent at once")
	p.Type("#say", "Tell me a long story, a third time\n")
	p.WaitText("#turn", "word7")
	p.Type("#say", "Now a word in between\n")
	p.WaitText("#said-list", "Now a word in between")
	p.WaitGone(".talk .pending")
	p.Click("#state button[value=keep]")
	p.WaitGone("#state .talk-stop")
	saidOnce(t, p, "Now a word in between")
}

// Files come along by the button, by paste and by drop, and what was said is found again.
func TestFilesAndSearch(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t)
	thread := d.thread(t, object{"name": "The shop"})
	for n := range 60 {
		d.finish(t, d.say(t, thread, "Ann", fmt.Sprintf("Number %d is about something else", n)))
	}
	path := filepath.Join(t.TempDir(), "list of goods.txt")
	if err := os.WriteFile(path, []byte("bread\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + thread)
	p.Upload("input[type=file]", path)
	p.WaitText("#chips", "list of goods.txt")
	p.Paste("#say", browser.File{Name: "door.png", Type: "image/png", Content: picture(t)})
	p.WaitText("#chips", "door.png")
	p.Drop("#scroll", browser.File{Name: "صورة.png", Type: "image/png", Content: picture(t)})
	p.WaitTrue(`document.querySelectorAll(".chip[data-file]").length === 3`)
	p.Type("#say", "The elephant stands at the door\n")
	p.WaitText("#said-list", "The elephant stands at the door")
	p.WaitTrue(`[...document.querySelectorAll("#said-list .picture img")].filter((i) => i.complete && i.naturalWidth === 64).length === 2`)
	p.WaitText("#said-list", "list of goods.txt")
	p.WaitGone("#chips .chip")

	for n := range 60 {
		d.finish(t, d.say(t, thread, "Ann", fmt.Sprintf("Number %d is about something else again", n)))
	}
	p.Open(d.URL + "/search")
	p.Type("#f-q", "eleph*")
	p.WaitText("#found .snippet", "elephant")
	p.Click("#found a.title")
	p.WaitTrue(`(() => {
		const found = document.querySelector(location.hash || "#none")?.getBoundingClientRect();
		return found && document.querySelector(location.hash).innerText.includes("elephant") && found.top >= 0 && found.bottom <= innerHeight;
	})()`)
	p.Wait("#older")
}

// The daemon is killed while the agent speaks, and is back: nothing that was said is missing,
// nothing stands there twice, what was being typed is there, and who reads is where they were.
func TestThePowerIsCutInTheMiddle(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, rule{"match": "a long story", "pace": 30, "text": story(60)})
	thread := d.thread(t, object{"name": "Before the storm"})
	for n := range 30 {
		d.finish(t, d.say(t, thread, "Ann", fmt.Sprintf("Before the storm there was number %d.", n)))
	}
	p := b.Page(t, browser.Options{})
	p.Open(d.URL + "/chat/" + thread)
	p.Type("#say", "Tell me a long story\n")
	p.WaitText("#turn", "word5")
	p.Type("#say", "What I have not said")
	// Somebody reads further up.
	p.WaitTrue(`(() => { document.getElementById("scroll").scrollTop = 0; return !document.getElementById("older"); })()`)
	p.WaitTrue(`(() => { document.getElementById("scroll").scrollTop = 200; return document.getElementById("scroll").scrollTop === 200; })()`)
	const reads = `[...document.querySelectorAll("#said-list > li")].find((one) => one.getBoundingClientRect().bottom > document.getElementById("scroll").getBoundingClientRect().top)?.id`
	var before, after string
	p.Eval(reads, &before)
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Wait("#connection")
	if err := d.Up(); err != nil {
		t.Fatal(err)
	}
	p.WaitGone("#connection")
	p.WaitText("#said-list", "word59")
	p.WaitGone("#state .talk-stop")
	p.Eval(reads, &after)
	if before != after {
		t.Errorf("what was read is %s, not %s any more", after, before)
	}
	saidOnce(t, p, "Tell me a long story")
	saidOnce(t, p, "word59")
	for n := range 30 {
		p.WaitTrue(fmt.Sprintf(`[...document.querySelectorAll("#said-list > .of-person")].filter((one) => one.innerText.includes("number %d.")).length <= 1`, n))
	}
	const typed = `document.getElementById("say").value === "What I have not said"`
	p.WaitTrue(typed)
	lost(t, p)
	p.Reload()
	p.WaitTrue(typed)
	saidOnce(t, p, "word59")
}

// lost takes the faults of a page whose daemon was away: that its connections failed, or that
// the daemon answered before it had begun to serve.
func lost(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, fault := range p.Faults() {
		if !strings.Contains(fault, "ERR_CONNECTION_REFUSED") && !strings.Contains(fault, "ERR_INCOMPLETE_CHUNKED_ENCODING") && !strings.Contains(fault, "ERR_EMPTY_RESPONSE") && !strings.Contains(fault, "ERR_CONNECTION_RESET") && !strings.Contains(fault, "response 503") {
			t.Error(fault)
		}
	}
}

// apart is how long it takes from where something is done on one page until another one shows
// its effect, with all that it takes to do it and to look.
func apart(on *browser.Page, effect string, act func()) time.Duration {
	on.WaitTrue("!(" + effect + ")")
	begun := time.Now()
	act()
	on.WaitTrue(effect)
	return time.Since(begun)
}

// shown does something on one page that another one shows, and logs how soon. What that is to
// be is an aim of the benchmark (bench -only pages): the machine may have much else to do here.
func shown(t *testing.T, what string, try func() time.Duration) {
	t.Helper()
	t.Logf("%s: after %v", what, try())
}

// Two people are in one conversation, one of them with a phone: each sees what the other does.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, endless("a long story"))
	annsLink := d.invited(t, "Ann", "approve")
	bensLink := d.invited(t, "Ben", "approve")
	thread := d.thread(t, object{"name": "Together"})
	ann, ben := b.Page(t, browser.Options{Stranger: true}), b.Page(t, strange)
	for p, link := range map[*browser.Page]string{ann: annsLink, ben: bensLink} {
		p.Open(link)
		p.Click("button.primary")
		p.Wait(".rail")
		p.Open(d.URL + "/chat/" + thread)
		p.Wait("#say")
		p.WaitTrue("window.harness.position.boot")
	}
	shown(t, "Ben sees what Ann says", func() time.Duration {
		const words = "Hello together"
		ann.Type("#say", words)
		return apart(ben, fmt.Sprintf(`document.getElementById("said-list").innerText.includes(%q)`, words+"."), func() { ann.Press(".", "Enter") })
	})
	ben.WaitText("#said-list", "Ann")
	ann.WaitGone("#state .talk-stop")
	shown(t, "Ann sees what Ben says", func() time.Duration {
		const words = "From the phone"
		ben.Type("#say", words)
		return apart(ann, fmt.Sprintf(`document.getElementById("said-list").innerText.includes(%q)`, words), func() { ben.Click(".send") })
	})
	ann.WaitText("#said-list", "Ben")
	shown(t, "Ann sees that Ben has stopped the agent", func() time.Duration {
		ann.WaitGone("#state .talk-stop")
		ann.Type("#say", "Tell us a long story\n")
		ann.WaitText("#turn", "word3")
		ben.WaitText("#turn", "word3")
		ann.Wait("#state .talk-stop")
		return apart(ann, `!document.querySelector("#state .talk-stop")`, func() { ben.Click("#state button[value=keep]") })
	})
}

// A schedule that the agent has made is turned off by one press on the row that tells of it, which has come while the page was
// open; the answer appears as that of a command which was typed. Pressed again, it is meant again.
func TestAScheduleIsTurnedOffByOnePress(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, rule{"match": "stand-up", "toolName": "cron__cron_create", "text": "I will remind you.", "toolInput": object{
		"name": "stand-up", "schedule": "0 9 * * mon-fri", "timezone": "America/Phoenix", "prompt": "Remind them of it, very-long-name-" + strings.Repeat("x", 200),
	}})
	thread := d.thread(t, object{"name": "Reminders"})
	on := func() (enabled bool) {
		var job pluginsdk.CronJob
		d.call(t, http.MethodGet, "/api/crons/stand-up", nil, &job)
		return job.Enabled
	}
	p := b.Page(t, phone)
	p.Open(d.URL + "/chat/" + thread)
	p.WaitTrue("window.harness.position.boot")
	p.Type("#say", "Remind me of the stand-up")
	p.Click(".send")
	answers(t, p, "I will remind you.")
	p.Wait(`.offers button[title='/cron off "stand-up"']`)
	if !on() {
		t.Error("it was not on")
	}
	forEverybody(t, p, "a row with a button on a phone")
	p.Click(".offers button")
	p.WaitText("#said-list", "stand-up is off.")
	if on() {
		t.Error("it is still on")
	}
	d.call(t, http.MethodPatch, "/api/crons/stand-up", object{"enabled": true}, nil)
	p.Click(".offers button")
	p.WaitTrue(`[...document.querySelectorAll("#said-list > .of-plugin")].filter((m) => m.innerText.includes("stand-up is off.")).length === 2`)
	if on() {
		t.Error("pressed again, it is on")
	}
	d.MustRun(t, "plugin", "disable", "cron")
	p.Click(".offers button")
	p.WaitText("body", "the plugin cron, which has written this, does not have the command /cron at the moment")
}

// Somebody's token is revoked while they have a page open: they are told, see nothing new,
// and what they have typed is there when they are back.
func TestLoggedOut(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t)
	secret := d.Token(t, "Ann", "chat")
	thread := d.thread(t, object{"name": "Mine"})
	p := b.Page(t, browser.Options{Stranger: true})
	login := func(secret string) {
		p.Open(d.URL + "/login?next=" + url.QueryEscape("/chat/"+thread))
		p.Type("input[type=password]", secret+"\n")
		p.Wait("#say")
	}
	login(secret)
	p.Type("#say", "What I have not said")
	p.WaitTrue("window.harness.position.boot")
	d.MustRun(t, "token", "revoke", "Ann")
	p.WaitText("#toasts", "You are not logged in any more")
	d.finish(t, d.say(t, thread, "", "Nobody without a token reads this"))
	p.Type("#say", ", and now say\n")
	p.WaitText("#compose-wrong", "You are not logged in any more")
	for _, fault := range p.Faults() {
		if !strings.Contains(fault, "401") && !strings.Contains(fault, "WebSocket connection") {
			t.Error(fault)
		}
	}
	p.Open(d.URL + "/chat/" + thread)
	p.Wait("input[type=password]")
	login(d.Token(t, "Ann again", "chat"))
	p.WaitTrue(`document.getElementById("say").value === "What I have not said, and now say"`)
}

// After a power cut the same address answers, and who was logged in still is.
func TestAPowerCut(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t)
	p := b.Page(t, strange)
	p.Open(d.URL + "/login")
	p.Type("input[type=password]", d.Token(t, "Ann", "chat"))
	p.Press("Enter")
	p.WaitGone("input[type=password]")
	p.WaitTrue(`document.readyState === "complete"`) // what is on its way is not what is asked for
	if err := errors.Join(d.Kill(), d.Up()); err != nil {
		t.Fatal(err)
	}
	p.Open(d.URL)
	p.WaitGone("input[type=password]")
	p.Wait(".rail")
	lost(t, p)
}

// On a phone: a new conversation by its form, something said, the way back to the list, a
// page behind More.
func TestOnThePhone(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	d := start(t, rule{"match": "the bakery", "text": "It opens at six."})
	p := b.Page(t, phone)
	p.Open(d.URL + "/threads/new")
	p.Type("#f-content", "When does the bakery open?")
	p.Click("main button.primary")
	p.WaitText("#said-list", "It opens at six.")
	p.Type("#say", "And the bakery next door?")
	p.Click(".send")
	p.WaitTrue(`document.querySelectorAll("#said-list > .of-agent").length === 2`)
	p.Click(".talk-back")
	p.WaitText("#thread-list", "When does the bakery open?")
	p.Click(`.rail a[href="/more"]`)
	p.Click(`main a[href="/memory"]`)
	p.WaitText("h1", "Memory")
	var found struct{ Threads []pluginsdk.Thread }
	d.call(t, http.MethodGet, "/api/threads?kind=general", nil, &found)
	if len(found.Threads) != 1 {
		t.Errorf("there are %d threads", len(found.Threads))
	}
}
