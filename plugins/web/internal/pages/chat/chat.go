// Package chat is the conversations: the threads beside each other, what was said in one, what
// its agent does at this moment, and the field to say something in.
package chat

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// scripts are what works on the pages of conversations.
const scripts = "chat.js composer.js"

// Turns knows what the agents do at this moment.
type Turns interface {
	// Turn returns what the run that answers a thread's messages has done so far, and
	// whether there is one. At is set in any case.
	Turn(threadID string) (live.Turn, bool)
}

// chat has the handlers of the pages.
type chat struct {
	*site.Site
	turns Turns
}

// Register adds the pages to the site.
func Register(s *site.Site, turns Turns) {
	c := &chat{s, turns}
	s.Page("GET /chat", pluginsdk.ScopeRead, c.primary)
	s.Page("GET /chat/{thread}", pluginsdk.ScopeRead, c.show)
	s.Part("GET /chat/{thread}/older", pluginsdk.ScopeRead, c.older)
	s.Part("GET /chat/{thread}/news", pluginsdk.ScopeRead, c.news)
	s.Part("GET /chat/{thread}/turn", pluginsdk.ScopeRead, c.running)
	s.Part("GET /chat/{thread}/steps/{run}", pluginsdk.ScopeRead, c.work)
	s.Page("GET /chat/{thread}/steps/{run}/{step}", pluginsdk.ScopeRead, c.wholeStep)
	s.Page("GET /chat/{thread}/messages/{message}", pluginsdk.ScopeRead, c.wholeMessage)
	s.Form("POST /chat/{thread}", pluginsdk.ScopeChat, c.say)
	s.Form("POST /chat/{thread}/stop", pluginsdk.ScopeChat, c.stop)
	s.Form("POST /chat/{thread}/busy", pluginsdk.ScopeChat, c.busy)
	s.Form("POST /chat/{thread}/retry", pluginsdk.ScopeChat, c.retry)
	s.Form("POST /chat/{thread}/press", pluginsdk.ScopeChat, c.press)
	s.Form("POST /chat/{thread}/branch", pluginsdk.ScopeChat, c.branch)
	s.Page("GET /chat/{thread}/edit", pluginsdk.ScopeChat, c.edit)
	s.Form("POST /chat/{thread}/edit", pluginsdk.ScopeChat, c.resend)
	s.Form("POST /chat/{thread}/decide", pluginsdk.ScopeApprove, c.decide)
	s.Page("GET /chat/{thread}/settings", pluginsdk.ScopeRead, c.settings)
	s.Form("POST /chat/{thread}/settings", pluginsdk.ScopeChat, c.change)
	s.Page("GET /chat/{thread}/rights", pluginsdk.ScopeChat, c.rights)
	s.Form("POST /chat/{thread}/archive", pluginsdk.ScopeChat, c.archive)
	s.Form("POST /chat/{thread}/delete", pluginsdk.ScopeAdmin, c.remove)
	s.Page("GET /threads", pluginsdk.ScopeRead, c.threads)
	s.Part("GET /threads/list", pluginsdk.ScopeRead, c.threadList)
	s.Page("GET /threads/new", pluginsdk.ScopeChat, c.blank)
	s.Form("POST /threads", pluginsdk.ScopeChat, c.make)
}

// viewer is who looks at a page.
type viewer struct {
	Name                 string // empty: nobody has a name here
	Chat, Approve, Admin bool   // what they may do
}

func viewerOf(r *http.Request) viewer {
	return viewer{
		Name: access.From(r.Context()).Token.Name, Chat: site.May(r, pluginsdk.ScopeChat),
		Approve: site.May(r, pluginsdk.ScopeApprove), Admin: site.May(r, pluginsdk.ScopeAdmin),
	}
}

// conversation is a page that shows one.
type conversation struct {
	viewer
	Thread  pluginsdk.Thread
	Parent  string // the name of the thread it is below; empty: of none
	Said    said
	Turn    turn
	State   state
	Asks    asks
	Compose compose
	List    list
}

// path is that of a thread's conversation, and what is below it.
func path(threadID string, below ...string) string {
	made := "/chat/" + url.PathEscape(threadID)
	for _, part := range below {
		made += "/" + url.PathEscape(part)
	}
	return made
}

// primary leads to the primary thread.
func (c *chat) primary(r *http.Request) (site.View, error) {
	threads, err := c.listThreads(r.Context(), url.Values{"kind": {"primary"}, "limit": {"1"}})
	if err != nil {
		return site.View{}, err
	}
	if len(threads) == 0 {
		return site.View{}, &site.Elsewhere{To: "/threads"}
	}
	return site.View{}, &site.Elsewhere{To: path(threads[0].ID)}
}

// show is the page of a conversation.
func (c *chat) show(r *http.Request) (site.View, error) {
	return c.page(r, compose{Key: newKey()})
}

// page shows the conversation of the request's thread with what is typed into its field.
func (c *chat) page(r *http.Request, typed compose) (site.View, error) {
	ctx, id, query := r.Context(), r.PathValue("thread"), r.URL.Query()
	shown := conversation{viewer: viewerOf(r), Compose: typed}
	at, err := windowOf(query)
	if err != nil {
		return site.View{}, err
	}
	// What the agent does is taken before the messages are read: what is stored meanwhile is
	// among those, and the page goes on from where this is true.
	shown.Turn = c.turnOf(id)
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() (err error) {
		shown.Thread, err = c.thread(ctx, id)
		return err
	})
	together.Go(func() (err error) {
		shown.Said, err = c.said(ctx, id, at, shown.viewer)
		return err
	})
	together.Go(func() (err error) {
		shown.State, err = c.state(ctx, id)
		return err
	})
	together.Go(func() (err error) {
		shown.Asks, err = c.asks(ctx, id)
		return err
	})
	together.Go(func() (err error) {
		shown.List, err = c.list(ctx, listing(query, id))
		return err
	})
	if err := together.Wait(); err != nil {
		return site.View{}, err
	}
	if !shown.Said.Tail {
		shown.Turn, shown.Asks = turn{At: shown.Turn.At}, asks{}
	}
	if err := c.mark(r.Context(), &shown); err != nil {
		return site.View{}, err
	}
	return site.View{
		Title: site.ThreadName(shown.Thread), At: "/chat", Script: scripts, Follows: id, Fills: true, Body: page(shown),
	}, nil
}

// thread reads a thread.
func (c *chat) thread(ctx context.Context, id string) (found pluginsdk.Thread, err error) {
	err = c.Get(ctx, "/api/threads/"+url.PathEscape(id), nil, &found)
	return found, err
}

// number reads a number of the query; 0 when it is not there.
func number(query url.Values, name string) (int64, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &site.Problem{Status: http.StatusUnprocessableEntity, Detail: name + " is the id of a message, a number"}
	}
	return n, nil
}
