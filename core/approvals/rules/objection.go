package rules

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The CLI runs some calls without a question: commands that it takes for reading only, and
// what a rule of an operator's allows. Verified with 2.1.197 and 2.1.331: its list lets
// `cat < FILE`, `tac FILE`, `rev FILE` and `cat *` over a symlink read any file, and a rule
// for `git log` takes `--output=FILE`. So each such call is looked at here first.

// Command is a call that the CLI may run without a question.
type Command struct {
	Call
	// Readable are directories whose files may be read unasked, beside Call.Cwd.
	Readable []string
	// Rules are those that operators have made, in the CLI's form: Bash(git log:*).
	Rules []string
}

// Objection says in a sentence why a person is to be asked about a call, whatever the CLI or
// an operator's rule would decide. It is empty when nothing speaks against the call: then
// the CLI decides as always.
//
// Of a command line it objects to what reaches outside of the directories that may be read,
// to words behind an operator's prefix that are not known to be harmless, and to all that it
// does not understand completely. A command that an operator's rule allows may reach
// anywhere. Of a file tool it objects to a path that a rule means only when capitals do not
// count.
func Objection(c Command) string {
	if _, ok := fileTools[c.Tool]; ok {
		return fileObjection(c)
	}
	if c.Tool != "Bash" || allowsAll(c.Rules) {
		return ""
	}
	fields, ok := read(c.Call)
	line, isText := fields["command"].(string)
	if !ok || !isText {
		return "The call cannot be read."
	}
	prefixes := prefixesOf(c.Rules)
	if slices.ContainsFunc(prefixes, func(p prefix) bool { return p.exact && p.text == strings.TrimSpace(line) }) {
		return ""
	}
	r, ok := newReach(c.Cwd, c.Readable)
	if !ok {
		return "The working directory cannot be read."
	}
	return (&reader{reach: r, line: line, prefixes: prefixes}).objection()
}

// prefix is an operator's rule for Bash.
type prefix struct {
	text  string
	exact bool // the rule is for this line alone
}

// allowsAll reports whether a rule allows every command.
func allowsAll(rules []string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool {
		name, specifier, specific := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
		before, wild := strings.CutSuffix(name, "*")
		return (name == "Bash" || wild && strings.HasPrefix("Bash", before)) && (!specific || strings.Trim(specifier, ":* ") == "")
	})
}

// prefixesOf returns what the rules say of Bash. Of a rule with a wildcard it is what stands
// before the wildcard.
func prefixesOf(rules []string) (prefixes []prefix) {
	for _, rule := range rules {
		specifier, ok := strings.CutPrefix(strings.TrimSuffix(rule, ")"), "Bash(")
		if !ok {
			continue
		}
		text, wild := strings.CutSuffix(specifier, ":*")
		before, _, stars := strings.Cut(text, "*")
		prefixes = append(prefixes, prefix{strings.TrimSpace(before), !wild && !stars})
	}
	return prefixes
}

// reader reads one command line.
type reader struct {
	reach
	line     string
	prefixes []prefix
	moved    *syntax.CallExpr // the `cd` with which the line begins; nil: there is none
	why      string           // the first objection
}

// notUnderstood is the objection to what no shell's reader here understands completely.
const notUnderstood = "The command line cannot be understood completely: "

// object notes an objection, unless there is one.
func (r *reader) object(why string) {
	if r.why == "" {
		r.why = why
	}
}

func (r *reader) objection() string {
	if len(r.line) > maxLine {
		return notUnderstood + "it is too long."
	}
	file, err := parseLine(r.line, syntax.LangBash)
	if err != nil {
		return notUnderstood + "bash does not take it."
	}
	zsh, err := parseLine(r.line, syntax.LangZsh)
	if err != nil || !slices.Equal(simpleCommands(file), simpleCommands(zsh)) {
		return notUnderstood + "shells read it in different ways."
	}
	if len(file.Stmts) > 0 {
		r.enter(file.Stmts[0])
	}
	r.statements(file.Stmts)
	return r.why
}

// maxLine is the length, in bytes, of the longest command line that is looked at.
const maxLine = 64 << 10

func parseLine(line string, shell syntax.LangVariant) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(shell)).Parse(strings.NewReader(line), "")
}

// simpleCommands returns the words of all simple commands of a file, as they are written.
func simpleCommands(file *syntax.File) (commands []string) {
	printer := syntax.NewPrinter()
	syntax.Walk(file, func(node syntax.Node) bool {
		var words []*syntax.Word
		switch node := node.(type) {
		case *syntax.CallExpr:
			words = node.Args
		case *syntax.Redirect:
			if node.Word != nil {
				words = []*syntax.Word{node.Word}
			}
		default:
			return true
		}
		var text strings.Builder
		for _, word := range words {
			_ = printer.Print(&text, word) // a Builder takes everything
			text.WriteByte('\x00')
		}
		commands = append(commands, text.String())
		return true
	})
	return commands
}

// enter follows a `cd` with which the line begins, where all that comes after it runs in the
// new directory: `cd sub && ls`, `cd sub; ls`.
func (r *reader) enter(statement *syntax.Stmt) {
	for {
		and, ok := statement.Cmd.(*syntax.BinaryCmd)
		if !ok || and.Op != syntax.AndStmt || !plainStatement(statement) {
			break
		}
		statement = and.X
	}
	call, ok := statement.Cmd.(*syntax.CallExpr)
	if !ok || !plainStatement(statement) || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return
	}
	target, ok := r.word(call.Args[1])
	if !ok || target.glob || strings.HasPrefix(target.texts[0], "-") {
		return
	}
	if why := r.move(target.texts[0]); why != "" {
		r.object(why)
		return
	}
	r.moved = call
}

