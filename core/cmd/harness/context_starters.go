package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/workspace"
)

// compared is a context file beside the starter that it could be.
type compared struct {
	workspace.Starter

	text, version string // of the file as it is; version is empty when it is not there
	plain         string // the text with line feeds alone at the ends of its lines
	standing      workspace.Standing
	base          string // the version of the starter that it was made from; empty: it is not known
}

func newContextDiff() *cobra.Command {
	cmd := apiCommand("diff [FILE]", "Show what newer starter files have that yours have not", `  harness context diff
  harness context diff CLAUDE.md`, cobra.MaximumNArgs(1), contextDiff)
	cmd.Long = `Show what the starter files of this version of Harness have that yours have not: CLAUDE.md and
those under context/ were laid when the installation began, and are never overwritten. Of a file that you or
the agent have changed, what is taken away in the difference is yours, and what is added is the starter's.`
	return cmd
}

func newContextTake() *cobra.Command {
	cmd := apiCommand("take FILE", "Have a context file become the newest starter, or take in what is new in that", `  harness context take CLAUDE.md
  harness context take CLAUDE.md --merge`, cobra.ExactArgs(1), contextTake)
	cmd.Long = `Have a context file become the starter of this version of Harness. What it has said is kept, in
context/archive/ and in its history. With --merge only what has changed in the starter since the one that the
file was made from is taken in, and what you and the agent have changed stays.`
	cmd.Flags().Bool("merge", false, "take in what is new, and keep what you and the agent have changed")
	cmd.Flags().Bool("yes", false, "replace a file that you or the agent have changed")
	return cmd
}

// compare reads a file, and how it stands to its starter.
func compare(ctx context.Context, api *client.Client, file workspace.Starter) (c compared, err error) {
	c.Starter = file
	is, err := api.ContextFile(ctx, file.Path, "")
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		c.standing = workspace.Untouched // it was deleted: nothing of it would be lost
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.text, c.version, c.plain = is.Text, is.Version, workspace.Plain(is.Text)
	c.standing, c.base, err = file.Stand(is.Text, func() (versions []string, err error) {
		const pageSize = 500
		for before := int64(0); ; {
			changes, err := api.ContextHistory(ctx, file.Path, before, pageSize)
			if err != nil || len(changes) == 0 {
				return versions, err
			}
			for _, change := range changes {
				versions = append(versions, change.Version)
			}
			before = changes[len(changes)-1].ID
		}
	})
	return c, err
}

// starterOf is the starter of a path.
func starterOf(name string) (workspace.Starter, error) {
	all, err := workspace.Starters(starter.FS)
	if err != nil {
		return workspace.Starter{}, err
	}
	paths := make([]string, 0, len(all))
	for _, one := range all {
		if one.Path == name {
			return one, nil
		}
		paths = append(paths, one.Path)
	}
	return workspace.Starter{}, fmt.Errorf("%q is no starter file; there are %s", name, strings.Join(paths, ", "))
}

func contextDiff(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
	files, err := workspace.Starters(starter.FS)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		one, err := starterOf(args[0])
		if err != nil {
			return err
		}
		files = []workspace.Starter{one}
	}
	shown := 0
	for _, file := range files {
		c, err := compare(ctx, api, file)
		if err != nil {
			return err
		}
		if len(args) == 0 && !c.Offered(c.standing) {
			continue
		}
		if shown++; shown > 1 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		if err := c.show(cmd.OutOrStdout()); err != nil {
			return err
		}
	}
	if shown == 0 {
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "There is nothing new for your context files.")
	}
	return err
}

// show says how the file stands, and prints the difference.
func (c compared) show(out io.Writer) error {
	words := c.Path + ": "
	switch {
	case c.version == "":
		words += "it is not there."
	case c.isNewest():
		words += "it is the newest starter."
	case c.standing == workspace.Same:
		words += "it was made from the newest starter, and you or the agent have changed it since. There is nothing new for it."
	case c.standing == workspace.Untouched:
		words += "there is a newer starter, and nobody has changed this file since it was made."
	case c.standing == workspace.Changed:
		words += "there is a newer starter, and you or the agent have changed this file since it was made. To take in what is new and keep your changes: harness context take " + c.Path + " --merge"
	case c.standing == workspace.Unknown:
		words += "you or the agent have changed this file; from which starter it was made is not known any more, so that not all of the difference need be new."
	}
	if _, err := fmt.Fprintln(out, words); err != nil || c.isNewest() {
		return err
	}
	_, err := fmt.Fprint(out, udiff.Unified(c.Path, c.Path+" (starter)", c.plain, c.Text))
	return err
}

