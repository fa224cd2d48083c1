package depot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Keep adds the package to the depot and calls commit with the path of its
// executable there; Sweep waits for both. What lies in the depot already is
// verified, and replaced when it was changed. When commit fails, so does Keep,
// and the next Sweep removes what was added.
func (p *Package) Keep(ctx context.Context, commit func(path string) error) error {
	err := p.depot.exclusive(func() error {
		if err := p.place(ctx); err != nil {
			return fmt.Errorf("add the package: %w", err)
		}
		return commit(filepath.Join(p.depot.dir(p.SHA256), filepath.FromSlash(p.Executable)))
	})
	return errors.Join(err, p.Discard())
}

func (p *Package) place(ctx context.Context) error {
	d, listing := p.depot, render(p.stage.entries)
	switch there, err := d.read(ctx, p.SHA256); {
	case err == nil && bytes.Equal(there, listing):
		return d.keepListing(p.SHA256, listing)
	case err != nil && !errors.Is(err, fs.ErrNotExist) && pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid:
		return err
	case !errors.Is(err, fs.ErrNotExist):
		if err := removeAll(d.dir(p.SHA256)); err != nil {
			return err
		}
	}
	if err := d.keepListing(p.SHA256, listing); err != nil {
		return err
	}
	if err := os.Rename(p.stage.dir, d.dir(p.SHA256)); err != nil {
		return err
	}
	return syncFile(d.config.Dir)
}

// read lists a package as it lies in the depot.
func (d *Depot) read(ctx context.Context, sum string) ([]byte, error) {
	entries, err := d.list(ctx, d.dir(sum), nil)
	if err != nil {
		return nil, err
	}
	return render(entries), nil
}

// keepListing puts the listing beside the package, if it is not there.
func (d *Depot) keepListing(sum string, listing []byte) error {
	if there, err := d.readListing(sum); err == nil && bytes.Equal(there, listing) {
		return nil
	}
	return writeFile(d.listing(sum), listing)
}

// Sweep removes the packages that no row has as its version or as one to go back
// to, and what commands that were killed left behind. It returns the sums of what
// it removed.
func (d *Depot) Sweep(rows func() ([]ledger.Plugin, error)) (removed []string, err error) {
	if _, err := os.Stat(d.config.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = d.exclusive(func() error {
		plugins, err := rows()
		if err != nil {
			return err
		}
		removed, err = d.sweep(wanted(plugins))
		return err
	})
	if err != nil {
		return removed, fmt.Errorf("remove packages that are not used: %w", err)
	}
	return removed, nil
}

// wanted are the sums of the packages that rows refer to.
func wanted(plugins []ledger.Plugin) map[string]bool {
	wanted := make(map[string]bool)
	add := func(path, sum string) {
		wanted[sum] = true
		if _, in, _, ok := packageOf(path); ok {
			wanted[in] = true
		}
	}
	for _, row := range plugins {
		add(row.Path, row.SHA256)
		for _, version := range row.Previous {
			add(version.Path, version.SHA256)
		}
	}
	return wanted
}

func (d *Depot) sweep(wanted map[string]bool) (removed []string, err error) {
	found, err := os.ReadDir(d.config.Dir)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		path := filepath.Join(d.config.Dir, one.Name())
		sum := strings.TrimSuffix(one.Name(), listingSuffix)
		switch {
		case strings.HasPrefix(one.Name(), stagePrefix) && abandoned(path):
		case isSum(sum) && !wanted[sum]:
			if sum == one.Name() {
				removed = append(removed, sum)
			}
		default:
			continue
		}
		if err := removeAll(path); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// abandoned reports whether nobody copies into the stage any more.
func abandoned(path string) bool {
	file, err := os.Open(path) //nolint:gosec // our own directory
	if err != nil {
		return false
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// Added says when a package was added; zero when that is not known.
func (d *Depot) Added(sum string) time.Time {
	info, err := os.Stat(d.listing(sum))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}
