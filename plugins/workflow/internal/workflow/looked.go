package workflow

import (
	"context"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/objects"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostOpened is how many changed files a reviewer has to open of a change that it was not shown whole.
const mostOpened = 30

// unopened are the changed files that an approval needs to have been opened, and that were not; none: it
// counts. A change that the reviewer was shown whole needs one of its files opened or one of the
// project's checks run; one that was cut off needs each of its files opened, up to mostOpened of them. Only calls
// of tools that have succeeded count. Where files were only removed, any of these does.
func (g *gate) unopened(ctx context.Context, run pluginsdk.Run, dir string, checks []string, whole bool) ([]string, error) {
	if run.Result != nil && run.Result.Demo {
		return nil, nil
	}
	entries, err := g.work.store.Entries(ctx, g.work.tree)
	if err != nil {
		return nil, err
	}
	var needed []string
	for _, changed := range g.work.paths {
		if e, there := entries[plainPath(changed)]; there && e.Size > 0 && e.Mode != objects.Link && e.Mode != objects.Submodule {
			needed = append(needed, plainPath(changed))
		}
	}
	calls := succeeded(run.Events)
	var left []string
	for _, file := range needed {
		if !slices.ContainsFunc(calls, func(call pluginsdk.StreamEvent) bool { return opens(call, dir, file) }) {
			left = append(left, file)
		}
	}
	ran := slices.ContainsFunc(calls, func(call pluginsdk.StreamEvent) bool { return runsCheck(call, checks) })
	opened := len(needed) - len(left)
	switch {
	case len(needed) == 0 && len(calls) > 0, whole && (opened > 0 || ran), !whole && len(needed) > 0 && opened >= min(len(needed), mostOpened):
		return nil, nil
	case len(needed) == 0:
		return g.work.paths, nil
	}
	return left, nil
}

// plainPath is a path that was quoted because it has characters that would break a line.
func plainPath(name string) string {
	if said, err := strconv.Unquote(name); err == nil && name[0] == '"' {
		return said
	}
	return name
}

// succeeded are the calls of tools whose result is there, and is no error.
func succeeded(events []pluginsdk.StreamEvent) (calls []pluginsdk.StreamEvent) {
	done := make(map[string]bool)
	for _, e := range events {
		if e.Type == pluginsdk.StreamToolResult && !e.IsError && e.ToolUseID != "" {
			done[e.ToolUseID] = true
		}
	}
	for _, e := range events {
		if e.Type == pluginsdk.StreamToolCall && done[e.ToolUseID] {
			calls = append(calls, e)
		}
	}
	return calls
}

// input is what a tool that looks at files is given.
type input struct {
	FilePath   string `json:"file_path"`
	Command    string `json:"command"`
	Path       string `json:"path"`
	OutputMode string `json:"output_mode"`
}

// runsCheck reports whether a call runs one of the project's checks, given with their exit codes.
func runsCheck(call pluginsdk.StreamEvent, checks []string) bool {
	var in input
	return call.ToolName == "Bash" && json.Unmarshal(call.Input, &in) == nil && in.Command != "" &&
		slices.ContainsFunc(checks, func(check string) bool { return strings.HasPrefix(check, in.Command+": ") })
}

// opens reports whether a call shows what is in a file of the directory.
func opens(call pluginsdk.StreamEvent, dir, file string) bool {
	var in input
	if json.Unmarshal(call.Input, &in) != nil {
		return false
	}
	switch call.ToolName {
	case "Read":
		return below(dir, dir, in.FilePath) == file
	case "Grep":
		return in.OutputMode == "content" && below(dir, dir, in.Path) == file
	case "Bash":
		return shows(in.Command, dir, file)
	}
	return false
}

// below is a path as it is named from the directory; a relative one is looked for at another.
func below(dir, at, name string) string {
	if name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(at, name)
	}
	for _, root := range []string{dir, unlinked(dir)} {
		if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

func unlinked(dir string) string {
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		return to
	}
	return dir
}

// Programs that show what is in the files that they are given, and those of them whose first word is no file.
var (
	showing  = []string{"awk", "bat", "cat", "diff", "file", "grep", "head", "hexdump", "less", "more", "nl", "od", "rg", "sed", "strings", "tail", "xxd"}
	patterns = []string{"awk", "grep", "rg", "sed"}
)

// shows reports whether a command of the shell shows what is in a file. A command that merely has the
// file's name in it does not.
func shows(command, dir, file string) bool {
	at := dir
	for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune("&|;\n()", r) }) {
		words := strings.Fields(part)
		for n := range words {
			words[n] = strings.Trim(words[n], `"'`)
		}
		switch {
		case len(words) == 2 && words[0] == "cd":
			if at = words[1]; !filepath.IsAbs(at) {
				at = filepath.Join(dir, at)
			}
			continue
		case len(words) < 2 || !slices.Contains(showing, path.Base(words[0])):
			continue
		}
		files := slices.DeleteFunc(words[1:], func(word string) bool { return strings.HasPrefix(word, "-") })
		if slices.Contains(patterns, path.Base(words[0])) && len(files) > 0 {
			files = files[1:]
		}
		if slices.ContainsFunc(files, func(word string) bool {
			named := below(dir, at, word)
			matched, err := path.Match(named, file)
			return named == file || err == nil && matched
		}) {
			return true
		}
	}
	return false
}
