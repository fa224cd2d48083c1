package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxInput bounds what is read from a file or from stdin.
const maxInput = 1 << 20

func newPluginSettings() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "settings NAME",
		Short: "Show a plugin's settings, set them, take them back",
		Long: `Show a plugin's settings: each with where its value comes from, what it takes and
what it is for. Of secrets it is shown only whether they are set.

Settings are checked against what the plugin declares. A running daemon applies them
without a restart; set and unset wait for that, and fail when the plugin refuses them.
These are stored and shown all the same, but those that it accepted last stay in force, over
restarts too, until you set others or go back with revert. What the plugin does not declare is not
shown: nothing says that it is no secret.`,
		Example: `  harness plugin settings time
  harness plugin settings set time timezone=Europe/Berlin
  harness plugin settings set discord token          asks for the value
  harness plugin settings unset time timezone`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSettings(cmd, args[0], func(ctx context.Context, with administering) error {
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					view, err := with.settings.View(ctx, args[0])
					if err != nil {
						return err
					}
					return printJSONValue(cmd.OutOrStdout(), view)
				}
				rows, problem, err := with.settings.Rows(ctx, args[0])
				if err != nil {
					return err
				}
				printSettings(cmd.OutOrStdout(), args[0], rows, problem)
				return nil
			})
		},
	}
	cmd.Flags().Bool("json", false, "print the schema, the values and which secrets are set as JSON")
	cmd.AddCommand(newSettingsSet(), newSettingsUnset(), newSettingsRevert())
	return cmd
}

func newSettingsSet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set NAME KEY=VALUE... | KEY | --json FILE",
		Short: "Set settings of a plugin",
		Long: `Set settings of a plugin. A VALUE is the text itself where the plugin takes a text, and
JSON otherwise.

A secret is given as KEY alone: its value is asked for without showing it, or read
from stdin when that is no terminal (the newline at its end does not count). On the
command line other users of the machine could read it.

With --json an object in a file (- is stdin) becomes the plugin's settings: what it
does not name is taken back, but for secrets.`,
		Example: `  harness plugin settings set time timezone=Europe/Berlin
  harness plugin settings set web 'allowedHosts=["harness.example.org"]'
  harness plugin settings set discord token
  pass show discord | harness plugin settings set discord token
  harness plugin settings set web --json settings.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, _ := cmd.Flags().GetString("json")
			if (file == "") == (len(args) == 1) {
				return errors.New("want either KEY=VALUE (or KEY, for a secret) or --json FILE")
			}
			return withSettings(cmd, args[0], func(ctx context.Context, with administering) error {
				if file != "" {
					return replaceSettings(ctx, cmd, with, args[0], file)
				}
				return changeSettings(ctx, cmd, with, args[0], args[1:])
			})
		},
	}
	cmd.Flags().String("json", "", "file with all settings as a JSON object; - is stdin")
	return cmd
}

func changeSettings(ctx context.Context, cmd *cobra.Command, with administering, plugin string, args []string) error {
	schema, err := with.settings.SchemaOf(ctx, plugin)
	if err != nil {
		return err
	}
	patch, err := schema.Assign(args, secretReader(cmd))
	if err != nil {
		return err
	}
	if err := with.settings.Change(ctx, operate.Who, plugin, patch); err != nil {
		return err
	}
	return settingsChanged(ctx, cmd, with, plugin)
}

func replaceSettings(ctx context.Context, cmd *cobra.Command, with administering, plugin, file string) error {
	whole, err := readInput(cmd.InOrStdin(), file)
	if err != nil {
		return err
	}
	if err := with.settings.Replace(ctx, operate.Who, plugin, json.RawMessage(whole)); err != nil {
		return err
	}
	return settingsChanged(ctx, cmd, with, plugin)
}

func newSettingsUnset() *cobra.Command {
	return &cobra.Command{
		Use:     "unset NAME KEY...",
		Short:   "Take settings of a plugin back; defaults hold again",
		Example: "  harness plugin settings unset time timezone",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			patch := make(map[string]any, len(args))
			for _, key := range args[1:] {
				patch[key] = nil
			}
			raw, err := json.Marshal(patch)
			if err != nil {
				return err
			}
			return withSettings(cmd, args[0], func(ctx context.Context, with administering) error {
				if err := areSet(ctx, with.settings, args[0], args[1:]); err != nil {
					return err
				}
				if err := with.settings.Change(ctx, operate.Who, args[0], raw); err != nil {
					return err
				}
				return settingsChanged(ctx, cmd, with, args[0])
			})
		},
	}
}

func newSettingsRevert() *cobra.Command {
	return &cobra.Command{
		Use:   "revert NAME",
		Short: "Go back to the settings that a plugin accepted last, from those that it refused",
		Long: `Make the settings that a plugin accepted last, secrets too, those that are set again,
