package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type searchInput struct {
	Q       string                  `query:"q" doc:"Words that a message has, in any order; \"words in quotes\" stand beside each other, a word that ends in * stands for all that begin so. Any text is a query; its first 1024 bytes are read"`
	Threads []string                `query:"thread,explode" maxItems:"100" doc:"Only in these threads"`
	Roles   []pluginsdk.Role        `query:"role,explode" enum:"user,assistant,system" doc:"Only these roles"`
	Kinds   []pluginsdk.MessageKind `query:"kind,explode" enum:"text,notification,summary" doc:"Only these kinds"`
	Author  string                  `query:"author" maxLength:"1000" doc:"Only what this person said"`
	Since   time.Time               `query:"since" doc:"Only from then on"`
	Until   time.Time               `query:"until" doc:"Only before then"`
	Order   pluginsdk.SearchOrder   `query:"order" enum:"ranked,newest" default:"ranked" doc:"What fits best first, or the newest first"`
	After   string                  `query:"after" maxLength:"1000" doc:"next of the page before, in the same order"`
	Limit   int                     `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"The most of a page"`
}

type searchOutput struct {
	Body struct {
		Hits   []pluginsdk.SearchHit `json:"hits" nullable:"false"`
		Next   string                `json:"next,omitempty" doc:"after of the next page; absent: there are no more"`
		Newest bool                  `json:"newest" doc:"Not all messages were looked at, only the newest that fit"`
	}
}

func (h *handlers) registerSearch(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("search-messages", "/api/search", "Find messages by their words")), h.search)
}

func (h *handlers) search(ctx context.Context, input *searchInput) (*searchOutput, error) {
	found, err := h.host.Search.Messages(ctx, &pluginsdk.SearchMessagesRequest{Query: pluginsdk.SearchQuery{
		Text: input.Q, ThreadIDs: input.Threads, Roles: input.Roles, Kinds: input.Kinds, Author: input.Author,
		Since: input.Since, Until: input.Until, Order: input.Order, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("search-messages", err)
	}
	output := &searchOutput{}
	output.Body.Hits, output.Body.Next, output.Body.Newest = list(found.Hits), found.Next, found.Newest
	return output, nil
}
