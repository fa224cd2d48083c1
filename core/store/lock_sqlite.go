package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lock holds a flock on a file beside the database. The kernel drops it with
// the process, so it cannot be lost and needs no cleaning up. The file's
// content is for the error message of whoever comes second.
func (b *sqliteBackend) lock(_ context.Context, owner string) (<-chan struct{}, func(), error) {
	path := filepath.Join(b.dir, "harness.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(file, 200)) // for the message only
		file.Close()                                       // nothing was written
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the data directory %s is in use by %s; stop that process first", b.dir, holderName(holder))
	}
	if err := errors.Join(file.Truncate(0), writeHolder(file, owner)); err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", path, errors.Join(err, file.Close()))
	}
	var once sync.Once
	release := func() {
		once.Do(func() { file.Close() })
	}
	return make(chan struct{}), release, nil
}

func writeHolder(file *os.File, owner string) error {
	name := fmt.Sprintf("pid %d", os.Getpid())
	if owner != "" && owner != name {
		name += " (" + owner + ")"
	}
	_, err := file.WriteAt([]byte(name+"\n"), 0)
	return err
}

func holderName(content []byte) string {
	if name := strings.TrimSpace(string(content)); name != "" {
		return name
	}
	return "another process"
}
