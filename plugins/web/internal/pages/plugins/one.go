package plugins

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// tabs are the views of a plugin's page; what the first is shows without a query.
var tabs = []struct{ name, label string }{
	{"overview", "Overview"}, {"settings", "Settings"}, {"grants", "What it may"}, {"limits", "Limits"}, {"log", "Log"}, {"versions", "Versions"},
}

// onePage is what the page of one plugin shows around its tab.
type onePage struct {
	plugin  api.Plugin
	admin   bool
	tab     string
	follows bool // wait for what was decided
	wrong   string
	body    templ.Component
	own     []pluginsdk.Capability // what these pages were granted, on the tab of grants
}

// decides reports whether these pages may decide about the plugin beyond turning it on and off.
func (o onePage) decides() bool { return o.admin && o.plugin.Name != itself }

// replaceable reports whether the plugin's versions are an operator's: those that come with
// Harness are replaced with it.
func (o onePage) replaceable() bool {
	return o.decides() && o.plugin.Origin == pluginsdk.OriginStore
}

func (o onePage) links() (links []ui.Tab) {
	for _, one := range tabs {
		count := ""
		if one.name == "grants" && len(o.plugin.Lacking) > 0 {
			count = ui.Count(int64(len(o.plugin.Lacking))) + " missing"
		}
		links = append(links, ui.Tab{To: tab(o.plugin.Name, one.name), Label: one.label, On: one.name == o.tab, Count: count})
	}
	return links
}

func (p pages) one(r *http.Request) (site.View, error) {
	page, err := p.read(r)
	if err != nil {
		return site.View{}, err
	}
	switch page.tab {
	case "settings":
		page.body, err = p.settingsBody(r, page, nil)
	case "grants":
		var dashboard api.Plugin
		err = p.Get(r.Context(), "/api"+path(itself), nil, &dashboard)
		page.own = dashboard.Granted
		page.body = grantsTab(page)
	case "limits":
		page.body = limitsTab(page, limitFields(page.plugin.Limits))
	case "log":
		page.body, err = p.logBody(r, page.plugin.Name)
	case "versions":
		page.body = versionsTab(page)
	default:
		page.tab, page.body = tabs[0].name, overview(page.plugin)
	}
	if err != nil {
		return site.View{}, err
	}
	return page.view(), nil
}

// change takes the form of a tab, which is sent to the address of its page: that is where it is
// shown again when something is wrong with it.
func (p pages) change(r *http.Request) (site.Done, error) {
	switch r.URL.Query().Get("tab") {
	case "settings":
		return p.set(r)
	case "limits":
		return p.limits(r)
	}
	return site.Done{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "this tab has no form: the settings and the limits have one")
}

// read is the page of the plugin that a request is about, without its tab's content.
func (p pages) read(r *http.Request) (page onePage, err error) {
	page.admin = site.May(r, pluginsdk.ScopeAdmin)
	page.tab, page.follows = r.URL.Query().Get("tab"), r.URL.Query().Get("follow") != ""
	err = p.Get(r.Context(), "/api"+path(r.PathValue("name")), nil, &page.plugin)
	return page, err
}

func (o onePage) view() site.View {
	return site.View{Title: o.plugin.Name, At: at, Body: onePlugin(o)}
}

// follow waits until the daemon has carried out what was decided, and says how it went.
func (p pages) follow(r *http.Request) (templ.Component, error) {
	var answer struct {
		Plugin   api.Plugin               `json:"plugin"`
		Standing pluginsdk.PluginStanding `json:"standing"`
	}
	if err := p.Get(r.Context(), "/api"+path(r.PathValue("name"), "follow"), nil, &answer); err != nil {
		return nil, err
	}
	tone, words := standing(answer.Standing)
	return outcome(tone, words, answer.Plugin, answer.Standing), nil
}

// standing says in words how far the daemon has come.
func standing(of pluginsdk.PluginStanding) (ui.Tone, string) {
	switch of {
	case pluginsdk.StandingServes:
		return ui.Good, "It serves as it was decided."
	case pluginsdk.StandingOff:
		return ui.Plain, "It is turned off; what was decided holds once it is turned on."
	case pluginsdk.StandingRefused:
		return ui.Bad, "It has refused these settings, and goes on with those that it had."
	case pluginsdk.StandingRejected:
		return ui.Bad, "The new version could not be used; the one before goes on serving."
	case pluginsdk.StandingDown:
		return ui.Bad, "It does not serve."
	case pluginsdk.StandingWrong:
		return ui.Bad, "Its row in the database was broken by hand, and is not followed."
	case pluginsdk.StandingPending:
	}
	return ui.Wait, "It is not carried out yet. Reload this page to look again."
}

