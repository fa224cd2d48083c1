package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// build is what a binary was made from, and what it can deal with. It is the one
// source of what Harness calls itself: the API's health shows its version too.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty: not known
	Date     string `json:"date"`   // of the commit; empty: not known
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Schema   int    `json:"schema"`   // of the database
	Contract int    `json:"contract"` // with plugins
}

// theBuild is this binary's. What make did not stamp is what Go has noted itself, as
// it does for go install and for go build in a checkout.
func theBuild() build {
	b := build{
		Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Schema: store.SchemaVersion(), Contract: pluginsdk.ContractVersion,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if noted := info.Main.Version; b.Version == "dev" && noted != "" && noted != "(devel)" {
		b.Version = noted
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision" && b.Commit == "":
			b.Commit = setting.Value
		case setting.Key == "vcs.time" && b.Date == "":
			b.Date = setting.Value
		}
	}
	return b
}

// daemonBuild is what a daemon elsewhere says of itself.
type daemonBuild struct {
	URL     string `json:"url"`
	Version string `json:"version"`
}

// String is one line for people.
func (b build) String() string {
	line := fmt.Sprintf("harness %s (%s, %s/%s, schema %d, contract v%d", b.Version, b.Go, b.OS, b.Arch, b.Schema, b.Contract)
	if b.Commit != "" {
		line += ", commit " + b.Commit[:min(12, len(b.Commit))]
	}
	if b.Date != "" {
		line += " of " + b.Date
	}
	return line + ")"
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, and what the binary was built from. The schema is the version of
the database that it needs; the contract is the one that it speaks with plugins. With
--server or a profile the version of the daemon there is printed, too.`,
		Example: `  harness version
  harness version --json         version, commit, date, go, os, arch, schema, contract`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := cmd.Flags().GetBool("json")
			if err != nil {
				return err
			}
			remote, err := elsewhere(cmd)
			if err != nil {
				return err
			}
			shown := struct {
				build

				Daemon *daemonBuild `json:"daemon,omitempty"`
			}{build: theBuild()}
			if remote != nil {
				health, err := remote.Health(cmd.Context())
				if err != nil {
					return err
				}
				shown.Daemon = &daemonBuild{remote.Base(), health.Version}
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(shown)
			}
			fmt.Fprintln(out, shown.build)
			if shown.Daemon != nil {
				fmt.Fprintf(out, "the daemon at %s is harness %s\n", shown.Daemon.URL, terminal.Short(shown.Daemon.Version, 60))
			}
			return nil
		},
	}
	cmd.Flags().Bool("json", false, "print as JSON")
	return cmd
}
