package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/agentcheck"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

func newAgentCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether the Claude CLI on this machine does what Harness relies on",
		Long: `Check whether the Claude CLI on this machine does what Harness relies on: a line for
each thing, which holds, differs (Harness makes up for it) or is broken. The CLI talks
to a fake Messages API in this process and has a home of its own: no account is used,
nothing is paid, your login and files are not touched, and no daemon is needed. It
takes about half a minute. The exit code is 1 when something is broken.`,
		Example: `  harness agent check
  harness agent check --claude /opt/claude/bin/claude
  harness agent check --json | jq '.lines[] | select(.state == "broken")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return agentCheck(cmd) },
	}
	cmd.Flags().String("claude", "", "path of the CLI (HARNESS_CLAUDE; default claude)")
	cmd.Flags().Bool("json", false, "as JSON, for programs")
	return cmd
}

func agentCheck(cmd *cobra.Command) error {
	binary, _ := cmd.Flags().GetString("claude")
	if binary == "" {
		config, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		binary = config.ClaudeBinary
	}
	report, err := agentcheck.Run(cmd.Context(), agentcheck.Config{Binary: binary})
	if err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		printAgentCheck(cmd.OutOrStdout(), report)
	}
	if err == nil && report.Count(agentcheck.Broken) > 0 {
		return errSilent
	}
	return err
}

func printAgentCheck(out io.Writer, report agentcheck.Report) {
	style := terminal.StyleFor(out, os.LookupEnv)
	fmt.Fprintf(out, "Claude CLI %s (%s)\n%s\n", report.Version, report.Binary, report.Range())
	group := ""
	for _, line := range report.Lines {
		if line.Group != group {
			group = line.Group
			fmt.Fprintf(out, "\n%s\n", style.Bold(group))
		}
		mark, state := style.Green("✓"), ""
		switch line.State {
		case agentcheck.Differs:
			mark, state = style.Yellow("≠"), ": differs"
		case agentcheck.Broken:
			mark, state = style.Red("✗"), ": broken"
		}
		fmt.Fprintf(out, "  %s %s%s\n", mark, line.Name, state)
		if line.Words != "" {
			fmt.Fprintf(out, "      %s\n", terminal.Short(line.Words, 400))
		}
	}
	fmt.Fprintf(out, "\n%d hold, %d differ, %d are broken.\n",
		report.Count(agentcheck.Holds), report.Count(agentcheck.Differs), report.Count(agentcheck.Broken))
}
