package web

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const hostile = `<script>alert("x")</script>`

// post sends a form of a page, as a browser without script does, and returns where it leads.
func (b *browser) post(path string, pairs ...string) got {
	b.Helper()
	form := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		form.Add(pairs[n], pairs[n+1])
	}
	return b.submit(path, "", form)
}

// leads fails unless a form was taken, and returns the page that it leads to.
func (b *browser) leads(what string, answer got, to string) string {
	b.Helper()
	if answer.status != http.StatusSeeOther || !strings.HasPrefix(answer.header.Get("Location"), to) {
		b.Fatalf("%s: %d to %q, want %q; %s", what, answer.status, answer.header.Get("Location"), to, answer.body)
	}
	return b.visit(answer.header.Get("Location")).body
}

// pluginPages is a site with a plugin that needs people in every way.
func pluginPages(t *testing.T) *instance {
	s := demanding(t)
	s.host.AddPlugin(pluginsdk.PluginInfo{
		Name: "web", Version: "1", Enabled: true, State: pluginsdk.PluginServing, Manifest: s.Manifest(),
		Granted: []pluginsdk.Capability{pluginsdk.CapThreadsRead, pluginsdk.CapPluginsAdmin},
	})
	s.host.AddPlugin(pluginsdk.PluginInfo{
		Name: "slack", Version: "1.2", Enabled: true, State: pluginsdk.PluginServing, Origin: pluginsdk.OriginStore,
		LastError: "it refused its new settings: " + hostile,
		Manifest: pluginsdk.Manifest{Name: "slack", Version: "1.2", Description: hostile, Hooks: []pluginsdk.Hook{pluginsdk.HookDeliver},
			Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapThreadsRead, Reason: hostile}, {Capability: pluginsdk.CapPluginsAdmin, Reason: "to rule"}, {Capability: pluginsdk.CapState, Reason: "to remember"}}},
		Checks: []pluginsdk.Check{{Name: "connection", State: pluginsdk.CheckFailing, Detail: "no route to the moon", Remedy: "Build a rocket."}},
	})
	s.host.AddPlugin(pluginsdk.PluginInfo{Name: "mill", Version: "1", Enabled: true, State: pluginsdk.PluginQuarantined, Quarantine: "it ended five times"})
	s.host.SetPluginView("slack", pluginsdk.SettingsView{
		Schema: json.RawMessage(`{"properties":{"url":{"type":"string","description":"Where it is"},"tries":{"type":"integer","default":3,"minimum":1},"token":{"type":"string","secret":true}}}`),
		Values: json.RawMessage(`{"tries":3,"url":"https://old.example.org"}`), SecretsSet: []string{"token"},
	})
	s.host.SetPluginLog("slack", []pluginsdk.LogLine{{Level: "info", Text: "it serves"}, {Level: "error", Text: hostile}})
	return s
}

