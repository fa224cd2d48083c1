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
on and its answer will be in the thread. While the message waits for a plan, a
budget, a plugin or an earlier message of its thread, stderr says once why, until
when, and what to do.

What the agent may not do unasked, it asks on a terminal, and the run waits for an
answer. Where there is no terminal to answer on, or with --no-ask, nobody is there:
it is denied at once. With --ask others answer, by harness approvals or wherever
else they are asked; what is asked is then told on stderr, with its id.`,
		Example: `  harness send "what is on my list today?"
  git diff | harness send -
  harness send --file plan.pdf --file photo.png "what is wrong with it?"
  harness send --thread 0198c5c0-... /status
  harness send --ask "clean up the build directory" < /dev/null`,
		Args: func(cmd *cobra.Command, args []string) error {
			if files, _ := cmd.Flags().GetStringArray("file"); len(files) > 0 {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return send(cmd, "")
			}
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
	cmd.Flags().Bool("ask", false, "let others answer what the agent asks (default where you can be asked yourself: on a terminal)")
	cmd.Flags().Bool("no-ask", false, "nobody answers what the agent asks: it is denied at once (default without a terminal)")
	cmd.Flags().StringArrayP("file", "f", nil, "a file to send with it; may be repeated, and TEXT left out")
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

// send says something and prints the answer.
func send(cmd *cobra.Command, text string) error {
	ending, err := awaitSent(cmd, text)
	if err != nil {
		return err
	}
	return printEnding(cmd, ending)
}

// awaitSent says something and waits for the ending.
func awaitSent(cmd *cobra.Command, text string) (*client.Ending, error) {
	ask, _ := cmd.Flags().GetBool("ask")
	silent, _ := cmd.Flags().GetBool("no-ask")
	if ask && silent {
		return nil, errors.New("--ask, --no-ask: want one of the two")
	}
	unattended := silent || !ask && !attended(cmd)
	return awaitAnswer(cmd, func(ctx context.Context, api *client.Client, waiting client.Waiting) (*client.Ending, error) {
		id, _ := cmd.Flags().GetString("thread")
		thread, err := awaitThread(ctx, cmd, api, id)
		if err != nil {
			return nil, err
		}
		waiting.Unattended = unattended
		paths, _ := cmd.Flags().GetStringArray("file")
		var files []client.FileRef
		for _, path := range paths {
			file, err := upload(ctx, api, path, thread.ID)
			if err != nil {
				return nil, err
			}
			files = append(files, client.FileRef{FileID: file.ID})
		}
		return api.Ask(ctx, thread.ID, text, waiting, files...)
	})
}
