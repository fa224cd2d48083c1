package terminal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// reply shows what was sent as the agent's words, as far as it is not on the
// screen: what was streamed is a preview, which plugins have not seen.
func (t *turn) reply(screen *Screen, ending *client.Ending, message pluginsdk.Message) {
	sent := strings.TrimSpace(message.Content)
	streamed, written := ending.Written(message)
	if streamed == "" {
		streamed, written = sent, sent
	}
	if !t.onScreen(streamed) {
		screen.Passage()
		screen.Text(message.Content)
		return
	}
	behind, ends := strings.CutPrefix(sent, written)
	before, begins := strings.CutSuffix(sent, written)
	switch {
	case sent == written:
	case ends && parts(utf8.DecodeRuneInString(behind)):
		changed(screen, "added by a plugin at the end", behind)
	case begins && parts(utf8.DecodeLastRuneInString(before)):
		changed(screen, "added by a plugin at the beginning", before)
	default:
		changed(screen, "changed by a plugin before it was sent", sent)
	}
}

// parts reports whether a character stands between words.
func parts(r rune, _ int) bool { return unicode.IsSpace(r) }

func changed(screen *Screen, how, text string) {
	screen.Line(screen.Dim("— " + how + ":"))
	screen.Passage()
	screen.Text(strings.TrimSpace(text))
}

// onScreen reports whether a text is on the screen: whether some of the blocks
// that are shown, in their order, are all of it. Spaces do not count.
func (t *turn) onScreen(text string) bool {
	if t.torn {
		return false
	}
	missing := squeezed(text)
	for _, block := range slices.Backward(slices.Concat(t.shown, []string{t.block.String()})) {
		missing = strings.TrimSuffix(missing, squeezed(block))
	}
	return missing == ""
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), "") }
