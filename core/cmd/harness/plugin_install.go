package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginInstall() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install PATH|DIR|ARCHIVE",
		Short: "Install a plugin, after showing what it says about itself",
		Long: `Install a plugin: an executable with a plugin.json beside it, a directory, or an archive
(.tar.gz, .tgz), whose minisign signature is beside it under ARCHIVE.minisig. What its
plugin.json declares is shown before anything of it is run. Its files are copied into the
data directory, read-only, and pinned by their SHA-256: once they are changed, the plugin
does not start any more.

It is disabled, and may do nothing but what is granted here or later.`,
		Example: `  harness plugin install greeter-1.0.0.tar.gz
  harness plugin install ./bin/greeter --grant messages.read --enable
  harness plugin install ./greeter --yes --grant all --grant-env GREETER_TOKEN`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			enable, _ := cmd.Flags().GetBool("enable")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Install(ctx, registry.InstallRequest{Source: args[0], Grants: grantFlags(cmd), Enable: enable})
			})
		},
	}
	addYes(cmd)
	addGrantFlags(cmd)
	cmd.Flags().Bool("enable", false, "enable it at once")
	return cmd
}

func addGrantFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("grant", nil, "capabilities to grant, separated by commas; all is what it wants")
	cmd.Flags().StringSlice("grant-env", nil, "environment variables to pass on, separated by commas; all is what it wants")
}

// grantFlags are the rights that --grant and --grant-env name.
func grantFlags(cmd *cobra.Command) registry.Grants {
	var grants registry.Grants
	grants.Capabilities, _ = cmd.Flags().GetStringSlice("grant")
	grants.Env, _ = cmd.Flags().GetStringSlice("grant-env")
	isAll := func(name string) bool { return name == "all" }
	grants.AllCapabilities = slices.ContainsFunc(grants.Capabilities, isAll)
	grants.AllEnv = slices.ContainsFunc(grants.Env, isAll)
	grants.Capabilities = slices.DeleteFunc(grants.Capabilities, isAll)
	grants.Env = slices.DeleteFunc(grants.Env, isAll)
	return grants
}
