package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// IndexMark says how far the search index has come.
type IndexMark struct {
	// Rules is the version of the rules by which its tokens were made; 0: none were.
	Rules int
	// Epoch counts how often the index was begun anew.
	Epoch int64
	// MessageID: every message up to it that can be found is in the index.
	MessageID int64
}

// IndexEntry is what the search index keeps of a message.
type IndexEntry struct {
	MessageID int64
	CreatedAt time.Time
	Tokens    []string // of letters, digits and underscores, none twice
}

// IndexTerm is a token, or with Prefix all tokens that begin so.
type IndexTerm struct {
	Token  string
	Prefix bool
}

// IndexQuery asks for the messages which, for each of its lists, have at least one of the
// list's terms, and whose ids lie between After and Before, both exclusive. The newest
// come first, at most Limit.
type IndexQuery struct {
	All           [][]IndexTerm
	After, Before int64
	Limit         int
}

// Said is what can be found of a message.
type Said struct {
	ID        int64
	ThreadID  string
	Role      pluginsdk.Role
	Kind      pluginsdk.MessageKind
	Author    string
	RunID     string
	CreatedAt time.Time
	Going     bool   // its thread was deleted, or is a branch that is not complete
	Content   string // as much of it as a search reads
}
