package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
)

// Which daemon a command is for: flags say it, else the environment, else the user's default
// profile, else it is the installation on this machine.

// thisMachine is the name of a profile that nobody can save: it stands for no daemon elsewhere.
const thisMachine = "local"

// addServer adds the flags that name a daemon elsewhere.
func addServer(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.String("server", "", "address of a daemon elsewhere, such as https://harness.example.org:3001 (HARNESS_SERVER)")
	flags.String("profile", "", "daemon that was saved under this name (HARNESS_PROFILE; see 'harness profile'); local is none: this machine")
	flags.String("token", "", "token to show the daemon (HARNESS_TOKEN); others on this machine can see it here: better is --token-file")
	flags.String("token-file", "", "file with the token")
	flags.String("ca", "", "file with the daemon's certificate, or that of who has signed it, in PEM (HARNESS_CA)")
}

// server is a daemon that is reached through its API.
type server struct {
	profile

	// from says who has named it, for errors; chosen that a flag did.
	from   string
	chosen bool
}

// errTwoPlaces is for command lines that name two daemons.
var errTwoPlaces = errors.New("--server and --profile name a daemon elsewhere; --data, --port and --url one another way: give one of them")

// namedHere are flags that name what is on this machine, or the API by its address alone.
var namedHere = []string{"data", "port", "url"}

// serverOf returns the daemon elsewhere that the command is for; nil: this machine is meant.
func serverOf(cmd *cobra.Command) (*server, error) {
	flags := cmd.Flags()
	address, _ := flags.GetString("server")
	name, _ := flags.GetString("profile")
	here := false
	for _, flag := range namedHere {
		here = here || flags.Changed(flag)
	}
	var found *server
	var err error
	switch {
	case address != "" && name != "", (address != "" || name != "") && here:
		return nil, errTwoPlaces
	case address != "":
		found = &server{profile: profile{Server: address}, from: "--server", chosen: true}
	case name != "":
		found, err = saved(name, "--profile")
	case here:
		return nil, nil //nolint:nilnil // documented
	case os.Getenv("HARNESS_SERVER") != "":
		found = &server{profile: profile{Server: os.Getenv("HARNESS_SERVER")}, from: "HARNESS_SERVER"}
	case os.Getenv("HARNESS_PROFILE") != "":
		found, err = saved(os.Getenv("HARNESS_PROFILE"), "HARNESS_PROFILE")
	case os.Getenv("HARNESS_DATA") != "" || os.Getenv("HARNESS_URL") != "":
		return nil, nil //nolint:nilnil // documented
	default:
		found, err = saved("", "the default profile")
	}
	if found == nil || err != nil {
		return nil, err
	}
	if found.Token, err = tokenOf(cmd, found.Token); err != nil {
		return nil, err
	}
	found.CA = authorityOf(cmd, found.CA)
	return found, nil
}

// saved returns the profile of a name, the default one of none.
func saved(name, from string) (*server, error) {
	if name == thisMachine {
		return nil, nil //nolint:nilnil // as in serverOf
	}
	all, err := loadProfiles()
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name = all.Default; name == "" {
			return nil, nil //nolint:nilnil // as in serverOf
		}
		from += " " + name
	}
	found, ok := all.Named[name]
	if !ok {
		return nil, fmt.Errorf("%s: there is no profile %q; `harness profile list` lists those that there are", from, name)
	}
	return &server{profile: found, from: from, chosen: from == "--profile"}, nil
}

// tokenOf returns the token that flags give, else the profile's own, else the environment's: a
// daemon that was saved with its token is shown no other.
func tokenOf(cmd *cobra.Command, own string) (string, error) {
	token, _ := cmd.Flags().GetString("token")
	file, _ := cmd.Flags().GetString("token-file")
	switch {
	case token != "" && file != "":
		return "", errors.New("--token and --token-file: give one of them")
	case file != "":
		return readToken(file)
	case token != "":
		return token, nil
	case own != "":
		return own, nil
	}
	return os.Getenv("HARNESS_TOKEN"), nil
}

// maxToken bounds the file of a token, in bytes.
const maxToken = 4 << 10

func readToken(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer file.Close() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("--token-file: there is nothing in %s", path)
	}
	return token, nil
}

func authorityOf(cmd *cobra.Command, own string) string {
	file, _ := cmd.Flags().GetString("ca")
	switch {
	case file != "":
		return file
	case own != "":
		return own
	}
	return os.Getenv("HARNESS_CA")
}

// elsewhere returns the client of the daemon elsewhere that a command is for; nil: it is for
// this machine.
func elsewhere(cmd *cobra.Command) (*client.Client, error) {
	found, err := serverOf(cmd)
	if found == nil || err != nil {
		return nil, err
	}
	return found.open()
}

// allowHTTP is the variable that lets a token be shown over http to another machine.
const allowHTTP = "HARNESS_ALLOW_HTTP"

// open returns the client of the daemon.
func (p profile) open() (*client.Client, error) {
	return client.Open(client.Config{Base: p.Server, Token: p.Token, CA: p.CA, Plain: os.Getenv(allowHTTP) == "yes"})
}

// Where commands can work that cannot work through an API, as annotations of theirs.
const (
	// onlyHere has the reason why a command works on this machine only.
	onlyHere = "only here"
	// anywhere marks commands that concern no daemon, whichever is the default.
	anywhere = "anywhere"
)

// here marks a command, and those below it, as one for this machine only, and says why.
func here(cmd *cobra.Command, why string) *cobra.Command {
	cmd.Annotations = map[string]string{onlyHere: why}
	return cmd
}

// beside marks a command, and those below it, as one that concerns no daemon. A flag that
// names one is refused all the same.
func beside(cmd *cobra.Command, why string) *cobra.Command {
	cmd.Annotations = map[string]string{onlyHere: why, anywhere: "yes"}
	return cmd
}

// checkPlace refuses a command that cannot work on the daemon that it is for.
func checkPlace(cmd *cobra.Command) error {
	for up := cmd; up != nil; up = up.Parent() {
		why, marked := up.Annotations[onlyHere]
		if !marked {
			continue
		}
		flags := cmd.Flags()
		if up.Annotations[anywhere] != "" && !flags.Changed("server") && !flags.Changed("profile") {
			return nil
		}
		found, err := serverOf(cmd)
		if found == nil || err != nil {
			return err
		}
		return fmt.Errorf("%s, and this command is for the daemon at %s (%s). Run it on that machine, or here with --profile %s for this one",
			why, found.Server, found.from, thisMachine)
	}
	_, err := serverOf(cmd)
	return err
}

// absolute is a path that holds wherever somebody is.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}
