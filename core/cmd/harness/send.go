package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

// patience is how long send waits for a daemon that has gone away.
const patience = time.Minute

func newSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send TEXT...",
		Short: "Say something to the agent and print its answer",
		Long: `Say something to the agent, wait, and print its answer on stdout. TEXT that is
a single - is read from stdin. A text that begins with a slash is a command:
/help lists them.

The exit code is 0 when there is an answer, 1 when the run failed (its reason is
on stderr), 2 when no daemon answers. When waiting is given up, by Ctrl-C or
--timeout, the run goes on and its answer will be in the thread.`,
		Example: `  harness send "what is on my list today?"
  git diff | harness send -
  harness send --thread 0198c5c0-... /status`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := textOf(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			return send(cmd, text)
		},
	}
	addAddress(cmd)
	cmd.Flags().String("thread", "", "id of the thread (default the primary one; see `harness threads`)")
	cmd.Flags().Duration("timeout", 0, "how long to wait for the answer, such as 5m (default as long as it takes)")
	return cmd
}

func textOf(in io.Reader, args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		content, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("read stdin: %w", err)
		}
		text = string(content)
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("there is nothing to send")
	}
	return text, nil
}

func send(cmd *cobra.Command, text string) error {
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if timeout, err := cmd.Flags().GetDuration("timeout"); err == nil && timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	id, _ := cmd.Flags().GetString("thread")
	thread, err := api.Thread(ctx, id)
	if err != nil {
		return err
	}
	ending, err := api.Ask(ctx, thread.ID, text, patience)
	if err != nil {
		return err
	}
	return printEnding(cmd, ending)
}

// printEnding prints the answer on stdout and everything else on stderr.
func printEnding(cmd *cobra.Command, ending *client.Ending) error {
	out := cmd.OutOrStdout()
	if !ending.Succeeded() {
		out = cmd.ErrOrStderr()
	}
	show := func(text string) string { return text }
	if terminal.IsTerminal(out) {
		show = terminal.Clean
	}
	for _, message := range ending.Texts() {
		fmt.Fprintln(out, show(strings.TrimRight(message.Content, "\n")))
	}
	for _, message := range ending.Statuses() {
		fmt.Fprintln(cmd.ErrOrStderr(), show(message.Content))
	}
	if ending.Succeeded() {
		return nil
	}
	if len(ending.Messages) == 0 {
		return errors.New(ending.Reason())
	}
	return errSilent
}
