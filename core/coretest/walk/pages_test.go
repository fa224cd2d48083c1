package walk

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
		"chat-settings": "/chat/" + l.talk + "/settings", "chat-edit": fmt.Sprintf("/chat/%s/edit?message=%d", l.talk, l.message), "chat-message": fmt.Sprintf("/chat/%s/messages/%d", l.talk, l.message),
		"chat-older": fmt.Sprintf("/chat/%s?around=%d", l.talk, l.message),
		"runs":       "/runs", "runs-failed": "/runs?state=failed", "run": "/runs/" + l.answered, "run-failed": "/runs/" + l.failedRun,
		"search": "/search", "search-found": "/search?q=billing",
		"tasks": "/tasks", "tasks-list": "/tasks?view=list", "tasks-new": "/tasks/new", "task-waiting": "/tasks/" + l.waiting, "task-failed": "/tasks/" + l.failed, "task-running": "/tasks/" + l.running,
		"memory": "/memory", "memory-file": "/memory/file?path=context%2Fshop.md", "memory-new": "/memory/new", "memory-history": "/memory/history", "memory-change": "/memory/change?" + changed.Encode(),
		"crons": "/crons", "usage": "/usage", "usage-week": "/usage?days=7",
		"plugins": "/plugins", "plugins-install": "/plugins/install", "plugin-quarantined": "/plugins/moody", "plugin-web": "/plugins/web", "plugin-validation": "/plugins/validation?tab=settings",
		"plugin-remove": plugin + "/remove",
		"system":        "/system",
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

// Whatever page somebody opens, on a desk or a phone, in the light or the dark: nothing goes
// wrong on it, it can be read and used by everybody, and it is small.
func TestEveryPage(t *testing.T) {
	b := browser.Start(t)
	l := live(t)
	for _, look := range []struct {
		name    string
		options browser.Options
	}{
		{"light-desk", browser.Options{}}, {"dark-phone", browser.Options{Width: 360, Height: 740, Mobile: true, Dark: true}},
		{"dark-desk", browser.Options{Dark: true}}, {"light-phone", browser.Options{Width: 360, Height: 740, Mobile: true}},
	} {
		t.Run(look.name, func(t *testing.T) {
			t.Parallel()
			for name, path := range l.pages() {
				t.Run(name, func(t *testing.T) {
					p := b.Page(t, look.options)
					p.Open(l.URL + path)
					p.Wait("h1")
					inspect(t, p, name+"-"+look.name, look.options)
				})
			}
		})
	}
}

// inspect says what is wrong with a page that has been opened.
func inspect(t *testing.T, p *browser.Page, name string, as browser.Options) {
	loaded := p.Transferred()
	if loaded.Bytes() > most {
		t.Errorf("it loads %d bytes:\n%s", loaded.Bytes(), loaded)
	}
	t.Logf("%d bytes", loaded.Bytes())
	for _, violation := range p.Axe() {
		t.Errorf("axe: %s", violation)
	}
	for _, element := range p.Overflow() {
		t.Errorf("too wide: %s", element)
	}
	for _, element := range p.SmallTargets() {
		t.Errorf("too small to be hit: %s", element)
	}
	// What has the focus looks the same in each light and size, but for the colours.
	if !as.Mobile && !as.Dark {
		for _, element := range p.FocusInvisible() {
			t.Errorf("the focus is not seen: %s", element)
		}
	}
	if dir := os.Getenv("HARNESS_TEST_SCREENSHOTS"); dir != "" {
		p.Screenshot(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".png"))
	}
}
