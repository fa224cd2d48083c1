package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxRowBytes is how much of a row's content is kept.
	maxRowBytes = 64 << 10
	// maxNameBytes is how much of a tool's name is kept.
	maxNameBytes = 256
	// maxEffectBytes bounds what is kept of all events together: half of the 8 MiB
	// of effects that a run stores, because the quotes of an input that is cut can
	// double it, and the row with the outcome comes last.
	maxEffectBytes = 4 << 20
)

// rowLimit returns how many bytes each event's row may keep: maxRowBytes, or
// an equal share of maxEffectBytes when the rows could come to more.
func rowLimit(events []pluginsdk.StreamEvent) int {
	total := 0
	for _, event := range events {
		total += min(len(event.Text), maxRowBytes) + min(len(event.Input), maxRowBytes)
	}
	if total <= maxEffectBytes {
		return maxRowBytes
	}
	return min(maxRowBytes, maxEffectBytes/len(events))
}

// cut returns at most the first limit bytes of s, whole characters only, with
// a mark that says how much is missing. The result is valid UTF-8.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return valid(s)
	}
	kept := limit
	for kept > 0 && !utf8.RuneStart(s[kept]) {
		kept--
	}
	return valid(s[:kept]) + fmt.Sprintf("\n[cut: %d more bytes]", len(s)-kept)
}

// cutInput returns a tool's input. One past the limit, or one that is not JSON,
// becomes a JSON string of its beginning, because half an object is no JSON.
func cutInput(input json.RawMessage, limit int) json.RawMessage {
	if len(input) == 0 {
		return nil
	}
	input = bytes.ToValidUTF8(input, []byte(string(utf8.RuneError)))
	if len(input) <= limit && json.Valid(input) {
		return input
	}
	return encode(cut(string(input), limit))
}

func valid(s string) string {
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}
