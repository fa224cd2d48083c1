// Package git asks the git program. Every call of it is made here: with an environment made
// on purpose, with limits, and so that no file name is taken for anything else.
package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Git is a git program that is new enough. It is safe for concurrent use.
type Git struct{ program string }

// oldest has `merge-tree --write-tree`, which merges without a working tree.
var oldest = [2]int{2, 38}

var versionLine = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// Find looks for the program, in PATH when it is a name. One that is missing or too old is
// CodeUnavailable, with what to do about it.
func Find(ctx context.Context, program string) (*Git, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is not installed, or not in the PATH of the daemon (%s): install git %d.%d or newer",
			program, os.Getenv("PATH"), oldest[0], oldest[1])
	}
	g := &Git{program: path}
	said, err := run.Do(ctx, run.Command{Args: []string{path, "version"}, Env: environment(nil), Limit: 10 * time.Second})
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s does not say which version it is: %w", path, err)
	}
	match := versionLine.FindSubmatch(said.Stdout)
	if match == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is no git: it calls itself %.100q", path, said.Stdout)
	}
	major, _ := strconv.Atoi(string(match[1])) // digits, and if too many: new enough
	minor, _ := strconv.Atoi(string(match[2]))
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is version %d.%d: install git %d.%d or newer", path, major, minor, oldest[0], oldest[1])
	}
	return g, nil
}

// settings are given to every call, above those of the repository and the user: no hook and no
// other program is started, and nothing begins in the background. (environment has objects be
// what they are, whatever refs/replace says, and nothing be fetched; see also Dir.without.)
var settings = []string{
	"-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false",
	"-c", "advice.detachedHead=false", "-c", "user.useConfigOnly=true", "-c", "submodule.recurse=false",
	"-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "gpg.program=false", "-c", "gpg.ssh.program=false", "-c", "gpg.x509.program=false",
	"-c", "credential.helper=", "-c", "core.sshCommand=false", "-c", "diff.ignoreSubmodules=dirty", "-c", "core.alternateRefsCommand=true",
}

// environment is that of a call of git: nothing is fetched, by whatever program.
func environment(extra []string) []string {
	return around(append([]string{"GIT_ALLOW_PROTOCOL=none", "GIT_SEQUENCE_EDITOR=true", "SSH_ASKPASS=true"}, extra...))
}

// around is this process's environment without what would tell git of another repository, and
// with extra.
func around(extra []string) []string {
	env := slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" || name == "EDITOR" || name == "VISUAL"
	})
	return append(append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_EDITOR=true", "GIT_ASKPASS=true", "GIT_PAGER=cat"), extra...)
}

// Environment is that of a program which is started in a working tree: this process's, with
// extra, and nothing that tells git of another repository.
func (*Git) Environment(extra ...string) []string { return around(extra) }

// Error is a call of git that has failed.
type Error struct {
	Args   []string
	Code   int
	Output string // the end of what it said
}

// Error names the call, and has git's own words.
func (e *Error) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", strings.Join(e.Args, " "), e.Code, strings.TrimSpace(e.Output))
}

// CodeOf returns the exit code of the call that has failed with the error; -1: none has.
func CodeOf(err error) int {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Code
	}
	return -1
}

// Dir is a place to call git in.
type Dir struct {
	git *Git
	// Path is the directory.
	Path string
	env  []string
}

// At is a directory, in which git looks for the repository by itself.
func (g *Git) At(path string) Dir { return Dir{git: g, Path: path} }

// Worktree is the top of a working tree with the git directory that is known to be its own,
// whatever the file .git in it says by now.
func (g *Git) Worktree(path, gitDir string) Dir {
	return Dir{git: g, Path: path, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + path}}
}

// Repository is a repository's git directory, for what concerns no working tree.
func (g *Git) Repository(gitDir string) Dir {
	return Dir{git: g, Path: gitDir, env: []string{"GIT_DIR=" + gitDir}}
}

// With is the place with another index than its own.
func (d Dir) With(index string) Dir {
	d.env = append(slices.Clip(d.env), "GIT_INDEX_FILE="+index)
	return d
}

