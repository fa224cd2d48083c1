package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newAccountAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME [--login | --key]",
		Short: "Add a login (and log in) or an API key",
		Long: `Add an account. With --login, which is the default, it gets a directory of its own below
DATA/accounts, and the Claude CLI's own login runs in it, on this terminal. The login stays
in that directory: it is never copied, and in no backup.

With --key the API key is asked for without showing it, or read from stdin when that is no
terminal. It is kept sealed, as the secrets of plugins are, and nobody is shown it again.`,
		Example: `  harness account add work
  harness account add spare --key
  pass show anthropic | harness account add spare --key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return addAccount(cmd, args[0]) },
	}
	cmd.Flags().Bool("login", false, "a subscription (the default)")
	cmd.Flags().Bool("key", false, "an API key")
	cmd.MarkFlagsMutuallyExclusive("login", "key")
	return cmd
}

func addAccount(cmd *cobra.Command, name string) error {
	request := pluginsdk.AddAccountRequest{Name: name, Kind: pluginsdk.AccountLogin}
	if isKey, _ := cmd.Flags().GetBool("key"); isKey {
		request.Kind = pluginsdk.AccountKey
		var err error
		if request.Key, err = readSecret(cmd, "API key"); err != nil {
			return err
		}
	}
	return withAccounts(cmd, func(ctx context.Context, of book) error {
		made, err := of.add(ctx, request)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "The account %s is added. To use it: harness account use %[1]s [--thread ID]\n", made.Name)
		here, isHere := of.(bookHere)
		switch {
		case made.Kind == pluginsdk.AccountKey && isHere && here.config.SecretsKey == "":
			fmt.Fprintf(out, "The key is sealed, and opens only with the file %s. Keep a copy of that file, not beside the backups.\n",
				filepath.Join(here.config.Data, daemon.SecretsKeyFile))
		case made.Kind == pluginsdk.AccountLogin && isHere:
			if err := logIn(ctx, cmd, here, made.Name); err != nil {
				return fmt.Errorf("the account %[1]s is added, but the login did not succeed: %[2]w. To try again: harness account login %[1]s", made.Name, err)
			}
		case made.Kind == pluginsdk.AccountLogin:
			fmt.Fprintf(out, "Nobody is logged in to it yet. On the daemon's machine: harness account login %s\n", made.Name)
		}
		return nil
	})
}

func newAccountLogin() *cobra.Command {
	return here(&cobra.Command{
		Use:   "login NAME",
		Short: "Log in to an account, again",
		Long: `Log in to an account that was added: the Claude CLI's own login runs in the account's
directory, on this terminal. The daemon uses it from the next turn on.`,
		Example: `  harness account login work`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, func(ctx context.Context, of book) error {
				with, ok := of.(bookHere)
				if !ok { // here has refused that
					return errors.New("logging in works on the daemon's machine only")
				}
				return logIn(ctx, cmd, with, args[0])
			})
		},
	}, "account login runs the Claude CLI's login on the daemon's own machine, where the login stays")
}

// logIn runs the CLI's login in an account's home, and looks whether there are credentials then.
func logIn(ctx context.Context, cmd *cobra.Command, with bookHere, name string) error {
	home, err := with.room.HomeOf(ctx, name)
	if err != nil {
		return err
	}
	login, err := daemon.LoginCommand(ctx, with.config, home)
	if err != nil {
		return fmt.Errorf("the Claude CLI cannot be started: %w", err)
	}
	login.Stdin, login.Stdout, login.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := login.Run(); err != nil {
		return fmt.Errorf("the Claude CLI's login has failed: %w", err)
	}
	if _, err := with.room.Resolve(name); err != nil {
		return err
	}
	if err := with.room.LoggedIn(ctx, name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is logged in. The login is in %s, and in no backup.\n", name, home)
	return err
}
