package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Verify compares what lies at a plugin's path with its pin. Every start of the
// plugin asks it first. CodeDenied says what differs and what to do; a plugin
// that is worked on (OriginDev) and has no pin is not compared. It ends with ctx,
// and does not read more than the bounds of a package.
func (d *Depot) Verify(ctx context.Context, info ledger.Plugin) error {
	if info.SHA256 == "" {
		if info.Origin == pluginsdk.OriginDev {
			return nil
		}
		return denied("%s has no pin: nobody has said that %s may run; if it may, %s", info.Name, info.Path, d.accept(info))
	}
	if info.Origin != pluginsdk.OriginStore {
		return d.verifyFile(ctx, info)
	}
	home, sum, name, ok := packageOf(info.Path)
	switch {
	case !ok || sum != info.SHA256:
		return denied("%s is not the package that %s was installed from (%.12s); %s", info.Path, info.Name, info.SHA256, d.remedy(info))
	case !d.here(home) && d.mayTrust(info):
		return denied("%s lies in another data directory; if this one is a copy of that, `harness plugin trust %s`, else %s", info.Path, info.Name, reinstall(info))
	case !d.here(home):
		return denied("%s lies in another data directory; %s", info.Path, reinstall(info))
	}
	return d.verifyPackage(ctx, info, name)
}

func (d *Depot) verifyPackage(ctx context.Context, info ledger.Plugin, executable string) error {
	was := d.pinned(info.SHA256)
	entries, err := d.list(ctx, d.dir(info.SHA256), was)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return denied("the package of %s is missing (%s); %s", info.Name, d.dir(info.SHA256), reinstall(info))
	case err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid:
		return fmt.Errorf("verify %s: %w", info.Name, err)
	case err != nil:
		return denied("the package of %s was changed after it was installed: %s; %s", info.Name, err, d.remedy(info))
	}
	if sumOf(render(entries)) != info.SHA256 {
		return denied("the package of %s was changed after it was installed: %s; %s", info.Name, changed(was, entries), d.remedy(info))
	}
	for _, e := range entries {
		if e.name == executable && e.kind == 'x' {
			return nil
		}
	}
	return denied("%s is not an executable of the package of %s; %s", info.Path, info.Name, reinstall(info))
}

// pinned is the listing that was kept beside a package; nil when it is gone or is
// not the one that the pin is the sum of.
func (d *Depot) pinned(sum string) map[string]entry {
	text, err := d.readListing(sum)
	if err != nil || sumOf(text) != sum {
		return nil
	}
	was, err := parseListing(text)
	if err != nil {
		return nil
	}
	return was
}

func (d *Depot) verifyFile(ctx context.Context, info ledger.Plugin) error {
	sum, err := sumFile(ctx, info.Path, d.config.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return denied("%s, the executable of %s, is missing; %s", info.Path, info.Name, reinstall(info))
	case err != nil && pluginsdk.CodeOf(err) == pluginsdk.CodeInvalid:
		return denied("%s was changed: %s; %s", info.Path, err, reinstall(info))
	case err != nil:
		return fmt.Errorf("verify %s: %w", info.Name, err)
	case sum != info.SHA256:
		return denied("%s was changed: its SHA-256 is %.12s, not %.12s; %s", info.Path, sum, info.SHA256, d.remedy(info))
	}
	return nil
}

// mayTrust reports whether an operator may take what lies there as it is: where
// signatures are required only what is signed can be taken, or what the daemon
// has in its own directory.
func (d *Depot) mayTrust(info ledger.Plugin) bool {
	return !d.config.RequireSignature || info.Origin == pluginsdk.OriginDirectory
}

// accept says how an operator lets a plugin run that has no pin.
func (d *Depot) accept(info ledger.Plugin) string {
	if d.mayTrust(info) {
		return fmt.Sprintf("`harness plugin trust %s`", info.Name)
	}
	return reinstall(info)
}

// remedy says what to do about a plugin that was changed.
func (d *Depot) remedy(info ledger.Plugin) string {
	if d.mayTrust(info) {
		return fmt.Sprintf("%s, or if the change was meant `harness plugin trust %s`", reinstall(info), info.Name)
	}
	return reinstall(info)
}

func reinstall(info ledger.Plugin) string {
	if info.Origin == pluginsdk.OriginDirectory {
		return "put the right file there and restart the daemon"
	}
	return fmt.Sprintf("`harness plugin upgrade %s PATH`", info.Name)
}

// maxNamed is how many changed files an error names.
const maxNamed = 5

// changed says which files differ from the listing of the pin, nil when that is
// not known.
func changed(was map[string]entry, entries []entry) string {
	if was == nil {
		return "which file cannot be said, its listing is gone or was changed too"
	}
	var differences []string
	for _, e := range entries {
		old, ok := was[e.name]
		delete(was, e.name)
		switch {
		case !ok:
			differences = append(differences, fmt.Sprintf("%q was added", e.name))
		case old.kind != e.kind && old.sum == e.sum:
			differences = append(differences, fmt.Sprintf("the mode of %q is another", e.name))
		case old != e:
			differences = append(differences, fmt.Sprintf("%q has other content", e.name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		differences = append(differences, fmt.Sprintf("%q is missing", name))
	}
	if more := len(differences) - maxNamed; more > 0 {
		differences = append(differences[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(differences, ", ")
}

// StageAgain reads what lies at a plugin's path now, for an operator who trusts
// it: of an installed plugin the package around it. When the data directory was
// moved, that is the package in this one.
func (d *Depot) StageAgain(ctx context.Context, info ledger.Plugin) (*Package, error) {
	_, sum, name, ok := packageOf(info.Path)
	if !ok {
		return d.Stage(ctx, info.Path)
	}
	return d.stage(ctx, d.dir(sum), name)
}
