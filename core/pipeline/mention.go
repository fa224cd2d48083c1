package pipeline

import (
	"regexp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The CLI puts a file before the model that a prompt names behind an @, whichever file that is,
// and asks nobody. A person does that who may have work done; what others write is told to the
// agent as it is, and shows it no file.

// mention is an @ where the CLI looks for one.
var mention = regexp.MustCompile(`(^|\s)@`)

// wordJoiner is not seen, and is no part of a file's name: the CLI finds no such file.
const wordJoiner = "\u2060"

// inert returns a text whose words behind an @ name no file.
func inert(text string) string { return mention.ReplaceAllString(text, "${1}@"+wordJoiner) }

// mayMention reports whether files are shown that a message names: its person may have work
// done, or the plugin that carries people's words does not say what they may. What an agent has
// caused is no person's.
func mayMention(message pluginsdk.Message) bool {
	if message.Origin.OfAgent() {
		return false
	}
	return message.Scope == "" || message.Scope.Has(pluginsdk.ScopeWork)
}
