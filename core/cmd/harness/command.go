package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// commandsPatience is how long the daemon is asked whether a word is a command of a plugin's.
const commandsPatience = 5 * time.Second

// addPluginCommands has the root take a name that is no subcommand for a command of a
// plugin's: `harness discord invite` is what /discord invite is in a thread. Its flags are
// those of send, and the named options of the command.
func addPluginCommands(root *cobra.Command) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags := newSend().Flags()
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "file" { // no command takes one
			flag.Hidden = true // they are explained at send
			own.AddFlag(flag)
		}
	})
	own.BoolP("yes", "y", false, "keep what the command proposes, without being asked")
	own.Lookup("yes").Hidden = true
	root.Flags().AddFlagSet(own)
	root.Flags().SetInterspersed(false) // a word that is none must not be taken for a wrong flag behind it
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return pflag.ErrHelp
		}
		return nil
	}
	root.RunE = givePluginCommand
}

// misused is the error of a command line that is found to be wrong once a daemon was asked.
type misused struct {
	error

	hint string // a line for people; empty: none
}

// noCommand is the error of a word that is no command, as cobra says it, which misuse reads.
func noCommand(word, hint string) error {
	return &misused{fmt.Errorf("unknown command %q for %q", word, "harness"), hint}
}

// givePluginCommand gives a command to the plugin that declares it, as `harness send` does
// with a slash before it. This program's own flags are taken out of the command line first, so that a word that
// is none of them changes nothing about which daemon is meant.
func givePluginCommand(cmd *cobra.Command, args []string) error {
	name, flags := args[0], cmd.Flags()
	flags.SetInterspersed(true)
	own, parts := divide(args[1:], flags)
	if err := flags.Parse(own); err != nil {
		return &misused{err, ""}
	}
	if err := checkPlace(cmd); err != nil {
		return err
	}
	known, err := askCommands(cmd)
	if err != nil {
		words := strings.ReplaceAll(terminal.Clean(err.Error()), "\n", "; ")
		return noCommand(name, "Whether a plugin has one only the daemon knows: "+words+".")
	}
	at := slices.IndexFunc(known, func(c pluginsdk.Command) bool { return c.Name == name && name != "*" })
	switch {
	case at < 0:
		if off := disabledWith(cmd, name); off != "" {
			return fmt.Errorf("%s is a command of the plugin %s, which is disabled: harness plugin enable %s", name, off, off)
		}
		return noCommand(name, "")
	case known[at].Plugin == "":
		return noCommand(name, "It is a command of a thread: harness send /"+name)
	}
	if help, _ := flags.GetBool("help"); help {
		explain(cmd.OutOrStdout(), known[at])
		return nil
	}
	words, wrong, err := typedWords(known[at], parts)
	if wrong != nil {
		err = flags.Parse([]string{wrong.raw}) // which says that there is no such flag
	}
	if err != nil {
		return &misused{err, flagsHint(known[at])}
	}
	ending, err := awaitSent(cmd, words)
	if err != nil {
		return err
	}
	if err := printEnding(cmd, ending); err != nil {
		return err
	}
	if known[at].Plugin == name && name == "cron" {
		if command := proposed(ending, words); command != "" {
			return keep(cmd, command)
		}
	}
	return nil
}

// disabledWith is the plugin that has the command and is turned off; empty: none is known.
func disabledWith(cmd *cobra.Command, command string) string {
	api, err := newClient(cmd)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandsPatience)
	defer cancel()
	plugins, err := api.Plugins(ctx)
	if err != nil {
		return ""
	}
	for _, plugin := range plugins {
		if !plugin.Enabled && slices.ContainsFunc(plugin.Manifest.Commands, func(spec pluginsdk.CommandSpec) bool { return spec.Name == command && command != "*" }) {
			return plugin.Name
		}
	}
	return ""
}

// flagsHint says which flags a plugin's command has.
func flagsHint(command pluginsdk.Command) string {
	hint := "A word for the plugin that begins with - follows --"
	if names := flagNames(command); len(names) > 0 {
		hint = "/" + command.Name + " has " + strings.Join(names, ", ") + ". " + hint
	}
	return hint
}

// proposed is the command that keeps what the plugin cron proposes for the words of `/cron add NAME | WHEN | TIMEZONE |
// PROMPT`; empty: it proposes nothing. It stands at the end of the answer, and is those words but for the two in the
// middle: an answer has other words in it, which somebody else may have written.
func proposed(ending *client.Ending, words string) string {
	texts := ending.Texts()
	parts := strings.SplitN(words, "|", 4)
	if len(texts) == 0 || len(parts) < 4 || !strings.HasPrefix(words, "/cron add ") {
		return ""
	}
	begin := "/cron add " + strings.TrimSpace(strings.TrimPrefix(parts[0], "/cron add ")) + " | "
	end := " | " + strings.TrimSpace(parts[3])
	answer, is := strings.CutSuffix(texts[len(texts)-1].Content, end)
	at := strings.LastIndex(answer, "\n") + 1
	middle, goes := strings.CutPrefix(answer[at:], "To keep it: "+begin)
	if !is || !goes || strings.Count(middle, "|") != 1 || strings.ContainsAny(begin+middle, "\n\r") {
		return ""
	}
	return begin + middle + end
}

// keep gives the command that keeps a proposal, once a person has said yes.
func keep(cmd *cobra.Command, command string) error {
	if yes, _ := cmd.Flags().GetBool("yes"); !yes && !terminal.IsTerminal(cmd.InOrStdin()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "harness: there is no terminal to ask on, so nothing is kept: say --yes, or give the command above")
		return errSilent
	}
	yes, err := asker(cmd)("Keep it, by " + terminal.Clean(command) + " ?")
	switch {
	case err != nil:
		return err
	case !yes:
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing is kept.")
		return nil
	}
	return send(cmd, command)
}

// explain prints what a plugin says of its command.
func explain(out io.Writer, command pluginsdk.Command) {
	usage := strings.TrimPrefix(strings.TrimPrefix(command.Usage, "/"), command.Name)
	fmt.Fprintf(out, "harness %s %s\n%s\n", command.Name, terminal.OneLine(strings.TrimSpace(usage)), terminal.OneLine(command.Description))
	for _, option := range command.Options {
		if option.Named {
			fmt.Fprintf(out, "  --%s  %s\n", terminal.OneLine(option.Name), terminal.OneLine(option.Description))
		}
	}
}

func askCommands(cmd *cobra.Command) ([]pluginsdk.Command, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandsPatience)
	defer cancel()
	return api.Commands(ctx)
}

// pluginCommands are the names that stand for commands of plugins.
func pluginCommands(cmd *cobra.Command, _ []string) (found []string) {
	for _, command := range typed(cmd) {
		if command.Plugin != "" && command.Name != "*" && !slices.Contains(commandNames(cmd.Root()), command.Name) {
			found = append(found, command.Name+"\t"+terminal.OneLine(command.Description))
		}
	}
	return found
}

// pluginChoices are what such a command takes next.
func pluginChoices(cmd *cobra.Command, args []string) []string {
	return typedChoices(cmd, append([]string{"/" + args[0]}, args[1:]...))
}
