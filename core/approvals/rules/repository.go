package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A repository's own configuration can name programs that git runs while it shows a
// difference or reads a file. A clone brings none along; a directory that was unpacked or
// copied does. It is read here as data: git is not asked, which would run them.

// programKeys are the keys of git's configuration whose value git runs, or that have it work
// elsewhere. A star stands for the name in the middle, whatever it is.
//
// Not among them are core.fsmonitor, which every session switches off, and what runs only
// with a command that people are asked about and that says so: hooks, and programs that
// show pages or edit texts.
var programKeys = []string{
	"alias.*", "blame.ignorerevsfile", "core.alternaterefscommand", "core.askpass", "core.gitproxy", "core.sshcommand", "core.worktree",
	"credential.helper", "credential.*.helper", "diff.external", "diff.*.command", "diff.*.textconv",
	"filter.*.clean", "filter.*.smudge", "filter.*.process", "gc.recentobjectshook",
	"gpg.program", "gpg.*.program", "gpg.ssh.defaultkeycommand", "hook.*.command", "interactive.difffilter",
	"difftool.*.cmd", "difftool.*.path", "mergetool.*.cmd", "mergetool.*.path", "merge.*.driver", "lfs.customtransfer.*.path",
	"remote.*.receivepack", "remote.*.uploadpack", "remote.*.vcs", "submodule.*.update", "tar.*.command", "trailer.*.cmd", "trailer.*.command",
	"uploadpack.packobjectshook",
}

// ordinary are values of programKeys that are as harmless as git itself.
var ordinary = map[string][]string{
	"filter.lfs.clean":   {"git-lfs clean -- %f"},
	"filter.lfs.smudge":  {"git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"},
	"filter.lfs.process": {"git-lfs filter-process", "git-lfs filter-process --skip"},
	"credential.helper":  {"", "cache", "store", "osxkeychain", "manager", "manager-core", "libsecret", "wincred"},
}

// RunsPrograms says in a sentence which programs the git configuration around a directory has
// git run. It is empty where there is no repository, and where its configuration runs none.
func RunsPrograms(directory string) string {
	tree, repository := treeOf(directory)
	if repository == "" {
		return ""
	}
	c := configuration{repository: repository, tree: tree}
	for _, path := range configsOf(tree, repository) {
		c.read(path, 0)
	}
	c.runs = append(c.runs, leadsAway(tree, repository)...)
	if len(c.runs) == 0 {
		return ""
	}
	slices.Sort(c.runs)
	c.runs = slices.Compact(c.runs)
	more := ""
	if len(c.runs) > maxShown {
		more = fmt.Sprintf("; and %d more", len(c.runs)-maxShown)
		c.runs = c.runs[:maxShown]
	}
	return "The git configuration of " + shown(repository) + " runs programs, or has git work elsewhere: " + strings.Join(c.runs, "; ") + more + "."
}

// maxShown is how many entries of a configuration a person is shown.
const maxShown = 8

// RepositoryStamp returns a text that changes when the git configuration around a directory
// does; empty: there is no repository.
func RepositoryStamp(directory string) string {
	tree, repository := treeOf(directory)
	if repository == "" {
		return ""
	}
	var stamp strings.Builder
	for _, path := range configsOf(tree, repository) {
		stamp.WriteString(path)
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&stamp, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
		stamp.WriteByte('\n')
	}
	return stamp.String()
}

// repositoryOf returns the repository that git finds from a directory: the `.git` of the
// directory or of the nearest one above it, or what a file of that name leads to. It is empty
// when there is none.
func repositoryOf(directory string) string {
	_, repository := treeOf(directory)
	return repository
}

// treeOf returns the repository as repositoryOf does, and the directory that has its `.git`.
func treeOf(directory string) (tree, repository string) {
	directory, ok := realDirectory(directory)
	if !ok {
		return "", ""
	}
	for {
		if repository := repositoryAt(directory); repository != "" {
			return directory, repository
		}
		if directory == filepath.Dir(directory) {
			return "", ""
		}
		directory = filepath.Dir(directory)
	}
}

// repositoryAt returns the repository of a directory that has a `.git`; empty: it has none.
func repositoryAt(directory string) string {
	path := filepath.Join(directory, ".git")
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return path
	}
	if err == nil {
		if to, ok := linkedRepository(path); ok {
			return to
		}
	}
	return ""
}

