package depot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// listingHead begins every listing, so that its sum can be the sum of nothing
// else, and says how the rest is to be read.
const listingHead = "harness-package 1\n"

// entry is a line of a listing: `SHA256 KIND NAME`.
type entry struct {
	name string // with slashes, relative to the package
	kind byte   // x: a file that may be executed; f: another file; l: a link, whose target is its content
	sum  string // SHA-256 of the content, hex
}

func (e entry) line() string { return e.sum + " " + string(e.kind) + " " + e.name + "\n" }

// render writes a listing in its one form: sorted by name.
func render(entries []entry) []byte {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	var text strings.Builder
	text.WriteString(listingHead)
	for _, e := range entries {
		text.WriteString(e.line())
	}
	return []byte(text.String())
}

// parseListing reads what render wrote.
func parseListing(text []byte) (map[string]entry, error) {
	rest, ok := strings.CutPrefix(string(text), listingHead)
	if !ok {
		return nil, fmt.Errorf("it does not begin with %q", strings.TrimSpace(listingHead))
	}
	entries := make(map[string]entry)
	for line := range strings.Lines(rest) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(parts) != 3 || len(parts[1]) != 1 {
			return nil, fmt.Errorf("the line %q cannot be read", line)
		}
		entries[parts[2]] = entry{name: parts[2], kind: parts[1][0], sum: parts[0]}
	}
	return entries, nil
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// list reads a package as it lies on the disk, its files in parallel. Empty
// directories are not part of a package.
func list(ctx context.Context, dir string) ([]entry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var entries []*entry
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	err = fs.WalkDir(root.FS(), ".", func(name string, found fs.DirEntry, err error) error {
		if err != nil || found.IsDir() {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e := &entry{name: name}
		entries = append(entries, e)
		group.Go(func() error { return e.read(root, found.Type()) })
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	read := make([]entry, len(entries))
	for n, e := range entries {
		read[n] = *e
	}
	return read, nil
}

// read fills in what the entry's name leads to.
func (e *entry) read(root *os.Root, mode fs.FileMode) error {
	switch {
	case mode&fs.ModeSymlink != 0:
		target, err := root.Readlink(e.name)
		e.kind, e.sum = 'l', sumOf([]byte(target))
		return err
	case !mode.IsRegular():
		return invalid("%s is neither a file nor a directory nor a link", e.name)
	}
	file, err := root.Open(e.name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	e.kind = kindOf(info.Mode())
	e.sum, err = hashOf(file)
	return err
}

func kindOf(mode fs.FileMode) byte {
	if mode&0o111 != 0 {
		return 'x'
	}
	return 'f'
}

func hashOf(content io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// SumFile returns the SHA-256 of a file, hex: the pin of a plugin that is not
// installed from a package.
func SumFile(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // an operator named it
	if err != nil {
		return "", err
	}
	defer file.Close()
	return hashOf(file)
}
