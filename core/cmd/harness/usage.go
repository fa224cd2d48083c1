package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-706843ae/harness/core/daemon"
)

// misuse says what is wrong with a command line: of which command, which word, what is
// meant perhaps, and how it is written. cmd is the command as far as it was recognized.
func misuse(cmd *cobra.Command, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", cmd.CommandPath(), wrongWord(cmd, err))
	if cmd.HasSubCommands() && (!cmd.Runnable() || !cmd.HasParent()) {
		fmt.Fprintf(&b, "`%s --help` lists the commands.", cmd.CommandPath())
		return b.String()
	}
	fmt.Fprintf(&b, "It is written: %s\n`%s --help` explains it.", cmd.UseLine(), cmd.CommandPath())
	return b.String()
}

func wrongWord(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return wrongFlag(cmd, unknown)
	case errors.As(err, &lacking):
		return fmt.Sprintf("--%s needs a value: %s", lacking.GetFlag().Name, taken(lacking.GetFlag()))
	case errors.As(err, &invalid):
		return fmt.Sprintf("--%s: %q is not accepted; it takes %s", invalid.GetFlag().Name, invalid.GetValue(), taken(invalid.GetFlag()))
	}
	var word string
	_, scanned := fmt.Sscanf(err.Error(), "unknown command %q", &word)
	args := cmd.Flags().Args()
	most, ok := mostArguments(err)
	switch {
	case scanned == nil && cmd.HasSubCommands():
		return "there is no command " + word + meant(word, commandNames(cmd), "")
	case scanned == nil:
		return fmt.Sprintf("%q is one word too many", word)
	case ok && len(args) > most:
		return fmt.Sprintf("%q is one word too many", args[most])
	case ok:
		return missing(cmd, len(args))
	}
	return err.Error()
}

// mostArguments is how many arguments the command takes that refuses theirs. Cobra says it
// in words only.
func mostArguments(err error) (n int, ok bool) {
	for _, format := range []string{"accepts %d arg(s)", "accepts at most %d arg(s)", "requires at least %d arg(s)"} {
		if _, scanned := fmt.Sscanf(err.Error(), format, &n); scanned == nil {
			if strings.HasPrefix(format, "requires") {
				n = 1 << 20
			}
			return n, true
		}
	}
	var least int
	_, scanned := fmt.Sscanf(err.Error(), "accepts between %d and %d arg(s)", &least, &n)
	return n, scanned == nil
}

// missing names the argument that is not there, after those that are.
func missing(cmd *cobra.Command, given int) string {
	words := strings.Fields(cmd.Use)[1:]
	if given < len(words) && !strings.ContainsAny(strings.Join(words[:given+1], " "), "[|") {
		return strings.TrimSuffix(words[given], "...") + " is missing"
	}
	return "something is missing"
}

func wrongFlag(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Sprintf("there is no flag -%s; a text that begins with - follows --", name)
	}
	var names []string
	note := func(flag *pflag.Flag) { names = append(names, flag.Name) }
	cmd.Flags().VisitAll(note)
	cmd.InheritedFlags().VisitAll(note)
	return "there is no flag --" + name + meant(name, names, "--")
}

// meant asks whether one of these was meant, if one is alike.
func meant(word string, among []string, prefix string) string {
	if nearest := daemon.Nearest(word, among); nearest != "" {
		return "; did you mean " + prefix + nearest + "?"
	}
	return ""
}

func commandNames(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// taken says what a flag takes.
func taken(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "int":
		return "a number"
	case "float64":
		return "an amount such as 5.00"
	case "bool":
		return "true or false, or nothing"
	case "duration":
		return "a duration such as 5m"
	}
	return "a text"
}
