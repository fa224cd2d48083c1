// Package crons is the pages of scheduled jobs: all of them, and each with its times, its history and the
// form to change it.
package crons

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const at = "/crons"

type pages struct{ *site.Site }

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET "+at, pluginsdk.ScopeRead, p.all)
	s.Page("GET "+at+"/new", pluginsdk.ScopeWork, func(r *http.Request) (site.View, error) { return newView(newForm(operator(r))), nil })
	s.Form("POST "+at, pluginsdk.ScopeWork, p.add)
	s.Page("GET "+at+"/job/{name}", pluginsdk.ScopeRead, p.one)
	s.Form("POST "+at+"/job/{name}", pluginsdk.ScopeWork, p.save)
	s.Form("POST "+at+"/job/{name}/switch", pluginsdk.ScopeWork, p.toggle)
	s.Form("POST "+at+"/job/{name}/confirm", pluginsdk.ScopeAdmin, p.confirm)
	s.Form("POST "+at+"/job/{name}/fire", pluginsdk.ScopeWork, p.fire)
	s.Form("POST "+at+"/job/{name}/remove", pluginsdk.ScopeWork, p.remove)
}

// operator reports whether who asks may say what a job does unasked, and turn plugins on.
func operator(r *http.Request) bool { return site.May(r, pluginsdk.ScopeAdmin) }

func (p pages) all(r *http.Request) (site.View, error) {
	var found struct {
		Crons []pluginsdk.CronJob
		More  bool
		Fired bool
	}
	query := url.Values{"limit": {"50"}}
	if after := r.URL.Query().Get("after"); after != "" {
		query.Set("after", after)
	}
	view := site.View{Title: "Schedules", At: at}
	err := p.Get(r.Context(), "/api/crons", query, &found)
	if site.Status(err) == http.StatusForbidden {
		view.Body = refused(err.Error())
		return view, nil
	}
	onward := ""
	if n := len(found.Crons); found.More && n > 0 {
		onward = at + "?" + url.Values{"after": {found.Crons[n-1].Spec.Name}}.Encode()
	}
	view.Body = list(found.Crons, onward, found.Fired, operator(r))
	return view, err
}

// job is what the page of a job shows.
type job struct {
	api.Cron
	fires    []pluginsdk.CronFire
	older    string // path of the page with older fires; empty: there are none
	form     form
	operator bool // who looks may confirm it
}

// unconfirmed reports whether the job waits for an operator.
func (j job) unconfirmed() bool { return j.Confirmed != nil && !*j.Confirmed }

func apiPath(name string, below ...string) string { return under("/api/crons/", name, below...) }

func pagePath(name string, below ...string) string { return under(at+"/job/", name, below...) }

func under(head, name string, below ...string) string {
	path := head + url.PathEscape(name)
	for _, part := range below {
		path += "/" + part
	}
	return path
}

func (p pages) one(r *http.Request) (site.View, error) {
	shown, err := p.read(r)
	if err != nil {
		return site.View{}, err
	}
	shown.form = formOf(shown.Spec, shown.operator)
	shown.form.version = shown.Version
	return jobView(shown), nil
}

func jobView(shown job) site.View {
	return site.View{Title: shown.Spec.Name, At: at, Body: jobPage(shown)}
}

func newView(form form) site.View {
	return site.View{Title: "New schedule", At: at, Body: newPage(form)}
}

func (p pages) read(r *http.Request) (shown job, err error) {
	name := r.PathValue("name")
	shown.operator = operator(r)
	if err := p.Get(r.Context(), apiPath(name), nil, &shown.Cron); err != nil {
		return shown, err
	}
	query := url.Values{"limit": {"30"}}
	if before := r.URL.Query().Get("before"); before != "" {
		query.Set("before", before)
	}
	var found struct {
		Fires []pluginsdk.CronFire
		More  bool
	}
	err = p.Get(r.Context(), apiPath(name, "fires"), query, &found)
	shown.fires = found.Fires
	if n := len(found.Fires); found.More && n > 0 {
		shown.older = pagePath(name) + "?" + url.Values{"before": {found.Fires[n-1].Due.Format("2006-01-02T15:04:05.999999999Z07:00")}}.Encode()
	}
	return shown, err
}

// told is what the API says is wrong with what was typed; nil: the error is another.
func told(err error) *site.Problem {
	var problem *site.Problem
	if errors.As(err, &problem) && (problem.Status == http.StatusUnprocessableEntity || problem.Status == http.StatusBadRequest || problem.Status == http.StatusTooManyRequests) {
		return problem
	}
	return nil
}