func (p pages) grants(r *http.Request) (site.Done, error) {
	name, back := r.PathValue("name"), func(what string) string { return tab(r.PathValue("name"), what) }
	capabilities, env := r.PostForm["capability"], r.PostForm["env"]
	if r.PostForm.Get("do") == "revoke" {
		body := map[string]any{"capabilities": capabilities, "env": env}
		return site.Done{To: back("grants"), Said: "Taken back from " + name + ": " + strings.Join(append(capabilities, env...), ", ") + "."},
			p.Post(r.Context(), "/api"+path(name, "revoke"), body, nil)
	}
	if r.PostForm.Get("do") == "confirm" {
		return site.Done{To: back("grants"), Said: "Confirmed for " + name + ": " + strings.Join(capabilities, ", ") + "."},
			p.Post(r.Context(), "/api"+path(name, "grant"), map[string]any{"capabilities": capabilities}, nil)
	}
	return site.Done{To: back("grants"), Said: "Granted to " + name + ": " + strings.Join(capabilities, ", ") + "."},
		p.Post(r.Context(), "/api"+path(name, "grant"), map[string]any{"capabilities": capabilities}, nil)
}

// right is something that a plugin asks for, or has.
type right struct {
	name, means, reason string
	strong              bool // it can do what else only people may
	granted             bool
}

// rightsOf are the capabilities that a plugin wants, in its order, and those that it has
// beside them.
func rightsOf(manifest pluginsdk.Manifest, granted []pluginsdk.Capability) (rights []right) {
	for _, request := range manifest.Requests() {
		rights = append(rights, rightTo(request.Capability, request.Reason, slices.Contains(granted, request.Capability)))
	}
	for _, has := range granted {
		if !slices.ContainsFunc(manifest.Requests(), func(c pluginsdk.CapabilityRequest) bool { return c.Capability == has }) {
			rights = append(rights, rightTo(has, "This version does not ask for it any more.", true))
		}
	}
	return rights
}

func rightTo(capability pluginsdk.Capability, reason string, granted bool) right {
	return right{string(capability), cmp.Or(capability.Meaning(), "this version of Harness does not know it"), reason, strong[capability], granted}
}

// mayGrant reports whether these pages may grant a right: what they have themselves, but for
// that to rule over plugins.
func (o onePage) mayGrant(name string) bool {
	return name != string(pluginsdk.CapPluginsAdmin) && slices.Contains(o.own, pluginsdk.Capability(name))
}

// confirmable reports whether these pages may confirm all that an upgrade has granted.
func (o onePage) confirmable() bool {
	for _, capability := range o.plugin.Unconfirmed {
		if !o.mayGrant(string(capability)) {
			return false
		}
	}
	return o.decides()
}

// unconfirmed are the rights that an upgrade has granted and nobody has confirmed.
func (o onePage) unconfirmed() (rights []right) {
	for _, one := range rightsOf(declared(o.plugin), o.plugin.Granted) {
		if slices.Contains(o.plugin.Unconfirmed, pluginsdk.Capability(one.name)) {
			rights = append(rights, one)
		}
	}
	return rights
}

func join(capabilities []pluginsdk.Capability) string {
	names := make([]string, len(capabilities))
	for n, capability := range capabilities {
		names[n] = string(capability)
	}
	return strings.Join(names, ", ")
}

// grantable is what the plugin lacks and these pages may grant.
func (o onePage) grantable() (names []string) {
	for _, one := range rightsOf(declared(o.plugin), o.plugin.Granted) {
		if !one.granted && o.mayGrant(one.name) {
			names = append(names, one.name)
		}
	}
	return names
}

// declared is what a plugin declares of itself, for whoever wants to know it.
func declared(of api.Plugin) pluginsdk.Manifest {
	if of.Manifest == nil {
		return pluginsdk.Manifest{}
	}
	return *of.Manifest
}

func micros(n int64) string { return ui.Long(time.Duration(n) * time.Microsecond) }

func hookCalls(of api.Plugin, hook pluginsdk.Hook) api.CallFigures {
	for _, calls := range of.Figures.Hooks {
		if calls.Name == string(hook) {
			return calls
		}
	}
	return api.CallFigures{Name: string(hook)}
}

// origins say where a plugin's program came from.
var origins = map[pluginsdk.PluginOrigin]string{
	pluginsdk.OriginDirectory: "the daemon's own directory, with Harness",
	pluginsdk.OriginStore:     "a package that was installed",
	pluginsdk.OriginDev:       "its author's working copy",
}

func query(pairs ...string) string {
	values := url.Values{}
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			values.Set(pairs[n], pairs[n+1])
		}
	}
	return values.Encode()
}

func has(names []string, name string) bool { return slices.Contains(names, name) }
