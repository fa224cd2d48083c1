package plugintest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type search struct{ view }

// Messages finds what has all words of the query, whatever their case. Quotes and * are
// left out; the newest come first in either order, and a snippet is the first 300 bytes.
func (s search) Messages(ctx context.Context, request *pluginsdk.SearchMessagesRequest) (*pluginsdk.SearchMessagesResponse, error) {
	leave, err := s.h.enter(ctx, "Search.Messages")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	last := int64(0)
	if query.After != "" {
		if last, err = strconv.ParseInt(query.After, 10, 64); err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "after: %q is no page's next", query.After)
		}
	}
	wanted := searchWords(query.Text)
	found := filter(ordered(s.h.messages, true), func(m pluginsdk.Message) bool {
		words := searchWords(m.Content)
		return (last == 0 || m.ID < last) && len(wanted) > 0 && selects(query, m) &&
			!slices.ContainsFunc(wanted, func(word string) bool { return !slices.Contains(words, word) })
	})
	limit := query.Limit
	if limit <= 0 {
		limit = 20
	}
	response := &pluginsdk.SearchMessagesResponse{}
	for _, m := range found[:min(len(found), limit, 100)] {
		response.Hits = append(response.Hits, pluginsdk.SearchHit{
			MessageID: m.ID, ThreadID: m.ThreadID, Role: m.Role, Kind: m.Kind, Author: m.Author, RunID: m.RunID,
			Snippet: strings.ToValidUTF8(m.Content[:min(len(m.Content), 300)], ""), CreatedAt: m.CreatedAt,
		})
	}
	if n := len(response.Hits); n < len(found) && n > 0 {
		response.Next = strconv.FormatInt(response.Hits[n-1].MessageID, 10)
	}
	return response, nil
}

func searchWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// selects reports whether a query looks at a message.
func selects(query pluginsdk.SearchQuery, m pluginsdk.Message) bool {
	kinds := query.Kinds
	if len(kinds) == 0 {
		kinds = []pluginsdk.MessageKind{pluginsdk.MessageText, pluginsdk.MessageNotification, pluginsdk.MessageSummary}
	}
	return slices.Contains(kinds, m.Kind) &&
		(len(query.ThreadIDs) == 0 || slices.Contains(query.ThreadIDs, m.ThreadID)) &&
		(len(query.Roles) == 0 || slices.Contains(query.Roles, m.Role)) &&
		(query.Author == "" || query.Author == m.Author) &&
		(query.Since.IsZero() || !m.CreatedAt.Before(query.Since)) &&
		(query.Until.IsZero() || m.CreatedAt.Before(query.Until))
}
