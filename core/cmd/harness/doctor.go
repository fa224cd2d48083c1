package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation and say what to do about what is wrong",
		Long: `Check what an installation needs: the agent's CLI, the data directory, the port,
the database, the plugins. It works with the daemon up or down and changes
nothing. The exit code is 1 when something is wrong that must not be; what Harness
can do without is marked with ! only.`,
		Example: `  harness doctor
  harness doctor --data /var/lib/harness
  harness doctor --json | jq '.checks[] | select(.ok | not)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return doctor(cmd) },
	}
	addPort(cmd)
	cmd.Flags().Bool("json", false, "as JSON, for programs")
	cmd.Flags().String("agent", "auto", "who shall answer: auto, claude or demo (HARNESS_AGENT)")
	cmd.Flags().String("plugins", "", "directory of the plugin binaries (HARNESS_PLUGINS)")
	return cmd
}

func doctor(cmd *cobra.Command) error {
	checks, err := checksOf(cmd)
	if err != nil {
		return err
	}
	out, failed := cmd.OutOrStdout(), 0
	style := terminal.StyleFor(out, os.LookupEnv)
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return doctorJSON(out, checks)
	}
	for _, check := range checks {
		mark := style.Green("✓")
		switch {
		case check.OK:
		case check.Optional:
			mark = style.Yellow("!")
		default:
			mark = style.Red("✗")
			failed++
		}
		fmt.Fprintf(out, "%s %s: %s\n", mark, terminal.Short(check.Name, 100), terminal.Short(check.Detail, 400))
		if !check.OK {
			fmt.Fprintf(out, "    → %s\n", terminal.Short(check.Remedy, 400))
		}
	}
	if failed > 0 {
		fmt.Fprintf(out, "\n%d of these must be put right.\n", failed)
		return errSilent
	}
	return nil
}

// checksOf looks at the installation on this machine, or has the daemon elsewhere look that
// the command is for.
func checksOf(cmd *cobra.Command) ([]daemon.Check, error) {
	remote, err := elsewhere(cmd)
	if err != nil {
		return nil, err
	}
	if remote == nil {
		config, err := loadConfig(cmd)
		if err != nil {
			return nil, err
		}
		return daemon.Doctor(cmd.Context(), config), nil
	}
	found, err := remote.Doctor(cmd.Context())
	checks := make([]daemon.Check, len(found))
	for n, check := range found {
		checks[n] = daemon.Check{
			Name: check.Name, OK: check.State == pluginsdk.CheckOK, Optional: check.State == pluginsdk.CheckWarning,
			Detail: check.Detail, Remedy: check.Remedy,
		}
	}
	return checks, err
}

// doctorJSON prints what was looked at for programs. The exit code is the same.
func doctorJSON(out io.Writer, checks []daemon.Check) error {
	ok := !slices.ContainsFunc(checks, func(check daemon.Check) bool { return !check.OK && !check.Optional })
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"ok": ok, "checks": checks}); err != nil {
		return err
	}
	if !ok {
		return errSilent
	}
	return nil
}
