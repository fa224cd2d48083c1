package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newTools() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Show and call the tools that plugins give the agent",
		Long: `Show and call the tools that plugins give the agent. The agent sees them as
mcp__harness__PLUGIN__TOOL; here, as everywhere else, they are PLUGIN__TOOL.`,
		Example: `  harness tools list
  harness tools call time__current_time '{"timezone": "Europe/Berlin"}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newToolsList(), newToolsCall())
	return cmd
}

func newToolsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tools of the enabled plugins",
		Example: `  harness tools list
  harness tools list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			tools, err := api.Tools(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), tools)
			}
			return printTools(cmd.OutOrStdout(), tools)
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print all fields, with the schemas of the inputs, as JSON")
	return cmd
}

func printTools(out io.Writer, tools []client.Tool) error {
	if len(tools) == 0 {
		_, err := fmt.Fprintln(out, "No plugin that is enabled has tools.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tPLUGIN\tDESCRIPTION")
	for _, tool := range tools {
		fmt.Fprintf(table, "%s\t%s\t%s\n", tool.Name, tool.Plugin, cmp.Or(terminal.Short(tool.Description, 100), "-"))
	}
	return table.Flush()
}

func newToolsCall() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call NAME [JSON]",
		Short: "Call a tool and print its result",
		Long: `Call a tool and print its result on stdout. JSON is the tool's input, an object;
a single - reads it from stdin, and without it the input is {}.

The exit code is 0 when the tool did its work, 1 when it did not (the reason is on
stderr), 2 when no daemon answers. Ctrl-C cancels the call.`,
		Example: `  harness tools call time__current_time
  harness tools call time__current_time '{"timezone": "Europe/Berlin"}'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			input, err := toolInput(cmd.InOrStdin(), args[1:])
			if err != nil {
				return err
			}
			return callTool(cmd, args[0], input)
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print the whole result as JSON, also when it is an error")
	return cmd
}

// toolInput is the JSON object that was given, if any was.
func toolInput(in io.Reader, args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	text, err := textOf(in, args)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, errors.New(`the input has to be a JSON object, such as '{"timezone": "UTC"}'`)
	}
	return json.RawMessage(text), nil
}

func callTool(cmd *cobra.Command, name string, input json.RawMessage) error {
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	result, err := api.CallTool(ctx, name, input)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	asJSON, _ := cmd.Flags().GetBool("json")
	switch {
	case asJSON:
		err = printJSONValue(out, result)
	case result.IsError:
		fmt.Fprintln(cmd.ErrOrStderr(), terminal.Clean(result.Text))
	default:
		_, err = fmt.Fprintln(out, shownResult(result, terminal.IsTerminal(out)))
	}
	if err == nil && result.IsError {
		return errSilent
	}
	return err
}

// shownResult is what a tool answered: its text, else what it is structured as. A
// program gets it as it is.
func shownResult(result pluginsdk.ToolResult, toTerminal bool) string {
	text := result.Text
	if text == "" {
		text = string(result.Structured)
	}
	if toTerminal {
		return terminal.Clean(text)
	}
	return text
}
