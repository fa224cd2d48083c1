package site

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ThreadName is what a thread is called on pages, also one without a name.
func ThreadName(thread pluginsdk.Thread) string {
	switch {
	case thread.Name != "":
		return thread.Name
	case thread.Kind == pluginsdk.ThreadPrimary:
		return "Main conversation"
	case thread.Kind == pluginsdk.ThreadTask:
		return "Task " + ui.Short(thread.ID)
	}
	return "Conversation " + ui.Short(thread.ID)
}

// maxNames is how many threads' names a page may ask for: each is a request, namesAtOnce of
// them at a time.
const (
	maxNames    = 40
	namesAtOnce = 8
)

// ThreadNames returns what threads are called, by their ids. One that is gone is called by
// the end of its id; so are all that are left when names cannot be had at the moment: a page
// does not wait for each of them.
func (s *Site) ThreadNames(ctx context.Context, ids ...string) map[string]string {
	names := make(map[string]string, len(ids))
	var asked []string
	for _, id := range ids {
		if _, known := names[id]; known || id == "" {
			continue
		}
		names[id] = "Conversation " + ui.Short(id)
		if len(asked) < maxNames {
			asked = append(asked, id)
		}
	}
	found := make([]string, len(asked))
	together, ctx := errgroup.WithContext(ctx)
	together.SetLimit(namesAtOnce)
	for n, id := range asked {
		together.Go(func() error {
			var thread pluginsdk.Thread
			switch err := s.Get(ctx, "/api/threads/"+url.PathEscape(id), nil, &thread); {
			case err == nil:
				found[n] = ThreadName(thread)
			case Status(err) != http.StatusNotFound:
				return err // the others need not be asked for
			}
			return nil
		})
	}
	_ = together.Wait() // what was not found keeps the end of its id
	for n, id := range asked {
		names[id] = cmp.Or(found[n], names[id])
	}
	return names
}