instead of those that it has refused.`,
		Example: "  harness plugin settings revert time",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSettings(cmd, args[0], func(ctx context.Context, with administering) error {
				if err := with.settings.Revert(ctx, operate.Who, args[0]); err != nil {
					return err
				}
				return settingsChanged(ctx, cmd, with, args[0])
			})
		},
	}
}

// areSet refuses names of settings that nobody has set: taking them back would be said
// to have changed something.
func areSet(ctx context.Context, of settable, plugin string, names []string) error {
	rows, _, err := of.Rows(ctx, plugin)
	if err != nil {
		return err
	}
	var known []string
	set := make(map[string]bool)
	for _, row := range rows {
		known = append(known, row.Name)
		set[row.Name] = row.From == settings.FromOperator
	}
	for _, name := range names {
		isSet, is := set[name]
		switch {
		case len(known) == 0:
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %s has no settings", name, plugin)
		case !is:
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: there is no such setting of %s; there are %s", name, plugin, terminal.Clean(strings.Join(known, ", ")))
		case !isSet:
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: it is not set, so that there is nothing to take back", name)
		}
	}
	return nil
}

// secretReader returns what asks for a secret: the person at a terminal, or all
// of stdin, which has one.
func secretReader(cmd *cobra.Command) func(settings.Property) (string, error) {
	read := false
	return func(property settings.Property) (string, error) {
		if read && !terminal.IsTerminal(cmd.InOrStdin()) {
			return "", fmt.Errorf("%s: stdin has been read for another secret; set them one at a time, or all with --json -", property.Name)
		}
		read = true
		return readSecret(cmd, property.Name)
	}
}

// readSecret asks the person at a terminal for a secret without showing it, or reads all of
// stdin.
func readSecret(cmd *cobra.Command, name string) (string, error) {
	var content []byte
	var err error
	in := cmd.InOrStdin()
	if file, ok := in.(*os.File); ok && terminal.IsTerminal(in) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: ", terminal.Clean(name))
		content, err = term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
	} else {
		content, err = io.ReadAll(io.LimitReader(in, maxInput))
	}
	if err != nil {
		return "", fmt.Errorf("%s: read the value: %w", name, err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("%s: no value was given", name)
	}
	return value, nil
}

func readInput(in io.Reader, file string) ([]byte, error) {
	if file != "-" {
		opened, err := os.Open(file) //nolint:gosec // the operator names it
		if err != nil {
			return nil, fmt.Errorf("--json: %w", err)
		}
		defer opened.Close()
		in = opened
	}
	content, err := io.ReadAll(io.LimitReader(in, maxInput))
	if err != nil {
		return nil, fmt.Errorf("--json: %w", err)
	}
	return content, nil
}

// settingsChanged says what holds now.
func settingsChanged(ctx context.Context, cmd *cobra.Command, with administering, plugin string) error {
	rows, problem, err := with.settings.Rows(ctx, plugin)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for _, row := range rows {
		if row.Secret && row.From == settings.FromOperator && with.keyFile != "" {
			fmt.Fprintf(out, "Its secrets open with the key in %s only. Keep a copy of that apart from the backups.\n",
				with.keyFile)
			break
		}
	}
	printProblem(out, problem)
	return with.operator.SettingsChanged(ctx, plugin)
}

func printSettings(out io.Writer, plugin string, rows []settings.Row, problem string) {
	if len(rows) == 0 {
		fmt.Fprintf(out, "%s has no settings.\n", plugin)
	}
	for _, row := range rows {
		fmt.Fprintf(out, "%s = %s\n", terminal.Clean(row.Name), terminal.Clean(shownValue(row)))
		if words := explained(row); words != "" {
			fmt.Fprintf(out, "    %s\n", terminal.Clean(words))
		}
	}
	printProblem(out, problem)
}

func shownValue(row settings.Row) string {
	switch {
	case row.Undeclared:
		return "(set, not shown: the plugin does not declare it)"
	case row.Secret && row.From == settings.FromOperator:
		return "(set)"
	case row.From == settings.FromNowhere:
		return "(not set)"
	case row.From == settings.FromDefault:
		return string(row.Value) + "   (default)"
	}
	return string(row.Value) + "   (set)"
}

// explained says what a setting is for and what it takes.
func explained(row settings.Row) string {
	var words []string
	if row.Description != "" {
		words = append(words, strings.TrimSuffix(terminal.Short(row.Description, 200), ".")+".")
	}
	if row.Accepts != "" {
		words = append(words, "It takes "+row.Accepts+".")
	}
	if len(row.Default) > 0 && row.From == settings.FromOperator {
		words = append(words, "The default is "+string(row.Default)+".")
	}
	if row.Required {
		words = append(words, "Required.")
	}
	if row.Secret {
		words = append(words, "Secret.")
	}
	return strings.Join(words, " ")
}

func printProblem(out io.Writer, problem string) {
	if problem != "" {
		fmt.Fprintf(out, "! %s\n", terminal.Clean(problem))
	}
}
