package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginRollback() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Go back to an earlier version of a plugin",
		Long: `Go back to the version of a plugin that was installed before, or to the one that --to
names (its version, or the beginning of its SHA-256). The last five are kept; ` + "`harness plugin info`" + `
lists them. What was granted stays granted. The version that is left is kept too, so
the way forward is the same command. A version that declares what another enabled
plugin has by now needs --force, as with ` + "`harness plugin enable`" + `.`,
		Example: `  harness plugin rollback greeter
  harness plugin rollback greeter --to 1.0.0`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, _ := cmd.Flags().GetString("to")
			force, _ := cmd.Flags().GetBool("force")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Rollback(ctx, registry.RollbackRequest{Name: args[0], To: to, Force: force})
			})
		},
	}
	addYes(cmd)
	cmd.Flags().String("to", "", "the version to go back to (default the one before)")
	cmd.Flags().Bool("force", false, "also when another plugin has a command of the same name")
	return cmd
}
