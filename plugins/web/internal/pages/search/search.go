// Package search is the page that finds what was said.
package search

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site.
func Register(s *site.Site) {
	s.Page("GET /search", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		shown := asked(r.URL.Query())
		view := site.View{Title: "Search", At: "/search"}
		if strings.TrimSpace(shown.Words) != "" {
			query := shown.query()
			query.Set("limit", "20")
			var found struct {
				Hits   []pluginsdk.SearchHit
				Next   string
				Newest bool
			}
			switch err := s.Get(r.Context(), "/api/search", query, &found); site.Status(err) {
			case http.StatusUnprocessableEntity:
				shown.wrong = err.Error()
			default:
				if err != nil {
					return view, err
				}
			}
			shown.hits, shown.newest = found.Hits, found.Newest
			if found.Next != "" {
				onward := shown.query()
				onward.Set("after", found.Next)
				shown.next = "/search?" + onward.Encode()
			}
			view.Title = shown.Words + ": search"
		}
		view.Body = page(shown)
		return view, nil
	})
}

// search is what was asked, as the query string has it, and what was found.
type search struct {
	Words, Thread, Author, Role, Kind, Since, Until, Order, After string

	hits   []pluginsdk.SearchHit
	next   string // the path of the next page; empty: there is none
	newest bool   // not all that fits was looked at
	wrong  string
}

func asked(query url.Values) search {
	return search{
		Words: query.Get("q"), Thread: query.Get("thread"), Author: query.Get("author"), Role: query.Get("role"), Kind: query.Get("kind"),
		Since: query.Get("since"), Until: query.Get("until"), Order: query.Get("order"), After: query.Get("after"),
	}
}

// query is the same for the API, and for a link to this page: days are times of the API.
func (s search) query() url.Values {
	query := make(url.Values)
	for name, value := range map[string]string{
		"q": s.Words, "thread": s.Thread, "author": s.Author, "role": s.Role, "kind": s.Kind,
		"since": instant(s.Since), "until": instant(s.Until), "order": s.Order, "after": s.After,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// instant is the beginning of a day, in UTC.
func instant(day string) string {
	if len(day) == len("2006-01-02") {
		return day + "T00:00:00Z"
	}
	return day
}

// day is that day again, for the field.
func day(instant string) string {
	before, _, _ := strings.Cut(instant, "T")
	return before
}

// piece is a part of a snippet.
type piece struct {
	text   string
	marked bool
}

// pieces parts a snippet at its marks. Marks that do not fit it are left out.
func pieces(hit pluginsdk.SearchHit) (all []piece) {
	at := 0
	for _, mark := range hit.Marks {
		if mark.Start < at || mark.End <= mark.Start || mark.End > len(hit.Snippet) {
			continue
		}
		all = append(all, piece{hit.Snippet[at:mark.Start], false}, piece{hit.Snippet[mark.Start:mark.End], true})
		at = mark.End
	}
	return append(all, piece{hit.Snippet[at:], false})
}
