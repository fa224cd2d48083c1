// Package plugins is the pages of plugins: how each does, what it may do and how it is set,
// and what is decided about them.
package plugins

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const at = "/plugins"

// itself is the plugin that these pages are of. It decides nothing about itself, but for
// turning itself off and for its settings.
const itself = "web"

// How long pages may take that wait: for the daemon to carry out a decision, and for a package
// to be read and added.
const (
	followPatience = time.Minute
	decidePatience = 2 * time.Minute
)

type pages struct{ *site.Site }

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /plugins", pluginsdk.ScopeRead, p.list)
	s.Form("POST /plugins/order", pluginsdk.ScopeAdmin, p.order)
	s.Page("GET /plugins/{name}", pluginsdk.ScopeRead, p.one)
	s.Form("POST /plugins/{name}/enabled", pluginsdk.ScopeAdmin, p.enable)
	s.Form("POST /plugins/{name}/grants", pluginsdk.ScopeAdmin, p.grants)
	s.Form("POST /plugins/{name}", pluginsdk.ScopeAdmin, p.change)
	s.Part("GET /plugins/{name}/log", pluginsdk.ScopeRead, p.logPart)
	s.Within(followPatience).Part("GET /plugins/{name}/follow", pluginsdk.ScopeRead, p.follow)
	p.registerDecisions()
}

// path is the address of a plugin's page, or of what is below it.
func path(name string, below ...string) string {
	to := at + "/" + url.PathEscape(name)
	for _, part := range below {
		to += "/" + part
	}
	return to
}

// tab is the address of one of the tabs of a plugin's page.
func tab(name, of string) string { return path(name) + "?tab=" + of }

// followed is that address, where the page waits for what was decided to be carried out.
func followed(name, of string) string { return tab(name, of) + "&follow=1" }

// listed is what the page of all plugins shows.
type listed struct {
	plugins []api.Plugin
	admin   bool
}

func (p pages) list(r *http.Request) (site.View, error) {
	var answer struct {
		Plugins []api.Plugin `json:"plugins"`
	}
	view := site.View{Title: "Plugins", At: at}
	switch err := p.Get(r.Context(), "/api/plugins", nil, &answer); {
	case site.Status(err) == http.StatusForbidden:
		view.Body = unseen(err.Error())
	case err != nil:
		return view, err
	default:
		view.Body = listPage(listed{answer.Plugins, site.May(r, pluginsdk.ScopeAdmin)})
	}
	return view, nil
}

func (p pages) enable(r *http.Request) (site.Done, error) {
	name, on := r.PathValue("name"), r.PostForm.Get("enabled") == "true"
	if err := p.Ask(r.Context(), http.MethodPatch, "/api"+path(name), nil, map[string]any{"enabled": on}, nil); err != nil {
		return site.Done{}, err
	}
	if on {
		return site.Done{Said: name + " is being started."}, nil
	}
	return site.Done{Said: name + " is turned off."}, nil
}

func (p pages) order(r *http.Request) (site.Done, error) {
	move := map[string]any{}
	for _, field := range []string{"name", "before", "after"} {
		if value := r.PostForm.Get(field); value != "" {
			move[field] = value
		}
	}
	return site.Done{}, p.Post(r.Context(), "/api/plugins/order", move, nil)
}

// need is something about a plugin that a person has to see to.
type need struct {
	plugin string
	tone   ui.Tone
	words  string
	// To leads to where it can be seen to, and do says what is done there.
	to, do string
}

// What the last error of a plugin says that goes on with what it had: with its settings, with
// which it begins, or in its version.
const (
	settingsRefused = "it refused its new settings"
	versionKept     = "goes on, the one that was to replace it failed"
)