func TestThePagesOfPluginsShowWhatNeedsSomebody(t *testing.T) {
	s := pluginPages(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	s.expect("the list", ann.visit("/plugins"), 200, "What needs you", "it ended five times", "no route to the moon", "asks for what it was not granted",
		`action="/plugins/order"`, "This dashboard is the plugin web", `href="/plugins/slack"`)
	for tab, words := range map[string][]string{
		"overview": {"Build a rocket.", "Deliver", "99 % within"},
		"settings": {`value="https://old.example.org"`, "Where it is", "at least 1", "by default 3", `type="password"`, "Replace it"},
		"grants":   {"threads.read", "not granted", "harness plugin grant slack plugins.admin", "harness plugin grant slack state", `title="Grant threads.read"`},
		"limits":   {"Memory, in MiB"},
		"log":      {"it serves", `hx-trigger="every 2s"`},
		"versions": {"See what it asks for", "See what would change"},
	} {
		page := s.expect(tab, ann.visit("/plugins/slack?tab="+tab), 200, append(words, "&lt;script&gt;")...)
		if strings.Contains(page.body, hostile) {
			t.Errorf("%s: the plugin's words are the page's", tab)
		}
	}
	lines := s.expect("lines", ann.visit("/plugins/slack/log?level=warn"), 200, "&lt;script&gt;")
	if strings.Contains(lines.body, "it serves") || strings.Contains(lines.body, "<html") {
		t.Errorf("lines: %s", lines.body)
	}
	s.expect("another", ann.visit("/plugins/nothing", "Accept", "text/html"), 404, "there is no plugin")
}

func TestWhoMayOnlyReadIsOfferedNothingElse(t *testing.T) {
	s := pluginPages(t)
	ben := s.logIn("Ben", pluginsdk.ScopeRead)
	for _, path := range []string{"/plugins", "/plugins/slack", "/plugins/slack?tab=settings", "/plugins/slack?tab=grants", "/plugins/slack?tab=limits", "/plugins/slack?tab=versions"} {
		page := s.expect(path, ben.visit(path), 200)
		if main := page.body[strings.Index(page.body, "<main"):]; strings.Contains(main, `method="post"`) && !strings.Contains(main, "<fieldset class=\"stack\" disabled>") {
			t.Errorf("%s offers what is refused", path)
		}
	}
	for _, path := range []string{"/plugins/slack/enabled", "/plugins/slack?tab=settings", "/plugins/order", "/plugins/slack/remove", "/plugins/install"} {
		s.expect(path, ben.post(path), 403)
	}
	s.expect("install", ben.visit("/plugins/install"), 403)
}

func TestPluginsAreDecidedAboutWithoutScript(t *testing.T) {
	s := pluginPages(t)
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	row := func(name string) (found pluginsdk.PluginInfo) {
		answer, err := s.host.SDK().Plugins.List(t.Context(), &pluginsdk.ListPluginsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range answer.Plugins {
			if one.Name == name {
				found = one
			}
		}
		return found
	}
	if page := ann.leads("off", ann.post("/plugins/slack/enabled", "enabled", "false", "back", "/plugins"), "/plugins"); row("slack").Enabled || !strings.Contains(page, "slack is turned off") {
		t.Errorf("it is not turned off, or that is not said: %+v", row("slack"))
	}
	ann.leads("grant", ann.post("/plugins/slack/grants", "do", "grant", "capability", "threads.read"), "/plugins/slack?tab=grants")
	if granted := row("slack").Granted; len(granted) != 1 {
		t.Errorf("granted: %v", granted)
	}
	ann.leads("revoke", ann.post("/plugins/slack/grants", "do", "revoke", "capability", "threads.read"), "/plugins/slack?tab=grants")
	ann.leads("limits", ann.post("/plugins/slack?tab=limits", "memoryBytes", "256", "openFiles", "none"), "/plugins/slack?tab=limits")
	if limits := row("slack").Limits; limits.MemoryBytes != 256<<20 || limits.OpenFiles != -1 || limits.Processes != 0 {
		t.Errorf("limits: %+v", limits)
	}
	s.expect("no number", ann.post("/plugins/slack?tab=limits", "memoryBytes", "much"), 422, `value="much"`, "This is no number above 0")
	ann.leads("order", ann.post("/plugins/order", "name", "slack", "after", "mill"), "/")
	if order := regexp.MustCompile(`id="plugin-([a-z]+)"`).FindAllStringSubmatch(ann.visit("/plugins").body, -1); len(order) != 3 || order[2][1] != "slack" {
		t.Errorf("order: %v", order)
	}

	ann.leads("settings", ann.post("/plugins/slack?tab=settings", "was/tries", "3", "set/tries", "5", "was/url", "u", "set/url", "u", "set/token", "hunter2"), "/plugins/slack?tab=settings&follow=1")
	if page := ann.visit("/plugins/slack?tab=settings").body; !strings.Contains(page, `value="5"`) || !strings.Contains(page, "old.example.org") {
		t.Errorf("settings: %s", page)
	}
	s.host.Fail("Plugins.ChangeSettings", pluginsdk.Errorf(pluginsdk.CodeInvalid, "tries: 0 is not accepted"))
	wrong := s.expect("settings that are refused", ann.post("/plugins/slack?tab=settings", "was/tries", "5", "set/tries", "0", "set/token", "hunter3"), 422,
		`value="0"`, `id="w-set/tries">0 is not accepted`)
	if strings.Contains(wrong.body, "hunter") {
		t.Error("a secret is shown")
	}

	s.expect("no version before", ann.visit("/plugins/slack/rollback"), 404, "there is no earlier version", "See what would change")
	page := s.expect("the plan to remove it", ann.visit("/plugins/slack/remove"), 200, "Remove slack?", "Nothing is done yet").body
	s.expect("another plan", ann.post("/plugins/slack/remove", "digest", strings.Repeat("0", 64)), 422, "Meanwhile something has changed")
	s.expect("no plan", ann.post("/plugins/slack/remove"), 422)
	ann.leads("remove", ann.post("/plugins/slack/remove", "digest", digestOf(t, page)), "/plugins")
	if row("slack").Name != "" {
		t.Error("it is still there")
	}
}

func digestOf(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="digest" value="([0-9a-f]{64})"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no plan: %s", page)
	}
	return found[1]
}

// send sends a file with a form.
func (b *browser) send(path string, content []byte, fields ...string) got {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for n := 0; n < len(fields); n += 2 {
		if err := form.WriteField(fields[n], fields[n+1]); err != nil {
			b.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("archive", "slack.tar.gz")
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, b.server.url()+path, &body)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Origin", b.server.url())
	return b.do(b.client, request)
}

// The package is sent once, and is kept between the plan and the yes to it, whatever its size.
func TestAPluginIsInstalledFromAFileAfterItsPlanWasShown(t *testing.T) {
	s := pluginPages(t)
	s.host.Package = func(of pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error) {
		if len(of.Archive) < 5<<20 {
			return pluginsdk.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "this is no package")
		}
		return pluginsdk.PluginVersion{Version: "2.0", SHA256: "abc", Manifest: pluginsdk.Manifest{Name: "poet", Version: "2.0", Description: hostile,
			Capabilities: []pluginsdk.CapabilityRequest{
				{Capability: pluginsdk.CapThreadsRead, Reason: hostile}, {Capability: pluginsdk.CapMessagesRead, Reason: "to read"}, {Capability: pluginsdk.CapPluginsAdmin, Reason: "to rule"},
			}, Environment: []pluginsdk.EnvironmentRequest{{Name: "POET_KEY", Reason: "to rhyme"}}}}, nil
	}
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	s.expect("the form", ann.visit("/plugins/install"), 200, `enctype="multipart/form-data"`)
	s.expect("nothing", ann.send("/plugins/install", nil), 422, "Choose the package")
	s.expect("what is none", ann.send("/plugins/install", []byte("x")), 422, "this is no package")
	if left := s.host.Files(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	plan := ann.leads("send", ann.send("/plugins/install", make([]byte, 5<<20)), "/plugins/install?file=")
	for _, words := range []string{"Install poet?", "&lt;script&gt;", `value="threads.read" checked`, "harness plugin grant poet plugins.admin", "POET_KEY", "Turn it on at once"} {
		if !strings.Contains(plan, words) {
			t.Errorf("the plan lacks %q: %s", words, plan)
		}
	}
	if strings.Contains(plan, hostile) || strings.Contains(plan, `value="messages.read" checked`) {
		t.Errorf("the plan: %s", plan)
	}
	file := s.host.Files()[0].ID
	page := ann.leads("agree", ann.post("/plugins/install/agree", "file", file, "digest", digestOf(t, plan), "grant", "threads.read", "enable", "true"), "/plugins/poet?tab=overview&follow=1")
	if !strings.Contains(page, "poet 2.0 is installed") || !strings.Contains(page, `hx-get="/plugins/poet/follow"`) || len(s.host.Files()) != 0 {
		t.Errorf("installed, with %d files left: %s", len(s.host.Files()), page)
	}
	s.expect("follow", ann.visit("/plugins/poet/follow"), 200, `role="status"`)
	s.expect("an upgrade", ann.visit("/plugins/install?upgrade=poet"), 200, "Replace poet", `name="upgrade" value="poet"`)

	ann.leads("send again", ann.send("/plugins/install", make([]byte, 5<<20), "upgrade", "poet"), "/plugins/install?file=")
	ann.leads("cancel", ann.post("/plugins/install/drop", "file", s.host.Files()[0].ID, "upgrade", "poet"), "/plugins/poet?tab=versions")
	if left := s.host.Files(); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}

	picture := s.host.AddFile(pluginsdk.File{Name: "cat.png"}, []byte("x"))
	s.expect("a link that names a file of a conversation", ann.visit("/plugins/install?file="+picture.ID), 200, "this is no package")
	if left := s.host.Files(); len(left) != 1 {
		t.Errorf("to follow a link has deleted a file: %+v", left)
	}
}

// What an upgrade has granted is shown in plain words until somebody who may confirms it, or takes
// it back; these pages confirm nothing that they have not themselves, and nothing of their own.
func TestGrantsOfAnUpgradeAreConfirmed(t *testing.T) {
	s := demanding(t)
	both := []pluginsdk.Capability{pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange}
	manifest := s.Manifest()
	manifest.Hooks = []pluginsdk.Hook{pluginsdk.HookMessage}
	s.host.AddPlugin(pluginsdk.PluginInfo{
		Name: "web", Version: "1", Enabled: true, State: pluginsdk.PluginServing, Manifest: manifest,
		Granted: []pluginsdk.Capability{pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange, pluginsdk.CapPluginsAdmin}, Unconfirmed: both[:1],
	})
	hooks := []pluginsdk.Hook{pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke, pluginsdk.HookBeforeRun}
	for name, unconfirmed := range map[string][]pluginsdk.Capability{"reader": both, "writer": both, "judge": {pluginsdk.CapTurnsDecide}, "plain": nil} {
		s.host.AddPlugin(pluginsdk.PluginInfo{
			Name: name, Version: "1", Enabled: true, State: pluginsdk.PluginServing, Manifest: pluginsdk.Manifest{Name: name, Version: "1", Hooks: hooks},
			Granted: []pluginsdk.Capability{pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange, pluginsdk.CapTurnsDecide}, Unconfirmed: unconfirmed,
		})
	}
	unconfirmed := func(name string) (found []pluginsdk.Capability) {
		answer, err := s.host.SDK().Plugins.List(t.Context(), &pluginsdk.ListPluginsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range answer.Plugins {
			if one.Name == name {
				found = one.Unconfirmed
			}
		}
		return found
	}
	const headline = "Granted by an upgrade, and not confirmed"
	ann := s.logIn("Ann", pluginsdk.ScopeAdmin)
	ann.reads("/plugins", []string{"was granted by an upgrade what its hooks need, and nobody has confirmed that: turns.read, turns.change"})
	ann.reads("/plugins/reader?tab=grants", []string{headline, pluginsdk.CapTurnsRead.Meaning(), pluginsdk.CapTurnsChange.Meaning(), `value="confirm"`, `value="revoke"`})
	ann.reads("/plugins/judge?tab=grants", []string{headline, "harness plugin grant judge turns.decide"}, `value="confirm"`)
	ann.reads("/plugins/web?tab=grants", []string{headline, "harness plugin grant web turns.read"}, `value="confirm"`)
	ann.reads("/plugins/plain?tab=grants", nil, headline)
	for _, scope := range []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeWork} {
		ben := s.logIn("Ben", scope)
		ben.reads("/plugins/reader?tab=grants", []string{headline}, `value="confirm"`, "harness plugin grant reader")
		s.expect(string(scope), ben.post("/plugins/reader/grants", "do", "confirm", "capability", "turns.read"), http.StatusForbidden)
	}
	page := ann.leads("confirm", ann.post("/plugins/reader/grants", "do", "confirm", "capability", "turns.read", "capability", "turns.change"), "/plugins/reader?tab=grants")
	if len(unconfirmed("reader")) > 0 || strings.Contains(page, headline) || !strings.Contains(page, "Confirmed for reader: turns.read, turns.change.") {
		t.Errorf("%q are not confirmed: %s", unconfirmed("reader"), page)
	}
	page = ann.leads("take back", ann.post("/plugins/writer/grants", "do", "revoke", "capability", "turns.read", "capability", "turns.change"), "/plugins/writer?tab=grants")
	if len(unconfirmed("writer")) > 0 || strings.Contains(page, headline) {
		t.Errorf("%q are not taken back: %s", unconfirmed("writer"), page)
	}
	if len(unconfirmed("judge")) != 1 {
		t.Errorf("of judge are left %q", unconfirmed("judge"))
	}
}
