package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginGrant() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grant NAME [CAPABILITY...] [--env VARIABLE,...] | --all",
		Short: "Grant a plugin what it asks for",
		Long: `Grant a plugin capabilities (what it may ask of the core) and variables of the daemon's
environment (which it gets when it is started next). Only what its manifest asks for can
be granted; ` + "`harness plugin info`" + ` shows that, with the reasons.`,
		Example: `  harness plugin grant greeter messages.read messages.write
  harness plugin grant greeter --env GREETER_TOKEN
  harness plugin grant greeter --all`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Grant(ctx, registry.GrantRequest{Name: args[0], Grants: rightsOf(cmd, args[1:])})
			})
		},
	}
	addRights(cmd, "all that it asks for, environment variables included")
	return cmd
}

func newPluginRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke NAME [CAPABILITY...] [--env VARIABLE,...] | --all",
		Short: "Take back what a plugin was granted",
		Long: `Take back capabilities and environment variables that a plugin was granted. The next call
that needs such a capability is refused.`,
		Example: `  harness plugin revoke greeter messages.write
  harness plugin revoke greeter --all`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Revoke(ctx, registry.GrantRequest{Name: args[0], Grants: rightsOf(cmd, args[1:])})
			})
		},
	}
	addRights(cmd, "all that it has")
	return cmd
}

func addRights(cmd *cobra.Command, all string) {
	cmd.Flags().StringSlice("env", nil, "environment variables, separated by commas")
	cmd.Flags().Bool("all", false, all)
}

func rightsOf(cmd *cobra.Command, capabilities []string) registry.Grants {
	grants := registry.Grants{Capabilities: capabilities}
	grants.Env, _ = cmd.Flags().GetStringSlice("env")
	all, _ := cmd.Flags().GetBool("all")
	grants.AllCapabilities, grants.AllEnv = all, all
	return grants
}
