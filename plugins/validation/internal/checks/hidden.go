package checks

import (
	"path"
	"slices"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
)

// Hidden returns the files that a work has changed so that a check is not found any more which the
// tree of before describes, seen from the directory inside: another one is nearer, or takes its
// place, or nothing speaks of it. There are none while all checks of before are found.
func Hidden(before, after Tree, inside string) (changed []string, err error) {
	old, err := before.described(inside)
	if err != nil {
		return nil, err
	}
	young, err := after.described(inside)
	if err != nil {
		return nil, err
	}
	missing := func(check Check) bool {
		return !slices.ContainsFunc(young, func(c Check) bool { return c.Dir == check.Dir && c.Kind == check.Kind && c.Command == check.Command })
	}
	if !slices.ContainsFunc(old, missing) {
		return nil, nil
	}
	for at := path.Clean(inside); ; at = path.Dir(at) {
		for _, name := range descriptions {
			if file := path.Join(at, name); before.Entries[file] != after.Entries[file] {
				changed = append(changed, file)
			}
		}
		if at == "." || at == "/" {
			return changed, nil
		}
	}
}

// described are the checks that Find would find in a directory of the tree or above it, those left
// out that only CI has.
func (t Tree) described(inside string) ([]Check, error) {
	for at := path.Clean(inside); ; at = path.Dir(at) {
		found, err := t.describedIn(at)
		if len(found) > 0 || err != nil || at == "." || at == "/" {
			return found, err
		}
	}
}

func (t Tree) describedIn(dir string) ([]Check, error) {
	var ids []string
	there := make(map[string]string) // the blobs of the descriptions
	for _, name := range descriptions {
		if e, ok := t.Entries[path.Join(dir, name)]; ok {
			there[name] = ""
			if e.Size >= 0 && e.Size <= maxFile && e.Mode != objects.Link {
				there[name], ids = e.ID, append(ids, e.ID)
			}
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	contents, err := t.Blobs(slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	p := project{read: func(name string) string { return contents[there[name]] }, has: func(name string) bool {
		_, ok := there[name]
		return ok
	}}
	found := p.described()
	for n := range found {
		found[n].Dir = dir
	}
	return found, nil
}