// linkedRepository returns where a file with the name .git leads.
func linkedRepository(path string) (string, bool) {
	content, err := readShort(path)
	to, ok := strings.CutPrefix(strings.TrimSpace(content), "gitdir: ")
	if err != nil || !ok {
		return "", false
	}
	return relativeTo(filepath.Dir(path), to), true
}

func relativeTo(directory, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(directory, path)
}

// maxConfig is the size, in bytes, of the largest configuration that is read.
const maxConfig = 1 << 20

var errTooLarge = errors.New("the file is too large")

func readShort(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxConfig) {
		err = errTooLarge
	}
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(path)
	return string(content), err
}

// configsOf returns the configurations that a repository has of its own: of a linked working
// tree those of the repository that it belongs to, and those of the repositories in its
// working tree, in which git looks as well.
func configsOf(tree, repository string) []string {
	w := walk{seen: make(map[string]bool)}
	w.repository(tree, repository, 0)
	return w.configs
}

// walk goes through a repository and those in it.
type walk struct {
	configs []string
	seen    map[string]bool
}

// maxNested is how deep repositories are looked for in others.
const maxNested = 10

func (w *walk) repository(tree, repository string, depth int) {
	if w.seen[repository] || depth > maxNested {
		return
	}
	w.seen[repository] = true
	common := commonOf(repository)
	w.configs = append(w.configs, filepath.Join(common, "config"), filepath.Join(repository, "config.worktree"))
	for _, pattern := range []string{"modules/*/config", "modules/*/*/config", "modules/*/*/*/config"} {
		found, _ := filepath.Glob(escaped(common) + "/" + pattern) // the pattern is valid
		w.configs = append(w.configs, found...)
	}
	for _, path := range append(submodules(tree), gitlinks(repository)...) {
		nested := filepath.Join(tree, path)
		if inside := repositoryAt(nested); inside != "" {
			w.repository(nested, inside, depth+1)
		} else {
			w.configs = append(w.configs, filepath.Join(nested, ".git", "config"))
		}
	}
}

// commonOf returns the repository that a linked working tree's belongs to, else itself.
func commonOf(repository string) string {
	if content, err := readShort(filepath.Join(repository, "commondir")); err == nil {
		return relativeTo(repository, strings.TrimSpace(content))
	}
	return repository
}

// submodules returns the paths of submodules that .gitmodules names.
func submodules(tree string) (paths []string) {
	content, err := readShort(filepath.Join(tree, ".gitmodules"))
	if err != nil {
		return nil
	}
	entries, _ := parseConfig(content) // what can be read of it
	for _, entry := range entries {
		if strings.HasPrefix(entry.key, "submodule.") && strings.HasSuffix(entry.key, ".path") {
			paths = append(paths, entry.value)
		}
	}
	return paths
}

// configuration is what a repository's configuration has git run.
type configuration struct {
	repository, tree string
	runs             []string
}

// maxIncluded is how deep configurations may include others.
const maxIncluded = 10

