package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/scaffold"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newPluginNew() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new plugin in Go that builds, with a test",
		Long: `Write a Go module for a plugin: a main function of one call, a plugin with two hooks, a
command and a setting, its test, a README and a Makefile. Nothing that is there
already is changed. The SDK is taken from a checkout of Harness, because it is not
published yet: the one that this program was built in, or the one above the current
directory, or --harness.`,
		Example: `  harness plugin new greeter
  harness plugin new greeter --dir ~/src/greeter --module example.org/greeter`,
		Args: cobra.ExactArgs(1),
		RunE: runPluginNew,
	}
	cmd.Flags().String("dir", "", "directory to write (default ./NAME)")
	cmd.Flags().String("module", "", "path of the Go module (default example.com/NAME)")
	cmd.Flags().String("harness", "", "checkout of Harness that has the SDK")
	return cmd
}

func runPluginNew(cmd *cobra.Command, args []string) error {
	plugin := scaffold.Plugin{Name: args[0]}
	if err := mayBeNew(plugin.Name); err != nil {
		return err
	}
	plugin.Dir, _ = cmd.Flags().GetString("dir")
	plugin.Module, _ = cmd.Flags().GetString("module")
	if plugin.Dir == "" {
		plugin.Dir = filepath.Join(".", plugin.Name)
	}
	var err error
	if plugin.Harness, err = checkoutFor(cmd); err != nil {
		return err
	}
	written, err := scaffold.Write(cmd.Context(), plugin)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, path := range written {
		fmt.Fprintln(out, path)
	}
	fmt.Fprintf(out, "\nNext:\n  cd %s\n  make test            build it, test it\n  harness plugin dev . use it in the running daemon, and again at each save\n", plugin.Dir)
	return nil
}

// mayBeNew refuses a name with which the plugin could not be installed or enabled: one
// that comes with Harness, or one of the core's commands, since what is written has a
// command of its name.
func mayBeNew(name string) error {
	switch {
	case shipped.Named(name):
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is the name of a plugin that comes with Harness: give yours another one", name)
	case slices.Contains(inbox.Reserved(), name):
		return pluginsdk.Errorf(pluginsdk.CodeConflict, "/%s is a command of the core, and the plugin that is written has a command of its name: give it another one", name)
	}
	return nil
}

// checkoutFor returns the checkout that the flag names, else one found.
func checkoutFor(cmd *cobra.Command) (string, error) {
	if dir, _ := cmd.Flags().GetString("harness"); dir != "" {
		return scaffold.FindCheckout(dir)
	}
	starts := []string{"."}
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		starts = append(starts, filepath.Dir(self))
	}
	return scaffold.FindCheckout(starts...)
}
