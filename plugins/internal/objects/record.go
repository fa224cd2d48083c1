package objects

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Bounds are how much of a directory is recorded.
type Bounds struct {
	Bytes int64 // of all files
	Files int   // and directories
}

const (
	mostDepth = 100
	mostPath  = 2000 // bytes: a checkout's path comes before it
)

// Recorded is what a directory was recorded as.
type Recorded struct {
	Tree string
	// Apart are the paths that are no part of the tree: git repositories, sockets and the like.
	Apart []string
	// Over says that there is more in the directory than the bounds; Fault what in it could not
	// be read. With either there is no tree.
	Over, Fault string
}

// Record makes a store in dir, which must not be there yet, of what is in the directory from,
// byte for byte: no git looks into that directory, so that no attribute, no ignored name and no
// repository in it has an effect. Links are recorded as links, and none is followed.
func Record(ctx context.Context, dir, from string, bounds Bounds) (*Store, Recorded, error) {
	s, err := create(ctx, dir, "sha1")
	if err != nil {
		return nil, Recorded{}, err
	}
	// A link in its place leads to what is not the worker's.
	if info, err := os.Lstat(from); err == nil && !info.IsDir() {
		return s, Recorded{Fault: fmt.Sprintf("%q is no directory", from)}, nil
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, Recorded{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "record the work: %w", err)
	}
	defer root.Close()
	ours, theirs := io.Pipe()
	w := &recorder{ctx: ctx, out: bufio.NewWriterSize(theirs, 1<<16), left: bounds, bounds: bounds}
	walked := make(chan error, 1)
	go func() {
		err := w.record(root)
		walked <- err
		_ = theirs.CloseWithError(err) // nil: the end
	}()
	_, imported := git(ctx, []string{"GIT_DIR=" + s.Dir}, ours, nil,
		"-c", "fastimport.unpackLimit=0", "-c", "core.bigFileThreshold=16m", "fast-import", "--quiet", "--done", "--date-format=raw")
	_ = ours.CloseWithError(io.ErrClosedPipe) // git has ended: so does the walk
	err = <-walked
	recorded := Recorded{Apart: w.apart, Over: w.over, Fault: strings.Join(w.faults, ", ")}
	switch {
	case recorded.Over != "" || recorded.Fault != "":
		return s, recorded, nil
	case imported != nil:
		return nil, recorded, imported
	case err != nil:
		return nil, recorded, err
	}
	recorded.Tree, err = s.Git(ctx, "rev-parse", "--verify", "--end-of-options", "refs/heads/work^{tree}")
	return s, recorded, err
}

// recorder writes a directory as the input of git fast-import.
type recorder struct {
	ctx    context.Context
	out    *bufio.Writer
	bounds Bounds
	left   Bounds // of them
	files  []file
	apart  []string
	over   string
	faults []string
}

// file is one that is written: its mark is its number, counted from 1.
type file struct{ mode, path string }

const mostFaults = 10

func (w *recorder) record(root *os.Root) error {
	if err := w.directory(root, "", 0); err != nil {
		return err
	}
	if w.over != "" || len(w.faults) > 0 {
		return io.ErrUnexpectedEOF // there is no tree
	}
	fmt.Fprint(w.out, "commit refs/heads/work\ncommitter Harness <harness@localhost> 0 +0000\ndata 0\n\n")
	for n, one := range w.files {
		fmt.Fprintf(w.out, "M %s :%d %s\n", one.mode, n+1, cQuoted(one.path))
	}
	fmt.Fprint(w.out, "\ndone\n")
	return w.out.Flush()
}

// directory writes what is in a directory, and in those below it.
func (w *recorder) directory(dir *os.Root, path string, depth int) error {
	open, err := dir.Open(".")
	if err != nil {
		return w.cannot(path, err)
	}
	names, err := open.Readdirnames(w.left.Files + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = open.Close()
		return w.cannot(path, err)
	}
	if err := open.Close(); err != nil {
		return w.cannot(path, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if w.over != "" || len(w.faults) >= mostFaults {
			return nil
		}
		if w.left.Files--; w.left.Files < 0 {
			w.over = fmt.Sprintf("more than %d files", w.bounds.Files)
			return nil
		}
		if err := w.entry(dir, name, filepath.Join(path, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *recorder) entry(dir *os.Root, name, path string, depth int) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	info, err := dir.Lstat(name)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return w.cannot(path, err)
	case strings.EqualFold(name, ".git"), strings.EqualFold(name, ".gitmodules") && !info.Mode().IsRegular():
		w.apart = append(w.apart, path) // git takes in none of that name
		return nil
	case len(path) > mostPath || depth >= mostDepth:
		w.faults = append(w.faults, fmt.Sprintf("%.100q... lies too deep", path))
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return w.regular(dir, name, path, info)
	case mode&os.ModeSymlink != 0:
		to, err := dir.Readlink(name)
		if err != nil {
			return w.cannot(path, err)
		}
		w.files = append(w.files, file{"120000", path})
		_, err = fmt.Fprintf(w.out, "blob\nmark :%d\ndata %d\n%s\n", len(w.files), len(to), to)
		return err
	case mode.IsDir():
		below, err := dir.OpenRoot(name)
		if err != nil {
			return w.cannot(path, err)
		}
		defer below.Close()
		return w.directory(below, path, depth+1)
	}
	w.apart = append(w.apart, path)
	return nil
}

// regular writes a file. One that is cut while it is read is an error: it is recorded anew.
func (w *recorder) regular(dir *os.Root, name, path string, was os.FileInfo) error {
	open, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return w.cannot(path, err)
	}
	defer open.Close()
	info, err := open.Stat()
	if err != nil || !os.SameFile(was, info) || !info.Mode().IsRegular() {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "record the work: %q changes while it is read", path)
	}
	if w.left.Bytes -= info.Size(); w.left.Bytes < 0 {
		w.over = fmt.Sprintf("more than %d MB", w.bounds.Bytes>>20)
		return nil
	}
	mode := "100644"
	if info.Mode().Perm()&0o100 != 0 {
		mode = "100755"
	}
	w.files = append(w.files, file{mode, path})
	if _, err := fmt.Fprintf(w.out, "blob\nmark :%d\ndata %d\n", len(w.files), info.Size()); err != nil {
		return err
	}
	if _, err := io.CopyN(w.out, open, info.Size()); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "record the work: %q: %w", path, err)
	}
	return w.out.WriteByte('\n')
}

// cannot notes what cannot be read because it is not permitted; another error is one.
func (w *recorder) cannot(path string, err error) error {
	if os.IsPermission(err) {
		w.faults = append(w.faults, fmt.Sprintf("%q cannot be read", path))
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "record the work: %q: %w", path, err)
}

// cQuoted is a path as git reads it, whatever bytes are in it.
func cQuoted(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

// Empty is the name of the tree that has nothing.
func (s *Store) Empty(ctx context.Context) (string, error) {
	return git(ctx, []string{"GIT_DIR=" + s.Dir}, strings.NewReader(""), nil, "mktree")
}
