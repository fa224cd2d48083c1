// Package design is a page of all that pages are made of, in all its states and with its
// contrast: to look at while one changes it. It is a part of builds with the tag design only.
package design

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/charts"
	"github.com/seed-706843ae/harness/plugins/web/internal/diff"
	"github.com/seed-706843ae/harness/plugins/web/internal/markdown"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site.
func Register(s *site.Site) {
	s.Page("GET /design", pluginsdk.ScopeRead, func(r *http.Request) (site.View, error) {
		return site.View{Title: "Design", Body: page(site.Theme(r))}, nil
	})
	s.Form("POST /design", pluginsdk.ScopeRead, func(r *http.Request) (site.Done, error) {
		if r.PostForm.Get("fail") != "" {
			return site.Done{}, errors.New("this form fails whenever it is sent")
		}
		return site.Done{To: "/design", Said: "The form was sent, and did nothing."}, nil
	})
	s.Raw("GET /design/chart.svg", pluginsdk.ScopeRead, func(w http.ResponseWriter, r *http.Request) {
		theme := charts.Light()
		if r.URL.Query().Get("theme") == "dark" {
			theme = charts.Dark()
		}
		picture, err := chart().Render(theme, 640, 260)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(picture) // the client may be gone
	})
}

func chart() charts.Chart {
	drawn := charts.Chart{Title: "Cost by day", Kind: charts.Stacked, Unit: charts.USD}
	for n, name := range []string{"Conversations", "Tasks", "Turns of plugins", "Schedules", "Reviews", "Summaries"} {
		series := charts.Series{Name: name}
		for day := range 14 {
			series.Values = append(series.Values, float64((day*7+n*5)%11+1)/float64(n+1))
		}
		drawn.Series = append(drawn.Series, series)
	}
	for day := range 14 {
		drawn.Labels = append(drawn.Labels, strconv.Itoa(day+1)+" Nov")
	}
	return drawn
}

// colours are the tokens that are colours.
func colours() (all []site.Token) {
	for _, token := range site.Tokens() {
		if token.Colour() {
			all = append(all, token)
		}
	}
	return all
}

// measures are the tokens of a kind, by the beginning of their names, in pixels of a page
// whose text was not made larger.
func measures(kind string) (all []measure) {
	for _, token := range site.Tokens() {
		rems, found := strings.CutSuffix(token.Light, "rem")
		if size, err := strconv.ParseFloat(rems, 64); found && err == nil && strings.HasPrefix(token.Name, kind) {
			all = append(all, measure{token.Name, size * 16})
		}
	}
	return all
}

type measure struct {
	name   string
	pixels float64
}

// px is the measure and a little more, as an attribute.
func (m measure) px(more float64) string { return strconv.FormatFloat(m.pixels+more, 'f', -1, 64) }

// seen is a pairing with its colours and contrasts in both themes.
type seen struct {
	site.Pairing
	themes [2]struct {
		front, back string
		contrast    float64
	}
}

func pairings() (all []seen) {
	values := make(map[string]site.Token)
	for _, token := range site.Tokens() {
		values[token.Name] = token
	}
	for _, pair := range site.Pairings() {
		one := seen{Pairing: pair}
		front, back := values[pair.Front], values[pair.Back]
		one.themes[0].front, one.themes[0].back = front.Light, back.Light
		one.themes[1].front, one.themes[1].back = front.Dark, back.Dark
		for n := range one.themes {
			theme := &one.themes[n]
			theme.contrast, _ = site.Contrast(theme.front, theme.back) // 0, which is seen, of what is no colour
		}
		all = append(all, one)
	}
	return all
}

func ratio(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) + " : 1" }

func written() string { return markdown.HTML(sample) }

func changes() diff.File { return diff.Of(before, after) }