// As is the place with an identity for what must be committed even where nobody has set
// one up.
func (d Dir) As(name, email string) Dir {
	d.env = append(slices.Clip(d.env),
		"GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email)
	return d
}

// Limits of one call.
const (
	// Quick is how long a call may take.
	Quick = 10 * time.Minute

	mostOutput = 64 << 20
)

// Call is a call of git that is not only its arguments.
type Call struct {
	Args  []string
	Stdin string
	// Stdout gets the output, as much as there is; nil: Do returns it.
	Stdout io.Writer
	Limit  time.Duration // 0: Quick
}

// Do calls git and returns its output. An exit code other than 0 is an *Error, and the
// output is what there was of it. No program is started but git.
func (d Dir) Do(ctx context.Context, c Call) (string, error) {
	if onlyLooks(c.Args) {
		return d.call(ctx, c, nil)
	}
	without, err := d.without(ctx)
	if err != nil {
		return "", err
	}
	return d.call(ctx, c, without)
}

func (d Dir) call(ctx context.Context, c Call, more []string) (string, error) {
	command := run.Command{
		Args: append(append([]string{d.git.program, "-C", d.Path}, settings...), c.Args...),
		Dir:  "/", Env: append(environment(d.env), more...), Stdin: strings.NewReader(c.Stdin), Stdout: c.Stdout, Limit: c.Limit, Most: mostOutput,
	}
	if c.Limit == 0 {
		command.Limit = Quick
	}
	result, err := run.Do(ctx, command)
	out := string(result.Stdout)
	switch {
	case err != nil && ctx.Err() != nil:
		return out, pluginsdk.Errorf(pluginsdk.CodeCancelled, "git %s: %w", strings.Join(c.Args, " "), err)
	case err != nil:
		return out, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git %s: %w", strings.Join(c.Args, " "), err)
	case result.Code != 0:
		said := result.Stderr
		if strings.TrimSpace(said) == "" {
			said = out[max(0, len(out)-run.TailBytes):]
		}
		return out, &Error{Args: c.Args, Code: result.Code, Output: said}
	}
	return out, nil
}

// Run calls git for what it does.
func (d Dir) Run(ctx context.Context, args ...string) error {
	_, err := d.Do(ctx, Call{Args: args})
	return err
}

// Text returns what git says, without the end of the line.
func (d Dir) Text(ctx context.Context, args ...string) (string, error) {
	out, err := d.Do(ctx, Call{Args: args})
	return strings.TrimSuffix(out, "\n"), err
}

// List returns what git says in pieces that end with a NUL (its option -z).
func (d Dir) List(ctx context.Context, args ...string) ([]string, error) {
	out, err := d.Do(ctx, Call{Args: args})
	return split(out), err
}

func split(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}

// Object returns the full name of an object; "": there is none.
func (d Dir) Object(ctx context.Context, name string) (string, error) {
	id, err := d.Text(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if CodeOf(err) == 1 {
		return "", nil
	}
	return id, err
}

// Objects returns the full names of several objects, each "" if there is none. No name has a line
// break in it.
func (d Dir) Objects(ctx context.Context, names ...string) ([]string, error) {
	out, err := d.Do(ctx, Call{Args: []string{"cat-file", "--batch-check=%(objectname)"}, Stdin: strings.Join(names, "\n") + "\n"})
	if err != nil {
		return nil, err
	}
	ids := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(ids) != len(names) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "git cat-file says %.200q of %q", out, names)
	}
	for i, id := range ids {
		if strings.Contains(id, " ") { // NAME missing
			ids[i] = ""
		}
	}
	return ids, nil
}

