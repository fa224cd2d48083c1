package chat

import (
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
)

// stamp is a time for script.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// passed is how long something takes so far.
func passed(since time.Time) string { return seconds(time.Since(since)) }

// left is how long it is until something.
func left(until time.Time) string { return seconds(time.Until(until)) }

func seconds(d time.Duration) string {
	if d < time.Second {
		return "0 s"
	}
	return ui.Long(d.Truncate(time.Second))
}

func waiting(n int) string {
	if n == 1 {
		return "1 message waits"
	}
	return strconv.Itoa(n) + " messages wait"
}

func stopTitle(waits int) string {
	if waits > 0 {
		return "Stops what is under way; what waits is answered next"
	}
	return "Stops what is under way"
}

// marks are what becomes of messages, for script.
func marks(now state) string {
	text, err := json.Marshal(now.Marks)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// overOr says to script whether a mark stays.
func overOr(over bool) string {
	if over {
		return "over"
	}
	return "now"
}

// some is a text, or its beginning.
func some(text string, whole bool) string {
	if whole {
		return text
	}
	if cut := beginning(text, stepBytes); len(cut) < len(text) {
		return cut + "\n…"
	}
	return text
}

// lines is how many lines of a difference are shown.
func lines(whole bool) int {
	if whole {
		return math.MaxInt
	}
	return stepLines
}

// long reports whether there is more of a step than a fold shows.
func (s step) long() bool {
	if len(s.Result) > stepBytes {
		return true
	}
	if edits := s.edits(); len(edits) > 0 {
		for _, one := range edits {
			if _, left := one.hunks(stepLines); left > 0 {
				return true
			}
		}
		return false
	}
	for _, one := range fieldsOf(s.Input) {
		if len(one.Value) > stepBytes {
			return true
		}
	}
	return false
}

// count is a number of a line; that of a line that is not there is empty.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// picture reports whether a file is shown where it is attached.
func picture(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func contentPath(fileID string) string { return "/api/files/" + url.PathEscape(fileID) + "/content" }
