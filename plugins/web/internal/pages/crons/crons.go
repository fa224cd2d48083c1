// Package crons is the page of scheduled jobs.
package crons

import (
	"net/http"
	"net/url"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site.
func Register(s *site.Site) {
	s.Page("GET /crons", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		var found struct {
			Crons []pluginsdk.CronJob
			More  bool
		}
		query := url.Values{"limit": {"50"}}
		if after := r.URL.Query().Get("after"); after != "" {
			query.Set("after", after)
		}
		view := site.View{Title: "Schedules", At: "/crons"}
		err := s.Get(r.Context(), "/api/crons", query, &found)
		if site.Status(err) == http.StatusForbidden {
			view.Body = refused(err.Error())
			return view, nil
		}
		onward := ""
		if n := len(found.Crons); found.More && n > 0 {
			onward = "/crons?" + url.Values{"after": {found.Crons[n-1].Spec.Name}}.Encode()
		}
		view.Body = page(found.Crons, onward)
		return view, err
	})
}
