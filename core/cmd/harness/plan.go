package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
)

func newPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show how much of each limit of the agent's plans is used, and which runs wait",
		Long: `Show how much of each limit of the agent's plans is used, when the limit resets, and when it
is used up at the pace so far. A run whose plan is used up is parked: it goes on by itself
when the limit resets. The command works with the daemon up or down.`,
		Example: `  harness plan
  harness plan --json
  harness plan go 0199... --model haiku`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan, titles, err := planOf(cmd)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(cmd.OutOrStdout(), plan)
			}
			return accountview.Plan(cmd.OutOrStdout(), plan, titles, time.Now())
		},
	}
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	cmd.AddCommand(newPlanGo())
	return cmd
}

// parkedShown is how many of the parked runs are listed, those that go on first.
const parkedShown = 100

// planOf returns the plans of the daemon elsewhere that the command is for, or
// of this machine, with the names of the threads whose runs are parked.
func planOf(cmd *cobra.Command) (plan client.Plan, titles map[string]string, err error) {
	plan, titles = client.Plan{Parked: []client.Run{}}, make(map[string]string)
	remote, err := elsewhere(cmd)
	if err != nil {
		return plan, nil, err
	}
	if remote != nil {
		plan, err = remote.Plan(cmd.Context())
		if err == nil && len(plan.Parked) > 0 {
			titles = threadTitles(cmd.Context(), remote)
		}
		return plan, titles, err
	}
	err = withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		if plan.Accounts, err = (bookHere{daemon.NewAccounts(config, database), config, cmd}).list(ctx); err != nil {
			return err
		}
		parked, err := database.ParkedRuns(ctx, "", parkedShown)
		if err != nil {
			return err
		}
		for _, run := range parked {
			plan.Parked = append(plan.Parked, client.Run{
				ID: run.ID, ThreadID: run.ThreadID, MessageID: run.MessageID, Kind: run.Kind, State: run.State, Attempt: run.Attempt,
				NextAttemptAt: run.NextAttemptAt, Parked: run.Parked,
			})
			if thread, err := database.Thread(ctx, run.ThreadID); err == nil {
				titles[run.ThreadID] = thread.Name
			}
		}
		plan.ParkedTotal, err = database.CountParked(ctx)
		plan.More = plan.ParkedTotal > len(plan.Parked)
		return err
	})
	return plan, titles, err
}

func newPlanGo() *cobra.Command {
	cmd := apiCommand("go RUN [--model MODEL | --fallback]", "Have a parked run go on now", "  harness plan go 0199...\n  harness plan go 0199... --model haiku\n  harness plan go 0199... --fallback",
		cobra.ExactArgs(1), func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			model, _ := cmd.Flags().GetString("model")
			fallback, _ := cmd.Flags().GetBool("fallback")
			if model != "" && fallback {
				return errors.New("--model and --fallback: give one of them")
			}
			run, err := api.ResumeRun(ctx, args[0], model, fallback)
			if err != nil {
				return err
			}
			how := ""
			switch {
			case model != "":
				how = " with the model " + model
			case fallback:
				how = " with the fallback of its account"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The run %s goes on now%s.\n", run.ID, how)
			return err
		})
	cmd.Long = `Have a parked run go on now. Without a flag it is tried once more as it is: the limit may
have been reset early. With --model it goes on with another model, which may have a limit of
its own. With --fallback it goes on with the API key that is its account's fallback (harness
account set).`
	cmd.Flags().String("model", "", "the model that it goes on with")
	cmd.Flags().Bool("fallback", false, "go on with the API key that is the fallback of its account")
	return cmd
}
