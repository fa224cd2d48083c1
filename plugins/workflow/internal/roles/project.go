package roles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// How many files of roles a project can have, and how large each may be, in bytes.
const (
	mostFiles = 50
	mostBytes = 64 << 10
)

// file is one of a project.
type file struct {
	name string // of the role
	path string
	text string
}

// readDir returns the files of a project's roles. No link is followed, so that nothing outside the
// project is read; files that cannot be used are problems.
func readDir(project string) (files []file, problems []string) {
	if project == "" {
		return nil, nil
	}
	problem := func(name string, err error) {
		problems = append(problems, fmt.Sprintf("%s is not used: %v", name, err))
	}
	dir, err := openDir(project, Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		problem(Dir, plain(err))
		return nil, problems
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		problem(Dir, plain(err))
		return nil, problems
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".md") })
	if len(entries) > mostFiles {
		problems = append(problems, fmt.Sprintf("%s has %d files of roles; the first %d by name are used", Dir, len(entries), mostFiles))
		entries = entries[:mostFiles]
	}
	for _, entry := range entries {
		at := path.Join(Dir, entry.Name())
		text, err := readFile(dir, entry.Name())
		role := strings.TrimSuffix(entry.Name(), ".md")
		if err == nil && !name.MatchString(role) {
			err = errors.New("the name of a role's file has lower case letters, digits and hyphens, begins with a letter, and has at most 40 characters before .md")
		}
		if err != nil {
			problem(at, err)
			continue
		}
		files = append(files, file{name: role, path: at, text: text})
	}
	return files, problems
}

// openDir opens a directory below another. None of its parts may be a link.
func openDir(top, below string) (*os.Root, error) {
	root, err := os.OpenRoot(top)
	for _, part := range strings.Split(below, "/") {
		if err != nil {
			return nil, err
		}
		above := root
		var info fs.FileInfo
		if info, err = above.Lstat(part); err == nil && !info.IsDir() {
			err = errors.New(part + " is a link or a file; make it a directory")
		}
		if err == nil {
			root, err = above.OpenRoot(part)
		}
		above.Close()
	}
	return root, err
}

// readFile reads a regular file that is no link.
func readFile(dir *os.Root, name string) (string, error) {
	opened, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		if info, lstat := dir.Lstat(name); lstat == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("it is a link, and links are not followed; write a file")
		}
		return "", plain(err)
	}
	defer opened.Close()
	if info, err := opened.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(opened, mostBytes+1))
	switch {
	case err != nil:
		return "", plain(err)
	case len(text) > mostBytes:
		return "", fmt.Errorf("it is larger than %d KiB", mostBytes>>10)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return "", errors.New("it is no text in UTF-8")
	}
	return string(text), nil
}

// plain is an error without the path, which the problem names already.
func plain(err error) error {
	if of := new(fs.PathError); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// role is the role of a project's file. Whoever can write files in a repository gains nothing by it: the
// file may say what the agent is told and which model answers, and may take tools and rights away from those
// that the shipped role has. Other wishes are left out, and said.
func (f file) role() (role Role, wishes []string, err error) {
	read, err := parse(f.text)
	if err != nil {
		return role, nil, err
	}
	if said := read.text("name"); said != "" && said != f.name {
		return role, nil, fmt.Errorf("name: it says %.60q, but the file's name says %q; make both the same", said, f.name)
	}
	role = base(f.name)
	shipped := role.Name == f.name
	role.Name, role.Source = f.name, f.path
	wish := func(format string, args ...any) { wishes = append(wishes, fmt.Sprintf(format, args...)) }
	if !shipped || read.text("description") != "" {
		role.Description = oneLine(read.text("description"))
	}
	if read.body != "" {
		role.Prompt = read.body
	} else if !shipped {
		return role, nil, errors.New("it has no text below the front matter, which is what the agent is told")
	}
	switch said := read.text("model"); {
	case said == "" || said == "inherit":
	case model.MatchString(said):
		role.Model = said
	default:
		wish("model: %.100q is no name of a model, and is left out", said)
	}
	f.lowerMode(&role, read.text("permissionMode"), wish)
	f.fewerTools(&role, read, wish)
	for _, name := range fieldsOf(read) {
		if !slices.Contains([]string{"name", "description", "model", "tools", "disallowedTools", "permissionMode"}, name) {
			wish("%.60s: a role of a project has no such field, and it is left out", name)
		}
	}
	return role, wishes, nil
}

// lowerMode gives the role a permission mode that lets it do less unasked, and no other.
func (f file) lowerMode(role *Role, mode string, wish func(string, ...any)) {
	if mode == "" || mode == role.PermissionMode {
		return
	}
	wanted, known := modes[mode]
	switch {
	case !known:
		wish("permissionMode: %.50q is none that a project can set, and is left out", mode)
	case wanted >= modes[role.PermissionMode]:
		wish("permissionMode: %s lets the agent do more unasked than %s, which only the operator's settings can; it is left out", mode, role.PermissionMode)
	default:
		role.PermissionMode = mode
	}
}

// fewerTools takes tools away from the role.
func (f file) fewerTools(role *Role, read front, wish func(string, ...any)) {
	for _, one := range read.list("disallowedTools") {
		if rule.MatchString(one) {
			role.DisallowedTools = append(role.DisallowedTools, one)
		} else {
			wish("disallowedTools: %.100q is no name of a tool, and is left out", one)
		}
	}
	if _, says := read.fields["tools"]; !says {
		return
	}
	kept := []string{}
	for _, one := range read.list("tools") {
		if slices.Contains(role.Tools, one) {
			kept = append(kept, one)
		} else {
			wish("tools: %.100q is not among the tools of the shipped role (%s), to which only the operator's settings can add; it is left out", one, strings.Join(role.Tools, ", "))
		}
	}
	if len(kept) == 0 {
		wish("tools: none of them is left, so that the agent has those of the shipped role")
		return
	}
	role.Tools = kept
}

// oneLine is a description as it stands in a list.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "") + " [cut]"
	}
	return text
}

func fieldsOf(read front) (names []string) {
	for name := range read.fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