func (c *configuration) read(path string, depth int) {
	content, err := readShort(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var entries []configEntry
	if err == nil {
		entries, err = parseConfig(content)
	}
	if err != nil || depth > maxIncluded {
		c.runs = append(c.runs, shown(path)+" cannot be read")
		return
	}
	for _, entry := range entries {
		section, _, _ := strings.Cut(entry.key, ".")
		switch {
		case (section == "include" || section == "includeif") && strings.HasSuffix(entry.key, ".path"):
			included := entry.value
			if rest, ok := strings.CutPrefix(included, "~/"); ok {
				home, _ := os.UserHomeDir() // empty: then the path leads nowhere
				included = filepath.Join(home, rest)
			}
			c.read(relativeTo(filepath.Dir(path), included), depth+1)
		case c.harmless(entry, path):
		default:
			c.runs = append(c.runs, shown(entry.key+" = "+entry.value))
		}
	}
}

// harmless reports whether an entry has git run nothing.
func (c *configuration) harmless(entry configEntry, path string) bool {
	if !slices.ContainsFunc(programKeys, func(key string) bool { return keyMatches(key, entry.key) }) ||
		slices.Contains(ordinary[entry.key], entry.value) {
		return true
	}
	switch {
	case strings.HasPrefix(entry.key, "alias."), strings.HasSuffix(entry.key, ".update"):
		return !strings.HasPrefix(entry.value, "!")
	case entry.key == "blame.ignorerevsfile": // git says what stands in it, when that is no list of revisions
		real, ok := follow(relativeTo(c.tree, entry.value))
		return entry.value == "" || ok && within(c.tree, real)
	case entry.key == "core.worktree":
		real, ok := follow(relativeTo(filepath.Dir(path), entry.value))
		// A linked working tree shares the submodules' repositories of that which it belongs to.
		return ok && (within(c.tree, real) || within(filepath.Dir(commonOf(c.repository)), real))
	}
	return false
}

// keyMatches reports whether a key is meant by one of programKeys.
func keyMatches(pattern, key string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	return key == pattern || wild && len(key) >= len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

// configEntry is a line of a configuration: its key in lower case, but for the middle.
type configEntry struct{ key, value string }

var errConfig = errors.New("the configuration is not one that git takes")

// parseConfig returns the entries of a configuration, as git reads it.
func parseConfig(content string) (entries []configEntry, err error) {
	content = strings.TrimPrefix(strings.ReplaceAll(content, "\r\n", "\n"), "\uFEFF")
	section := ""
	for content != "" {
		content = strings.TrimLeft(content, " \t\n\v\f\r")
		switch {
		case content == "":
		case content[0] == '#' || content[0] == ';':
			_, content, _ = strings.Cut(content, "\n")
		case content[0] == '[':
			if section, content, err = configSection(content[1:]); err != nil {
				return entries, err
			}
		default:
			end := strings.IndexFunc(content, func(r rune) bool { return r == '=' || r == '\n' || r == '#' || r == ';' || r == ' ' || r == '\t' })
			name := content
			if end >= 0 {
				name = content[:end]
			}
			content = strings.TrimLeft(content[len(name):], " \t")
			value := "true"
			if rest, ok := strings.CutPrefix(content, "="); ok {
				if value, content, err = configValue(rest); err != nil {
					return entries, err
				}
			}
			if section == "" || name == "" {
				return entries, errConfig
			}
			entries = append(entries, configEntry{section + "." + strings.ToLower(name), value})
		}
	}
	return entries, nil
}

// configSection reads the rest of [section "middle"].
func configSection(content string) (section, rest string, err error) {
	end := strings.IndexAny(content, "]\" \t\n")
	if end < 0 {
		return "", "", errConfig
	}
	section = strings.ToLower(content[:end])
	if content = content[end:]; content[0] == ']' {
		return section, content[1:], nil
	}
	content, ok := strings.CutPrefix(strings.TrimLeft(content, " \t"), `"`)
	if !ok {
		return "", "", errConfig
	}
	var middle strings.Builder
	for i := 0; i < len(content); i++ {
		switch c := content[i]; {
		case c == '"':
			rest, ok := strings.CutPrefix(content[i+1:], "]")
			if !ok {
				return "", "", errConfig
			}
			return section + "." + middle.String(), rest, nil
		case c == '\n':
			return "", "", errConfig
		case c == '\\' && i+1 < len(content):
			i++
			middle.WriteByte(content[i])
		default:
			middle.WriteByte(c)
		}
	}
	return "", "", errConfig
}

// configValue reads a value up to the end of its line.
func configValue(content string) (value, rest string, err error) {
	var text strings.Builder
	quoted, comment := false, false
	for i := 0; i < len(content); i++ {
		c := content[i]
		switch {
		case c == '\n':
			if quoted {
				return "", "", errConfig
			}
			return strings.TrimSpace(text.String()), content[i+1:], nil
		case comment:
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '#' || c == ';'):
			comment = true
		case c == '\\':
			if i++; i == len(content) {
				return "", "", errConfig
			}
			escape := map[byte]string{'\n': "", '"': `"`, '\\': `\`, 'n': "\n", 't': "\t", 'b': "\b"}
			unescaped, ok := escape[content[i]]
			if !ok {
				return "", "", errConfig
			}
			text.WriteString(unescaped)
		default:
			text.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errConfig
	}
	return strings.TrimSpace(text.String()), "", nil
}
