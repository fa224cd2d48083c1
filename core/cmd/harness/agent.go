package main

import "github.com/spf13/cobra"

func newAgent() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "agent",
		Short:   "Look at the agent's CLI",
		Example: "  harness agent check\n  harness agent rights 0199...",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(beside(newAgentCheck(), "agent check looks at the CLI on this machine"), newAgentRights())
	return cmd
}
