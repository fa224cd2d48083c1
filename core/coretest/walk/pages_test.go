package walk

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/browser"
)

// most is how many bytes a page may load at first, in all.
const most = 150_000

// pages are all that the dashboard has, by a name for pictures.
func (l *lived) pages() map[string]string {
	plugin, changed := "/plugins/shop", url.Values{"path": {l.change.Path}, "before": {l.change.Before}, "version": {l.change.Version}}
	pages := map[string]string{
		"overview": "/", "more": "/more", "shortcuts": "/shortcuts", "palette": "/palette?q=billing", "login": "/login", "nothing": "/nothing/here",
		"threads": "/threads", "threads-new": "/threads/new", "chat": "/chat/" + l.talk, "chat-rtl": "/chat/" + l.foreign, "chat-diff": "/chat/" + l.diffs, "chat-asks": "/chat/" + l.asking,
		"chat-settings": "/chat/" + l.talk + "/settings", "chat-rights": "/chat/" + l.talk + "/rights", "chat-edit": fmt.Sprintf("/chat/%s/edit?message=%d", l.talk, l.message), "chat-message": fmt.Sprintf("/chat/%s/messages/%d", l.talk, l.message),
		"chat-step":  "/chat/" + l.talk + "/steps/" + l.answered + "/" + l.step,
		"chat-older": fmt.Sprintf("/chat/%s?around=%d", l.talk, l.message),
		"runs":       "/runs", "runs-failed": "/runs?state=failed", "run": "/runs/" + l.answered, "run-failed": "/runs/" + l.failedRun,
		"search": "/search", "search-found": "/search?q=billing",
		"tasks": "/tasks", "tasks-list": "/tasks?view=list", "tasks-new": "/tasks/new", "task-waiting": "/tasks/" + l.waiting, "task-failed": "/tasks/" + l.failed, "task-running": "/tasks/" + l.running,
		"workflows": "/workflows", "workflows-new": "/workflows/new", "workflow-running": "/workflows/" + flowRunning, "workflow-waiting": "/workflows/" + flowWaiting,
		"workflow-done": "/workflows/" + flowDone, "workflow-begun": "/workflows/" + flowNew, "task-workflow": "/tasks/" + l.flowing,
		"memory": "/memory", "memory-file": "/memory/file?path=context%2Fshop.md", "memory-new": "/memory/new", "memory-consolidations": "/memory/consolidations", "memory-consolidation": "/memory/consolidations/1", "memory-history": "/memory/history", "memory-change": "/memory/change?" + changed.Encode(),
		"crons": "/crons", "cron": "/crons/job/Calendar%2FEmail%20Refresh", "cron-new": "/crons/new", "plan": "/plan", "accounts": "/accounts", "usage": "/usage", "budgets": "/budgets", "usage-thread": "/usage?days=7&thread=" + l.talk,
		"plugins": "/plugins", "plugins-install": "/plugins/install", "plugin-quarantined": "/plugins/moody", "plugin-web": "/plugins/web", "plugin-validation": "/plugins/validation?tab=settings",
		"plugin-remove": plugin + "/remove", "plugin-rollback": plugin + "/rollback",
		"system": "/system",
	}
	for _, tab := range []string{"overview", "settings", "grants", "limits", "log", "versions"} {
		pages["plugin-"+tab] = plugin + "?tab=" + tab
	}
	for _, tab := range []string{"overview", "iterations", "verdicts", "changes", "below"} {
		pages["task-"+tab] = "/tasks/" + l.completed + "?tab=" + tab
	}
	for _, tab := range []string{"about", "approvals", "audit", "backups", "deliveries", "tokens"} {
		pages["system-"+tab] = "/system/" + tab
	}
	return pages
}

// looks are how people look at the dashboard.
var looks = []struct {
	name string
	browser.Options
	colours bool // only the colours differ from the look before
}{
	{"light-desk", browser.Options{}, false},
	{"dark-desk", browser.Options{Dark: true}, true},
	{"dark-phone", browser.Options{Width: 360, Height: 740, Mobile: true, Dark: true}, false},
	{"light-phone", browser.Options{Width: 360, Height: 740, Mobile: true}, true},
}

// Whatever page somebody opens, on a desk or a phone, in the light or the dark: nothing goes
// wrong on it, it can be read and used by everybody, and it is small.
func TestEveryPage(t *testing.T) {
	b := browser.Shared(t)
	l := live(t)
	pages := l.pages()
	names := slices.Sorted(maps.Keys(pages))
	// A page of the browser's own costs more than all that is looked at in it: there are three.
	for part := range slices.Chunk(names, (len(names)+2)/3) {
		t.Run(part[0]+" to "+part[len(part)-1], func(t *testing.T) {
			t.Parallel()
			p := b.Page(t, browser.Options{})
			for _, name := range part {
				inspect(t, p, l.URL+pages[name], name)
			}
		})
	}
}

// inspect opens a page for the first time and says what is wrong with it.
func inspect(t *testing.T, p *browser.Page, address, name string) {
	p.Look(browser.Options{})
	p.ClearCache()
	p.Open(address)
	p.Wait("h1")
	loaded := p.Transferred()
	t.Logf("%s: %d bytes", name, loaded.Bytes())
	if loaded.Bytes() > most {
		t.Errorf("%s: it loads %d bytes:\n%s", name, loaded.Bytes(), loaded)
	}
	for _, as := range looks {
		p.Look(as.Options)
		checkLook(t, p, name+", "+as.name, as.Mobile, as.colours)
		if dir := os.Getenv("HARNESS_TEST_SCREENSHOTS"); dir != "" {
			p.Screenshot(filepath.Join(dir, name+"-"+as.name+".png"))
		}
	}
	p.Look(browser.Options{})
	for _, element := range p.FocusInvisible() { // between looks it differs in its colours alone
		t.Errorf("%s: the focus is not seen: %s", name, element)
	}
	for _, fault := range p.Faults() {
		t.Errorf("%s: %s", name, fault)
	}
}

// checkLook says what is wrong with a page as it is looked at now: on a phone, after a desk.
func checkLook(t *testing.T, p *browser.Page, look string, phone, colours bool) {
	var found []browser.Violation
	switch {
	case phone:
		found = p.AxeOfLayout(colours)
	case colours:
		found = p.Axe("color-contrast")
	default:
		found = p.Axe()
	}
	for _, violation := range found {
		violation.Nodes = violation.Nodes[:min(len(violation.Nodes), 3)]
		t.Errorf("%s: axe: %s", look, violation)
	}
	if colours {
		return
	}
	for _, element := range p.Overflow() {
		t.Errorf("%s: too wide: %s", look, element)
	}
	for _, element := range p.SmallTargets() {
		t.Errorf("%s: too small to be hit: %s", look, element)
	}
}
