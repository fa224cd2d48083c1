package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newProfile() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Save which daemons elsewhere there are, and which is meant by default",
		Long: `Save daemons elsewhere under names: the address, the token and the certificate of each.
They are kept in the user's own directory for what is configured, in a file that nobody else
can read. With a default every command is for that daemon; --profile local is this machine.`,
		Example: `  harness profile save home --server https://harness.example.org:3001 --token-file token --default
  harness threads --profile home
  harness profile use local`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProfileSave(), newProfileList(), newProfileUse(), newProfileRemove())
	return cmd
}

// profileName is what profiles can be called.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func newProfileSave() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "save NAME --server URL",
		Short: "Save a daemon elsewhere, or change what is saved of it",
		Long: `Save a daemon elsewhere under a name: --server, and with it --token-file (or --token, or
HARNESS_TOKEN) and --ca. What is not given stays as it was saved, but that another address
has no token until one is given. Nothing is sent.`,
		Example: `  harness profile save home --server https://harness.example.org:3001 --token-file token
  harness profile save home --default`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return saveProfile(cmd, args[0]) },
	}
	cmd.Flags().Bool("default", false, "use it when nothing else is said")
	return cmd
}

func saveProfile(cmd *cobra.Command, name string) error {
	if !profileName.MatchString(name) || name == thisMachine {
		return fmt.Errorf("%q is not accepted as the name of a profile: it has up to 64 letters, digits, dots, dashes and underscores, and is not %s, which is this machine", name, thisMachine)
	}
	all, err := loadProfiles()
	if err != nil {
		return err
	}
	kept := all.Named[name]
	if address, _ := cmd.Flags().GetString("server"); address != "" && address != kept.Server {
		kept = profile{Server: address, CA: kept.CA}
	}
	if kept.Server == "" {
		return errors.New("--server: name the daemon's address, such as https://harness.example.org:3001")
	}
	if kept.Token, err = tokenOf(cmd, kept.Token); err != nil {
		return err
	}
	if kept.CA, err = absolute(authorityOf(cmd, kept.CA)); err != nil {
		return fmt.Errorf("--ca: %w", err)
	}
	if _, err := kept.open(); err != nil {
		return err
	}
	all.Named[name] = kept
	if wanted, _ := cmd.Flags().GetBool("default"); wanted {
		all.Default = name
	}
	if err := all.store(); err != nil {
		return err
	}
	word := "with its token"
	if kept.Token == "" {
		word = "without a token"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Saved %s: %s, %s%s.\n", name, kept.Server, word, defaultWord(all, name))
	return err
}

func defaultWord(all profiles, name string) string {
	if all.Default == name {
		return "; it is what commands are for unless they say otherwise"
	}
	return ""
}

func newProfileList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the daemons that are saved; tokens are not shown",
		Example: "  harness profile list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			if len(all.Named) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "No daemon elsewhere is saved; `harness profile save` saves one.")
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tSERVER\tTOKEN\tCERTIFICATE\tDEFAULT")
			for _, name := range slices.Sorted(maps.Keys(all.Named)) {
				one := all.Named[name]
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, one.Server, yes(one.Token != ""), cmp.Or(one.CA, "-"), yes(all.Default == name))
			}
			return table.Flush()
		},
	}
	return cmd
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func newProfileUse() *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: "Make a daemon the one that commands are for unless they say otherwise",
		Example: `  harness profile use home
  harness profile use local      this machine again`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			words := "Commands are for this machine unless they say otherwise."
			if all.Default = ""; args[0] != thisMachine {
				one, ok := all.Named[args[0]]
				if !ok {
					return fmt.Errorf("there is no profile %q; `harness profile list` lists those that there are", args[0])
				}
				all.Default, words = args[0], "Commands are for "+one.Server+" unless they say otherwise."
			}
			if err := all.store(); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), words)
			return err
		},
	}
}

func newProfileRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Forget a daemon with its token; the token stays good until it is revoked",
		Example: "  harness profile remove home",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := loadProfiles()
			if err != nil {
				return err
			}
			if _, ok := all.Named[args[0]]; !ok {
				return fmt.Errorf("there is no profile %q; `harness profile list` lists those that there are", args[0])
			}
			delete(all.Named, args[0])
			if all.Default == args[0] {
				all.Default = ""
			}
			if err := all.store(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Removed %s.\n", args[0])
			return err
		},
	}
}
