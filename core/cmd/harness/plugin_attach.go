package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

func newPluginAttach() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach NAME --pid PID --address SOCKET",
		Short: "Use a plugin that runs under a debugger",
		Long: `Make the daemon use a plugin's process that its author has started, instead of one of its
own, until it ends or is detached. That is for an author's own machine: the daemon must
have been started with --dev, and the connection has no certificates.

Start the plugin with the argument --debug; it prints this command with its values:

  dlv debug . -- --debug`,
		Example: `  harness plugin attach greeter --pid 4711 --address /tmp/harness-debug1/plugin2`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var to launch.AttachTo
			to.PID, _ = cmd.Flags().GetInt("pid")
			to.Address, _ = cmd.Flags().GetString("address")
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				if err := to.Check(); err != nil {
					return err
				}
				encoded, err := json.Marshal(to)
				if err != nil {
					return err
				}
				if err := setAttach(ctx, database, args[0], string(encoded)); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is to be process %d; %s, if it was started with --dev.\n", args[0], to.PID, follows(config))
				return nil
			})
		},
	}
	cmd.Flags().Int("pid", 0, "id of the plugin's process")
	cmd.Flags().String("address", "", "absolute path of its socket")
	return cmd
}

func newPluginDetach() *cobra.Command {
	return &cobra.Command{
		Use:     "detach NAME",
		Short:   "Let the daemon start a plugin itself again",
		Example: "  harness plugin detach greeter",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				if err := setAttach(ctx, database, args[0], ""); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is started by the daemon again; %s.\n", args[0], follows(config))
				return nil
			})
		},
	}
}

func setAttach(ctx context.Context, database *store.Store, name, attach string) error {
	err := database.SetPluginAttach(ctx, name, attach)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return unknownPlugin(ctx, database, name)
	}
	if err != nil {
		return err
	}
	action := "plugin.attach"
	if attach == "" {
		action = "plugin.detach"
	}
	return database.Audit(ctx, "operator", action, name, attach)
}

// follows says when the daemon takes notice.
func follows(config daemon.Config) string {
	if daemon.Running(config) {
		return "the daemon follows within about a second"
	}
	return "the daemon follows when it starts"
}
