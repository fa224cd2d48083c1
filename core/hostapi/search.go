package hostapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Search finds messages.
type Search interface {
	Search(ctx context.Context, query pluginsdk.SearchQuery) (*pluginsdk.SearchMessagesResponse, error)
}

// maxAuthor is how long the author may be that a search asks for, and maxCursor a page's
// next, in bytes.
const (
	maxAuthor = 1 << 10
	maxCursor = 1 << 10
)

type search struct{ *caller }

func (s search) Messages(ctx context.Context, request *pluginsdk.SearchMessagesRequest) (*pluginsdk.SearchMessagesResponse, error) {
	return serve(s.caller, "Search.Messages", func() (*pluginsdk.SearchMessagesResponse, error) {
		query := request.Query
		if err := checkLengths(length{"author", len(query.Author), maxAuthor}, length{"after", len(query.After), maxCursor}); err != nil {
			return nil, err
		}
		// So that one who searches without end keeps no other waiting for longer than a search takes.
		release, err := s.Quotas.maySearch(ctx, s.plugin)
		if err != nil {
			return nil, err
		}
		defer release()
		return s.Search.Search(ctx, query)
	})
}

// SearchTool is the tool by which the agent searches.
func SearchTool() pluginsdk.ToolSpec {
	return pluginsdk.ToolSpec{
		Name: "search",
		Description: "Find what was said earlier: messages of people and of yours, notifications, summaries. " +
			"From the primary thread all threads are searched, from any other that one and those of the tasks below it. " +
			`A message is found that has all the words, in any order; "words in quotes" stand beside each other; a word that ends in * stands for all that begin so.`,
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"words to look for"},` +
			`"thread":{"type":"string","description":"id of a thread; only there"},` +
			`"role":{"type":"string","enum":["user","assistant","system"]},` +
			`"since":{"type":"string","description":"only from then on, as 2006-01-02 or 2006-01-02T15:04:05Z"},` +
			`"until":{"type":"string","description":"only before then"},` +
			`"newest":{"type":"boolean","description":"the newest first, instead of what fits best"},` +
			`"after":{"type":"string","description":"the next page: what the last one says"}},"required":["query"],"additionalProperties":false}`),
	}
}

// Lookup is what the agent asks SearchTool for.
type Lookup struct {
	Query  string         `json:"query"`
	Thread string         `json:"thread"`
	Role   pluginsdk.Role `json:"role"`
	Since  string         `json:"since"`
	Until  string         `json:"until"`
	Newest bool           `json:"newest"`
	After  string         `json:"after"`
}

// lookupHits is how much of what was found the agent is told at a time.
const lookupHits = 15

// Look searches for the agent, which works in a thread, and returns what was found in
// words. It finds what its thread may see: from the primary thread everything, else the
// thread itself and those below it.
func (a *API) Look(ctx context.Context, threadID string, input json.RawMessage) (said string, err error) {
	var lookup Lookup
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&lookup); err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, `this is not read as a search: %w; want {"query": ...}`, err)
	}
	query := pluginsdk.SearchQuery{Text: lookup.Query, Limit: lookupHits, After: lookup.After}
	if lookup.Newest {
		query.Order = pluginsdk.SearchNewest
	}
	if lookup.Role != "" {
		query.Roles = []pluginsdk.Role{lookup.Role}
	}
	if query.Since, err = lookupTime("since", lookup.Since); err != nil {
		return "", err
	}
	if query.Until, err = lookupTime("until", lookup.Until); err != nil {
		return "", err
	}
	if query.ThreadIDs, err = a.visible(ctx, threadID, lookup.Thread); err != nil {
		return "", err
	}
	found, err := a.Search.Search(ctx, query)
	if err != nil {
		return "", err
	}
	return lookedUp(found), nil
}

func lookupTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not read as a time; want 2006-01-02 or 2006-01-02T15:04:05Z", field, text)
}

// maxVisible is how many threads are looked at for who sees only some.
const maxVisible = 1000

// visible returns the threads that the agent of a thread may search, which are one of
// them when it names that; none: all.
func (a *API) visible(ctx context.Context, threadID, only string) ([]string, error) {
	own, err := a.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, err
	}
	if own.Kind == pluginsdk.ThreadPrimary {
		if only != "" {
			return []string{only}, nil
		}
		return nil, nil
	}
	seen := []string{own.ID}
	known := map[string]bool{own.ID: true}
	for i := 0; i < len(seen) && len(seen) < maxVisible; i++ {
		query := pluginsdk.ThreadQuery{ParentThreadID: seen[i], Order: pluginsdk.NewestFirst, Limit: maxVisible}
		below, err := a.Store.Threads(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, thread := range below {
			if !known[thread.ID] && len(seen) < maxVisible {
				known[thread.ID] = true
				seen = append(seen, thread.ID)
			}
		}
	}
	if only == "" {
		return seen, nil
	}
	if !known[only] {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "thread: %s is neither this thread nor one below it; only those can be searched from here", only)
	}
	return []string{only}, nil
}

// lookedUp says what was found, a message a line.
func lookedUp(found *pluginsdk.SearchMessagesResponse) string {
	if len(found.Hits) == 0 {
		return "Nothing was found. Try fewer words, or the beginning of one with a *."
	}
	var b strings.Builder
	for _, hit := range found.Hits {
		who := string(hit.Role)
		if hit.Author != "" {
			who += " " + hit.Author
		}
		fmt.Fprintf(&b, "%s, %s, thread %s", hit.CreatedAt.UTC().Format("2006-01-02 15:04Z"), who, hit.ThreadID)
		if hit.ThreadName != "" {
			fmt.Fprintf(&b, " (%s)", hit.ThreadName)
		}
		fmt.Fprintf(&b, ": %s\n", hit.Snippet)
	}
	if found.Newest {
		b.WriteString("Only the newest messages that fit were looked at; more words, or since and until, find others.\n")
	}
	if found.Next != "" {
		fmt.Fprintf(&b, "There is more: the same search with after %q.\n", found.Next)
	}
	return b.String()
}
