// Package gate rejects what a task has done when it touches a file with a licence.
package gate

import (
	"context"
	"os/exec"
	"path"
	"regexp"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin answers OnTaskComplete.
type Plugin struct{}

// Manifest describes the plugin. Its gate is closed, as all gates of tasks are: while it
// cannot look, no task is completed.
func (Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "licence-gate", Version: "0.1.0", Description: "No task may touch a file with a licence"}
}

var (
	object  = regexp.MustCompile(`^[0-9a-f]{40,64}$`) // of git: never an option
	licence = regexp.MustCompile(`(?i)^(licen[sc]e|copying)(\.[a-z]+)?$`)
)

// OnTaskComplete rejects a change of a licence. Of all else it has no opinion: to accept
// would say that somebody has looked at the work. What it cannot see is an error, which
// completes nothing.
func (Plugin) OnTaskComplete(ctx context.Context, complete *pluginsdk.OnTaskCompleteRequest) (*pluginsdk.OnTaskCompleteResponse, error) {
	if complete.Task.Cwd == "" || complete.Task.OwnDirectory {
		return nil, nil // nothing of it is merged anywhere
	}
	shown := make(map[string]string)
	for _, evidence := range complete.Evidence {
		shown[evidence.Kind] = evidence.Tree
	}
	if !object.MatchString(shown["base"]) || !object.MatchString(shown["tree"]) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "nobody shows what the task %s has changed: put the plugin worktree before this one", complete.Task.ID)
	}
	arguments := []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", shown["base"], shown["tree"]}
	git := exec.CommandContext(ctx, "git", arguments...)
	git.Dir = complete.Task.Cwd
	changed, err := git.Output()
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "git %s: %w", strings.Join(arguments, " "), err)
	}
	answer := &pluginsdk.OnTaskCompleteResponse{Evidence: []pluginsdk.Evidence{{Kind: "command", Command: git.String(), Tree: shown["tree"]}}}
	for file := range strings.SplitSeq(string(changed), "\x00") {
		if licence.MatchString(path.Base(file)) {
			answer.Verdict = pluginsdk.VerdictReject
			answer.Feedback += "No task may touch " + file + ": put it back as it was.\n"
		}
	}
	return answer, nil
}
