package rules

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// reach says where the paths of a command line lead.
type reach struct {
	cwd      string   // where the agent works, without symlinks
	dir      string   // where the command runs
	home     string   // what ~ is
	readable []string // may be read unasked, without symlinks; cwd is the first
}

func newReach(cwd string, readable []string) (r reach, ok bool) {
	if r.cwd, ok = realDirectory(cwd); !ok {
		return r, false
	}
	r.dir, r.readable = r.cwd, []string{r.cwd}
	r.home, _ = os.UserHomeDir() // empty: a word with ~ is not understood
	for _, directory := range readable {
		if real, ok := realDirectory(directory); ok {
			r.readable = append(r.readable, real)
		}
	}
	return r, true
}

// move has the rest of the line run in another directory, and returns why it may not.
func (r *reach) move(to string) string {
	if !filepath.IsAbs(to) {
		to = r.dir + "/" + to
	}
	real, ok := follow(to)
	// A shell goes up by the names that it came by, a program by the directories that are there.
	if up := slices.Contains(parts(to), ".."); !ok || !r.inside(real) || up && filepath.Clean(to) != real {
		return "It changes to " + shown(to) + ", which is outside of " + shown(r.cwd) + "."
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "It changes to " + shown(to) + ", which is no directory."
	}
	r.dir = real
	return ""
}

func (r reach) inside(real string) bool {
	return slices.ContainsFunc(r.readable, func(directory string) bool { return within(directory, real) })
}

// openStreams are the files outside that every command may name.
var openStreams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}

// outside returns the objection to the first of these texts that is, or has in it, the path
// of something that exists outside of the directories that may be read.
func (r reach) outside(texts []string) string {
	for _, text := range texts {
		for _, piece := range pieces(text) {
			if r.leadsOut(piece) {
				return "It reaches " + shown(piece) + ", which is outside of " + shown(r.cwd) + "."
			}
		}
	}
	return ""
}

// leadsOut reports whether a path leads to something that exists outside.
func (r reach) leadsOut(path string) bool {
	if slices.Contains(openStreams, path) || len(path) > maxPath {
		return len(path) > maxPath
	}
	if !filepath.IsAbs(path) {
		path = r.dir + "/" + path
	}
	if within("/proc", filepath.Clean(path)) {
		return true
	}
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) {
		return false
	}
	real, ok := follow(path)
	return err != nil || !ok || !r.inside(real)
}

// maxGlued is how many letters of an option may stand before a value without a space.
const maxGlued = 16

// pieces returns what a program could take for a path in a word: the word, what stands
// behind an option's letters or an equals sign, and what stands between characters that are
// rare in paths.
func pieces(text string) []string {
	all := []string{text}
	if strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") {
		for i := 2; i < min(len(text), maxGlued); i++ {
			all = append(all, text[i:])
		}
	}
	inner := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./+-~%#", r)
	})
	if len(inner) > 1 || len(inner) == 1 && inner[0] != text {
		all = append(all, inner...)
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		all = append(all, value)
	}
	return slices.DeleteFunc(all, func(piece string) bool { return piece == "" })
}

// maxLooked is how many names are looked at to find a link that leads out.
const maxLooked = 20000

// survey is what a directory has below it, as far as commands that go through it depend on it.
type survey struct {
	linked bool // a symlink leads out, or there is too much to look at
	spaced bool // a name has a character at which xargs splits, or that it takes for a quote
}

// look looks through a directory.
func (r reach) look(directory string) (seen survey) {
	left := maxLooked
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			seen.linked, seen.spaced = true, true
			return filepath.SkipAll
		}
		if entry.Name() == ".git" && entry.IsDir() {
			return filepath.SkipDir
		}
		seen.spaced = seen.spaced || strings.ContainsAny(entry.Name(), " \t\n\r\v\f'\"\\")
		seen.linked = seen.linked || entry.Type()&fs.ModeSymlink != 0 && r.leadsOut(path)
		return nil
	})
	seen.linked = seen.linked || err != nil
	return seen
}

// maxMatches is how many names a pattern may stand for.
const maxMatches = 4096

// matched returns what a shell makes of a pattern, as far as it exists; ok is false where
// that is too much to look at.
func (r reach) matched(pattern string) (names []string, ok bool) {
	if strings.Contains(pattern, "**") && r.look(r.dir).linked {
		return nil, false
	}
	if !filepath.IsAbs(pattern) {
		pattern = escaped(r.dir) + "/" + pattern
	}
	names, err := filepath.Glob(widened(pattern))
	return names, err == nil && len(names) <= maxMatches
}

