package rules

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command line as a program gets it.
type word struct {
	texts []string // one, or those that braces make of it
	glob  bool     // it has wildcards that the shell expands
	globs []string // the texts as patterns, in which a backslash makes a character literal
}

// maxWords is how many words braces may make of one.
const maxWords = 256

// word returns what a shell makes of a word. ok is false where that is not known: it runs
// commands, reads variables other than HOME and PWD, or is written in a way of one shell's.
func (r *reader) word(written *syntax.Word) (w word, ok bool) {
	split := *written
	syntax.SplitBraces(&split)
	for _, part := range split.Parts {
		if braces, ok := part.(*syntax.BraceExp); ok && braces.Sequence {
			return w, false
		}
	}
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil || len(w.texts) == maxWords {
			return w, false
		}
		spelled := speller{home: r.home, pwd: r.dir}
		if !spelled.word(one) {
			return w, false
		}
		w.texts, w.globs = append(w.texts, spelled.text.String()), append(w.globs, spelled.pattern.String())
		w.glob = w.glob || spelled.glob
	}
	return w, len(w.texts) > 0
}

// speller puts a word together.
type speller struct {
	home, pwd     string
	text, pattern strings.Builder
	glob          bool
}

func (s *speller) word(word *syntax.Word) bool {
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !s.unquoted(part.Value, i == 0, len(word.Parts) == 1) {
				return false
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return false
			}
			s.literal(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar || !s.quoted(part.Parts) {
				return false
			}
		case *syntax.ParamExp:
			if !s.variable(part) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// literal adds characters that mean themselves.
func (s *speller) literal(text string) {
	s.text.WriteString(text)
	for i := range len(text) {
		if strings.IndexByte(`*?[]\`, text[i]) >= 0 {
			s.pattern.WriteByte('\\')
		}
		s.pattern.WriteByte(text[i])
	}
}

// unquoted adds text outside of quotes. first says that the word begins with it, alone that
// it is the whole word.
func (s *speller) unquoted(text string, first, alone bool) bool {
	if first && strings.HasPrefix(text, "~") {
		name, rest, _ := strings.Cut(text[1:], "/")
		if name != "" || s.home == "" || !alone && len(text) == 1 {
			return false
		}
		s.literal(s.home)
		if len(text) > 1 {
			s.literal("/")
		}
		text, first = rest, false
	}
	if first && strings.HasPrefix(text, "=") || strings.Contains(text, "=~") || strings.Contains(text, ":~") {
		return false // zsh's path of a command; a home directory in the middle of a word
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			i++
			if i == len(text) {
				return false
			}
			if text[i] != '\n' {
				s.literal(text[i : i+1])
			}
		case '*', '?', '[':
			s.glob = true
			s.text.WriteByte(c)
			s.pattern.WriteByte(c)
		case ']':
			s.text.WriteByte(c)
			s.pattern.WriteByte(c)
		default:
			s.literal(text[i : i+1])
		}
	}
	return true
}

// quoted adds what stands between double quotes.
func (s *speller) quoted(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			s.literal(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(part.Value))
		case *syntax.ParamExp:
			if !s.variable(part) {
				return false
			}
		case *syntax.CmdSubst:
			text, ok := document(part)
			if !ok {
				return false
			}
			s.literal(text)
		default:
			return false
		}
	}
	return true
}

// variable adds the value of $HOME or $PWD.
func (s *speller) variable(p *syntax.ParamExp) bool {
	if p.Param == nil || p.NestedParam != nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.IsSet || p.Index != nil ||
		p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil || len(p.Modifiers) > 0 {
		return false
	}
	value := map[string]string{"HOME": s.home, "PWD": s.pwd}[p.Param.Value]
	s.literal(value)
	return value != ""
}

// document returns the text of "$(cat <<'EOF' ...)", by which agents write texts of several
// lines.
func document(substitution *syntax.CmdSubst) (string, bool) {
	if len(substitution.Stmts) != 1 || substitution.TempFile || substitution.ReplyVar {
		return "", false
	}
	statement := substitution.Stmts[0]
	call, ok := statement.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" || len(statement.Redirs) != 1 ||
		statement.Negated || statement.Background || statement.Coprocess || statement.Disown {
		return "", false
	}
	redirect := statement.Redirs[0]
	if redirect.Op != syntax.Hdoc || redirect.N != nil || redirect.Hdoc == nil {
		return "", false
	}
	if _, quoted := redirect.Word.Parts[0].(*syntax.SglQuoted); !quoted || len(redirect.Word.Parts) != 1 || !literal(redirect.Hdoc.Parts) {
		return "", false
	}
	return strings.TrimRight(redirect.Hdoc.Lit(), "\n"), true
}
