package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/cli/browser"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newOpen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open [PATH]",
		Short: "Open the dashboard in a browser, logged in",
		Long: `Open the dashboard in a browser. The browser is logged in by a link that is good once,
within a minute: in the name of the token that this command shows, which on the daemon's
own machine is its owner's. Without a browser here the link is printed.`,
		Example: `  harness open
  harness open /tasks
  harness open --print`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			link, err := linkToOpen(cmd, api, path)
			if err != nil {
				return err
			}
			only, _ := cmd.Flags().GetBool("print")
			if !only && openInBrowser(cmd.OutOrStdout(), link) == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "The dashboard at %s is open in your browser.\n", api.Base())
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), link)
			return err
		},
	}
	cmd.Flags().Bool("print", false, "print the link, and open nothing")
	addAddress(cmd)
	return cmd
}

// linkToOpen returns a link to a page: one that logs in, where a token is demanded.
func linkToOpen(cmd *cobra.Command, api *client.Client, path string) (string, error) {
	me, err := api.Me(cmd.Context())
	if err != nil {
		return "", err
	}
	if me.Name == "" {
		return api.Base() + path, nil
	}
	_, secret, err := api.CreateToken(cmd.Context(), pluginsdk.CreateTokenRequest{
		Name: me.Name, Kind: pluginsdk.TokenLogin, Scope: me.Scope, ExpiresAt: time.Now().Add(daemon.OpenLife),
	})
	if err != nil {
		return "", err
	}
	return api.OpenLink(secret, path), nil
}

// errNoBrowser says that nobody would see a browser that is started here.
var errNoBrowser = errors.New("there is no browser here")

// openInBrowser opens a page in the person's browser, if a person with a browser is here.
func openInBrowser(out io.Writer, link string) error {
	windows := runtime.GOOS != "linux" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
	if !windows || !terminal.IsTerminal(out) {
		return errNoBrowser
	}
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(link)
}
