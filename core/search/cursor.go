package search

import (
	"encoding/base64"
	"encoding/json"
	"math"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// cursor is where a page ended. Clients hand it back as they got it.
type cursor struct {
	ID int64 `json:"i"` // of the last hit
	// Score of it, and the newest message that was ranked; in the order SearchRanked only.
	Score float64 `json:"s,omitempty"`
	Top   int64   `json:"t,omitempty"`
}

func (c cursor) String() string {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "" // a score is a number
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

// parseCursor reads one; the empty one is before everything.
func parseCursor(text string, order pluginsdk.SearchOrder) (c cursor, err error) {
	if text == "" {
		return cursor{ID: math.MaxInt64, Score: math.Inf(1)}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.ID <= 0 || (order == pluginsdk.SearchRanked) != (c.Top > 0) {
		return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "after: this is no page's next of a search in this order; leave it out for the first page")
	}
	return c, nil
}
