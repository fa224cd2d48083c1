package pipeline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The CLI puts a file before the model that a prompt names behind an @, whichever file that is,
// and asks nobody. A person does that who may have work done; what others write is told to the
// agent as it is, and shows it no file.

// wordJoiner is not seen, and is no part of a file's name: the CLI finds no such file.
const wordJoiner = "\u2060"

// inert returns a text whose words behind an @ name no file. The CLI looks for an @ behind every
// space of Unicode's and behind some punctuation; behind a letter or digit, as in an address
// of mail, it looks for none.
func inert(text string) string {
	var inert strings.Builder
	for {
		before, after, found := strings.Cut(text, "@")
		inert.WriteString(before)
		if !found {
			return inert.String()
		}
		inert.WriteByte('@')
		if last, _ := utf8.DecodeLastRuneInString(before); !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.HasPrefix(after, wordJoiner) {
			inert.WriteString(wordJoiner)
		}
		text = after
	}
}

// inertBut returns a prompt in which no word behind an @ names a file but in these texts: what a
// prompt says besides (what was said before, memory, names) is nobody's wish to show a file.
func inertBut(prompt string, texts []string) string {
	for i, text := range texts {
		if at := strings.LastIndex(prompt, text); at >= 0 && text != "" {
			others := slices.Concat(texts[:i], texts[i+1:])
			return inertBut(prompt[:at], others) + text + inertBut(prompt[at+len(text):], others)
		}
	}
	return inert(prompt)
}

// mentioning returns the messages of the run that may show files.
func (t *trip) mentioning() (texts []string) {
	for _, message := range append([]pluginsdk.Message{t.message}, t.absorbed...) {
		if mayMention(message) {
			texts = append(texts, message.Content)
		}
	}
	return texts
}

// mayMention reports whether files are shown that a message names: its person may have work
// done, or the plugin that carries people's words does not say what they may. What an agent has
// caused is no person's.
func mayMention(message pluginsdk.Message) bool {
	if message.Origin.OfAgent() {
		return false
	}
	return message.Scope == "" || message.Scope.Has(pluginsdk.ScopeWork)
}
