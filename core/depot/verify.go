package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Verify compares what lies at a plugin's path with its pin. Every start of the
// plugin asks it first. CodeDenied says what differs and what to do; a plugin
// that is worked on (OriginDev) and has no pin is not compared.
func (d *Depot) Verify(info pluginsdk.PluginInfo) error {
	if info.SHA256 == "" {
		if info.Origin == pluginsdk.OriginDev {
			return nil
		}
		return denied("%s has no pin: nobody has said that %s may run; if it may, `harness plugin trust %s`", info.Name, info.Path, info.Name)
	}
	if info.Origin != pluginsdk.OriginStore {
		return verifyFile(info)
	}
	home, sum, name, ok := packageOf(info.Path)
	switch {
	case !ok || sum != info.SHA256:
		return denied("%s is not the package that %s was installed from (%.12s); %s", info.Path, info.Name, info.SHA256, remedy(info))
	case !d.here(home):
		return denied("%s lies in another data directory; if this one is a copy of that, `harness plugin trust %s`, else %s", info.Path, info.Name, reinstall(info))
	}
	entries, err := list(context.Background(), d.dir(sum))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return denied("the package of %s is missing (%s); %s", info.Name, d.dir(sum), reinstall(info))
	case err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid:
		return fmt.Errorf("verify %s: %w", info.Name, err)
	case err != nil:
		return denied("the package of %s was changed after it was installed: %s; %s", info.Name, err, remedy(info))
	}
	if sumOf(render(entries)) != info.SHA256 {
		return denied("the package of %s was changed after it was installed: %s; %s", info.Name, d.changed(sum, entries), remedy(info))
	}
	for _, e := range entries {
		if e.name == name && e.kind == 'x' {
			return nil
		}
	}
	return denied("%s is not an executable of the package of %s; %s", info.Path, info.Name, reinstall(info))
}

func verifyFile(info pluginsdk.PluginInfo) error {
	sum, err := SumFile(info.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return denied("%s, the executable of %s, is missing; %s", info.Path, info.Name, reinstall(info))
	case err != nil:
		return fmt.Errorf("verify %s: %w", info.Name, err)
	case sum != info.SHA256:
		return denied("%s was changed: its SHA-256 is %.12s, not %.12s; %s", info.Path, sum, info.SHA256, remedy(info))
	}
	return nil
}

// remedy says what to do about a plugin that was changed.
func remedy(info pluginsdk.PluginInfo) string {
	return fmt.Sprintf("%s, or if the change was meant `harness plugin trust %s`", reinstall(info), info.Name)
}

func reinstall(info pluginsdk.PluginInfo) string {
	if info.Origin == pluginsdk.OriginDirectory {
		return "put the right file there and restart the daemon"
	}
	return fmt.Sprintf("`harness plugin upgrade %s PATH`", info.Name)
}

// maxNamed is how many changed files an error names.
const maxNamed = 5

// changed says which files differ from the listing that was kept beside the
// package.
func (d *Depot) changed(sum string, entries []entry) string {
	text, err := os.ReadFile(d.listing(sum))
	if err != nil || sumOf(text) != sum {
		return "which file cannot be said, its listing is gone or was changed too"
	}
	was, err := parseListing(text)
	if err != nil {
		return "which file cannot be said: " + err.Error()
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
func (d *Depot) StageAgain(ctx context.Context, info pluginsdk.PluginInfo) (*Package, error) {
	_, sum, name, ok := packageOf(info.Path)
	if !ok {
		return d.Stage(ctx, info.Path)
	}
	return d.stage(ctx, d.dir(sum), name)
}
