package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginUpgrade() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade NAME PATH|DIR|ARCHIVE",
		Short: "Replace an installed plugin by another version",
		Long: `Replace an installed plugin by another version, after showing what changes. What the new
version wants more is not granted unless --grant says so. A running daemon starts the new
version beside the old one and moves the calls over once it serves; the old version is
kept for ` + "`harness plugin rollback`" + `. The version that is installed already has its files put right
when they were changed. An enabled plugin whose new version has a command of another one
needs --force, as with ` + "`harness plugin enable`.",
		Example: `  harness plugin upgrade greeter greeter-1.1.0.tar.gz
  harness plugin upgrade greeter ./bin/greeter --yes --grant messages.write`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			force, _ := cmd.Flags().GetBool("force")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Upgrade(ctx, registry.UpgradeRequest{Name: args[0], Source: args[1], Grants: grantFlags(cmd), Force: force})
			})
		},
	}
	addYes(cmd)
	addGrantFlags(cmd)
	cmd.Flags().Bool("force", false, "also when another plugin has a command of the same name")
	return cmd
}
