package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newDelivery() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delivery",
		Short: "Show what is on its way to people, and try it again",
		Long: `Show what is on its way to people through plugins such as discord, and try it
again. A delivery that fails is repeated by itself, less and less often; after the
last attempt it is dead, and waits for an operator.`,
		Example: `  harness delivery list
  harness delivery retry 0198c5c0-...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeliveryList(), newDeliveryRetry())
	return cmd
}

func newDeliveryList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the deliveries that have not arrived, oldest first",
		Example: `  harness delivery list
  harness delivery list --state dead
  harness delivery list --state delivered --plugin discord --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			states, err := deliveryStates(cmd)
			if err != nil {
				return err
			}
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			rows, err := deliveries(cmd.Context(), api, cmd, states)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			return printDeliveries(cmd.OutOrStdout(), rows, time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().String("state", "", "only this state: pending, sending, dead or delivered (default all but delivered)")
	cmd.Flags().String("plugin", "", "only those that this plugin carries")
	cmd.Flags().String("place", "", "only those to this place: a channel, a chat")
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

// deliveryStates are the states that the flags ask for.
func deliveryStates(cmd *cobra.Command) ([]pluginsdk.DeliveryState, error) {
	open := []pluginsdk.DeliveryState{pluginsdk.DeliveryPending, pluginsdk.DeliverySending, pluginsdk.DeliveryDead}
	text, _ := cmd.Flags().GetString("state")
	state := pluginsdk.DeliveryState(text)
	switch {
	case state == "":
		return open, nil
	case state == pluginsdk.DeliveryDelivered, slices.Contains(open, state):
		return []pluginsdk.DeliveryState{state}, nil
	}
	return nil, fmt.Errorf("--state: %q is not accepted; it is pending, sending, dead or delivered", text)
}

// deliveries reads the selected deliveries, oldest first. One that changes its
// state in between is listed once.
func deliveries(ctx context.Context, api *client.Client, cmd *cobra.Command, states []pluginsdk.DeliveryState) ([]pluginsdk.Delivery, error) {
	var rows []pluginsdk.Delivery
	query := pluginsdk.DeliveryQuery{}
	query.Plugin, _ = cmd.Flags().GetString("plugin")
	query.Place, _ = cmd.Flags().GetString("place")
	for _, query.State = range states {
		found, err := api.Deliveries(ctx, query)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	slices.SortStableFunc(rows, func(a, b pluginsdk.Delivery) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(rows, func(a, b pluginsdk.Delivery) bool { return a.ID == b.ID }), nil
}

func printDeliveries(out io.Writer, rows []pluginsdk.Delivery, now time.Time) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "There are no such deliveries.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tPLUGIN\tPLACE\tMESSAGE\tATTEMPTS\tNEXT\tAGE\tLAST ERROR")
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", row.ID, row.State, row.Plugin,
			cmp.Or(terminal.Short(row.Place, 40), "-"), row.MessageID, row.Attempt, next(row, now),
			humanize.RelTime(row.CreatedAt, now, "", ""), cmp.Or(terminal.Short(row.LastError, 60), "-"))
	}
	return table.Flush()
}

// next says when a delivery is tried again.
func next(row pluginsdk.Delivery, now time.Time) string {
	switch {
	case row.State != pluginsdk.DeliveryPending:
		return "-"
	case !row.NextAttemptAt.After(now):
		return "now"
	}
	return "in " + row.NextAttemptAt.Sub(now).Round(time.Second).String()
}

func newDeliveryRetry() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "retry ID",
		Short:   "Try a delivery again that is dead, or waits",
		Example: `  harness delivery retry 0198c5c0-...`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			row, err := api.RetryDelivery(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Delivery %s is %s; %s tries it at once, while it serves.\n", row.ID, row.State, row.Plugin)
			return err
		},
	}
	addAddress(cmd)
	return cmd
}
