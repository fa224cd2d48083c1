package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/transcript"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// exportPage is how many rows are read at a time.
const exportPage = 500

func newExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write conversations down as JSON Lines or Markdown",
		Long: `Write a thread, or all of them, to the terminal or to a file. It works on the database,
with the daemon up or down; of a daemon elsewhere, through its API.

jsonl is one message a line, all kinds. markdown is for reading: who said what, and
when; thinking, tool calls and statuses only with --all.`,
		Example: `  harness export > all.jsonl
  harness export --thread 0199... --format markdown -o talk.md
  harness export | jq -r 'select(.role == "user") | .content'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, _ := cmd.Flags().GetString("format")
			if format != "jsonl" && format != "markdown" {
				return fmt.Errorf("--format: %q is not accepted; it takes jsonl or markdown", format)
			}
			remote, err := elsewhere(cmd)
			if err != nil {
				return err
			}
			if remote != nil {
				return export(cmd.Context(), cmd, readElsewhere{remote}, format)
			}
			return withStore(cmd, func(ctx context.Context, _ daemon.Config, database *store.Store) error {
				return export(ctx, cmd, database, format)
			})
		},
	}
	cmd.Flags().String("thread", "", "id of the thread to write; default all")
	cmd.Flags().String("format", "jsonl", "jsonl or markdown")
	cmd.Flags().StringP("output", "o", "", "file to write; default the terminal")
	cmd.Flags().Bool("force", false, "overwrite the file")
	cmd.Flags().Bool("all", false, "with markdown: thinking, tool calls and statuses too")
	return cmd
}

// readable is where conversations are read: the database on this machine, or readElsewhere. A
// list ends with an empty page.
type readable interface {
	Thread(ctx context.Context, id string) (pluginsdk.Thread, error)
	Threads(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error)
	Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error)
}

// readElsewhere reads through a daemon's API. Of the queries only what export asks is used.
type readElsewhere struct{ api *client.Client }

func (r readElsewhere) Thread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	return r.api.Thread(ctx, id)
}

func (r readElsewhere) Threads(ctx context.Context, query pluginsdk.ThreadQuery) ([]pluginsdk.Thread, error) {
	return r.api.ThreadPage(ctx, query.After, query.Limit)
}

func (r readElsewhere) Messages(ctx context.Context, query pluginsdk.MessageQuery) ([]pluginsdk.Message, error) {
	return r.api.MessagePage(ctx, query.ThreadID, query.After, query.Limit)
}

func export(ctx context.Context, cmd *cobra.Command, database readable, format string) (err error) {
	thread, _ := cmd.Flags().GetString("thread")
	all, _ := cmd.Flags().GetBool("all")
	var only pluginsdk.Thread
	if thread != "" { // asked for before a file is made
		if only, err = database.Thread(ctx, thread); err != nil {
			return err
		}
	}
	out, done, err := exportTo(cmd)
	if err != nil {
		return err
	}
	defer func() {
		if ended := done(); err == nil { // what did not get written is told once
			err = ended
		}
	}()
	errs := cmd.ErrOrStderr()
	if name, _ := cmd.Flags().GetString("output"); name == "" && terminal.IsTerminal(cmd.OutOrStdout()) {
		errs = io.Discard // what is written is seen
	}
	status := terminal.NewStatus(errs, "writing")
	defer status.Stop()
	e := exporter{database: database, wanted: func(pluginsdk.Message) bool { return true }, status: status}
	if e.to = transcript.Writer(transcript.NewJSONLines(out)); format == "markdown" {
		e.to = transcript.NewMarkdown(out)
		if !all {
			e.wanted = conversation
		}
	}
	if thread != "" {
		return e.thread(ctx, only)
	}
	return e.threads(ctx)
}

// exportTo returns where to write, and what ends it. A new file is readable for
// its owner only.
func exportTo(cmd *cobra.Command) (out *bufio.Writer, done func() error, err error) {
	name, _ := cmd.Flags().GetString("output")
	if name == "" {
		out = bufio.NewWriter(cmd.OutOrStdout())
		return out, out.Flush, nil
	}
	force, _ := cmd.Flags().GetBool("force")
	file, err := createFile(name, force)
	if err != nil {
		return nil, nil, err
	}
	out = bufio.NewWriter(file)
	return out, func() error { return errors.Join(out.Flush(), file.Close()) }, nil
}

// createFile opens a file to write. What exists is overwritten with force only,
// unless it is a device or a pipe.
func createFile(name string, force bool) (*os.File, error) {
	flags := os.O_CREATE | os.O_TRUNC | os.O_WRONLY
	if info, err := os.Stat(name); !force && (err != nil || info.Mode().IsRegular()) {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(name, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s exists already; name another file, or overwrite it with --force", name)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no directory %s; make it first, or name another file", name, filepath.Dir(name))
	}
	return file, err
}

// exporter writes threads page by page.
type exporter struct {
	database readable
	to       transcript.Writer
	wanted   func(pluginsdk.Message) bool
	status   *terminal.Status
	read     int // messages
}

func (e *exporter) threads(ctx context.Context) error {
	for after := ""; ; {
		page, err := e.database.Threads(ctx, pluginsdk.ThreadQuery{After: after, Limit: exportPage})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, thread := range page {
			if err := e.thread(ctx, thread); err != nil {
				return err
			}
		}
		after = page[len(page)-1].ID
	}
}

func (e *exporter) thread(ctx context.Context, thread pluginsdk.Thread) error {
	if err := e.to.Thread(thread); err != nil {
		return err
	}
	for after := int64(0); ; {
		page, err := e.database.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread.ID, After: after, Limit: exportPage})
		if err != nil || len(page) == 0 {
			return err
		}
		for _, message := range page {
			if !e.wanted(message) {
				continue
			}
			if err := e.to.Message(message); err != nil {
				return err
			}
		}
		after = page[len(page)-1].ID
		e.read += len(page)
		e.status.Say("", fmt.Sprintf("%d messages", e.read))
	}
}

// conversation reports whether a message is part of what people and the agent
// said to each other. So is a status that stands in the place of an answer.
func conversation(m pluginsdk.Message) bool {
	switch m.Kind {
	case pluginsdk.MessageText, pluginsdk.MessageNotification, pluginsdk.MessageSummary:
		return true
	case pluginsdk.MessageStatus:
		var metadata struct{ Event string }
		return json.Unmarshal(m.Metadata, &metadata) == nil && metadata.Event == "pipeline_error"
	case pluginsdk.MessageStep, pluginsdk.MessageThinking, pluginsdk.MessageToolCall, pluginsdk.MessageToolResult:
	}
	return false
}

// printJSONValue prints one value.
func printJSONValue(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
