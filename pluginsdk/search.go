package pluginsdk

import (
	"context"
	"time"
)

// Search finds what was said.
type Search interface {
	// Messages returns the texts, notifications and summaries that a query selects. Any
	// text is a query: none is wrong. Needs messages.read.
	Messages(ctx context.Context, request *SearchMessagesRequest) (*SearchMessagesResponse, error)
}

// SearchOrder says in which order what was found comes.
type SearchOrder string

// The orders of what was found; the empty one is SearchRanked.
const (
	SearchRanked SearchOrder = "ranked" // what fits best first
	SearchNewest SearchOrder = "newest"
)

// SearchQuery selects messages: those that have all the words of Text, in any order.
// Letters count whatever their case and accents. Words in double quotes stand beside each other, in
// that order; a word that ends in * stands for all that begin so. What is no letter and
// no digit separates words. Chinese, Japanese and Korean are found without spaces. Of a
// word the first 64 bytes count, of a message about the first 256 KiB. Zero fields do not
// restrict.
type SearchQuery struct {
	Text      string        `json:"text"` // of which the first KiB is read; without a word in it nothing is found
	ThreadIDs []string      `json:"threadIds,omitempty"`
	Roles     []Role        `json:"roles,omitempty"`
	Kinds     []MessageKind `json:"kinds,omitempty"` // of text, notification, summary
	Author    string        `json:"author,omitempty"`
	Since     time.Time     `json:"since,omitzero"` // from then on
	Until     time.Time     `json:"until,omitzero"` // before then
	Order     SearchOrder   `json:"order,omitempty"`
	After     string        `json:"after,omitempty"` // Next of the page before
	Limit     int           `json:"limit,omitempty"` // default 20, at most 100
}

// SearchHit is one message that was found.
type SearchHit struct {
	MessageID  int64       `json:"messageId"`
	ThreadID   string      `json:"threadId"`
	ThreadName string      `json:"threadName,omitempty"`
	Role       Role        `json:"role"`
	Kind       MessageKind `json:"kind"`
	Author     string      `json:"author,omitempty"`
	RunID      string      `json:"runId,omitempty"`
	// Snippet is a part of the message around what was found, at most 300 bytes and cut at
	// words; Marks are where in it that is.
	Snippet   string    `json:"snippet"`
	Marks     []Span    `json:"marks,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// Span is a part of a text, in bytes: from Start to before End.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// SearchMessagesRequest has the query.
type SearchMessagesRequest struct{ Query SearchQuery }

// SearchMessagesResponse has a page of what was found.
type SearchMessagesResponse struct {
	Hits []SearchHit
	Next string // goes on after the last one, as SearchQuery.After; empty: there are no more
	// Newest says that there is more than was looked at: in the order SearchRanked only the
	// newest 10,000 messages that fit are ranked; and a search reads at most 64 MiB, and
	// 10,000 messages that the index does not have yet.
	Newest bool
}
