package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// threadFields are the words of the command /thread that are other ones in the API.
var threadFields = map[string]string{"permission": "permissionMode", "dir": "cwd", "busy": "busyMode", "ask": "askTools"}

func newThread() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "thread",
		Short: "Make, change, branch and delete threads",
		Long: `Make, change, branch and delete threads. The same can be typed in a thread: /thread.
"harness threads" lists them.`,
		Example: `  harness thread new "holiday plans"
  harness thread set 0199... model=opus ask=Bash
  harness thread branch 0199... --at 4711`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newThreadNew(), newThreadShow(), newThreadRename(), newThreadSet(), newThreadBranch(), newThreadDelete(),
		newThreadStatus("archive", "Put a thread away; a message to it brings it back", pluginsdk.ThreadArchived, "is archived"),
		newThreadStatus("unarchive", "Bring a thread back that was put away", pluginsdk.ThreadActive, "is in use again"))
	return cmd
}

// apiCommand is a command that talks to the daemon.
func apiCommand(use, short, example string, args cobra.PositionalArgs, run func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			return run(cmd.Context(), cmd, api, args)
		},
	}
	addAddress(cmd)
	return cmd
}

func newThreadNew() *cobra.Command {
	return apiCommand("new [NAME]", "Make a thread, and print its id", `  harness chat --thread "$(harness thread new plans)"`, cobra.MaximumNArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			made, err := api.CreateThread(ctx, client.NewThread{Name: strings.Join(args, " ")})
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), made.ID)
			}
			return err
		})
}

func newThreadShow() *cobra.Command {
	return apiCommand("show ID", "Show what a thread is and does", "  harness thread show 0199...", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			thread, err := api.Thread(ctx, args[0])
			if err != nil {
				return err
			}
			return printThread(cmd, thread)
		})
}

// printThread prints what is set of a thread, a field a line.
func printThread(cmd *cobra.Command, thread pluginsdk.Thread) error {
	encoded, err := json.Marshal(thread)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return err
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		if number, ok := value.(float64); ok {
			value = int64(number)
		}
		fmt.Fprintf(table, "%s\t%s\n", name, terminal.Clean(fmt.Sprint(value)))
	}
	return table.Flush()
}

func newThreadRename() *cobra.Command {
	return apiCommand("rename ID NAME", "Call a thread something else", `  harness thread rename 0199... "holiday plans"`, cobra.ExactArgs(2),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			after, err := api.ChangeThread(ctx, args[0], map[string]string{"name": args[1]})
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Thread %s is called %q.\n", after.ID, after.Name)
			}
			return err
		})
}

func newThreadStatus(verb, short string, status pluginsdk.ThreadStatus, words string) *cobra.Command {
	return apiCommand(verb+" ID", short, "  harness thread "+verb+" 0199...", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			after, err := api.ChangeThread(ctx, args[0], map[string]string{"status": string(status)})
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Thread %s %s.\n", after.ID, words)
			}
			return err
		})
}

func newThreadSet() *cobra.Command {
	cmd := apiCommand("set ID FIELD=VALUE...", "Set how a thread's agent works", "  harness thread set 0199... model=opus dir=/home/ann/project\n  harness thread set 0199... model=default",
		cobra.MinimumNArgs(2), func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			change := make(map[string]string)
			for _, arg := range args[1:] {
				field, value, ok := strings.Cut(arg, "=")
				if !ok || field == "" {
					return fmt.Errorf("%q is not accepted; write FIELD=VALUE", arg)
				}
				switch {
				case value == "default" && field == "busy":
					value = string(pluginsdk.BusyQueue)
				case value == "default":
					value = ""
				}
				change[cmp.Or(threadFields[field], field)] = value
			}
			after, err := api.ChangeThread(ctx, args[0], change)
			var problem *client.Problem
			if errors.As(err, &problem) && problem.Status == http.StatusUnprocessableEntity && strings.Contains(problem.Detail, "unexpected property") {
				return fmt.Errorf("%w; FIELD is model, effort, permission, dir, instructions, account, busy, ask, name, reportTo or status", err)
			}
			if err != nil {
				return err
			}
			return printThread(cmd, after)
		})
	cmd.Long = `Set how a thread's agent works, from its next turn on. FIELD is model, effort, permission, dir,
instructions, account, busy, ask, name, reportTo or status; the VALUE default clears it. Changing
a thread's account begins a new session, which is given the thread's history.`
	return cmd
}

func newThreadBranch() *cobra.Command {
	cmd := apiCommand("branch ID", "Make a thread that goes on from what was said in another, and print its id", "  harness thread branch 0199... --at 4711", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			at, _ := cmd.Flags().GetInt64("at")
			if at < 0 {
				return fmt.Errorf("--at: %s is not accepted; it is the id of a message", strconv.FormatInt(at, 10))
			}
			name, _ := cmd.Flags().GetString("name")
			made, err := api.BranchThread(ctx, args[0], at, name)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), made.ID)
			}
			return err
		})
	cmd.Flags().Int64("at", 0, "id of the last message that the new thread has (harness export shows them; default the newest)")
	cmd.Flags().String("name", "", "what the new thread is called (default as the other)")
	return cmd
}

func newThreadDelete() *cobra.Command {
	cmd := apiCommand("delete ID", "Delete a thread for good, with its messages and files", "  harness thread delete 0199... --yes", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			thread, err := api.Thread(ctx, args[0])
			if err != nil {
				return err
			}
			if yes, _ := cmd.Flags().GetBool("yes"); !yes {
				return fmt.Errorf("thread %s (%s) would be gone for good, with its messages and files; nothing was done: add --yes if that is meant",
					thread.ID, terminal.Clean(cmp.Or(thread.Name, "without a name")))
			}
			if err := api.DeleteThread(ctx, thread.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Thread %s is deleted.\n", thread.ID)
			return err
		})
	cmd.Flags().Bool("yes", false, "it is meant")
	return cmd
}
