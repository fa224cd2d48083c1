package markdown

import "github.com/alecthomas/chroma/v2"

// classOf is the class of a token of code; empty for what is not coloured. The stylesheet colours
// these, inside of code.chroma; chroma's eighty classes are brought together in them:
//
//	k    keywords, words that are operators, constants such as true
//	n    names that are declared, called or built in: functions, types, tags, attributes
//	s    strings, characters, regular expressions
//	m    numbers, dates
//	c    comments, and the prompt of a shell
//	o    operators
//	gi   a line that was inserted, in a diff
//	gd   a line that was deleted
//	gh   a heading, such as the line of a hunk
//	err  an error that a program tells of
//
// The rest of what this package writes and a stylesheet may want to know: pre.plain (text as it is,
// which should wrap), div.code with div.code-head, span.code-lang and button.code-copy (hidden until
// a script shows it), div.table-scroll, td and th of the classes center and right, span.task.
func classOf(token chroma.TokenType) string {
	switch {
	case token == chroma.OperatorWord, token.InCategory(chroma.Keyword):
		return "k"
	case token == chroma.Name, token == chroma.NameOther, token.InSubCategory(chroma.NameVariable),
		token == chroma.NameVariableClass, token == chroma.NameVariableGlobal,
		token == chroma.NameVariableInstance, token == chroma.NameVariableMagic:
		return ""
	case token.InCategory(chroma.Name):
		return "n"
	case token.InSubCategory(chroma.LiteralString):
		return "s"
	case token.InCategory(chroma.Literal):
		return "m"
	case token.InCategory(chroma.Operator):
		return "o"
	case token == chroma.GenericPrompt, token.InCategory(chroma.Comment):
		return "c"
	case token == chroma.GenericInserted:
		return "gi"
	case token == chroma.GenericDeleted:
		return "gd"
	case token == chroma.GenericHeading, token == chroma.GenericSubheading:
		return "gh"
	case token == chroma.GenericError, token == chroma.GenericTraceback:
		return "err"
	}
	return ""
}
