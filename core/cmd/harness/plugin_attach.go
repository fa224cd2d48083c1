package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

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
			return withRegistry(cmd, func(ctx context.Context, with registryHere) error {
				if err := to.Check(); err != nil {
					return err
				}
				encoded, err := json.Marshal(to)
				if err != nil {
					return err
				}
				return with.operator.Attach(ctx, with.registry, args[0], to.PID, string(encoded))
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
			return withRegistry(cmd, func(ctx context.Context, with registryHere) error {
				return with.operator.Detach(ctx, with.registry, args[0])
			})
		},
	}
}
