package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
)

func newPlugin() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install plugins, say what they may do, turn them on and off, see how they are",
		Long: `Install plugins, say what they may do, turn them on and off, see how they are. These
commands work on the database and the files, with the daemon up or down. A running
daemon follows within about a second, without a restart; a plugin that is turned
off ends after the calls under way. With --server or a profile they work on a daemon
elsewhere, through its API.`,
		Example: `  harness plugin list
  harness plugin install greeter-1.0.0.tar.gz
  harness plugin grant greeter messages.read
  harness plugin enable greeter
  harness plugin info greeter
  harness plugin disable time`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Int("port", 0, "port of the daemon on this machine (PORT; default 3001)")
	cmd.AddCommand(newPluginList(), newPluginInfo(), newPluginLogs(), newPluginEnable(), newPluginDisable(), newPluginOrder())
	cmd.AddCommand(newPluginInstall(), newPluginUpgrade(), newPluginRollback(), newPluginTrust(), newPluginRemove())
	cmd.AddCommand(newPluginGrant(), newPluginRevoke(), newPluginLimits())
	cmd.AddCommand(newPluginSettings())
	cmd.AddCommand(beside(newPluginNew(), "plugin new writes files on this machine"), beside(newPluginTest(), "plugin test starts a binary on this machine"))
	for _, ofAuthors := range []*cobra.Command{newPluginDev(), newPluginAttach(), newPluginDetach()} {
		cmd.AddCommand(here(ofAuthors, "plugin "+ofAuthors.Name()+" is for authors, with a daemon on their own machine"))
	}
	return cmd
}

// withStore opens the database that the configuration names.
func withStore(cmd *cobra.Command, do func(context.Context, daemon.Config, *store.Store) error) error {
	config, err := loadOwn(cmd)
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

// withOperator readies what changes the registry.
func withOperator(cmd *cobra.Command, do func(context.Context, *operate.Operator) error) error {
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	if remote != nil {
		return do(cmd.Context(), operatorOn(cmd, operate.NewElsewhere(remote)))
	}
	return withRegistry(cmd, func(ctx context.Context, with registryHere) error { return do(ctx, with.operator) })
}

func operatorOn(cmd *cobra.Command, plugins operate.Plugins) *operate.Operator {
	return &operate.Operator{Plugins: plugins, Out: cmd.OutOrStdout(), Ask: asker(cmd)}
}

// registryHere is what works on the registry of this machine.
type registryHere struct {
	config   daemon.Config
	database *store.Store
	registry *registry.Registry
	operator *operate.Operator
}

// withRegistry opens the registry of this machine.
func withRegistry(cmd *cobra.Command, do func(context.Context, registryHere) error) error {
	return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		opened, err := daemon.NewRegistry(config, database, func() bool { return daemon.Running(config) })
		if err != nil {
			return err
		}
		here := operate.Here{Registry: opened, Tools: config.ToolBounds, Settings: daemon.NewSettings(config, database).Problem}
		return do(ctx, registryHere{config, database, opened, operatorOn(cmd, here)})
	})
}

// addYes adds the flag of commands that ask.
func addYes(cmd *cobra.Command) {
	cmd.Flags().BoolP("yes", "y", false, "do not ask")
}

// asker asks a person, unless --yes has answered already.
func asker(cmd *cobra.Command) func(string) (bool, error) {
	return func(question string) (bool, error) {
		if yes, err := cmd.Flags().GetBool("yes"); err == nil && yes {
			return true, nil
		}
		if !terminal.IsTerminal(cmd.InOrStdin()) {
			return false, errors.New("this asks first, and there is no terminal to ask on: say --yes")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s [y/N] ", question)
		answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // no answer is no
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", nil
	}
}
