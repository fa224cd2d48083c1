package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newPlugin() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "List plugins and turn them on and off",
		Long: `List plugins and turn them on and off. These commands work on the database,
with the daemon up or down. A running daemon follows within about a second,
without a restart; a plugin that is turned off ends after the calls under way.`,
		Example: `  harness plugin list
  harness plugin disable time
  harness plugin enable time`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Int("port", 0, "port of the daemon on this machine (PORT; default 3001)")
	cmd.AddCommand(newPluginList(), newPluginToggle("enable", true), newPluginToggle("disable", false))
	return cmd
}

func newPluginList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List plugins in the order of their hooks",
		Long: `List plugins in the order of their hooks, with what the daemon has seen of them.
With the daemon down, enabled plugins are stopped. Settings are never shown: they
can hold secrets.`,
		Example: `  harness plugin list
  harness plugin list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				rows, err := database.Plugins(ctx)
				if err != nil {
					return err
				}
				observed(rows, daemon.Running(config))
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), rows)
				}
				return printPlugins(cmd.OutOrStdout(), rows)
			})
		},
	}
	cmd.Flags().Bool("json", false, "print all fields but settings as JSON")
	return cmd
}

func newPluginToggle(name string, enabled bool) *cobra.Command {
	return &cobra.Command{
		Use:     name + " NAME",
		Short:   strings.ToUpper(name[:1]) + name[1:] + " a plugin",
		Example: "  harness plugin " + name + " time",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				return toggle(ctx, cmd.OutOrStdout(), config, database, args[0], enabled)
			})
		},
	}
}

// withStore opens the database that the configuration names.
func withStore(cmd *cobra.Command, do func(context.Context, daemon.Config, *store.Store) error) error {
	config, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	database, err := daemon.OpenExisting(cmd.Context(), config)
	if err != nil {
		return err
	}
	defer database.Close()
	return do(cmd.Context(), config, database)
}

func toggle(ctx context.Context, out io.Writer, config daemon.Config, database *store.Store, name string, enabled bool) error {
	if err := database.SetPluginEnabled(ctx, name, enabled); err != nil {
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return unknownPlugin(ctx, database, name)
		}
		return err
	}
	action, done := "plugin.disable", "disabled"
	if enabled {
		action, done = "plugin.enable", "enabled"
	}
	if err := database.Audit(ctx, "operator", action, name, "harness plugin"); err != nil {
		return err
	}
	when := "from the daemon's next start on"
	if daemon.Running(config) {
		when = "the daemon follows within about a second"
	}
	fmt.Fprintf(out, "%s is %s; %s.\n", name, done, when)
	return nil
}

func unknownPlugin(ctx context.Context, database *store.Store, name string) error {
	rows, err := database.Plugins(ctx)
	if err != nil {
		return err
	}
	known := make([]string, len(rows))
	for n, row := range rows {
		known[n] = row.Name
	}
	if len(known) == 0 {
		return fmt.Errorf("there is no plugin %q: none are known yet; the daemon registers them when it starts", name)
	}
	return fmt.Errorf("there is no plugin %q; there are: %s", name, strings.Join(known, ", "))
}

// observed makes rows say what holds now: with the daemon down nothing serves.
// Settings are taken out.
func observed(rows []pluginsdk.PluginInfo, running bool) {
	for n := range rows {
		rows[n].Settings = nil
		switch {
		case running:
		case rows[n].Enabled:
			rows[n].State = pluginsdk.PluginStopped
		default:
			rows[n].State = pluginsdk.PluginDisabled
		}
	}
}

func printPlugins(out io.Writer, rows []pluginsdk.PluginInfo) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tENABLED\tPOSITION\tVERSION\tRESTARTS\tFAILURES\tLAST ERROR")
	for _, row := range rows {
		enabled := "no"
		if row.Enabled {
			enabled = "yes"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\n", row.Name, row.State, enabled, row.Position,
			dash(row.Version), row.Restarts, row.Failures, dash(terminal.Short(row.LastError, 60)))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Problem != "" {
			fmt.Fprintf(out, "! the row of %s is wrong, its last good values hold: %s\n", row.Name, terminal.Short(row.Problem, 200))
		}
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
