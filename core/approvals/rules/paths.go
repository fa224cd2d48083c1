package rules

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fileTool is a tool that is about one path.
type fileTool struct {
	path   string   // the field with the path
	others []string // the other fields that it may have
	does   string   // in words
	writes bool
	// searches: the path is where the tool begins to look, by default where the agent
	// works.
	searches bool
}

// fileTools are the tools that may be allowed below a directory, each for itself.
var fileTools = map[string]fileTool{
	"Write":        {path: "file_path", others: []string{"content"}, does: "write files", writes: true},
	"Edit":         {path: "file_path", others: []string{"old_string", "new_string", "replace_all"}, does: "edit files", writes: true},
	"MultiEdit":    {path: "file_path", others: []string{"edits"}, does: "edit files at several places", writes: true},
	"NotebookEdit": {path: "notebook_path", others: []string{"new_source", "cell_id", "cell_type", "edit_mode"}, does: "edit notebooks", writes: true},
	"Read":         {path: "file_path", others: []string{"offset", "limit", "pages"}, does: "read files"},
	"Glob":         {path: "path", others: []string{"pattern"}, does: "list files", searches: true},
	"Grep": {path: "path", others: []string{"pattern", "glob", "type", "output_mode", "-A", "-B", "-C", "context", "-n", "-i", "-o", "multiline", "head_limit", "offset"},
		does: "search files", searches: true},
}

// directories offers a call of a file tool by a directory: that of its file, and then that
// in which the agent works, if the file is below it.
func directories(call Call, fields map[string]any) []leave {
	tool, cwd, target, ok := fileCall(call, fields)
	if !ok {
		return nil
	}
	nearest := target
	if info, err := os.Stat(target); !tool.searches || err != nil || !info.IsDir() {
		nearest = filepath.Dir(target)
	}
	text := tool.does + " in %s and below it"
	if tool.writes {
		text += ", but not hidden ones and those that say what commands and agents do (Makefile, package.json, CLAUDE.md, ...)"
	}
	var leaves []leave
	for _, directory := range slices.Compact([]string{nearest, cwd}) {
		if within(directory, target) && offerable(tool, directory, cwd) {
			leaves = append(leaves, leave{directory, strings.Replace(text, "%s", shown(directory), 1)})
		}
	}
	return leaves
}

// directoryAllows reports whether a rule for a directory allows a call.
func directoryAllows(directory string, call Call, fields map[string]any) bool {
	tool, cwd, target, ok := fileCall(call, fields)
	return ok && offerable(tool, directory, cwd) && within(directory, target)
}

// fileCall returns what a call of a file tool is about: where the agent works and the file
// that the tool's path leads to, both without symlinks. ok is false when no directory may
// be allowed for it.
func fileCall(call Call, fields map[string]any) (tool fileTool, cwd, target string, ok bool) {
	tool, ok = fileTools[call.Tool]
	if !ok || !known(fields, append([]string{tool.path}, tool.others...)...) {
		return tool, "", "", false
	}
	if cwd, ok = realDirectory(call.Cwd); !ok {
		return tool, "", "", false
	}
	if target, ok = tool.target(cwd, fields); !ok || tool.guards(cwd, target) {
		return tool, "", "", false
	}
	if call.Tool == "Glob" && !staysBelow(target, fields["pattern"]) {
		return tool, "", "", false
	}
	return tool, cwd, target, true
}

// target returns the file that a call is about, without symlinks.
func (t fileTool) target(cwd string, fields map[string]any) (string, bool) {
	if fields[t.path] == nil && t.searches {
		return cwd, true
	}
	path, _ := fields[t.path].(string)
	return resolve(cwd, path)
}

// Names by which files are kept from rules, in lower case. A rule never lets the agent
// write a file that says what programs and agents do, since a person who allows `make
// test` or `npm run lint` has read it as it was; nor any hidden one, which are the
// settings of git, shells, editors, package managers, build services and agents. A
// makefile that is included, hooks in a directory without a dot and the code that tests
// run are not known by their names.
var (
	governing = []string{
		"claude.md", "claude.local.md", "agents.md", "gemini.md",
		"makefile", "gnumakefile", "bsdmakefile", "package.json",
		"cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml", "go.mod", "go.work",
		"conftest.py", "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini",
	}
	// secrets are kept from reading, as far as names tell.
	secrets = []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".claude", ".claude.json", ".password-store",
		".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc",
	}
	// Places of the system. What is in kernel's differs with who looks.
	kernel = []string{"/proc", "/sys", "/dev"}
	system = []string{
		"/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/boot", "/run", "/var/run", "/var/spool",
		"/private/etc", "/private/var/run", "/System", "/Library",
	}
)

