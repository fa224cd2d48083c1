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

	"github.com/seed-706843ae/harness/core/shipped"
)

const module = "github.com/seed-706843ae/harness/"

// kept names the environment variable with a directory in which programs stay that a test has
// made, for the tests of all packages that run with it. .ci/test-env sets it. To link a program
// takes seconds, and a dozen packages need the same ones.
const kept = "HARNESS_TEST_PROGRAMS"

// Used tells go test that the test that calls it starts programs of this module, whose sources go test
// does not see: it remembers the test's result only while the programs are the same. Used reads a variable that
// .ci/test-env sets to something else when they are not (without .ci/test-env, -count=1 is needed). Build
// reads it too, but that go test does not notice in TestMain: the tests of a package that builds there
// have to call Used.
func Used() { _ = os.Getenv(kept) }

// all is the program of the shipped plugins, which plays the one by whose name it is started.
const all = "plugins/cmd/harness-plugins"

// Build puts programs into a directory, as `make build` makes them: each under the last part of
// its package's path in this module. A shipped plugin, such as plugins/web, is a link under its
// name to a copy of the program of all of them, in a directory beside the links: what lies in the
// directory itself may be taken for a plugin.
func Build(dir string, packages ...string) error {
	names, others := apart(packages)
	return errors.Join(put(dir, others), ship(dir, "shipped", names))
}

// apart returns the names of the shipped plugins among packages, and the others.
func apart(packages []string) (names, others []string) {
	for _, one := range packages {
		if name, below := strings.CutPrefix(one, "plugins/"); below && shipped.Plugins.Place(name) > 0 {
			names = append(names, name)
		} else {
			others = append(others, one)
		}
	}
	return names, others
}

// ship puts the program of the shipped plugins into a directory that is named as seen from dir,
// and links to it into dir.
func ship(dir, beside string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := put(filepath.Join(dir, beside), []string{all}); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // programs are executed
		return err
	}
	for _, name := range names {
		if err := os.Symlink(filepath.Join(beside, path.Base(all)), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// put puts a program of each package into a directory.
func put(dir string, packages []string) error {
	if len(packages) == 0 {
		return nil
	}
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
	return errors.Join(put(dir, []string{"core/cmd/harness"}), ship(filepath.Join(dir, "plugins"), "..", plugins))
}
