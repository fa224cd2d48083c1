// Package objects makes checkouts of a git tree from nothing but its objects. They are copied
// into a private bare repository, where git names each by its content anew. So the attributes,
// filters, replacements, hooks and configuration of the repository that they are from have no
// effect on what is read and written here.
package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is a bare repository with the objects of some trees.
type Store struct {
	// Dir is its git directory.
	Dir string
}

const (
	limit = 10 * time.Minute // of one call of git
	// mostOutput bounds what a call of git prints.
	mostOutput = 64 << 20
)

// noAttributes undo what .gitattributes of a tree say: this file goes before those.
const noAttributes = "* -text !eol -ident -filter !working-tree-encoding !diff !merge\n"

// settings are given to every call of git.
var settings = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "core.quotePath=false", "-c", "core.autocrlf=false", "-c", "core.protectNTFS=false"}

func environment(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
	}, extra...)
}

// git calls the git program; stdout nil: its output is returned.
func git(ctx context.Context, env []string, stdin io.Reader, stdout io.Writer, args ...string) (string, error) {
	result, err := run.Do(ctx, run.Command{
		Args: append(append([]string{"git"}, settings...), args...), Dir: "/", Env: environment(env...), Stdin: stdin, Stdout: stdout, Limit: limit, Most: mostOutput,
	})
	switch {
	case err != nil:
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git %s: %w", args[0], err)
	case result.Code != 0:
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git %s: exit code %d: %s", args[0], result.Code, strings.TrimSpace(result.Stderr))
	}
	return strings.TrimSuffix(string(result.Stdout), "\n"), nil
}

// Copy makes a store in dir, which must not be there yet, of the trees that the names are of
// (trees or commits), with the objects of the repository that the directory top belongs to. It
// returns the names of the trees.
func Copy(ctx context.Context, dir, top string, names ...string) (*Store, []string, error) {
	if _, err := objectsOf(top); err != nil {
		return nil, nil, err
	}
	format := "sha1"
	if len(names) > 0 && len(names[0]) == 64 {
		format = "sha256"
	}
	s, err := create(ctx, dir, format)
	if err != nil {
		return nil, nil, err
	}
	trees, err := s.Add(ctx, top, names...)
	if err != nil {
		return nil, nil, err
	}
	return s, trees, nil
}

// Add copies the trees that the names are of (trees or commits) into the store, with their objects,
// from the repository that the directory top belongs to, or from a store. It returns the names of
// the trees.
func (s *Store) Add(ctx context.Context, top string, names ...string) ([]string, error) {
	from, err := objectsOf(top)
	if err != nil {
		return nil, err
	}
	alternates := filepath.Join(s.Dir, "objects", "info", "alternates")
	if err := put(alternates, from+"\n"); err != nil {
		return nil, err
	}
	var asked strings.Builder
	for _, name := range names {
		asked.WriteString(name + "^{tree}\n")
	}
	said, err := git(ctx, []string{"GIT_DIR=" + s.Dir}, strings.NewReader(asked.String()), nil, "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	trees := strings.Split(said, "\n")
	for _, tree := range trees {
		if strings.Contains(tree, " ") || len(trees) != len(names) { // NAME missing
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "of %q not all are trees in the repository of %s: git cat-file: %.400q", names, top, said)
		}
	}
	return trees, s.take(ctx, alternates, trees)
}

// create makes a store that has nothing.
func create(ctx context.Context, dir, format string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "make room for the work: %w", err)
	}
	if _, err := git(ctx, nil, nil, nil, "init", "--quiet", "--bare", "--template=", "--object-format="+format, dir); err != nil {
		return nil, err
	}
	return &Store{Dir: dir}, put(filepath.Join(dir, "info", "attributes"), noAttributes)
}

// put writes a file of a store.
func put(path, content string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "make room for the work: %w", err)
	}
	return nil
}

// take copies all objects of trees, and lets go of where they are from. git names each object
// that index-pack is given by its content: one that is not what its name says is missing then.
func (s *Store) take(ctx context.Context, alternates string, trees []string) error {
	pack, err := os.CreateTemp(s.Dir, "pack-*")
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "copy the work: %w", err)
	}
	defer os.Remove(pack.Name())
	defer pack.Close()
	env := []string{"GIT_DIR=" + s.Dir}
	if _, err := git(ctx, env, strings.NewReader(strings.Join(trees, "\n")+"\n"), pack, "pack-objects", "--revs", "--quiet", "--stdout", "--window=0"); err != nil {
		return err
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := os.Remove(alternates); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "copy the work: %w", err)
	}
	if _, err := git(ctx, env, pack, nil, "index-pack", "--stdin"); err != nil {
		return err
	}
	_, err = git(ctx, env, nil, io.Discard, append([]string{"rev-list", "--objects", "--quiet"}, trees...)...)
	return err
}

