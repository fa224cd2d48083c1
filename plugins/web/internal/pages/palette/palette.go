// Package palette finds a page, a thread, a task or a plugin by its name.
package palette

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site. Script shows what it has found over any other page.
func Register(s *site.Site) {
	s.Page("GET /palette", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		words := strings.TrimSpace(r.URL.Query().Get("q"))
		return site.View{Title: "Go to", Body: page(words, find(r, s, words))}, nil
	})
}

// place is something to go to.
type place struct{ kind, icon, name, to string }

// most is how many of each kind are shown.
const most = 8

// find returns the places whose names have the words. What cannot be asked for is left
// out: the rest leads there too.
func find(r *http.Request, s *site.Site, words string) (all []place) {
	fits := func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(words)) }
	for _, key := range site.Keys() {
		if fits(key.Name) {
			all = append(all, place{"Page", "arrow-right", key.Name, key.Path})
		}
	}
	var threads struct{ Threads []pluginsdk.Thread }
	if s.Get(r.Context(), "/api/threads", url.Values{"text": {words}, "order": {"activity"}, "limit": {"8"}}, &threads) == nil {
		for _, thread := range threads.Threads {
			all = append(all, place{"Conversation", "messages-square", site.ThreadName(thread), "/chat/" + url.PathEscape(thread.ID)})
		}
	}
	if words == "" {
		return all
	}
	var tasks struct{ Tasks []pluginsdk.Task }
	if s.Get(r.Context(), "/api/tasks", url.Values{"newest": {"true"}, "limit": {"200"}}, &tasks) == nil {
		found := 0
		for _, task := range tasks.Tasks {
			if fits(task.OriginalMessage) && found < most {
				found++
				all = append(all, place{"Task", "square-check-big", ui.Cut(task.OriginalMessage, 100), "/tasks/" + url.PathEscape(task.ID)})
			}
		}
	}
	var plugins struct{ Plugins []api.Plugin }
	if s.Get(r.Context(), "/api/plugins", nil, &plugins) == nil {
		for _, plugin := range plugins.Plugins {
			if fits(plugin.Name) {
				all = append(all, place{"Plugin", "blocks", plugin.Name, "/plugins/" + url.PathEscape(plugin.Name)})
			}
		}
	}
	return append(all, place{"Search", "search", "Messages with “" + ui.Cut(words, 60) + "”", "/search?" + url.Values{"q": {words}}.Encode()})
}
