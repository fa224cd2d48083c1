package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/tokens"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ring is where tokens are kept: in the database of this machine, or by a daemon elsewhere.
type ring interface {
	create(ctx context.Context, request pluginsdk.CreateTokenRequest) (token pluginsdk.Token, secret string, err error)
	page(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error)
	revoke(ctx context.Context, id string) error
	// link is where the secret of a login token is used.
	link(secret string) string
}

// withTokens opens those of the daemon elsewhere that the command is for, else those of this
// machine.
func withTokens(cmd *cobra.Command, do func(context.Context, ring) error) error {
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	if remote != nil {
		return do(cmd.Context(), ringElsewhere{remote})
	}
	return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		return do(ctx, ringHere{tokens.New(tokens.Config{Store: database}), config})
	})
}

type ringHere struct {
	room   *tokens.Room
	config daemon.Config
}

func (r ringHere) create(ctx context.Context, request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string, error) {
	return r.room.Create(ctx, operate.Who, request)
}

func (r ringHere) page(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error) {
	return r.room.List(ctx, request)
}

func (r ringHere) revoke(ctx context.Context, id string) error {
	return r.room.Revoke(ctx, operate.Who, id)
}

func (r ringHere) link(secret string) string { return daemon.LinkOf(r.config, secret) }

// ringElsewhere is that of a daemon, through its API: in the name of who holds the token
// that the command was given.
type ringElsewhere struct{ api *client.Client }

func (r ringElsewhere) create(ctx context.Context, request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string, error) {
	return r.api.CreateToken(ctx, request)
}

func (r ringElsewhere) page(ctx context.Context, request pluginsdk.ListTokensRequest) ([]pluginsdk.Token, error) {
	return r.api.TokenPage(ctx, request)
}

func (r ringElsewhere) revoke(ctx context.Context, id string) error {
	return r.api.RevokeToken(ctx, id)
}

func (r ringElsewhere) link(secret string) string { return r.api.LoginLink(secret) }
