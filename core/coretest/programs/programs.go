// Package programs makes this module's programs for tests that start them.
package programs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const module = "github.com/seed-706843ae/harness/"

// kept names the environment variable with a directory in which programs stay that a test has
// made, for the tests of all packages that run with it. .ci/test-env sets it. To link a program
// takes seconds, and a dozen packages need the same ones.
const kept = "HARNESS_TEST_PROGRAMS"

// Build puts programs into a directory, as `make build` makes them: each under the last part of
// its package's path in this module, such as web for plugins/web.
func Build(dir string, packages ...string) error {
	keep := os.Getenv(kept)
	if keep == "" {
		return build(dir, packages)
	}
	if err := link(keep, packages); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, one := range packages { // a copy: a test may damage it
		if err := duplicate(at(keep, one), filepath.Join(dir, path.Base(one))); err != nil {
			return err
		}
	}
	return nil
}

// link makes those of the programs that are not kept yet, while no other process does.
func link(keep string, packages []string) (err error) {
	lock, err := os.OpenFile(filepath.Join(keep, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	missing := slices.DeleteFunc(slices.Clone(packages), func(one string) bool {
		_, err := os.Stat(at(keep, one))
		return err == nil
	})
	if len(missing) == 0 {
		return nil
	}
	made := filepath.Join(keep, "made")
	if err := build(made, missing); err != nil {
		return err
	}
	for _, one := range missing {
		if err := os.Rename(filepath.Join(made, path.Base(one)), at(keep, one)); err != nil {
			return err
		}
	}
	return nil
}

// at is where the program of a package is kept.
func at(keep, one string) string { return filepath.Join(keep, strings.ReplaceAll(one, "/", ",")) }

func build(dir string, packages []string) error {
	arguments := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}
	for _, one := range packages {
		arguments = append(arguments, module+one)
	}
	command := exec.Command("go", arguments...) //nolint:gosec // our own
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return nil
}

func duplicate(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}

// Installation puts harness into a directory, and these of the shipped plugins into plugins in it,
// as `make build` does in bin.
func Installation(dir string, plugins ...string) error {
	packages := slices.Clone(plugins)
	for n, name := range plugins {
		packages[n] = "plugins/" + name
	}
	return errors.Join(Build(dir, "core/cmd/harness"), Build(filepath.Join(dir, "plugins"), packages...))
}
