package rules

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand is the length, in bytes, of the longest command line that is looked at.
const maxCommand = 4096

// commandWords returns the words of a command line that is one simple command of literal
// words, as bash and zsh read it: the CLI runs commands in whichever the person uses.
// Everything else is refused: operators, redirections, assignments, expansions, patterns,
// comments, backslashes, and characters that are not seen. So are `!`, which the CLI
// itself escapes, and two single quotes in a row, which zsh can be told to read as one.
func commandWords(line string) ([]string, bool) {
	if len(line) > maxCommand || strings.Contains(line, "!") || strings.Contains(line, "''") ||
		strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, false
	}
	bash, ok := parseWords(line, syntax.LangBash)
	if !ok {
		return nil, false
	}
	zsh, ok := parseWords(line, syntax.LangZsh)
	return bash, ok && slices.Equal(bash, zsh)
}

func parseWords(line string, shell syntax.LangVariant) ([]string, bool) {
	parser := syntax.NewParser(syntax.Variant(shell), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	statement := file.Stmts[0]
	call, simple := statement.Cmd.(*syntax.CallExpr)
	if !simple || len(call.Assigns) > 0 || len(statement.Redirs) > 0 || len(statement.Comments) > 0 ||
		statement.Negated || statement.Background || statement.Coprocess || statement.Disown || statement.Semicolon.IsValid() {
		return nil, false
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		word, ok := literalWord(arg)
		if !ok {
			return nil, false
		}
		words = append(words, word)
	}
	return words, len(words) > 0
}

// literalWord returns what a word says when no shell changes it.
func literalWord(word *syntax.Word) (string, bool) {
	var text strings.Builder
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !plain(part.Value, i == 0) {
				return "", false
			}
			text.WriteString(part.Value)
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				literal, ok := inner.(*syntax.Lit)
				if !ok || part.Dollar || strings.ContainsAny(literal.Value, "\"$`\\") {
					return "", false
				}
				text.WriteString(literal.Value)
			}
		default:
			return "", false
		}
	}
	return text.String(), true
}

// plain reports whether no shell sees more in unquoted text than its characters. At the
// beginning of a word (first) `=` is a command's path in zsh; `~` and `^` mean something
// there and after `=` and `:`, so that they are taken after letters and digits only
// (HEAD~2, HEAD^^).
func plain(text string, first bool) bool {
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_./:,@%+-", c) >= 0:
		case c == '=':
			if first && i == 0 {
				return false
			}
		case c == '~', c == '^':
			if i == 0 || strings.IndexByte("_./:,@%+-=", text[i-1]) >= 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
