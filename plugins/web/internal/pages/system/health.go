package system

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// examined is what doctor has found.
type examined struct {
	OK     bool              `json:"ok"`
	Checks []pluginsdk.Check `json:"checks"`
}

// sorted are its checks, what is wrong before what is not.
func (e examined) sorted() []pluginsdk.Check {
	rank := map[pluginsdk.CheckState]int{pluginsdk.CheckFailing: -2, pluginsdk.CheckWarning: -1}
	return slices.SortedStableFunc(slices.Values(e.Checks), func(a, b pluginsdk.Check) int { return rank[a.State] - rank[b.State] })
}

func (e examined) count(state pluginsdk.CheckState) (n int) {
	for _, check := range e.Checks {
		if check.State == state {
			n++
		}
	}
	return n
}

// verdict is what was found, in a sentence.
func (e examined) verdict() string {
	failing, warning := e.count(pluginsdk.CheckFailing), e.count(pluginsdk.CheckWarning)
	switch {
	case failing > 0:
		return strconv.Itoa(failing) + " of " + strconv.Itoa(len(e.Checks)) + " checks are failing"
	case warning > 0:
		return "It works; " + strconv.Itoa(warning) + " of " + strconv.Itoa(len(e.Checks)) + " checks have a warning"
	}
	return "All is well: " + strconv.Itoa(len(e.Checks)) + " checks, and nothing is wrong"
}

// paused is whether what plugins start is held back; asked: it could be found out.
type paused struct {
	pluginsdk.Pause

	known, admin bool
}

func (p *pages) health(r *http.Request) (site.View, error) {
	var answer struct {
		Pause pluginsdk.Pause `json:"pause"`
	}
	err := p.Get(r.Context(), "/api/pause", nil, &answer)
	if err != nil && site.Status(err) != http.StatusForbidden {
		return site.View{}, err
	}
	return view(r, at, healthPage(paused{answer.Pause, err == nil, admin(r)}, p.doctor.state())), nil
}

func (p *pages) examine(r *http.Request) (site.Done, error) {
	p.doctor.begin(r, doctorPatience, quick, func(ctx context.Context) (found examined, err error) {
		err = p.Get(ctx, "/api/doctor", nil, &found)
		return found, err
	})
	return site.Done{To: at}, nil
}

func (p *pages) examinedPart(*http.Request) (templ.Component, error) {
	return doctorPart(p.doctor.state()), nil
}

func (p *pages) pause(r *http.Request) (site.Done, error) {
	hold := r.PostForm.Get("paused") == "true"
	if err := p.Post(r.Context(), "/api/pause", map[string]any{"paused": hold}, nil); err != nil {
		return site.Done{}, err
	}
	if hold {
		return site.Done{To: at, Said: "What plugins start is held back."}, nil
	}
	return site.Done{To: at, Said: "What plugins start goes on."}, nil
}