// needs are what a plugin wants of a person, the worst first.
func needs(of api.Plugin) (found []need) {
	add := func(tone ui.Tone, words, to, do string) {
		found = append(found, need{of.Name, tone, words, to, do})
	}
	failed := of.State == pluginsdk.PluginFailed || of.State == pluginsdk.PluginBackoff
	switch {
	case of.Quarantine != "":
		add(ui.Bad, "is not started any more: "+ui.Cut(of.Quarantine, 300), tab(of.Name, "log"), "See its log")
	case of.Enabled && failed:
		add(ui.Bad, "does not serve: "+ui.Cut(or(of.LastError, "nobody knows why"), 300), tab(of.Name, "log"), "See its log")
	case of.Enabled && of.Problem == "" && strings.HasPrefix(of.LastError, settingsRefused):
		add(ui.Wait, "goes on with the settings that it had: "+ui.Cut(of.LastError, 300), tab(of.Name, "settings"), "Change its settings")
	case of.Enabled && strings.Contains(of.LastError, versionKept):
		add(ui.Bad, "could not be replaced: "+ui.Cut(of.LastError, 300), tab(of.Name, "versions"), "Go back, or replace it again")
	}
	if of.Problem != "" {
		to, do := tab(of.Name, "overview"), "See it"
		if strings.HasPrefix(of.Problem, "settings:") {
			to, do = tab(of.Name, "settings"), "Change its settings"
		}
		add(ui.Bad, "has something wrong: "+ui.Cut(of.Problem, 300), to, do)
	}
	if of.Enabled && len(of.Lacking) > 0 {
		add(ui.Wait, "asks for what it was not granted: "+ui.Cut(strings.Join(of.Lacking, ", "), 200), tab(of.Name, "grants"), "See what it asks for")
	}
	if len(of.Unconfirmed) > 0 {
		add(ui.Wait, "was granted by an upgrade what its hooks need, and nobody has confirmed that: "+ui.Cut(join(of.Unconfirmed), 200), tab(of.Name, "grants"), "See what that is")
	}
	for _, check := range of.Checks {
		if of.Enabled && check.State != pluginsdk.CheckOK {
			add(toneOfCheck(check.State), fmt.Sprintf("says of its %s: %s", check.Name, ui.Cut(check.Detail, 200)), tab(of.Name, "overview"), "See what to do")
		}
	}
	return found
}

func toneOfCheck(state pluginsdk.CheckState) ui.Tone { return ui.ToneOf(string(state)) }

// allNeeds are those of all plugins, what is broken before what waits.
func allNeeds(of []api.Plugin) (found []need) {
	for _, plugin := range of {
		found = append(found, needs(plugin)...)
	}
	slices.SortStableFunc(found, func(a, b need) int { return rank(a.tone) - rank(b.tone) })
	return found
}

func rank(tone ui.Tone) int {
	if tone == ui.Bad {
		return 0
	}
	return 1
}

func or(words, otherwise string) string {
	if words == "" {
		return otherwise
	}
	return words
}

// slowest is the highest p99 of a plugin's hooks.
func slowest(of api.Plugin) string {
	var micros int64
	for _, hook := range of.Figures.Hooks {
		micros = max(micros, hook.P99Micros)
	}
	if micros == 0 {
		return "–"
	}
	return ui.Long(time.Duration(micros) * time.Microsecond)
}

// share is how much of one core a plugin has used on average, since the daemon's start.
func share(of api.Figures) string {
	seconds := of.At.Sub(of.Since).Seconds()
	if seconds <= 0 {
		return "–"
	}
	percent := of.CPUSeconds / seconds * 100
	if percent < 0.1 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", percent)
}

func turnOff(name string) ui.Action {
	action := ui.Action{
		To: path(name, "enabled"), Label: "Turn off", Icon: "power", Small: true, Hidden: map[string]string{"enabled": "false"},
		Title: "Turn " + name + " off",
	}
	if name == itself {
		action.Confirm = "This dashboard is the plugin web. Turned off, these pages and the API close, and only `harness plugin enable web` at the daemon's machine brings them back. Turn it off?"
	}
	return action
}

func turnOn(of api.Plugin) ui.Action {
	label := "Turn on"
	if of.Quarantine != "" {
		label = "Start it again"
	}
	return ui.Action{
		To: path(of.Name, "enabled"), Label: label, Icon: "power", Small: true, Hidden: map[string]string{"enabled": "true"},
		Title: label + ": " + of.Name,
	}
}
