// Package depot keeps the packages of installed plugins: content-addressed,
// read-only, and checked against their pins before they are run. Nothing of a
// package is ever executed here.
//
// A package is a directory with a plugin.json and files. In the depot it lies
// under the SHA-256 of its listing, which names every file, whether it may be
// executed, and its content. The listing lies beside it, so that a package that
// was changed can be told by the file.
package depot

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The bounds of a package: more is refused.
const (
	DefaultMaxBytes = 512 << 20
	DefaultMaxFiles = 20_000
)

// Config says where the packages lie and what is accepted.
type Config struct {
	Dir string // made when it is needed
	// Publishers are the keys whose signatures are trusted.
	Publishers Publishers
	// RequireSignature refuses what no trusted publisher signed.
	RequireSignature bool
	MaxBytes         int64 // of the files of a package; default DefaultMaxBytes
	MaxFiles         int   // files, links and directories; default DefaultMaxFiles
}

// Depot is a directory of packages. Several processes may use one at a time.
type Depot struct{ config Config }

// New returns the depot. It touches no files.
func New(config Config) *Depot {
	if config.MaxBytes == 0 {
		config.MaxBytes = DefaultMaxBytes
	}
	if config.MaxFiles == 0 {
		config.MaxFiles = DefaultMaxFiles
	}
	return &Depot{config: config}
}

// dir is where a package lies; its listing is beside it.
func (d *Depot) dir(sum string) string     { return filepath.Join(d.config.Dir, sum) }
func (d *Depot) listing(sum string) string { return d.dir(sum) + listingSuffix }

const (
	listingSuffix = ".sum"
	stagePrefix   = ".stage-"
)

// packageOf returns the sum under which the package that has the file lies in a
// depot, and the file's name in it. home is the depot: this one, or another one
// when the data directory was moved.
func packageOf(path string) (home, sum, name string, ok bool) {
	for dir, file := filepath.Dir(path), filepath.Base(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isSum(filepath.Base(dir)) {
			return filepath.Dir(dir), filepath.Base(dir), file, true
		}
		file = filepath.Base(dir) + "/" + file
	}
	return "", "", "", false
}

// here reports whether the directory is the depot's own, however its path is
// written.
func (d *Depot) here(home string) bool {
	if filepath.Clean(home) == filepath.Clean(d.config.Dir) {
		return true
	}
	a, errA := os.Stat(home)
	b, errB := os.Stat(d.config.Dir)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && strings.ToLower(text) == text
}

// exclusive runs do while no other process adds or removes packages.
func (d *Depot) exclusive(do func() error) (err error) {
	if err := os.MkdirAll(d.config.Dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of plugin packages: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(d.config.Dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // our own directory
	if err != nil {
		return fmt.Errorf("lock the plugin packages: %w", err)
	}
	defer lock.Close()
	for {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("lock the plugin packages: %w", err)
	}
	return do()
}

// removeAll removes a directory whose directories are read-only. What is not
// there is no error.
func removeAll(dir string) error {
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // a directory needs the bit, and is about to go
		}
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// invalid is an error about what the operator gave.
func invalid(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, format, args...)
}