// plainStatement reports whether a statement is its command and nothing else.
func plainStatement(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == 0
}

func (r *reader) statements(statements []*syntax.Stmt) {
	for _, statement := range statements {
		r.statement(statement, nil)
	}
}

// statement looks at a statement; feed are the words of the command whose output it reads.
func (r *reader) statement(s *syntax.Stmt, feed []string) (words []string) {
	if s.Background || s.Coprocess || s.Disown {
		r.object(notUnderstood + "a part of it runs in the background.")
	}
	for _, redirect := range s.Redirs {
		r.redirect(redirect)
	}
	switch command := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return r.call(command, feed)
	case *syntax.BinaryCmd:
		left := r.statement(command.X, feed)
		if command.Op != syntax.Pipe && command.Op != syntax.PipeAll {
			left = feed
		}
		return r.statement(command.Y, left)
	case *syntax.Block:
		r.statements(command.Stmts)
	case *syntax.Subshell:
		r.statements(command.Stmts)
	case *syntax.IfClause:
		for clause := command; clause != nil; clause = clause.Else {
			r.statements(clause.Cond)
			r.statements(clause.Then)
		}
	case *syntax.WhileClause:
		r.statements(command.Cond)
		r.statements(command.Do)
	default:
		r.object(notUnderstood + "it is more than commands behind one another.")
	}
	return nil
}

// streams matches the words that stand for a stream that is open already.
var streams = regexp.MustCompile(`^(?:[0-9]+-?|-)$`)

func (r *reader) redirect(redirect *syntax.Redirect) {
	switch redirect.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if redirect.Hdoc != nil && !literal(redirect.Hdoc.Parts) {
			r.object(notUnderstood + "a text in it is put together by the shell.")
		}
		return
	}
	word, ok := r.word(redirect.Word)
	switch {
	case !ok || redirect.N != nil && !streams.MatchString(redirect.N.Value):
		r.object(notUnderstood + "a redirection is put together by the shell.")
	case redirect.Op == syntax.WordHdoc:
	case (redirect.Op == syntax.DplIn || redirect.Op == syntax.DplOut) && streams.MatchString(word.texts[0]):
	default:
		r.object(r.outside(word.texts))
	}
}

func literal(parts []syntax.WordPart) bool {
	return !slices.ContainsFunc(parts, func(part syntax.WordPart) bool {
		_, ok := part.(*syntax.Lit)
		return !ok
	})
}

// harmlessVariables are those that a command may be given: none makes a program run another
// or read a file.
var harmlessVariables = []string{
	"CGO_ENABLED", "CI", "COLUMNS", "FORCE_COLOR", "GO111MODULE", "GOARCH", "GOOS", "LANG", "LC_ALL", "NO_COLOR", "NODE_ENV",
	"PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG", "TERM", "TZ",
}

// call looks at a simple command, and returns its words.
func (r *reader) call(call *syntax.CallExpr, feed []string) []string {
	for _, assign := range call.Assigns {
		if len(call.Args) == 0 || assign.Name == nil || assign.Append || assign.Array != nil || assign.Index != nil ||
			!slices.Contains(harmlessVariables, assign.Name.Value) || assign.Value != nil && !literal(assign.Value.Parts) {
			r.object("The command sets variables that can decide what is read or run.")
			return nil
		}
		if assign.Value != nil {
			r.object(r.outside([]string{assign.Value.Lit()}))
		}
	}
	if call == r.moved || len(call.Args) == 0 {
		return nil
	}
	var words []word
	var texts []string
	for _, arg := range call.Args {
		word, ok := r.word(arg)
		if !ok {
			r.object(notUnderstood + "a word is put together by the shell.")
			return nil
		}
		words, texts = append(words, word), append(texts, word.texts...)
	}
	if given, ok := r.ruled(call, texts); ok {
		r.object(afterPrefix(texts, given))
		return texts
	}
	if !r.known(words, texts) {
		r.object(r.reached(words, texts, feed))
	}
	return texts
}

// ruled reports whether an operator's rule allows a command, and how many of its words the
// rule itself has.
func (r *reader) ruled(call *syntax.CallExpr, texts []string) (given int, ok bool) {
	written := r.line[call.Args[0].Pos().Offset():call.Args[len(call.Args)-1].End().Offset()]
	given = -1
	for _, p := range r.prefixes {
		for _, text := range []string{written, strings.Join(texts, " ")} {
			if text == p.text || !p.exact && strings.HasPrefix(text, strings.TrimSpace(p.text+" ")) && (p.text == "" || strings.HasPrefix(text, p.text+" ")) {
				given = max(given, len(strings.Fields(p.text)))
			}
		}
	}
	return given, given >= 0
}

// known reports whether the table of commands has the command with all its words.
func (r *reader) known(words []word, texts []string) bool {
	if slices.ContainsFunc(words, func(w word) bool { return w.glob }) {
		return false
	}
	_, rest, form := lookup(texts)
	return form != nil && !form.remember && (!form.repository || !r.strange()) && form.takes(r.dir, rest)
}
