package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Say who may use the API, and how far",
		Long: `Say who may use the API, and how far. A token is demanded of everybody,
unless the setting auth of the plugin web is network: then not on loopback. Its name is
who its holder is: the author of what they write, a name in the audit log. Its scope is
what they may: read (see), chat (read, and say something), approve (chat, and answer what
the agent asks), work (approve, and have work done that runs code), admin (all);
or cron:NAME (have the schedule of that name fire, and nothing else), for a program
elsewhere that reports something (a webhook).

It works with the daemon up or down; of a daemon elsewhere, through its API, with a token
whose scope is admin.`,
		Example: `  harness token create Ann --scope chat
  harness token list
  harness token revoke Ann`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate(), newTokenList(), newTokenRevoke(), newTokenLogin())
	return cmd
}

// madeToken is a token with its secret.
type madeToken struct {
	pluginsdk.Token
	Secret string `json:"secret"`
	Link   string `json:"link,omitempty"`
}

func newTokenCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME --scope read|chat|approve|work|admin|cron:SCHEDULE",
		Short: "Make a token, and show its secret, which is not kept",
		Long: `Make a token, and show its secret. That is not kept: who loses it gets another one.
A program sends it as "Authorization: Bearer SECRET"; a person can log in with it.`,
		Example: `  harness token create Ann --scope chat
  harness token create prometheus --scope read --expires 365d --json
  harness token create forge --scope "cron:Look at the build"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, _ := cmd.Flags().GetString("scope")
			request := pluginsdk.CreateTokenRequest{Name: args[0], Scope: pluginsdk.TokenScope(scope)}
			life, err := lifeOf(cmd)
			if err != nil {
				return err
			}
			if life > 0 {
				request.ExpiresAt = time.Now().Add(life)
			}
			return makeToken(cmd, request, func(out io.Writer, made madeToken) {
				until := "until it is revoked"
				if !made.ExpiresAt.IsZero() {
					until = "until " + made.ExpiresAt.Local().Format(time.DateTime)
				}
				may := string(made.Scope)
				if job := made.Scope.Cron(); job != "" {
					may = fmt.Sprintf("have the schedule %q fire", job)
				}
				fmt.Fprintf(out, "%s may %s, %s. The secret, which is shown this once:\n\n  %s\n", made.Name, may, until, made.Secret)
			})
		},
	}
	cmd.Flags().String("scope", "", "what it may: read, chat, approve, work or admin; cron:NAME for one schedule")
	_ = cmd.MarkFlagRequired("scope")
	cmd.Flags().String("expires", "", "when it is over: 12h, 30d; without it, it lasts until it is revoked")
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}

func newTokenLogin() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login [NAME]",
		Short: "Make a link with which somebody logs in once, within 10 minutes",
		Long: `Make a link with which somebody logs in with a browser: once, within 10 minutes. Who
opens it has a session of 30 days, in the name that is given here ("operator" when
there is none).`,
		Example: `  harness token login
  harness token login Ann --scope approve`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "operator"
			if len(args) > 0 {
				name = args[0]
			}
			scope, _ := cmd.Flags().GetString("scope")
			request := pluginsdk.CreateTokenRequest{
				Name: name, Scope: pluginsdk.TokenScope(scope), Kind: pluginsdk.TokenLogin, ExpiresAt: time.Now().Add(daemon.LoginLife),
			}
			return makeToken(cmd, request, func(out io.Writer, made madeToken) {
				fmt.Fprintf(out, "%s may log in with %s, once, until %s:\n\n  %s\n\nFrom elsewhere, put the name of the daemon's machine in its place.\n",
					made.Name, made.Scope, made.ExpiresAt.Local().Format(time.TimeOnly), made.Link)
			})
		},
	}
	cmd.Flags().String("scope", string(pluginsdk.ScopeAdmin), "what they may: read, chat, approve, work or admin")
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	addPort(cmd)
	return cmd
}

func makeToken(cmd *cobra.Command, request pluginsdk.CreateTokenRequest, say func(io.Writer, madeToken)) error {
	return withTokens(cmd, func(ctx context.Context, of ring) error {
		token, secret, err := of.create(ctx, request)
		if err != nil {
			return err
		}
		made := madeToken{Token: token, Secret: secret}
		if token.Kind == pluginsdk.TokenLogin {
			made.Link = of.link(secret)
		}
		if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(made)
		}
		say(cmd.OutOrStdout(), made)
		return nil
	})
}

// lifeOf reads --expires: a duration, or a number of days.
func lifeOf(cmd *cobra.Command) (time.Duration, error) {
	text, _ := cmd.Flags().GetString("expires")
	if text == "" {
		return 0, nil
	}
	life, err := spanOf(text)
	if err != nil {
		return 0, fmt.Errorf("--expires: %w", err)
	}
	return life, nil
}

// spanOf reads a duration, or a number of days.
func spanOf(text string) (time.Duration, error) {
	var days int
	if _, err := fmt.Sscanf(text, "%dd", &days); err == nil && fmt.Sprintf("%dd", days) == text && days > 0 && days <= 36500 {
		return time.Duration(days) * 24 * time.Hour, nil
	}
	span, err := time.ParseDuration(text)
	if err != nil || span <= 0 {
		return 0, fmt.Errorf("%q is not accepted; it takes a time such as 12h or 30d", text)
	}
	return span, nil
}

func newTokenList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tokens that are good, and the sessions made of them",
		Example: `  harness token list
  harness token list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTokens(cmd, func(ctx context.Context, of ring) error {
				all, err := allTokens(ctx, of)
				if err != nil {
					return err
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), all)
				}
				return printTokens(cmd.OutOrStdout(), all)
			})
		},
	}
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