// Holds reports whether a commit is the other one, or comes before it.
func (d Dir) Holds(ctx context.Context, commit, ancestor string) (bool, error) {
	err := d.Run(ctx, "merge-base", "--is-ancestor", ancestor, commit)
	if CodeOf(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Change is a path that differs between two trees.
type Change struct {
	Status byte // A, M, D or T
	Mode   string
	Path   string
}

// Changes returns what differs between two trees, by path.
func (d Dir) Changes(ctx context.Context, from, to string) (changes []Change, err error) {
	raw, err := d.List(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", from, to)
	for i := 0; i+1 < len(raw); i += 2 {
		// :100644 100644 ID ID M
		fields := strings.Fields(raw[i])
		if len(fields) != 5 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInternal, "git diff-tree says %.200q", raw[i])
		}
		changes = append(changes, Change{Status: fields[4][0], Mode: fields[1], Path: raw[i+1]})
	}
	return changes, err
}

// PatchID names what a change does, wherever in its files it does it: it stays when other
// lines of them have moved. Unlike that of `git patch-id` it is of every byte, white space
// and binary files included. It is empty when nothing changes.
func (d Dir) PatchID(ctx context.Context, from, to string) (string, error) {
	id := newPatchID()
	_, err := d.Do(ctx, Call{Stdout: id, Args: []string{
		"diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", "--no-color",
		"--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--diff-algorithm=default", "--end-of-options", from, to,
	}})
	if err != nil {
		return "", err
	}
	return id.sum(), nil
}

// Merged is what a merge of two commits without a working tree has come to.
type Merged struct {
	Tree      string
	Conflicts []string // paths; without any the tree is clean
	Words     string   // of git, about the conflicts
}

// MergeTree merges two commits, and changes nothing.
func (d Dir) MergeTree(ctx context.Context, ours, theirs string) (Merged, error) {
	out, err := d.Do(ctx, Call{Args: []string{"merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs}})
	if err != nil && CodeOf(err) != 1 {
		return Merged{}, err
	}
	// The tree, then paths, and behind an empty one the messages.
	head, words, _ := strings.Cut(out, "\x00\x00")
	pieces := split(head)
	if len(pieces) == 0 {
		return Merged{}, pluginsdk.Errorf(pluginsdk.CodeInternal, "git merge-tree says %.200q", out)
	}
	if err == nil {
		return Merged{Tree: pieces[0]}, nil
	}
	var said []string
	for piece := range strings.SplitSeq(words, "\x00") {
		if strings.HasPrefix(piece, "CONFLICT") {
			said = append(said, strings.TrimSpace(piece))
		}
	}
	slices.Sort(pieces[1:])
	return Merged{Tree: pieces[0], Conflicts: slices.Compact(pieces[1:]), Words: strings.Join(slices.Compact(said), "\n")}, nil
}

// Holding is what a directory is in.
type Holding struct {
	Bare   bool // the repository has no working tree
	Inside bool // the directory is in a working tree, and not in a git directory
	// Super is the top of the working tree whose submodule the repository is; empty: of none.
	Super string
}

// Holding finds out what the directory is in.
func (d Dir) Holding(ctx context.Context) (Holding, error) {
	said, err := d.Text(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-superproject-working-tree")
	bare, rest, _ := strings.Cut(said, "\n")
	inside, super, _ := strings.Cut(rest, "\n") // last, because there may be line breaks in it
	return Holding{Bare: bare == "true", Inside: inside == "true", Super: super}, err
}

// Layout is where the parts of a repository are, for a directory in its working tree.
type Layout struct {
	Top    string // of the working tree
	GitDir string // of that
	Common string // git directory that all working trees share
	Prefix string // the directory below Top, with a slash at its end
}

// Layout finds out where the directory's repository is.
func (d Dir) Layout(ctx context.Context) (l Layout, err error) {
	asked := []string{"--show-toplevel", "--absolute-git-dir", "--show-prefix", "--git-common-dir"}
	said, err := d.Do(ctx, Call{Args: append([]string{"rev-parse", "--path-format=absolute"}, asked...)})
	if err != nil {
		return l, err
	}
	to := []*string{&l.Top, &l.GitDir, &l.Prefix, &l.Common}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	if len(lines) == len(to) {
		for i, line := range lines {
			*to[i] = line
		}
		return l, nil
	}
	// There are line breaks in a path.
	for i, one := range asked {
		if *to[i], err = d.Text(ctx, "rev-parse", "--path-format=absolute", one); err != nil {
			return l, err
		}
	}
	return l, nil
}

// Identity fails with what git says when it is not set whose commits are made.
func (d Dir) Identity(ctx context.Context) error {
	err := d.Run(ctx, "var", "GIT_COMMITTER_IDENT")
	if err == nil {
		err = d.Run(ctx, "var", "GIT_AUTHOR_IDENT")
	}
	return err
}
