package git

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// looks are the beginnings of calls that only look at refs, settings, objects and what an index
// names: they compare no files, merge nothing, move no ref and write no index, for which files are
// compared, too.
var looks = [][]string{
	{"cat-file", "--batch-check"}, {"check-attr"}, {"check-ignore"}, {"commit-tree"}, {"diff-tree"}, {"for-each-ref"},
	{"ls-files", "-z", "--stage"}, {"ls-files", "-z", "--unmerged"}, {"merge-base"}, {"rev-parse"}, {"symbolic-ref", "--quiet", "HEAD"}, {"var"}, {"worktree", "list"},
}

// onlyLooks reports whether a call with the arguments is one of looks.
func onlyLooks(args []string) bool {
	return slices.ContainsFunc(looks, func(look []string) bool { return len(args) >= len(look) && slices.Equal(args[:len(look)], look) })
}

// harmless returns, for the name of a setting with which git would start a program for what a
// file's attributes name, or for an event, settings without a program. All other programs that
// can be set are off by settings and environment.
func harmless(name string) (instead [][2]string) {
	section, rest, _ := strings.Cut(name, ".")
	last := strings.LastIndexByte(rest, '.')
	if last < 0 {
		if name == "merge.default" { // it would name a driver for each file
			return [][2]string{{name, ""}}
		}
		return nil
	}
	key, of := rest[last+1:], section+"."+rest[:last]
	switch {
	case section == "filter" && (key == "clean" || key == "smudge" || key == "process"):
		return [][2]string{{name, ""}, {of + ".required", "false"}}
	case section == "merge" && key == "driver":
		return [][2]string{{name, "false"}} // which leaves a conflict to a person
	case section == "diff" && (key == "textconv" || key == "command"), section == "trailer" && (key == "command" || key == "cmd"), section == "hook" && key == "command":
		return [][2]string{{name, "true"}}
	}
	return nil
}

// names are those of the settings that are in force in the place, of whatever file.
func (d Dir) names(ctx context.Context) ([]string, error) {
	names, err := d.call(ctx, Call{Args: []string{"config", "--list", "--includes", "--name-only", "-z"}}, nil)
	list := split(names)
	slices.Sort(list)
	return slices.Compact(list), err
}

// without is the environment of a call for which no program of a filter, a merge or a diff is
// set, whatever settings and attributes the repository, its owner or the machine have.
func (d Dir) without(ctx context.Context) (environment []string, err error) {
	names, err := d.names(ctx)
	n := 0
	for _, name := range names {
		for _, setting := range harmless(name) {
			count := strconv.Itoa(n)
			environment = append(environment, "GIT_CONFIG_KEY_"+count+"="+setting[0], "GIT_CONFIG_VALUE_"+count+"="+setting[1])
			n++
		}
	}
	return append(environment, "GIT_CONFIG_COUNT="+strconv.Itoa(n)), err
}

// Filtered returns those of the paths that a person's git would have a filter read or write,
// such as git-lfs: their attributes name one for which a program is set. Filters are never run
// here.
func (d Dir) Filtered(ctx context.Context, paths []string) (filtered []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	names, err := d.names(ctx)
	if err != nil {
		return nil, err
	}
	set := make(map[string]bool)
	for _, name := range names {
		if of, ok := strings.CutPrefix(name, "filter."); ok && len(harmless(name)) > 0 {
			set[of[:strings.LastIndexByte(of, '.')]] = true
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	said, err := d.Do(ctx, Call{Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: strings.Join(paths, "\x00") + "\x00"})
	for fields := range slices.Chunk(split(said), 3) { // path, filter, its name
		if len(fields) == 3 && set[fields[2]] {
			filtered = append(filtered, fields[0])
		}
	}
	return filtered, err
}
