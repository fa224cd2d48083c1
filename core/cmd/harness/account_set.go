package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newAccountUse() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "use NAME [--thread ID]",
		Short: "Make an account the default, or that of a thread",
		Long: `Make an account the default: every thread and task that has no account of its own uses it.
With --thread only that thread uses the account. Changing a thread's account begins a new
session, which is given the thread's history.
With default for NAME the thread has no account of its own any more, and uses the default one.`,
		Example: `  harness account use work
  harness account use private --thread 0199...
  harness account use default --thread 0199...`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if thread, _ := cmd.Flags().GetString("thread"); thread != "" {
				return useInThread(cmd, thread, args[0])
			}
			if args[0] == "default" {
				return errors.New("default stands for no account of one's own and goes with --thread; name the account that is to be the default")
			}
			return withAccounts(cmd, func(ctx context.Context, of book) error {
				yes := true
				after, err := of.update(ctx, args[0], pluginsdk.AccountPatch{Default: &yes})
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s is the default from the next turn on.\n", after.Name)
				if !after.Usable {
					fmt.Fprintf(cmd.OutOrStdout(), "But it is not usable: %s\n", after.Reason)
				}
				return nil
			})
		},
	}
	cmd.Flags().String("thread", "", "id of the thread that is to use it")
	addAddress(cmd)
	return cmd
}

// useInThread gives a thread an account, or, by the word default, takes its own one away.
func useInThread(cmd *cobra.Command, thread, account string) error {
	if account == "default" {
		account = ""
	}
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	after, err := api.ChangeThread(cmd.Context(), thread, map[string]string{"account": account})
	switch {
	case err != nil:
		return err
	case after.Account == "":
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "The thread %s has no account of its own: it uses the default one from its next turn on.\n", after.ID)
	default:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "The thread %s uses the account %s from its next turn on.\n", after.ID, after.Account)
	}
	return err
}

func newAccountSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME [--overage on|off] [--fallback KEY|none] [--limit USD] [--key]",
		Short: "Change an account's limits, fallback or key",
		Long: `Change an account.

--overage: what happens when the plan is used up. on: runs go on, and Anthropic may bill you.
off: runs wait, even if the account at Anthropic has paid use turned on.
--fallback: the API key that a parked run of this account may go on with, when a person says
so (harness plan go RUN --fallback). The key needs a daily limit (--limit).
--limit: the USD that an API key may cost in a day (UTC) as the fallback of other accounts.
0: no account can use this key as its fallback.
--key: replace the API key. The new one is asked for as in account add.`,
		Example: `  harness account set spare --limit 5.00
  harness account set work --fallback spare --overage off`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch, err := accountPatch(cmd)
			if err != nil {
				return err
			}
			return withAccounts(cmd, func(ctx context.Context, of book) error {
				after, err := of.update(ctx, args[0], patch)
				if err != nil {
					return pluginsdk.Errorf(pluginsdk.CodeOf(err), "%s", strings.Replace(err.Error(), "dailyLimitUsd:", "--limit:", 1))
				}
				fmt.Fprintln(cmd.OutOrStdout(), accountview.Changed(after))
				if patch.Key == nil {
					return nil
				}
				return sayLostKeys(ctx, cmd, of)
			})
		},
	}
	cmd.Flags().String("overage", "", "whether Anthropic may bill you when the plan is used up: on or off")
	cmd.Flags().String("fallback", "", "the API key that parked runs of this account may go on with; none: no key")
	cmd.Flags().Float64("limit", 0, "USD that an API key may cost in a day as the fallback of other accounts; 0: no account can use it")
	cmd.Flags().Bool("key", false, "replace the API key")
	return cmd
}

// sayLostKeys names the keys that cannot be opened, which is worth a word when another one was
// set: with the key of the secrets all of them are lost.
func sayLostKeys(ctx context.Context, cmd *cobra.Command, of book) error {
	all, err := of.list(ctx)
	for _, account := range all {
		if account.Kind == pluginsdk.AccountKey && !account.Usable {
			fmt.Fprintf(cmd.OutOrStdout(), "The key of %s is of no use: %s\n", account.Name, account.Reason)
		}
	}
	return err
}

func accountPatch(cmd *cobra.Command) (patch pluginsdk.AccountPatch, err error) {
	flags := cmd.Flags()
	if flags.Changed("overage") {
		text, _ := flags.GetString("overage")
		if text != "on" && text != "off" {
			return patch, fmt.Errorf("--overage: %q is not accepted; it takes on or off", text)
		}
		allowed := text == "on"
		patch.Overage = &allowed
	}
	if flags.Changed("fallback") {
		name, _ := flags.GetString("fallback")
		if name == "none" {
			name = ""
		}
		patch.Fallback = &name
	}
	if flags.Changed("limit") {
		limit, _ := flags.GetFloat64("limit")
		patch.DailyLimitUSD = &limit
	}
	if set, _ := flags.GetBool("key"); set {
		key, err := readSecret(cmd, "API key")
		if err != nil {
			return patch, err
		}
		patch.Key = &key
	}
	if patch == (pluginsdk.AccountPatch{}) {
		return patch, errors.New("nothing is to be changed; say --overage, --fallback, --limit or --key")
	}
	return patch, nil
}

func newAccountRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget an account, with its key; the directory of a login stays",
		Long: `Forget an account, with its key. The directory of a login stays: delete it when you do not
need the login any more. The default account is not removed, and neither is an account that a
thread, a run or another account uses.`,
		Example: `  harness account remove spare`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAccounts(cmd, func(ctx context.Context, of book) error {
				all, err := of.list(ctx)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(all, func(a pluginsdk.Account) bool { return a.Name == args[0] })
				if i < 0 {
					return fmt.Errorf("there is no account %q; harness account list lists them", args[0])
				}
				if err := of.remove(ctx, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "The account %s is removed.\n", args[0])
				if home := all[i].Home; home != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "Its login is still in %s on the daemon's machine: delete that when nobody needs it any more.\n", home)
				}
				return nil
			})
		},
	}
}