func allTokens(ctx context.Context, of ring) ([]pluginsdk.Token, error) {
	all := []pluginsdk.Token{}
	for request := (pluginsdk.ListTokensRequest{Limit: 1000}); ; {
		page, err := of.page(ctx, request)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		request.After = page[len(page)-1].ID
	}
}

func printTokens(out io.Writer, all []pluginsdk.Token) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "There are no tokens. Make one: harness token create NAME --scope chat")
		return err
	}
	when := func(at time.Time, never string) string {
		if at.IsZero() {
			return never
		}
		return at.Local().Format(time.DateTime)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKIND\tSCOPE\tMADE\tLAST USED\tUNTIL")
	for _, token := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", token.ID, terminal.Short(token.Name, 40), token.Kind, token.Scope,
			when(token.CreatedAt, "-"), when(token.LastUsedAt, "-"), when(token.ExpiresAt, "no end"))
	}
	return table.Flush()
}

func newTokenRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a token, and the sessions made of it",
		Long: `End a token, and the sessions made of it: a daemon that is up refuses them within a
second, and closes their event sockets. Where several have that name, give the id of
one, or --all.`,
		Example: `  harness token revoke Ann
  harness token revoke 0198c5c0-...
  harness token revoke Ann --all`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withTokens(cmd, func(ctx context.Context, of ring) error {
				chosen, err := chosenTokens(ctx, cmd, of, args[0])
				if err != nil {
					return err
				}
				for _, token := range chosen {
					if err := of.revoke(ctx, token.ID); err != nil {
						return err
					}
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), chosen)
				}
				for _, token := range chosen {
					fmt.Fprintf(cmd.OutOrStdout(), "Revoked: %s (%s, %s), %s.\n", token.Name, token.Kind, token.Scope, token.ID)
				}
				return nil
			})
		},
	}
	cmd.Flags().Bool("all", false, "all of that name")
	cmd.Flags().Bool("json", false, "print what was revoked as JSON")
	return cmd
}

// chosenTokens are those that an id or a name stands for. A session goes with its token.
func chosenTokens(ctx context.Context, cmd *cobra.Command, of ring, wanted string) ([]pluginsdk.Token, error) {
	all, err := allTokens(ctx, of)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, func(token pluginsdk.Token) bool { return token.ID == wanted }); at >= 0 {
		return all[at : at+1], nil
	}
	named := slices.DeleteFunc(slices.Clone(all), func(token pluginsdk.Token) bool { return token.Name != wanted })
	chosen := slices.DeleteFunc(slices.Clone(named), func(token pluginsdk.Token) bool {
		return slices.ContainsFunc(named, func(parent pluginsdk.Token) bool { return parent.ID == token.ParentID })
	})
	everyone, _ := cmd.Flags().GetBool("all")
	switch {
	case len(chosen) == 0:
		return nil, fmt.Errorf("there is no good token with the id or the name %q; `harness token list` shows those that there are", wanted)
	case len(chosen) > 1 && !everyone:
		lines := make([]string, len(chosen))
		for n, token := range chosen {
			lines[n] = fmt.Sprintf("  %s  %s, %s, made %s", token.ID, token.Kind, token.Scope, token.CreatedAt.Local().Format(time.DateTime))
		}
		return nil, fmt.Errorf("%d tokens are named %q; give the id of one, or --all:\n%s", len(chosen), wanted, strings.Join(lines, "\n"))
	}
	return chosen, nil
}
