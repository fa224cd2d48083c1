package depot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// What lies on the disk may have been changed by a plugin that wants its reader
// to hang: files without an end, pipes that nobody writes to, more files than
// anybody reads. So nothing is opened in a way that waits, and all is counted.

// reading is a package that is read as it lies on the disk.
type reading struct {
	config Config
	root   *os.Root
	// known are the only names that may be there; nil: any.
	known   map[string]entry
	group   *errgroup.Group
	entries []*entry
	things  int
	bytes   atomic.Int64
}

// list reads a package, its files in parallel. Empty directories are not part of
// a package. A name that is not in known, when that is not nil, is not read.
func (d *Depot) list(ctx context.Context, dir string, known map[string]entry) ([]entry, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	r := &reading{config: d.config, root: root, known: known}
	r.group, ctx = errgroup.WithContext(ctx)
	r.group.SetLimit(runtime.NumCPU())
	err = r.directory(ctx, ".")
	if failed := r.group.Wait(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	read := make([]entry, len(r.entries))
	for n, e := range r.entries {
		read[n] = *e
	}
	return read, nil
}

// batch is how many names of a directory are read at a time.
const batch = 256

func (r *reading) directory(ctx context.Context, name string) error {
	dir, err := r.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		found, err := dir.ReadDir(batch)
		for _, one := range found {
			if err := r.found(ctx, path.Join(name, one.Name()), one); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *reading) found(ctx context.Context, name string, one fs.DirEntry) error {
	if r.things++; r.things > r.config.MaxFiles {
		return invalid("there are more than %d files in it", r.config.MaxFiles)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if one.IsDir() {
		return r.directory(ctx, name)
	}
	if _, ok := r.known[name]; !ok && r.known != nil {
		return invalid("%q was added", name)
	}
	e := &entry{name: name}
	r.entries = append(r.entries, e)
	r.group.Go(func() error { return r.read(ctx, e, one.Type()) })
	return nil
}

// read fills in what the entry's name leads to.
func (r *reading) read(ctx context.Context, e *entry, mode fs.FileMode) error {
	if mode&fs.ModeSymlink != 0 {
		target, err := r.root.Readlink(e.name)
		e.kind, e.sum = 'l', sumOf([]byte(target))
		return err
	}
	if !mode.IsRegular() {
		return invalid("%q is neither a file nor a directory nor a link", e.name)
	}
	file, info, err := openRegular(e.name, r.root.OpenFile)
	if err != nil {
		return err
	}
	defer file.Close()
	total := r.bytes.Add(info.Size())
	if total-info.Size() > r.config.MaxBytes {
		return nil // another file says so
	}
	if total > r.config.MaxBytes {
		return invalid("%q makes it larger than %d MiB", e.name, r.config.MaxBytes>>20)
	}
	e.kind = kindOf(info.Mode())
	e.sum, err = hashOf(ctx, file, info)
	return err
}

// openRegular opens a file without waiting for anybody, and refuses what is none.
func openRegular(name string, open func(string, int, os.FileMode) (*os.File, error)) (*os.File, fs.FileInfo, error) {
	file, err := open(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = invalid("%q is not a file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// hashOf reads a file of the size that it has until ctx ends.
func hashOf(ctx context.Context, file io.Reader, info fs.FileInfo) (string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(until(ctx, file), info.Size()+1))
	if err != nil {
		return "", err
	}
	if n > info.Size() {
		return "", invalid("%q grows while it is read", info.Name())
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// until is a reader that fails once ctx has ended.
func until(ctx context.Context, content io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return content.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// SumFile returns the SHA-256 of a file, hex: the pin of a plugin that is not
// installed from a package. What is no file, or larger than DefaultMaxBytes, is
// CodeInvalid.
func SumFile(path string) (string, error) {
	return sumFile(context.Background(), path, DefaultMaxBytes)
}

func sumFile(ctx context.Context, path string, limit int64) (string, error) {
	file, info, err := openRegular(path, os.OpenFile)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info.Size() > limit {
		return "", invalid("%s is larger than %d MiB", path, limit>>20)
	}
	return hashOf(ctx, file, info)
}

// readListing reads the listing that was kept beside a package.
func (d *Depot) readListing(sum string) ([]byte, error) {
	file, info, err := openRegular(d.listing(sum), os.OpenFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	longest := int64(d.config.MaxFiles+1) * (maxName + 128)
	if info.Size() > longest {
		return nil, fmt.Errorf("the listing is larger than %d bytes", longest)
	}
	return io.ReadAll(io.LimitReader(file, longest))
}
