package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// patience is how long a daemon that has gone away is waited for.
const patience = time.Minute

// addThread adds the flag of commands that are about one thread.
func addThread(cmd *cobra.Command) {
	cmd.Flags().String("thread", "", "id of the thread (default the primary one; see 'harness threads')")
}

// awaitThread returns the thread of an id, the primary one without; a daemon that answers
// and cannot just now is waited for, which is said.
func awaitThread(ctx context.Context, cmd *cobra.Command, api *client.Client, id string) (pluginsdk.Thread, error) {
	return api.AwaitThread(ctx, id, patience, func(err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "harness: %s; trying again for %s\n", err, patience)
	})
}

// addTimeout adds the flag of commands that wait for an answer.
func addTimeout(cmd *cobra.Command) {
	cmd.Flags().Duration("timeout", 0, "how long to wait for the answer, such as 5m (default as long as it takes)")
}

// attended reports whether a person is there to answer what the agent asks: who reads
// stderr, and types.
func attended(cmd *cobra.Command) bool {
	return terminal.IsTerminal(cmd.InOrStdin()) && terminal.IsTerminal(cmd.ErrOrStderr())
}

// answer asks, waits for the ending and prints it.
func answer(cmd *cobra.Command, ask func(context.Context, *client.Client, client.Waiting) (*client.Ending, error)) error {
	ending, err := awaitAnswer(cmd, ask)
	if err != nil {
		return err
	}
	return printEnding(cmd, ending)
}

// awaitAnswer asks and waits for the ending. Attempts that fail on the way, what the message waits for (a plan, a
// budget, a plugin, an earlier message), and what the agent asks people, are told on stderr; it is answered there where a person is, unless they do not want to be asked
// (--no-ask).
func awaitAnswer(cmd *cobra.Command, ask func(context.Context, *client.Client, client.Waiting) (*client.Ending, error)) (*client.Ending, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if timeout, err := cmd.Flags().GetDuration("timeout"); err == nil && timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	errs := cmd.ErrOrStderr()
	silent, _ := cmd.Flags().GetBool("no-ask") // which not every command has
	asks := attended(cmd) && !silent
	status := terminal.NewStatus(errs, "waiting for the agent")
	cmd.SetErr(status)
	asker := &terminal.Asker{
		Client: api, Screen: terminal.NewScreen(status, terminal.StyleFor(errs, os.LookupEnv), terminal.Columns(errs)),
		Unread: terminal.Unread, Hold: status.Hold,
	}
	if asks {
		asker.In = cmd.InOrStdin()
	}
	asker.Start(ctx)
	ending, err := ask(ctx, api, client.Waiting{Patience: patience, Look: asker.Look, Waits: func(waits client.Waits) {
		fmt.Fprintln(status, terminal.Clean(waits.Words))
		status.Say("the message waits", "")
	}, Event: func(event pluginsdk.Event) {
		asker.Heed(event)
		switch event.Type { //nolint:exhaustive // the others are not told
		case pluginsdk.EventPipelineStart:
			status.Say("waiting for the agent", "")
		case pluginsdk.EventPipelineStream:
			status.Say(terminal.Doing(event), "")
		case pluginsdk.EventPipelineRetry:
			fmt.Fprintln(status, terminal.FailedAttempt(event))
		case pluginsdk.EventPipelineWaiting:
			fmt.Fprintln(status, terminal.WaitsFor(event))
		}
	}})
	asker.Stop()
	status.Stop()
	cmd.SetErr(errs)
	return ending, err
}

// printEnding prints the answer on stdout and everything else on stderr. A command that was refused, or that nobody has
// carried out, has no answer: why goes to stderr, and the command line fails.
func printEnding(cmd *cobra.Command, ending *client.Ending) error {
	out, errs := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if !ending.Answered() {
		out = errs
	}
	show := func(text string) string { return text }
	if terminal.IsTerminal(out) {
		show = terminal.Clean
	}
	if ending.Merged() {
		fmt.Fprintf(errs, "answered together with another message, by run %s\n", ending.Run.ID)
	}
	for _, message := range ending.Texts() {
		fmt.Fprintln(out, show(strings.TrimRight(message.Content, "\n")))
		for _, line := range terminal.Attached(message) {
			fmt.Fprintln(errs, line)
		}
	}
	if ending.Run.State == pluginsdk.RunCancelled {
		fmt.Fprintln(errs, terminal.Cancelled(ending))
		return errSilent
	}
	for _, message := range ending.Statuses() {
		fmt.Fprintln(errs, show(message.Content))
	}
	if ending.Succeeded() {
		if !ending.Answered() {
			return errSilent
		}
		return nil
	}
	if len(ending.Messages) == 0 {
		fmt.Fprintln(errs, "harness: "+terminal.Clean(ending.Reason()))
	}
	if again := terminal.Again(ending.Run); again != "" {
		fmt.Fprintln(errs, again)
	}
	return errSilent
}
