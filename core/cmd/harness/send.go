package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
)

func newSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send TEXT...",
		Short: "Say something to the agent and print its answer",
		Long: `Say something to the agent, wait, and print its answer on stdout. TEXT that is
a single - is read from stdin. A text that begins with a slash is a command:
/help lists them.

The exit code is 0 when there is an answer, 1 when the run failed or was
cancelled (its reason is on stderr, like each attempt that fails on the way), 2
when no daemon answers. A daemon that answers and cannot just now (its database is
away, it is stopping) is tried again for a minute. A message that is answered together with another gets
that one's answer. When waiting is given up, by Ctrl-C or --timeout, the run goes
on and its answer will be in the thread.`,
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
	addThread(cmd)
	addTimeout(cmd)
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
	return answer(cmd, func(ctx context.Context, api *client.Client, waiting client.Waiting) (*client.Ending, error) {
		id, _ := cmd.Flags().GetString("thread")
		thread, err := awaitThread(ctx, cmd, api, id)
		if err != nil {
			return nil, err
		}
		return api.Ask(ctx, thread.ID, text, waiting)
	})
}