// widened returns a pattern with a star in the place of its brackets, in which shells know more
// than filepath.Match does. A bracket that is not closed means itself.
func widened(pattern string) string {
	last := strings.LastIndexByte(pattern, ']')
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == '[' && last < i:
			return pattern[:i] + `\` + pattern[i:i+1] + widened(pattern[i+1:])
		case pattern[i] == '[':
			return pattern[:i] + "*" + strings.Repeat("/*", strings.Count(pattern[i:last], "/")) + pattern[last+1:]
		}
	}
	return pattern
}

// escaped returns a path as a pattern that matches it alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(path)
}

// silent are the programs that open no file that a word of theirs names. (The shell still
// lists directories for their wildcards.)
var silent = []string{"[", "basename", "dirname", "echo", "false", "printf", "seq", "sleep", "test", "true", "type", "which"}

// reached returns the objection to a command that no rule allows.
func (r *reader) reached(words []word, texts, feed []string) string {
	name := texts[0]
	switch {
	case slices.Contains([]string{"cd", "pushd", "popd", "source", ".", "eval", "exec", "alias", "export", "set", "shopt", "trap", "env"}, name):
		return "It changes what the commands after it mean (" + shown(name) + ")."
	case slices.Contains(texts, "xargs"):
		if why := r.fed(texts, feed); why != "" {
			return why
		}
	case listed(texts):
		return "It reads a list of files from a file."
	case followsLinks(texts) && r.look(r.dir).linked:
		return "It follows symlinks, and one leads outside of " + shown(r.cwd) + "."
	case name == "git":
		if why := r.gitReaches(texts); why != "" {
			return why
		}
	}
	for _, word := range words {
		if !word.glob {
			if !slices.Contains(silent, name) {
				if why := r.outside(word.texts); why != "" {
					return why
				}
			}
			continue
		}
		for _, pattern := range word.globs {
			names, ok := r.matched(pattern)
			if !ok {
				return notUnderstood + "a wildcard stands for too much."
			}
			if why := r.outside(append(names, word.texts...)); why != "" {
				return why
			}
		}
	}
	return ""
}

// listed reports whether a command reads the names of what it reads, or its own options, from a
// file. Of a long option programs take the beginning as well.
func listed(texts []string) bool {
	return slices.ContainsFunc(texts[1:], func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		begins := func(shortest string, options ...string) bool {
			return strings.HasPrefix(name, shortest) && slices.ContainsFunc(options, func(option string) bool { return strings.HasPrefix(option, name) })
		}
		return begins("--f", "--files0-from", "--files-from") && !slices.Contains([]string{"grep", "rg", "ls"}, texts[0]) ||
			begins("--arg", "--arg-file") || text == "-files0-from" ||
			texts[0] == "file" && len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.Contains(text, "f") ||
			texts[0] == "strings" && strings.HasPrefix(text, "@") ||
			strings.HasSuffix(texts[0], "sum") && (begins("--c", "--check") || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.Contains(text, "c"))
	})
}

// followers are the programs that follow symlinks below a directory, with the option's letter
// and its long names.
var followers = map[string][]string{
	"grep": {"R", "--dereference-recursive"}, "egrep": {"R", "--dereference-recursive"}, "fgrep": {"R", "--dereference-recursive"},
	"rg": {"L", "--follow"}, "fd": {"L", "--follow"}, "ag": {"f", "--follow"}, "find": {"L", "-follow"}, "tree": {"l"}, "du": {"L", "--dereference"},
	"diff": {"r", "--recursive"},
}

func followsLinks(texts []string) bool {
	options, ok := followers[texts[0]]
	return ok && slices.ContainsFunc(texts[1:], func(text string) bool {
		long := len(text) > 3 && slices.ContainsFunc(options[1:], func(option string) bool { return strings.HasPrefix(option, text) })
		return long || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.Contains(text, options[0]) && (texts[0] != "find" || text == "-L")
	})
}

// fed returns the objection to xargs, whose words come from another command: that one may say
// nothing but the names of files inside.
func (r *reader) fed(texts, feed []string) string {
	const unknown = "It takes the names of files from another command's output."
	if len(feed) == 0 || texts[0] != "xargs" {
		return unknown
	}
	lists := feed[0] == "find" || feed[0] == "git" && len(feed) > 1 && feed[1] == "ls-files" ||
		(feed[0] == "grep" || feed[0] == "rg") && slices.ContainsFunc(feed[1:], func(text string) bool {
			// -el is a search for the letter l.
			return text == "--files" || text == "--files-with-matches" || len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.Contains(text, "l") && !strings.ContainsAny(text, "efmABCd")
		})
	if !lists || slices.ContainsFunc(feed, func(text string) bool { return strings.HasPrefix(text, "-printf") }) {
		return unknown
	}
	seen := r.look(r.dir)
	if nul := slices.Contains(texts, "-0"); seen.linked || seen.spaced && !nul {
		return unknown
	}
	return ""
}

// gitReaches returns the objection to a git command that works elsewhere than in the
// repository of the working directory.
func (r *reader) gitReaches(texts []string) string {
	directory := r.dir
	for i, text := range texts[1:] {
		switch {
		case text == "-C" && i+2 < len(texts) && directory == r.dir:
			directory = filepath.Join(r.dir, texts[i+2])
			continue
		case i > 0 && texts[i] == "-C", text == "--no-pager", text == "--no-optional-locks":
			continue
		case strings.HasPrefix(text, "-"):
			return "It has git work in a way of its own (" + shown(text) + ")."
		}
		break
	}
	return r.strangeAt(directory)
}

// strange reports whether the directory in which the command runs has a git configuration
// that runs programs, and that nobody was asked about.
func (r *reader) strange() bool { return r.strangeAt(r.dir) != "" }

func (r *reader) strangeAt(directory string) string {
	if posesAsRepository(directory) {
		return "It has git take " + shown(directory) + " for a repository that has no working tree."
	}
	there := repositoryOf(directory)
	if there == "" || there == repositoryOf(r.cwd) {
		return "" // people were asked about that before the turn
	}
	return RunsPrograms(directory)
}
