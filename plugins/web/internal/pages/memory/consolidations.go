package memory

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	memoryAPI       = "/api/memory"
	consolidationAt = "/memory/consolidations"
)

// registerConsolidations adds the pages of what was taken from the inbox into the memory.
func (p pages) registerConsolidations() {
	p.Page("GET "+consolidationAt, pluginsdk.ScopeRead, p.consolidations)
	p.Page("GET "+consolidationAt+"/{number}", pluginsdk.ScopeRead, p.consolidation)
	p.Form("POST "+consolidationAt, pluginsdk.ScopeWork, p.consolidate)
	p.Form("POST "+consolidationAt+"/{number}/revert", pluginsdk.ScopeWork, p.revert)
}

// pageOf is where a consolidation is shown.
func pageOf(number int) string { return consolidationAt + "/" + strconv.Itoa(number) }

func (p pages) consolidations(r *http.Request) (site.View, error) { return p.allView(r, "") }

// allView is the list, with what was wrong with what was asked for.
func (p pages) allView(r *http.Request, wrong string) (site.View, error) {
	query := url.Values{}
	if before := r.URL.Query().Get("before"); before != "" {
		query.Set("before", before)
	}
	var found api.Memory
	if err := p.Get(r.Context(), memoryAPI, query, &found); err != nil {
		return site.View{}, err
	}
	older := ""
	if n := len(found.Consolidations); found.More && n > 0 {
		older = consolidationAt + "?" + url.Values{"before": {strconv.Itoa(found.Consolidations[n-1].Number)}}.Encode()
	}
	return site.View{Title: "Consolidations", At: "/memory", Body: consolidationsPage(found, older, site.May(r, pluginsdk.ScopeWork), wrong)}, nil
}

func (p pages) consolidation(r *http.Request) (site.View, error) { return p.oneView(r, "") }

func (p pages) oneView(r *http.Request, wrong string) (site.View, error) {
	var found api.ConsolidationDetail
	if err := p.Get(r.Context(), memoryAPI+"/"+url.PathEscape(r.PathValue("number")), nil, &found); err != nil {
		return site.View{}, err
	}
	view := site.View{Title: "Consolidation " + strconv.Itoa(found.Number), At: "/memory"}
	view.Body = consolidationPage(found, site.May(r, pluginsdk.ScopeWork), wrong)
	return view, nil
}

func (p pages) consolidate(r *http.Request) (site.Done, error) {
	var begun api.ConsolidationDetail
	if err := p.Post(r.Context(), memoryAPI+"/consolidate", nil, &begun); err != nil {
		return site.Done{}, again(r, err, p.allView)
	}
	return site.Done{To: pageOf(begun.Number), Said: "The inbox is being consolidated. It takes about a minute."}, nil
}

// again shows the page once more where what was asked for was refused, with the reason.
func again(r *http.Request, err error, view func(*http.Request, string) (site.View, error)) error {
	if site.Status(err) != http.StatusConflict {
		return err
	}
	shown, failed := view(r, err.Error())
	if failed != nil {
		return failed
	}
	return &site.Again{View: shown}
}

func (p pages) revert(r *http.Request) (site.Done, error) {
	var reverted api.ConsolidationDetail
	if err := p.Post(r.Context(), memoryAPI+"/"+url.PathEscape(r.PathValue("number"))+"/revert", nil, &reverted); err != nil {
		return site.Done{}, again(r, err, p.oneView)
	}
	said := "Consolidation " + strconv.Itoa(reverted.Number) + " is reverted: both files are what they were before it."
	if reverted.State != "reverted" {
		said = "Consolidation " + strconv.Itoa(reverted.Number) + " will be reverted when the turn that is under way is over."
	}
	return site.Done{To: pageOf(reverted.Number), Said: said}, nil
}

// toneOfState is the tone of a consolidation's state.
func toneOfState(state string) ui.Tone {
	switch state {
	case "done":
		return ui.Good
	case "failed":
		return ui.Bad
	case "asked", "turning", "writing", "reverting":
		return ui.Busy
	}
	return ui.Plain
}

// atWork reports whether a consolidation is not over.
func atWork(state string) bool { return toneOfState(state) == ui.Busy }

// wordsOfState says in words what has become of a consolidation.
func wordsOfState(state string) string {
	switch state {
	case "asked":
		return "beginning"
	case "turning":
		return "asking"
	case "nothing to do":
		return "no news"
	}
	return state
}

// changed reports whether a consolidation has changed the files.
func changed(c api.Consolidation) bool {
	return c.State == "done" || strings.HasPrefix(c.State, "revert")
}

// origin is where an entry is from: a link, and its words. An empty link: there is nothing to lead to.
func origin(entry api.MemoryEntry) (to, words string) {
	switch {
	case entry.MessageID != 0 && entry.ThreadID != "":
		id := strconv.FormatInt(entry.MessageID, 10)
		return "/chat/" + url.PathEscape(entry.ThreadID) + "?around=" + id + "#m" + id, "message " + id
	case entry.MessageID != 0: // of a consolidation that is older than the noting of threads
		return "", "message " + strconv.FormatInt(entry.MessageID, 10)
	case entry.Edit != 0:
		id := strconv.FormatInt(entry.Edit, 10)
		return "/memory/history?" + url.Values{"path": {"context/inbox.md"}, "before": {strconv.FormatInt(entry.Edit+1, 10)}}.Encode(), "edit " + id
	}
	return "", "not known"
}

// bare is an entry without its mark, and without its suffix where that is shown beside it.
func bare(entry api.MemoryEntry) string {
	text := unmarked(entry.Text)
	if entry.MessageID == 0 && entry.Edit == 0 {
		return text
	}
	if i := strings.LastIndex(text, " ("); i > 0 && strings.HasSuffix(text, ")") {
		return text[:i]
	}
	return text
}

// unmarked is a line of a list without its mark.
func unmarked(text string) string { return strings.TrimPrefix(strings.TrimPrefix(text, "- "), "* ") }
