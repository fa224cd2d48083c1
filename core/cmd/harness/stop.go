package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func newStop() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Interrupt what the agent is doing in a thread",
		Long: `Interrupt the turn that runs in a thread. Messages that wait in it are answered
next, unless --drop cancels them. To stop the daemon, end its process.`,
		Example: `  harness stop
  harness stop --drop --thread 0198c5c0-...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return stop(cmd) },
	}
	addAddress(cmd)
	addThread(cmd)
	cmd.Flags().Bool("drop", false, "also cancel the messages that wait in the thread")
	return cmd
}

func stop(cmd *cobra.Command) error {
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	id, _ := cmd.Flags().GetString("thread")
	thread, err := api.Thread(cmd.Context(), id)
	if err != nil {
		return err
	}
	queue := pluginsdk.KeepQueue
	if drop, _ := cmd.Flags().GetBool("drop"); drop {
		queue = pluginsdk.DropQueue
	}
	stopped, err := api.Stop(cmd.Context(), thread.ID, queue)
	if err != nil {
		return err
	}
	printStopped(cmd.OutOrStdout(), stopped, queue)
	return nil
}

func printStopped(out io.Writer, stopped pluginsdk.Stopped, queue pluginsdk.Queue) {
	if stopped.RunID == "" {
		fmt.Fprintln(out, "Nothing was running.")
	} else {
		fmt.Fprintf(out, "Stopped run %s.\n", stopped.RunID)
	}
	switch n := len(stopped.Dropped); {
	case queue != pluginsdk.DropQueue:
	case n == 0:
		fmt.Fprintln(out, "No messages were waiting.")
	case n == 1:
		fmt.Fprintln(out, "Cancelled 1 message that waited.")
	default:
		fmt.Fprintf(out, "Cancelled %d messages that waited.\n", n)
	}
}
