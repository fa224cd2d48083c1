// Package memory is the pages of the agent's context files: what it remembers, changed by
// people beside it, and who changed what.
package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the pages to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /memory", pluginsdk.ScopeRead, p.list)
	s.Page("GET /memory/file", pluginsdk.ScopeRead, p.file)
	s.Page("GET /memory/new", pluginsdk.ScopeAdmin, p.blank)
	s.Page("GET /memory/history", pluginsdk.ScopeRead, p.history)
	s.Page("GET /memory/change", pluginsdk.ScopeRead, p.change)
	s.Form("POST /memory/file", pluginsdk.ScopeAdmin, p.write)
	s.Form("POST /memory/delete", pluginsdk.ScopeAdmin, p.remove)
	p.registerConsolidations()
}

type pages struct{ *site.Site }

const (
	fileAPI    = "/api/context/file"
	historyAPI = "/api/context/history"
)

// fileURL is where a file is shown.
func fileURL(path string) string { return "/memory/file?" + url.Values{"path": {path}}.Encode() }

func (p pages) list(r *http.Request) (site.View, error) {
	var found struct{ Files []pluginsdk.WorkspaceFile }
	if err := p.Get(r.Context(), "/api/context", nil, &found); err != nil {
		return site.View{}, err
	}
	var latest struct{ Changes []pluginsdk.WorkspaceChange }
	if err := p.Get(r.Context(), historyAPI, url.Values{"limit": {"15"}}, &latest); err != nil {
		return site.View{}, err
	}
	return site.View{Title: "Memory", At: "/memory", Body: listPage(found.Files, latest.Changes, site.May(r, pluginsdk.ScopeAdmin))}, nil
}

// edited is a file with what somebody is doing to it.
type edited struct {
	api.ContextFile

	mayWrite bool
	fresh    bool // it is to be made
	wrong    string
	// theirs is the file as somebody else has left it meanwhile; nil: nobody has, or it is
	// gone, which gone says.
	theirs *api.ContextFile
	gone   bool
}

func (p pages) file(r *http.Request) (site.View, error) {
	shown := edited{mayWrite: site.May(r, pluginsdk.ScopeAdmin)}
	if err := p.Get(r.Context(), fileAPI, url.Values{"path": {r.URL.Query().Get("path")}}, &shown.ContextFile); err != nil {
		return site.View{}, err
	}
	return view(shown), nil
}

func (p pages) blank(r *http.Request) (site.View, error) {
	return view(edited{mayWrite: true, fresh: true, ContextFile: api.ContextFile{WorkspaceFile: pluginsdk.WorkspaceFile{Path: "context/"}}}), nil
}

func view(shown edited) site.View {
	title := shown.Path
	if shown.fresh {
		title = "A new file"
	}
	return site.View{Title: title + ": memory", At: "/memory", Body: filePage(shown)}
}

// write replaces the file, if it is still what the writer has seen. If it is not, both texts
// are shown, and the next try replaces the one that is shown then.
func (p pages) write(r *http.Request) (site.Done, error) {
	typed := edited{mayWrite: true, fresh: r.PostForm.Get("fresh") != ""}
	typed.Path = strings.TrimSpace(r.PostForm.Get("path"))
	typed.Version = r.PostForm.Get("version")
	typed.Text = strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n")
	err := p.Ask(r.Context(), http.MethodPut, fileAPI, url.Values{"path": {typed.Path}},
		api.ContextText{Text: typed.Text, Version: typed.Version}, nil)
	switch site.Status(err) {
	case http.StatusConflict:
		return site.Done{}, conflict(typed, err)
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		typed.wrong = err.Error()
		return site.Done{}, &site.Again{View: view(typed)}
	}
	return site.Done{To: fileURL(typed.Path), Said: typed.Path + " is saved. The agent is told of it in its next turn."}, err
}

// conflict shows a text that was refused beside the one that is there.
func conflict(typed edited, err error) error {
	var told *site.Problem
	var answer struct{ Current *api.ContextFile }
	if !errors.As(err, &told) || json.Unmarshal(told.Body, &answer) != nil {
		return err
	}
	typed.fresh = false
	if typed.theirs = answer.Current; typed.theirs == nil {
		typed.gone, typed.Version = true, ""
	} else {
		typed.Version = typed.theirs.Version
	}
	return &site.Again{View: view(typed)}
}

func (p pages) remove(r *http.Request) (site.Done, error) {
	path := r.PostForm.Get("path")
	err := p.Ask(r.Context(), http.MethodDelete, fileAPI, url.Values{"path": {path}, "version": {r.PostForm.Get("version")}}, nil, nil)
	return site.Done{To: "/memory", Said: path + " is deleted. Its texts are in the history."}, err
}

// perPage is how many changes a page of the history has.
const perPage = 50

func (p pages) history(r *http.Request) (site.View, error) {
	query := r.URL.Query()
	asked := url.Values{"limit": {"51"}}
	for _, name := range []string{"path", "before"} {
		if value := query.Get(name); value != "" {
			asked.Set(name, value)
		}
	}
	var found struct{ Changes []pluginsdk.WorkspaceChange }
	if err := p.Get(r.Context(), historyAPI, asked, &found); err != nil {
		return site.View{}, err
	}
	older := ""
	if changes := found.Changes; len(changes) > perPage {
		found.Changes = changes[:perPage]
		query.Set("before", strconv.FormatInt(changes[perPage-1].ID, 10))
		older = "/memory/history?" + query.Encode()
	}
	title := cmp.Or(query.Get("path"), "all files")
	return site.View{Title: "History of " + title, At: "/memory", Body: historyPage(query.Get("path"), found.Changes, older)}, nil
}

// change shows what one change did.
func (p pages) change(r *http.Request) (site.View, error) {
	query := r.URL.Query()
	path, before, after := query.Get("path"), query.Get("before"), query.Get("version")
	text := func(version string) (string, error) {
		if version == "" {
			return "", nil // it was not there
		}
		var file api.ContextFile
		err := p.Get(r.Context(), fileAPI, url.Values{"path": {path}, "version": {version}}, &file)
		return file.Text, err
	}
	was, err := text(before)
	if err != nil {
		return site.View{}, err
	}
	is, err := text(after)
	if err != nil {
		return site.View{}, err
	}
	return site.View{Title: "A change of " + path, At: "/memory", Body: changePage(path, was, is)}, nil
}
