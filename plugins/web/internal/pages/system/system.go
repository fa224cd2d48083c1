// Package system is the pages of the installation as a whole: how it is, what is on its way to
// people, what was asked of them, who may call it, what was done to it, and its backups.
package system

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const at = "/system"

// pageSize is how many rows a page of a list has.
const pageSize = 50

// How long what is done in the background may take, as the API has it, and how long the form
// that begins it waits for its end: what is quick is there with the next page.
const (
	doctorPatience = 5 * time.Minute
	backupPatience = time.Hour
	quick          = 1500 * time.Millisecond
)

type pages struct {
	*site.Site

	doctor job[examined]
	backup job[pluginsdk.Backup]
}

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := &pages{Site: s}
	s.Page("GET /system", pluginsdk.ScopeRead, p.health)
	s.Part("GET /system/examined", pluginsdk.ScopeRead, p.examinedPart)
	s.Form("POST /system/examine", pluginsdk.ScopeRead, p.examine)
	s.Form("POST /system/pause", pluginsdk.ScopeAdmin, p.pause)
	s.Page("GET /system/deliveries", pluginsdk.ScopeRead, p.deliveries)
	s.Form("POST /system/deliveries/retry", pluginsdk.ScopeAdmin, p.retryDelivery)
	s.Page("GET /system/approvals", pluginsdk.ScopeRead, p.approvals)
	s.Form("POST /system/approvals/revoke", pluginsdk.ScopeApprove, p.revokeRule)
	s.Page("GET /system/tokens", pluginsdk.ScopeAdmin, p.tokens)
	s.Form("POST /system/tokens", pluginsdk.ScopeAdmin, p.makeToken)
	s.Form("POST /system/tokens/revoke", pluginsdk.ScopeAdmin, p.revokeToken)
	s.Page("GET /system/audit", pluginsdk.ScopeRead, p.audit)
	s.Page("GET /system/backups", pluginsdk.ScopeAdmin, p.backups)
	s.Part("GET /system/backups/made", pluginsdk.ScopeAdmin, p.backupPart)
	s.Form("POST /system/backups", pluginsdk.ScopeAdmin, p.makeBackup)
	s.Form("POST /system/backups/delete", pluginsdk.ScopeAdmin, p.deleteBackup)
	s.Page("GET /system/about", pluginsdk.ScopeRead, p.about)
}

// tabs are the views of these pages, with the scope that each needs.
var tabs = []struct {
	path, label string
	scope       pluginsdk.TokenScope
}{
	{at, "Health", pluginsdk.ScopeRead},
	{at + "/deliveries", "Deliveries", pluginsdk.ScopeRead},
	{at + "/approvals", "Approvals", pluginsdk.ScopeRead},
	{at + "/tokens", "Access", pluginsdk.ScopeAdmin},
	{at + "/audit", "Audit log", pluginsdk.ScopeRead},
	{at + "/backups", "Backups", pluginsdk.ScopeAdmin},
	{at + "/about", "About", pluginsdk.ScopeRead},
}

// view is one of the pages, with the tabs around it.
func view(r *http.Request, path string, body templ.Component) site.View {
	title, links := "", []ui.Tab{}
	for _, tab := range tabs {
		if tab.path == path {
			title = tab.label
		}
		if site.May(r, tab.scope) {
			links = append(links, ui.Tab{To: tab.path, Label: tab.label, On: tab.path == path})
		}
	}
	return site.View{Title: title + " · System", At: at, Body: frame(links, title, body)}
}

// unless is a page that says why it cannot show what it is for, when that is not granted; any
// other error is returned.
func unless(r *http.Request, err error, path, icon, words string) (site.View, error) {
	if site.Status(err) != http.StatusForbidden {
		return site.View{}, err
	}
	return view(r, path, ui.Empty(icon, "You may not see this", words+" "+err.Error())), nil
}

func admin(r *http.Request) bool { return site.May(r, pluginsdk.ScopeAdmin) }

// listQuery is the query of a page of a list: what was chosen of fields, and its size.
func listQuery(r *http.Request, fields ...string) url.Values {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for _, field := range fields {
		if value := r.URL.Query().Get(field); value != "" {
			query.Set(field, value)
		}
	}
	return query
}

// older is the address of the page after this one: empty, when this one is not full.
func older(r *http.Request, rows int, field, last string) string {
	if rows < pageSize {
		return ""
	}
	query := r.URL.Query()
	query.Set(field, last)
	return r.URL.Path + "?" + query.Encode()
}

// first is the address of the first page: empty on it.
func first(r *http.Request, field string) string {
	query := r.URL.Query()
	if query.Get(field) == "" {
		return ""
	}
	query.Del(field)
	return r.URL.Path + "?" + query.Encode()
}

func (p *pages) about(r *http.Request) (site.View, error) {
	var health api.Health
	if err := p.Get(r.Context(), "/api/health", nil, &health); err != nil {
		return site.View{}, err
	}
	var me api.Me
	if err := p.Get(r.Context(), "/api/me", nil, &me); err != nil {
		return site.View{}, err
	}
	return view(r, at+"/about", aboutPage(health, me)), nil
}