// objectsOf is the directory of the objects of the repository that a working tree belongs to,
// or of a store.
// Where the worker has it lead does not matter: objects are known by their names.
func objectsOf(top string) (string, error) {
	gitDir := filepath.Join(top, ".git")
	if _, err := os.Lstat(gitDir); os.IsNotExist(err) {
		gitDir = top
	}
	if info, err := os.Lstat(gitDir); err == nil && info.Mode().IsRegular() && info.Size() < 8<<10 {
		said, err := os.ReadFile(gitDir)
		if err != nil {
			return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "find the objects of %s: %w", top, err)
		}
		gitDir = strings.TrimSpace(strings.TrimPrefix(string(said), "gitdir:"))
		if !filepath.IsAbs(gitDir) {
			gitDir = filepath.Join(top, gitDir)
		}
	}
	if common, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		to := strings.TrimSpace(string(common))
		if !filepath.IsAbs(to) {
			to = filepath.Join(gitDir, to)
		}
		gitDir = to
	}
	objects := filepath.Join(gitDir, "objects")
	if strings.ContainsAny(objects, "\n\"") || strings.HasPrefix(objects, "#") {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "find the objects of %s: git takes no objects from a directory of the name %q", top, objects)
	}
	if info, err := os.Stat(objects); err != nil || !info.IsDir() {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "find the objects of %s: %s is no directory", top, objects)
	}
	return objects, nil
}

// Git calls git in the store, and returns what it prints.
func (s *Store) Git(ctx context.Context, args ...string) (string, error) {
	return git(ctx, []string{"GIT_DIR=" + s.Dir}, nil, nil, args...)
}

// Checkout writes the files of a tree into dir, which it makes.
func (s *Store) Checkout(ctx context.Context, tree, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "check out the work: %w", err)
	}
	index := filepath.Join(s.Dir, "index-"+filepath.Base(dir))
	env := []string{"GIT_DIR=" + s.Dir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + index}
	if _, err := git(ctx, env, nil, nil, "-C", dir, "read-tree", tree); err != nil {
		return err
	}
	_, err := git(ctx, env, nil, nil, "-C", dir, "-c", "core.bare=false", "checkout-index", "--all", "--force", "--quiet")
	return err
}

// Repository makes a checkout a git repository of its own, for programs that ask git: with a
// commit of the base, if there is one, and one of the tree on top of it.
func (s *Store) Repository(ctx context.Context, base, tree, dir string) error {
	if _, err := git(ctx, nil, nil, nil, "init", "--quiet", "--template=", "--initial-branch=work", "--object-format="+map[bool]string{true: "sha256", false: "sha1"}[len(tree) == 64], dir); err != nil {
		return err
	}
	info := filepath.Join(dir, ".git", "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "check out the work: %w", err)
	}
	if err := os.WriteFile(filepath.Join(info, "alternates"), []byte(filepath.Join(s.Dir, "objects")+"\n"), 0o600); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "check out the work: %w", err)
	}
	env := []string{"GIT_DIR=" + filepath.Join(dir, ".git"), "GIT_WORK_TREE=" + dir}
	for _, name := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+name+"_NAME=Harness", "GIT_"+name+"_EMAIL=harness@localhost")
	}
	var parents []string
	for _, one := range []struct{ tree, words string }{{base, "What the work began with"}, {tree, "The work"}} {
		if one.tree == "" {
			continue
		}
		commit, err := git(ctx, env, nil, nil, append([]string{"commit-tree", "-m", one.words, one.tree}, parents...)...)
		if err != nil {
			return err
		}
		parents = []string{"-p", commit}
	}
	if _, err := git(ctx, env, nil, nil, "update-ref", "HEAD", parents[1]); err != nil {
		return err
	}
	if _, err := git(ctx, env, nil, nil, "-C", dir, "read-tree", tree); err != nil {
		return err
	}
	_, err := git(ctx, env, nil, nil, "-C", dir, "update-index", "-q", "--refresh")
	return err
}

// Change is what differs between two trees.
type Change struct {
	Paths []string
	Diff  string // of every byte, as text
}

