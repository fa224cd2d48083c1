package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

func newChat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk with the agent in this terminal",
		Long: `Talk with the agent: its answer appears as it is written, with what it does on
the way. A line that begins with a slash is a command: a slash alone lists them
with what they take, /stop stops the turn that runs. Lines may be typed while the
agent works; they wait their turn, unless the thread's busy mode says otherwise.

What the agent may not do unasked it asks here, also in the tasks that this
thread gave: a number, y or n answer, n WORDS denies with words to the agent,
/later puts the question off and /now takes it up again. What you were typing
when it came up is kept.

/quit or Ctrl-D leave. Ctrl-C stops the turn that runs, and leaves when none
does. When the daemon restarts, the conversation goes on. Lines from a pipe are
said one after the other, each after the answer to the one before. On a terminal
lines are broken between words, but for code and tables, and a turn that shows
nothing for long says what it is at.`,
		Example: `  harness chat
  harness chat --thread 0198c5c0-...
  printf '/status\nhello\n' | harness chat`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return chat(cmd) },
	}
	addAddress(cmd)
	addThread(cmd)
	return cmd
}

func chat(cmd *cobra.Command) error {
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	id, _ := cmd.Flags().GetString("thread")
	thread, err := awaitThread(ctx, cmd, api, id)
	if err != nil {
		return err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	out := cmd.OutOrStdout()
	talk := terminal.Chat{
		Client: api, Thread: thread,
		Screen: terminal.NewScreen(out, terminal.StyleFor(out, os.LookupEnv), terminal.Columns(out)),
		In:     cmd.InOrStdin(), Interactive: terminal.IsTerminal(cmd.InOrStdin()),
		Interrupts: interrupts, Unread: terminal.Unread,
	}
	if terminal.IsTerminal(out) {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		talk.Ticks = ticker.C
	}
	return talk.Run(ctx)
}
