package system

import (
	"net/http"
	"net/url"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const auditPath = at + "/audit"

// audited is the page of the audit log.
type audited struct {
	entries                    []pluginsdk.AuditEntry
	who, action, target, since string
	newer, older               string
}

func (a audited) filtered() bool { return a.who+a.action+a.target+a.since != "" }

func (p *pages) audit(r *http.Request) (site.View, error) {
	query := listQuery(r, "who", "action", "target", "before")
	since := r.URL.Query().Get("since")
	if day, err := time.Parse(time.DateOnly, since); err == nil {
		query.Set("since", day.UTC().Format(time.RFC3339))
	}
	var answer struct {
		Entries []pluginsdk.AuditEntry `json:"entries"`
	}
	if err := p.Get(r.Context(), "/api/audit", query, &answer); err != nil {
		return unless(r, err, auditPath, "history", "Here is who did what to the installation.")
	}
	page := audited{
		entries: answer.Entries, who: query.Get("who"), action: query.Get("action"), target: query.Get("target"), since: since, newer: first(r, "before"),
	}
	if n := len(page.entries); n > 0 {
		page.older = older(r, n, "before", page.entries[n-1].ID)
	}
	return view(r, auditPath, auditPage(page)), nil
}

// only is the query that shows what is alike in one thing.
func only(field, value string) string { return url.Values{field: {value}}.Encode() }