// put makes a job, or changes the one of that version.
func (p pages) put(r *http.Request, spec pluginsdk.CronSpec, version string) (saved api.Cron, err error) {
	err = p.Ask(r.Context(), http.MethodPut, apiPath(spec.Name), nil, api.CronSave{Spec: api.CronWanted(spec), Version: version}, &saved)
	return saved, err
}

func (p pages) add(r *http.Request) (site.Done, error) {
	form := newForm(operator(r))
	form.take(r.PostForm)
	spec, right := form.spec(pluginsdk.CronSpec{Missed: pluginsdk.MissedRun})
	if right {
		var there api.Cron
		switch err := p.Get(r.Context(), apiPath(spec.Name), nil, &there); {
		case err == nil:
			form.name.Wrong, right = "a schedule has this name already", false
		case site.Status(err) != http.StatusNotFound:
			return site.Done{}, err
		}
	}
	if right {
		saved, err := p.put(r, spec, "")
		problem := told(err)
		switch {
		case problem != nil:
			form.wrongWith(problem)
		case err != nil:
			return site.Done{}, err
		default:
			return site.Done{To: pagePath(spec.Name), Said: spec.Name + " is made, and on." + p.sure(r, saved, true)}, nil
		}
	}
	return site.Done{}, &site.Again{View: newView(form)}
}

func (p pages) save(r *http.Request) (site.Done, error) {
	shown, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	shown.form = formOf(shown.Spec, shown.operator)
	shown.form.take(r.PostForm)
	spec, right := shown.form.spec(shown.Spec)
	if right {
		// What others have set meanwhile is not confirmed with something else.
		sure := shown.form.version == shown.Version && shown.Confirmed != nil && *shown.Confirmed
		saved, err := p.put(r, spec, shown.form.version)
		problem := told(err)
		switch {
		case problem != nil:
			shown.form.wrongWith(problem)
		case site.Status(err) == http.StatusConflict:
			shown.form.version = shown.Version
			shown.form.wrong = "Somebody else has changed this schedule since you opened this page. What you have typed is below, and not saved: save again to replace theirs by it, or reload the page to see theirs."
		case err != nil:
			return site.Done{}, err
		default:
			return site.Done{To: pagePath(spec.Name), Said: spec.Name + " is changed." + p.sure(r, saved, sure)}, nil
		}
	}
	return site.Done{}, &site.Again{View: jobView(shown)}
}

// sure confirms what an operator has saved, if all that was there before was confirmed. It says what there is to know
// about a job that waits for that.
func (p pages) sure(r *http.Request, saved api.Cron, confirmed bool) string {
	if !powerful(saved.Spec) || saved.Confirmed == nil || *saved.Confirmed {
		return ""
	}
	if !confirmed || !operator(r) {
		return " It does not fire until an operator confirms it."
	}
	if err := p.confirmed(r, saved.Spec.Name, saved.Version); err != nil {
		return " It does not fire until it is confirmed, which has not been done: " + err.Error()
	}
	return ""
}

func (p pages) confirmed(r *http.Request, name, version string) error {
	return p.Post(r.Context(), apiPath(name, "confirm"), api.CronConfirm{Version: version}, nil)
}

func (p pages) confirm(r *http.Request) (site.Done, error) {
	name := r.PathValue("name")
	err := p.confirmed(r, name, r.PostForm.Get("version"))
	return site.Done{To: pagePath(name), Said: name + " is confirmed."}, err
}

func (p pages) toggle(r *http.Request) (site.Done, error) {
	name, on := r.PathValue("name"), r.PostForm.Get("on") == "true"
	err := p.Ask(r.Context(), http.MethodPatch, apiPath(name), nil, api.CronSwitch{Enabled: on}, nil)
	said := name + " is off."
	if on {
		said = name + " is on."
	}
	return site.Done{To: back(r, name), Said: said}, err
}

// back is where a button was pressed: on the list, or on the page of the job.
func back(r *http.Request, name string) string {
	if r.PostForm.Get("from") == "list" {
		return at
	}
	return pagePath(name)
}

func (p pages) fire(r *http.Request) (site.Done, error) {
	name := r.PathValue("name")
	err := p.Post(r.Context(), apiPath(name, "fire"), struct{}{}, nil)
	return site.Done{To: pagePath(name), Said: name + " fires now."}, err
}

func (p pages) remove(r *http.Request) (site.Done, error) {
	name := r.PathValue("name")
	err := p.Ask(r.Context(), http.MethodDelete, apiPath(name), nil, nil, nil)
	return site.Done{To: at, Said: name + " is removed."}, err
}
