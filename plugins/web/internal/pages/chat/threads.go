package chat

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// pageThreads is how many threads a list shows at once.
const pageThreads = 50

// list is a list of threads, those with the latest activity first.
type list struct {
	Shown   string // the id of the thread that is shown beside it; empty: none is
	Text    string // words of the names that are looked for
	After   string // the id of the thread that the page begins after
	Archive bool   // those that were archived, in place of the others

	Primary *pluginsdk.Thread // nil: not on this page
	Threads []pluginsdk.Thread
	More    bool
	States  map[string]pluginsdk.RunState // of threads with a run that is not over
}

// listing is which list a query asks for.
func listing(query url.Values, shown string) list {
	return list{Shown: shown, Text: strings.TrimSpace(query.Get("q")), After: query.Get("from"), Archive: query.Get("archive") == "1"}
}

// to is the path of this list with another beginning, at a page that shows it.
func (l list) to(page, after string) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": l.Text, "from": after, "at": l.Shown} {
		if value != "" && (name != "at" || page != path(l.Shown)) {
			query.Set(name, value)
		}
	}
	if l.Archive {
		query.Set("archive", "1")
	}
	if len(query) == 0 {
		return page
	}
	return page + "?" + query.Encode()
}

// list reads a list.
func (c *chat) list(ctx context.Context, l list) (list, error) {
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() (err error) {
		query := url.Values{"order": {string(pluginsdk.ActivityFirst)}, "unread": {"true"}, "limit": {id(pageThreads + 1)}, "status": {"active", "idle"}, "kind": {"general", "task", "cron"}}
		if l.Archive {
			query["status"] = []string{"archived"}
		}
		for name, value := range map[string]string{"text": l.Text, "after": l.After} {
			if value != "" {
				query.Set(name, value)
			}
		}
		if l.Threads, err = c.listThreads(ctx, query); err != nil {
			return err
		}
		if l.More = len(l.Threads) > pageThreads; l.More {
			l.Threads = l.Threads[:pageThreads]
		}
		return nil
	})
	together.Go(func() error {
		if l.Text != "" || l.After != "" || l.Archive {
			return nil
		}
		found, err := c.listThreads(ctx, url.Values{"kind": {"primary"}, "unread": {"true"}, "limit": {"1"}})
		if len(found) > 0 {
			l.Primary = &found[0]
		}
		return err
	})
	var states map[string]pluginsdk.RunState
	together.Go(func() (err error) {
		states, err = c.states(ctx)
		return err
	})
	err := together.Wait()
	l.States = states
	return l, err
}

func (c *chat) listThreads(ctx context.Context, query url.Values) ([]pluginsdk.Thread, error) {
	var page struct {
		Threads []pluginsdk.Thread `json:"threads"`
	}
	err := c.Get(ctx, "/api/threads", query, &page)
	return page.Threads, err
}

// states reads in which threads a run is at work or waits for people.
func (c *chat) states(ctx context.Context) (map[string]pluginsdk.RunState, error) {
	var page struct {
		Runs []api.Run `json:"runs"`
	}
	err := c.Get(ctx, "/api/runs", url.Values{"state": {"running", "waiting"}, "newest": {"true"}, "limit": {"200"}}, &page)
	states := make(map[string]pluginsdk.RunState, len(page.Runs))
	for _, run := range page.Runs {
		if states[run.ThreadID] != pluginsdk.RunWaiting { // who waits for people matters more
			states[run.ThreadID] = run.State
		}
	}
	return states, err
}

// threads is the page of all threads.
func (c *chat) threads(r *http.Request) (site.View, error) {
	found, err := c.list(r.Context(), listing(r.URL.Query(), ""))
	if err != nil {
		return site.View{}, err
	}
	return site.View{Title: "Threads", At: "/chat", Script: scripts, Body: threadsPage(found, viewerOf(r))}, nil
}

// threadList is the list alone, for who searches or goes on in it.
func (c *chat) threadList(r *http.Request) (templ.Component, error) {
	query := r.URL.Query()
	found, err := c.list(r.Context(), listing(query, query.Get("at")))
	if err != nil {
		return nil, err
	}
	return listPart(found), nil
}

// fresh is what a new thread is made from.
type fresh struct {
	Key, Name, Text, Model, Instructions string
	Wrong                                string
}

func (c *chat) blank(*http.Request) (site.View, error) {
	return site.View{Title: "New thread", At: "/chat", Body: newPage(fresh{Key: newKey()})}, nil
}

// make makes a thread, and says the first thing in it if there is one.
func (c *chat) make(r *http.Request) (site.Done, error) {
	form := r.PostForm
	wanted := fresh{
		Key: cmp.Or(form.Get("key"), newKey()), Name: strings.TrimSpace(form.Get("name")), Model: strings.TrimSpace(form.Get("model")),
		Text: strings.ReplaceAll(form.Get("content"), "\r\n", "\n"), Instructions: strings.TrimSpace(form.Get("instructions")),
	}
	var made pluginsdk.Thread
	err := c.Post(r.Context(), "/api/threads", api.ThreadRequest{
		SourceID: wanted.Key, Name: cmp.Or(wanted.Name, ui.Cut(wanted.Text, 60)), Model: wanted.Model, Instructions: wanted.Instructions,
	}, &made)
	if err == nil && strings.TrimSpace(wanted.Text) != "" {
		err = c.send(r, made.ID, compose{Key: wanted.Key, Text: wanted.Text})
	}
	switch site.Status(err) {
	case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge, http.StatusConflict:
		wanted.Wrong = wrongIn(err)
		return site.Done{}, &site.Again{View: site.View{Title: "New thread", At: "/chat", Body: newPage(wanted)}}
	}
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{To: path(made.ID)}, nil
}

// kinds are the pictures and names of the kinds of threads.
var kinds = map[pluginsdk.ThreadKind]struct{ Icon, Name string }{
	pluginsdk.ThreadPrimary: {"pin", "the main conversation"},
	pluginsdk.ThreadTask:    {"square-check-big", "a task"},
	pluginsdk.ThreadCron:    {"calendar-clock", "a schedule"},
	pluginsdk.ThreadGeneral: {"messages-square", "a conversation"},
}