// isNewest reports whether the file is the newest starter, as it is shipped.
func (c compared) isNewest() bool { return c.version != "" && c.plain == c.Text }

func contextTake(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
	file, err := starterOf(args[0])
	if err != nil {
		return err
	}
	c, err := compare(ctx, api, file)
	if err != nil {
		return err
	}
	merge, _ := cmd.Flags().GetBool("merge")
	yes, _ := cmd.Flags().GetBool("yes")
	text := c.Text
	switch {
	case c.isNewest(), merge && c.standing == workspace.Same:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "There is nothing new for %s.\n", c.Path)
		return err
	case merge && c.standing != workspace.Untouched:
		if text, err = c.merged(ctx, api); err != nil {
			return err
		}
	case c.standing != workspace.Untouched && !yes:
		return fmt.Errorf("you or the agent have changed %s: with --merge that stays, and with --yes it is replaced and kept in context/archive; harness context diff %s shows the difference", c.Path, c.Path)
	}
	said, err := c.replace(ctx, api, text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
	return err
}

// replace keeps what the file says and writes the text, and says what was done.
func (c compared) replace(ctx context.Context, api *client.Client, text string) (said string, err error) {
	kept := ""
	if c.version != "" {
		if kept, err = keepOld(ctx, api, c); err != nil {
			return "", err
		}
	}
	base := "" // of a merged text the starter: by the file's history it is known from which one it was made
	if text != c.Text {
		base = c.Text
	}
	written, err := api.WriteContextOf(ctx, c.Path, text, c.version, base)
	if err != nil {
		return "", err
	}
	said = fmt.Sprintf("%s has %d bytes now (version %.*s).", written.Path, written.Size, shortVersion, written.Version)
	if kept != "" {
		said += " What it was is in " + kept + "."
	}
	return said, nil
}

// keepOld writes what a file says into a file of its own in the archive, which no prompt has, and returns its path.
func keepOld(ctx context.Context, api *client.Client, c compared) (string, error) {
	const most = 50
	name := strings.TrimSuffix(path.Base(c.Path), ".md") + "-" + time.Now().UTC().Format(time.DateOnly)
	for n := 1; n <= most; n++ {
		kept := "context/archive/" + name + ".md"
		if n > 1 {
			kept = fmt.Sprintf("context/archive/%s-%d.md", name, n)
		}
		there, err := api.ContextFile(ctx, kept, "")
		var problem *client.Problem
		switch {
		case errors.As(err, &problem) && problem.Status == http.StatusNotFound:
			_, err := api.WriteContext(ctx, kept, c.text, "")
			return kept, err
		case err != nil:
			return "", err
		case there.Version == c.version:
			return kept, nil
		}
	}
	return "", fmt.Errorf("there are %d files context/archive/%s-N.md already; move some away", most, name)
}

// merged is the file with what has changed in the starter since the one that it was made from.
func (c compared) merged(ctx context.Context, api *client.Client) (string, error) {
	const byHand = "compare them (harness context diff %s), and edit the file by hand (harness context edit %s)"
	if c.base == "" {
		return "", fmt.Errorf("from which starter %s was made is not known any more: "+byHand, c.Path, c.Path, c.Path)
	}
	base, err := api.ContextFile(ctx, c.Path, c.base) // shipped texts have line feeds alone
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		return "", fmt.Errorf("the starter that %s was made from is not kept any more: "+byHand, c.Path, c.Path, c.Path)
	}
	if err != nil {
		return "", err
	}
	mine := udiff.Lines(base.Text, c.plain)
	edits := slices.Clone(mine)
	for _, theirs := range udiff.Lines(base.Text, c.Text) {
		if slices.Contains(mine, theirs) {
			continue
		}
		touches := func(one udiff.Edit) bool { return theirs.Start <= one.End && one.Start <= theirs.End }
		if slices.ContainsFunc(mine, touches) {
			return "", fmt.Errorf("the newer starter changes lines of %s that you or the agent have changed too, at line %d of the older one: "+byHand,
				c.Path, strings.Count(base.Text[:theirs.Start], "\n")+1, c.Path, c.Path)
		}
		edits = append(edits, theirs)
	}
	udiff.SortEdits(edits)
	return udiff.Apply(base.Text, edits)
}
