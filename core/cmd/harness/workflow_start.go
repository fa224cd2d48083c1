package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

func newWorkflowStart() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "start DIR TEXT...",
		Short: "Have something built in a directory, in stages",
		Long: `Have something built in DIR, in stages. TEXT says what; a single - is read from stdin.
A router picks the stages, unless --stages names their agents.

In a git repository the work is done on a branch of its own, with a commit for each
batch, and is merged after the last review. Where DIR is in no repository you are
asked whether to make it one; --git and --no-git say so beforehand.

DIR is a directory of this machine. With --server, or a profile, it is one of the
daemon's machine, given whole.`,
		Example: `  harness workflow start . "build a todo list for the terminal, in Go"
  harness workflow start todo --git --stages architect,builder,reviewer --batch 5 - < request.md`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return startWorkflow(cmd, args[0], args[1:]) },
	}
	addAddress(cmd)
	addThread(cmd)
	addTimeout(cmd)
	cmd.Flags().StringSlice("stages", nil, "the agents of its stages, in their order (default: a router picks them)")
	cmd.Flags().Int("batch", 0, "tasks of a batch (default as the plugin is set)")
	cmd.Flags().Float64("cost", 0, "what it may cost, in US dollars (default as the plugin is set)")
	cmd.Flags().Bool("git", false, "make DIR a git repository if it is in none, without being asked")
	cmd.Flags().Bool("no-git", false, "build without git if DIR is in no repository")
	return cmd
}

func startWorkflow(cmd *cobra.Command, dir string, words []string) error {
	text, err := textOf(cmd.InOrStdin(), words)
	if err != nil {
		return err
	}
	options, err := workflowOptions(cmd)
	if err != nil {
		return err
	}
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	git, _ := cmd.Flags().GetBool("git")
	no, _ := cmd.Flags().GetBool("no-git")
	at := place{asks: terminal.IsTerminal(cmd.InOrStdin()), ask: asker(cmd), remote: remote != nil}
	dir, wanted, err := at.settle(dir, git, no)
	if err != nil {
		return err
	}
	field, err := fieldOf("dir", dir)
	if err != nil {
		return err
	}
	command := append([]string{"start", field}, options...)
	if wanted != "" {
		command = append(command, "git="+wanted)
	}
	return giveWorkflow(cmd, append(command, apart(strings.TrimSpace(text)))...)
}

// workflowOptions are the named options of the command that the flags give.
func workflowOptions(cmd *cobra.Command) (options []string, err error) {
	stages, _ := cmd.Flags().GetStringSlice("stages")
	batch, _ := cmd.Flags().GetInt("batch")
	cost, _ := cmd.Flags().GetFloat64("cost")
	if len(stages) > 0 {
		field, err := fieldOf("stages", strings.Join(stages, ","))
		if err != nil {
			return nil, err
		}
		options = append(options, field)
	}
	switch {
	case batch < 0:
		return nil, fmt.Errorf("--batch: %d is not accepted; it is a number from 1", batch)
	case cost < 0:
		return nil, fmt.Errorf("--cost: %v is not accepted; it is an amount in US dollars", cost)
	}
	if batch > 0 {
		options = append(options, "batch="+strconv.Itoa(batch))
	}
	if cost > 0 {
		options = append(options, "cost="+strconv.FormatFloat(cost, 'f', -1, 64))
	}
	return options, nil
}

// place is where a workflow is built.
type place struct {
	remote bool // on another machine, whose files are not seen here
	asks   bool // there is a person to ask
	ask    func(question string) (bool, error)
}

// settle returns the directory whole, and whether it becomes a git repository if it is in none: yes or no, or, empty, as the
// plugin decides.
func (p place) settle(dir string, git, no bool) (whole, wanted string, err error) {
	if git && no {
		return "", "", errors.New("--git, --no-git: want one of the two")
	}
	switch {
	case git:
		wanted = "yes"
	case no:
		wanted = "no"
	}
	if p.remote {
		if !filepath.IsAbs(dir) {
			return "", "", fmt.Errorf("%s is no whole path: on another machine the directory is given whole, such as /srv/todo", dir)
		}
		return dir, wanted, nil
	}
	if whole, err = filepath.Abs(dir); err != nil {
		return "", "", fmt.Errorf("directory %s: %w", dir, err)
	}
	switch info, err := os.Stat(whole); {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("there is no directory %s; make it first", whole)
	case err != nil:
		return "", "", fmt.Errorf("directory %s: %w", whole, err)
	case !info.IsDir():
		return "", "", fmt.Errorf("%s is no directory", whole)
	}
	if wanted != "" || !p.asks || inRepository(whole) {
		return whole, wanted, nil
	}
	yes, err := p.ask(terminal.Clean(whole) + " is no git repository. Make it one (git init)?")
	if err != nil {
		return "", "", err
	}
	if yes {
		return whole, "yes", nil
	}
	return whole, "no", nil
}

// inRepository reports whether a directory is in a git repository: it or one above it has a .git.
func inRepository(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}
