package hostapi

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// library is a Search that remembers what it was asked.
type library struct {
	asked []pluginsdk.SearchQuery
	found pluginsdk.SearchMessagesResponse
}

func (l *library) Search(_ context.Context, query pluginsdk.SearchQuery) (*pluginsdk.SearchMessagesResponse, error) {
	l.asked = append(l.asked, query)
	return &l.found, nil
}

// slowly is a Search of which each takes until it is told to end.
type slowly struct{ begun, end chan string }

func (s slowly) Search(_ context.Context, query pluginsdk.SearchQuery) (*pluginsdk.SearchMessagesResponse, error) {
	s.begun <- query.Text
	<-s.end
	return &pluginsdk.SearchMessagesResponse{}, nil
}

// A plugin that searches without end must not keep people from finding anything.
func TestPluginsTakeTurnsAtSearching(t *testing.T) {
	f := newFixture()
	slow := slowly{make(chan string), make(chan string)}
	f.api.Search = slow
	var searching sync.WaitGroup
	refusals := make(chan error)
	search := func(plugin string) {
		searching.Go(func() {
			_, err := f.api.For(plugin).Search.Messages(t.Context(), &pluginsdk.SearchMessagesRequest{Query: pluginsdk.SearchQuery{Text: plugin}})
			if err != nil {
				refusals <- err
			}
		})
	}
	const more = 5
	for range searchersAtOnce + maxWaiting + more {
		search("greedy")
	}
	for range searchersAtOnce {
		<-slow.begun
	}
	for range more {
		if err := <-refusals; pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted || !strings.Contains(err.Error(), "waiting searches") {
			t.Error(err)
		}
	}
	search("other")
	for asked := false; !asked; { // it waits, too
		f.api.Quotas.searchers.mu.Lock()
		asked = slices.Contains(f.api.Quotas.searchers.order, "other")
		f.api.Quotas.searchers.mu.Unlock()
	}
	var next []string
	for range maxWaiting + 1 {
		slow.end <- ""
		next = append(next, <-slow.begun)
	}
	if !slices.Contains(next[:2], "other") {
		t.Errorf("it comes after %v", next)
	}
	for range searchersAtOnce {
		slow.end <- ""
	}
	searching.Wait()
}

// An agent must not read, by searching, what its thread has no business with.
func TestTheAgentFindsWhatItsThreadMaySee(t *testing.T) {
	f := newFixture()
	books := &library{found: pluginsdk.SearchMessagesResponse{Newest: true, Next: "NEXT", Hits: []pluginsdk.SearchHit{{
		ThreadID: "child", ThreadName: "a task", Role: pluginsdk.RoleUser, Author: "ann", Snippet: "the words", CreatedAt: time.Unix(0, 0),
	}}}}
	f.api.Search = books
	f.store.threads = map[string]pluginsdk.Thread{
		"P":          {ID: "P", Kind: pluginsdk.ThreadPrimary},
		"own":        {ID: "own", Kind: pluginsdk.ThreadGeneral},
		"child":      {ID: "child", Kind: pluginsdk.ThreadTask, ParentThreadID: "own"},
		"grandchild": {ID: "grandchild", Kind: pluginsdk.ThreadTask, ParentThreadID: "child"},
		"other":      {ID: "other", Kind: pluginsdk.ThreadGeneral},
	}
	for _, c := range []struct {
		from, only string
		want       []string
		code       pluginsdk.Code
	}{
		{"P", "", nil, ""},
		{"P", "other", []string{"other"}, ""},
		{"own", "", []string{"child", "grandchild", "own"}, ""},
		{"own", "grandchild", []string{"grandchild"}, ""},
		{"child", "", []string{"child", "grandchild"}, ""},
		{"child", "own", nil, pluginsdk.CodeDenied},
		{"own", "other", nil, pluginsdk.CodeDenied},
		{"gone", "", nil, pluginsdk.CodeNotFound},
	} {
		books.asked = nil
		input, err := json.Marshal(map[string]any{"query": "words", "thread": c.only, "since": "2020-01-02", "newest": true})
		if err != nil {
			t.Fatal(err)
		}
		said, err := f.api.Look(t.Context(), c.from, input)
		if pluginsdk.CodeOf(err) != c.code {
			t.Errorf("%s looks in %q: %v", c.from, c.only, err)
		}
		if c.code != "" {
			if len(books.asked) != 0 {
				t.Errorf("%s has looked in %q all the same", c.from, c.only)
			}
			continue
		}
		query := books.asked[0]
		slices.Sort(query.ThreadIDs)
		want := pluginsdk.SearchQuery{Text: "words", ThreadIDs: c.want, Order: pluginsdk.SearchNewest, Limit: lookupHits, Since: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)}
		if !reflect.DeepEqual(query, want) {
			t.Errorf("%s looks in %q: asked %+v", c.from, c.only, query)
		}
		if said != "1970-01-01 00:00Z, user ann, thread child (a task): the words\n"+
			"Only the newest messages that fit were looked at; more words, or since and until, find others.\n"+
			"There is more: the same search with after \"NEXT\".\n" {
			t.Errorf("said %q", said)
		}
	}
	for _, wrong := range []string{`x`, `{"querry":"x"}`, `{"query":"x","since":"soon"}`, `{"query":"x","until":"soon"}`} {
		if _, err := f.api.Look(t.Context(), "P", []byte(wrong)); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A plugin's search is bounded, and is the room's own.
func TestPluginsSearch(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesRead)
	books := &library{found: pluginsdk.SearchMessagesResponse{Next: "N"}}
	f.api.Search = books
	host := f.api.For("p")
	query := pluginsdk.SearchQuery{Text: strings.Repeat("x", 200_000), Limit: 7}
	found, err := host.Search.Messages(t.Context(), &pluginsdk.SearchMessagesRequest{Query: query})
	if err != nil || found.Next != "N" || !reflect.DeepEqual(books.asked, []pluginsdk.SearchQuery{query}) {
		t.Errorf("%+v, %v", found, err)
	}
	for _, query := range []pluginsdk.SearchQuery{{Author: strings.Repeat("x", 2000)}, {After: strings.Repeat("x", 2000)}} {
		if _, err := host.Search.Messages(t.Context(), &pluginsdk.SearchMessagesRequest{Query: query}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%v", err)
		}
	}
}
