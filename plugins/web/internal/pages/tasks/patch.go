package tasks

import (
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/diff"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// patch is what the work changes, as it was last looked at.
type patch struct {
	round      int
	tree, base string // of git
	paths      []string
	diff       string
	command    string // that shows all of it
}

// files counts what it changes.
func (p patch) files() int { return len(p.paths) }

// patchOf finds it in the latest round that has one.
func patchOf(history api.TaskHistory) (p patch) {
	found := make(map[string]pluginsdk.Evidence)
	for _, answer := range slices.Backward(history.Answers) {
		if len(found) > 0 && answer.Round != p.round {
			break
		}
		if maker := history.Task.CwdPlugin; maker != "" && answer.Plugin != maker {
			continue // what others say of the work is not believed
		}
		for _, e := range answer.Evidence {
			if _, ok := found[e.Kind]; !ok && slices.Contains([]string{kindTree, kindBase, kindPaths, kindDiff}, e.Kind) {
				found[e.Kind], p.round = e, answer.Round
			}
		}
	}
	p.tree, p.base, p.diff = found[kindTree].Tree, found[kindBase].Tree, found[kindDiff].Diff
	if listed := strings.TrimSpace(found[kindPaths].Output); listed != "" {
		p.paths = strings.Split(listed, "\n")
	}
	if object(p.tree) && object(p.base) { // it is for a shell
		p.command = "git "
		if repository := history.Task.Labels[worktreeLabels+"repository"]; repository != "" {
			p.command += "-C '" + strings.ReplaceAll(repository, "'", `'\''`) + "' "
		}
		p.command += "diff " + p.base + " " + p.tree
	}
	return p
}

// object reports whether a word is the hash of one of git's objects.
func object(word string) bool { return word != "" && strings.Trim(word, "0123456789abcdef") == "" }

// mostUnfolded is how many lines of a patch are open at first; the files after them are folded.
const mostUnfolded = 400

func lines(file diff.File) (n int) {
	for _, hunk := range file.Hunks {
		n += len(hunk.Lines)
	}
	return n
}

// called is a file's path, and where it was before when it was moved.
func called(file diff.File) string {
	switch {
	case file.New == "":
		return file.Old
	case file.Old == "" || file.Old == file.New:
		return file.New
	}
	return file.Old + " → " + file.New
}

// became says what else has become of a file than that lines have changed.
func became(file diff.File) (words []string) {
	switch {
	case file.Old == "":
		words = append(words, "new")
	case file.New == "":
		words = append(words, "deleted")
	case file.Copied:
		words = append(words, "copied")
	case file.Old != file.New:
		words = append(words, "moved")
	}
	if file.OldMode != "" && file.NewMode != "" && file.OldMode != file.NewMode {
		words = append(words, "mode "+file.NewMode)
	}
	return words
}

// mostPaths is how many files are named that the patch does not have any more.
const mostPaths = 200

// beside are the files that are changed and not in what was read of the patch, which may be cut.
func (p patch) beside(read diff.Patch) (rest []string) {
	for _, path := range p.paths {
		if len(rest) < mostPaths && !slices.ContainsFunc(read.Files, func(file diff.File) bool { return path == file.Old || path == file.New }) {
			rest = append(rest, path)
		}
	}
	return rest
}