// guards reports whether a file is kept from rules for the tool. The directory in which
// the agent works may itself be below a hidden one, such as a task's working tree
// (.claude/worktrees/TASK), but not among git's, the agent's or the secret files.
func (t fileTool) guards(cwd, target string) bool {
	above := parts(folded(cwd))
	for i, part := range above {
		tree := part == ".claude" && i+2 < len(above) && above[i+1] == "worktrees"
		if !tree && (part == ".git" || slices.Contains(secrets, part)) {
			return true
		}
	}
	seen := parts(target)
	if within(cwd, target) {
		seen = parts(strings.TrimPrefix(target, cwd))
	}
	for _, part := range seen {
		part = folded(part)
		if slices.Contains(secrets, part) || strings.HasPrefix(part, ".env") {
			return true
		}
		if t.writes && (strings.HasPrefix(part, ".") || slices.Contains(governing, part) || strings.HasSuffix(part, ".mk")) {
			return true
		}
	}
	return false
}

// folded returns a name as file systems compare it that do not tell capitals: there, the
// long s and the sign of Kelvin are letters too, and a ligature is the letters that it is
// made of.
func folded(name string) string {
	return cases.Fold().String(strings.ToLower(strings.ToUpper(name)))
}

// offerable reports whether a tool may be allowed in a directory: a clean path that is
// neither too wide nor the system's, and not above the directory in which the agent works.
func offerable(tool fileTool, directory, cwd string) bool {
	if !filepath.IsAbs(directory) || filepath.Clean(directory) != directory || tooWide(directory) {
		return false
	}
	directory, cwd = folded(directory), folded(cwd)
	if directory != cwd && within(directory, cwd) {
		return false
	}
	in := func(root string) bool { return within(folded(root), directory) }
	return !slices.ContainsFunc(kernel, in) && (!tool.writes || !slices.ContainsFunc(system, in))
}

// tooWide reports whether a directory is the root, the home directory or above it, however
// it is written.
func tooWide(directory string) bool {
	if directory == filepath.Dir(directory) {
		return true
	}
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return false
	}
	directory = folded(directory)
	if within(directory, folded(filepath.Clean(home))) {
		return true
	}
	home, err = filepath.EvalSymlinks(home)
	return err == nil && within(directory, folded(home))
}

// staysBelow reports whether a pattern of Glob finds only what is below a directory: it is
// relative, its directories before the first wildcard are no symlinks to elsewhere, and
// wildcards for directories are `**` alone, which does not follow symlinks.
func staysBelow(directory string, value any) bool {
	pattern, ok := value.(string)
	if !ok || strings.ContainsAny(pattern, `\[`) || strings.Count(pattern, "{") > 1 || filepath.IsAbs(pattern) {
		return false
	}
	segments := strings.Split(pattern, "/")
	fixed := ""
	wild := false
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment == "**":
			wild = true
		case strings.ContainsAny(segment, "*?{}()!+@|") && !last, segment == "..", segment == "~":
			return false
		case wild || last:
		default:
			fixed = filepath.Join(fixed, segment)
		}
		if wild && !last && segment != "**" {
			return false
		}
	}
	target, ok := resolve(directory, "./"+fixed)
	return ok && within(directory, target)
}

// realDirectory returns a directory without symlinks.
func realDirectory(path string) (string, bool) {
	if !filepath.IsAbs(path) || !readable(path) {
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(real)
	return real, err == nil && info.IsDir()
}

// maxPath is the length, in bytes, of the longest path that is looked at.
const maxPath = 4096

// resolve returns the file that a path leads to, without symlinks: the path itself may not
// exist yet, but what exists of it is followed. ok is false for a path that programs may
// read in different ways (`~`, `..`, text that is not in Unicode's normal form, which the
// CLI changes), and for one with a symlink that leads nowhere yet.
func resolve(cwd, path string) (string, bool) {
	if path == "" || !readable(path) || strings.ContainsAny(path[:1], "~:@+=^!%") || strings.TrimSpace(path) != path ||
		slices.Contains(strings.Split(path, "/"), "..") {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	return follow(path)
}

// maxLinks is how many symlinks a path may lead over, as Linux has it.
const maxLinks = 40

// follow returns an absolute path without symlinks. ok is false where one leads nowhere, and
// where the path or a symlink goes through /proc: there, each process has files of its own
// (/proc/self/cwd), so that another one would get somewhere else.
func follow(path string) (real string, ok bool) {
	names := parts(path)
	linked, links := 0, 0 // how many of the names a symlink has brought; how many symlinks there were
	real = string(filepath.Separator)
	for len(names) > 0 {
		name, ofLink := names[0], linked > 0
		names, linked = names[1:], max(linked-1, 0)
		switch name {
		case ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		if within("/proc", next) {
			return "", false
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return filepath.Join(next, filepath.Join(names...)), !ofLink
		case err != nil:
			return "", false
		case info.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			real = string(filepath.Separator)
		}
		brought := parts(target)
		names, linked = append(brought, names...), linked+len(brought)
	}
	return real, true
}

// readable reports whether a path has no characters that are not seen, or that the CLI or
// a file system changes: some leave out what Unicode says may be ignored.
func readable(path string) bool {
	return len(path) <= maxPath && norm.NFC.IsNormalString(path) && !strings.Contains(path, `\`) &&
		!strings.ContainsFunc(path, func(r rune) bool {
			return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
		})
}

// parts returns the names of which a path consists.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