// Change compares two trees. over says that there is more than most bytes of it.
func (s *Store) Change(ctx context.Context, from, to string, most int) (c Change, over bool, err error) {
	listed, err := s.Git(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--end-of-options", from, to)
	if err != nil {
		return c, false, err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		if strings.ContainsAny(path, "\n\r\"") {
			path = fmt.Sprintf("%q", path)
		}
		c.Paths = append(c.Paths, path)
	}
	c.Diff, over, err = s.Diff(ctx, from, to, most, "--text")
	return c, over, err
}

// Diff is how two trees differ, up to most bytes of it. over says that there is more.
func (s *Store) Diff(ctx context.Context, from, to string, most int, options ...string) (text string, over bool, err error) {
	diff := &head{most: most}
	args := append([]string{"diff-tree", "-r", "-p", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"}, options...)
	_, err = git(ctx, []string{"GIT_DIR=" + s.Dir}, nil, diff, append(args, "--end-of-options", from, to)...)
	return visible(diff.data.String()), diff.over, err
}

// head keeps the first bytes of what is written.
type head struct {
	data bytes.Buffer
	most int
	over bool
}

func (h *head) Write(data []byte) (int, error) {
	room := h.most - h.data.Len()
	h.over = h.over || len(data) > room
	h.data.Write(data[:min(len(data), room)])
	return len(data), nil
}

// Entry is a file of a tree.
type Entry struct {
	Mode string // as git writes it, such as 100644
	ID   string
	Size int64 // in bytes; of a submodule -1
}

// The modes of entries.
const (
	Program   = "100755"
	Link      = "120000"
	Submodule = "160000"
)

// Entries are the files of a tree, by their paths.
func (s *Store) Entries(ctx context.Context, tree string) (map[string]Entry, error) {
	listed, err := s.Git(ctx, "ls-tree", "-r", "-l", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]Entry)
	for line := range strings.SplitSeq(listed, "\x00") {
		described, path, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(described); ok && len(fields) == 4 {
			e := Entry{Mode: fields[0], ID: fields[2], Size: -1}
			if size, err := strconv.ParseInt(fields[3], 10, 64); err == nil {
				e.Size = size
			}
			entries[path] = e
		}
	}
	return entries, nil
}

// Blobs returns the contents of blobs, by their names.
func (s *Store) Blobs(ctx context.Context, ids []string) (map[string]string, error) {
	contents := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return contents, nil
	}
	printed, err := git(ctx, []string{"GIT_DIR=" + s.Dir}, strings.NewReader(strings.Join(ids, "\n")+"\n"), nil, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	printed += "\n" // the last one's, which git takes off
	for range ids {
		header, rest, _ := strings.Cut(printed, "\n")
		fields := strings.Fields(header)
		if len(fields) != 3 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git cat-file: %.200q is no object", header)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size >= len(rest) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git cat-file: %.200q is cut off", header)
		}
		contents[fields[0]], printed = rest[:size], rest[size+1:]
	}
	return contents, nil
}

// Edit is what a path of a tree is to be: an entry of Mode and ID, or a file with Content where
// there is no ID; without a mode it is not to be there.
type Edit struct {
	Path, Mode, ID, Content string
}

// With makes a tree that differs from another one by edits, and returns its name.
func (s *Store) With(ctx context.Context, tree string, edits []Edit) (string, error) {
	index := []string{"GIT_DIR=" + s.Dir, "GIT_INDEX_FILE=" + filepath.Join(s.Dir, "index-edited")}
	if _, err := git(ctx, index, nil, nil, "read-tree", tree); err != nil {
		return "", err
	}
	var gone, there strings.Builder
	none := strings.Repeat("0", len(tree))
	for _, e := range edits {
		if e.Mode == "" {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", none, e.Path)
			continue
		}
		if e.ID == "" {
			id, err := git(ctx, []string{"GIT_DIR=" + s.Dir}, strings.NewReader(e.Content), nil, "hash-object", "-w", "--no-filters", "--stdin")
			if err != nil {
				return "", err
			}
			e.ID = id
		}
		fmt.Fprintf(&there, "%s %s\t%s\x00", e.Mode, e.ID, e.Path)
	}
	// What goes makes room for what comes: a file may be where a directory was.
	if _, err := git(ctx, index, strings.NewReader(gone.String()+there.String()), nil, "update-index", "-z", "--replace", "--index-info"); err != nil {
		return "", err
	}
	return git(ctx, index, nil, nil, "write-tree")
}

// visible is a text in which everything can be seen: bytes that are no text stand as \x1f,
// characters that nobody sees (that turn the direction of writing, that break a line) as \u202e.
func visible(text string) string {
	var b strings.Builder
	for n := 0; n < len(text); {
		r, size := utf8.DecodeRuneInString(text[n:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[n])
		case r == '\n', r == '\t', r == '\r', r < utf8.RuneSelf, unicode.IsPrint(r) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && !unicode.Is(unicode.Variation_Selector, r) && r != '\u2800':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		n += size
	}
	return b.String()
}
