package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings that hold, and where each comes from",
		Long: `Show every setting of the daemon as it would hold for one that is started here:
its value, and whether that comes from a flag, the environment, DATA/harness.env
or is the default. Secrets are masked. What a running daemon has it has read at its
start, with its own flags and environment. docs/operating.md says what each does.

The settings of plugins are others: see 'harness plugin settings'.`,
		Example: `  harness config
  harness config --data /var/lib/harness --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return showConfig(cmd) },
	}
	addDaemonFlags(cmd)
	cmd.Flags().Bool("json", false, "as JSON, for programs")
	return cmd
}

func showConfig(cmd *cobra.Command) error {
	config, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	out, settings := cmd.OutOrStdout(), config.Settings()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"settings": settings})
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, setting := range settings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", setting.Name, terminal.Short(setting.Value, 100), setting.Source)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, wrong := range daemon.Misspelt(os.Environ()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "harness: %s\n", wrong)
	}
	return nil
}
