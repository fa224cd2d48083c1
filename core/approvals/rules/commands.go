package rules

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// form is what may follow a program and its subcommand. Options are those listed and no
// others, in full: many programs also take the beginning of a long option's name.
type form struct {
	// one matches an option that is one word: -l, --stat, -n5, --max-count=5.
	one *regexp.Regexp
	// two has the options whose value is the next word, with what the value may be.
	two map[string]*regexp.Regexp
	// needs is an option of two without which the program would do something else.
	needs string
	// operand says which operands are good; nil: none is.
	operand func(cwd, operand string) bool
	// pattern: the first operand is a pattern, not a path, unless -e has given one.
	pattern bool
	// mixed: options may come after operands, whatever system it is.
	mixed bool
	// dashes: after a word `--` everything is an operand.
	dashes bool
	// remember: the rule is for these very operands, since they say what is done.
	remember bool
	// repository: the program trusts the repository that it finds.
	repository bool
	// with is what a person reads behind the first words.
	with string
}

// commands offers a Bash call by its first words: a program of the table, its subcommand,
// and where the agent works.
func commands(call Call, fields map[string]any) []leave {
	if call.Tool != "Bash" || !known(fields, "command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox") ||
		set(fields["run_in_background"]) || set(fields["dangerouslyDisableSandbox"]) {
		return nil
	}
	if _, ok := fields["timeout"].(json.Number); !ok && fields["timeout"] != nil {
		return nil
	}
	line, _ := fields["command"].(string)
	cwd, ok := realDirectory(call.Cwd)
	if !ok || tooWide(cwd) {
		return nil
	}
	words, ok := commandWords(line)
	if !ok {
		return nil
	}
	first, rest, form := lookup(words)
	if form == nil || form.repository && posesAsRepository(cwd) || !form.takes(cwd, rest) {
		return nil
	}
	if form.remember {
		first = words
	}
	value := struct {
		Cwd   string   `json:"cwd"`
		Words []string `json:"words"`
	}{cwd, first}
	text := "`" + strings.Join(first, " ") + "`"
	if form.with != "" {
		text = "`" + strings.Join(first, " ") + " …` with " + form.with
	}
	return []leave{{encode(value), shown(text) + ", in " + shown(cwd)}}
}

// set reports whether an optional yes-or-no field says anything but no.
func set(value any) bool { return value != nil && value != false }

// lookup returns the first words by which the table knows a command, the words after
// them, and the form; nil when the table does not have it.
func lookup(words []string) (first, rest []string, found *form) {
	subcommands := table[words[0]]
	if form, ok := subcommands[""]; ok {
		return words[:1], words[1:], &form
	}
	if len(words) > 1 {
		if form, ok := subcommands[words[1]]; ok {
			return words[:2], words[2:], &form
		}
	}
	return nil, nil, nil
}

// takes reports whether the form has all these words.
func (f form) takes(cwd string, words []string) bool {
	pattern, needed := f.pattern, f.needs == ""
	ended, behind := false, false // `--` was there; an operand was there
	for i := 0; i < len(words); i++ {
		word := words[i]
		// On some systems the first operand ends the options. There, what looks like an
		// option after it is a file's name, and so is an option's value.
		late := behind && !ended && !f.mixed
		if late && strings.HasPrefix(word, "-") && !inside(cwd, word) {
			return false
		}
		switch {
		case !ended && word == "--" && f.dashes:
			ended = true
		case !ended && strings.HasPrefix(word, "-"):
			if f.one != nil && f.one.MatchString(word) {
				continue
			}
			shape, ok := f.two[word]
			i++
			if !ok || i == len(words) || !shape.MatchString(words[i]) {
				return false
			}
			if late && (word == "-e" || !inside(cwd, words[i])) {
				return false // of -e, since the operand before it was taken for the pattern
			}
			pattern = pattern && word != "-e"
			needed = needed || word == f.needs
		case f.operand == nil:
			return false
		default:
			if !pattern && !f.operand(cwd, word) {
				return false
			}
			pattern, behind = false, true
		}
	}
	return needed
}

// What operands may be.

// paths takes files and directories inside of the directory in which the agent works.
func paths(cwd, operand string) bool { return inside(cwd, operand) }

// files takes files that exist: programs that are given a directory would follow the
// symlinks in it.
func files(cwd, operand string) bool {
	target, ok := resolve(cwd, operand)
	if !ok || !within(cwd, target) {
		return false
	}
	info, err := os.Stat(target)
	return err == nil && info.Mode().IsRegular()
}

// packages takes Go's names of packages by their place (./x, ./...): by their path they
// could be anybody's.
func packages(cwd, operand string) bool {
	return (operand == "." || strings.HasPrefix(operand, "./")) && inside(cwd, operand)
}

// testNodes takes pytest's names of tests: a path, and what is meant in it.
func testNodes(cwd, operand string) bool {
	path, _, _ := strings.Cut(operand, "::")
	return inside(cwd, path)
}

// anything takes any operand.
func anything(string, string) bool { return true }

// shaped takes the operands that match.
func shaped(pattern string) func(cwd, operand string) bool {
	shape := whole(pattern)
	return func(_, operand string) bool { return shape.MatchString(operand) }
}

// whole compiles a pattern that a whole word has to match.
func whole(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// posesAsRepository reports whether a directory may itself be what git takes for a
// repository without a working tree: then git reads a configuration from it that names
// programs to run, and its files are no hidden ones.
func posesAsRepository(cwd string) bool {
	_, head := os.Lstat(filepath.Join(cwd, "HEAD"))
	_, repository := os.Lstat(filepath.Join(cwd, ".git"))
	return head == nil && repository != nil
}

// inside reports whether a path leads to somewhere in the directory in which the agent
// works.
func inside(cwd, path string) bool {
	target, ok := resolve(cwd, path)
	return ok && within(cwd, target)
}

// within reports whether a clean path is a directory or below it.
func within(directory, path string) bool {
	return path == directory || strings.HasPrefix(path, strings.TrimSuffix(directory, string(filepath.Separator))+string(filepath.Separator))
}
