package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/pluginsdk/plugintest/conform"
)

func newPluginTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test BINARY [-- ARGUMENT...]",
		Short: "Check that a plugin's binary behaves as the contract wants",
		Long: `Run a plugin's binary, in any language, as the daemon would, with a host in memory,
and check it from the outside: handshake, manifest, hooks, deadlines, large and
parallel calls, settings, its end and what it leaves behind. No daemon is needed.

Exits with 0 when no check failed, with 1 when one did. The plugin may act for
real: give it the settings and the environment of a test account.`,
		Example: `  harness plugin test bin/redact
  harness plugin test bin/redact --only cancel -v
  harness plugin test bin/slack --settings '{"channel":"test"}' --env SLACK_TOKEN=xoxb-test
  harness plugin test bin/redact --junit conformance.xml`,
		Args: cobra.MinimumNArgs(1),
		RunE: runPluginTest,
	}
	flags := cmd.Flags()
	flags.String("settings", "", "the plugin's settings: a JSON object, or a file with one")
	flags.StringArray("env", nil, "NAME=VALUE for the plugin's environment; NAME alone passes on the caller's")
	flags.StringSlice("only", nil, "only these checks: "+strings.Join(conform.Checks(), ", "))
	flags.Duration("patience", conform.DefaultPatience, "how long to wait for what should happen at once")
	flags.String("junit", "", "also write the report to this file as JUnit XML")
	flags.Bool("json", false, "print the report as JSON")
	flags.BoolP("verbose", "v", false, "show what the plugin logs")
	cmd.AddCommand(newPluginTestHost())
	return cmd
}

// newPluginTestHost is what `plugin test` starts to see whether a plugin dies
// with its host.
func newPluginTestHost() *cobra.Command {
	return &cobra.Command{
		Use: "be-host", Hidden: true, Args: cobra.NoArgs,
		Short:   "Launch the plugin that stdin names, and stay until killed",
		Example: "  used by harness plugin test",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conform.HostProcess(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

func runPluginTest(cmd *cobra.Command, args []string) error {
	cfg, err := conformConfig(cmd, args)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	asJSON, _ := cmd.Flags().GetBool("json")
	if !asJSON {
		cfg.Each = func(result conform.Result) { result.WriteText(out) }
	}
	report, err := conform.Run(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSONValue(out, report)
	} else {
		report.WriteSummary(out)
	}
	if path, _ := cmd.Flags().GetString("junit"); path != "" {
		err = errors.Join(err, writeJUnit(path, report))
	}
	if err == nil && !report.OK() {
		err = errSilent
	}
	return err
}

func conformConfig(cmd *cobra.Command, args []string) (conform.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return conform.Config{}, fmt.Errorf("find this program: %w", err)
	}
	cfg := conform.Config{Path: args[0], Args: args[1:], Helper: []string{self, "plugin", "test", "be-host"}}
	flags := cmd.Flags()
	cfg.Only, _ = flags.GetStringSlice("only")
	cfg.Patience, _ = flags.GetDuration("patience")
	if verbose, _ := flags.GetBool("verbose"); verbose {
		cfg.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	given, _ := flags.GetStringArray("env")
	for _, variable := range given {
		if !strings.Contains(variable, "=") {
			variable += "=" + os.Getenv(variable)
		}
		cfg.Env = append(cfg.Env, variable)
	}
	settings, _ := flags.GetString("settings")
	cfg.Settings, err = settingsFrom(settings)
	return cfg, err
}

// settingsFrom takes a JSON object as it is, and anything else as a file's name.
func settingsFrom(value string) (json.RawMessage, error) {
	if value == "" || strings.HasPrefix(strings.TrimSpace(value), "{") {
		return json.RawMessage(value), nil
	}
	content, err := os.ReadFile(value)
	if err != nil {
		return nil, fmt.Errorf("--settings: want a JSON object, or a file with one: %w", err)
	}
	return content, nil
}

func writeJUnit(path string, report conform.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--junit: %w", err)
	}
	return errors.Join(writeTo(file, report), file.Close())
}

func writeTo(w io.Writer, report conform.Report) error { return report.WriteJUnit(w) }
