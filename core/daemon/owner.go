package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// OwnerTokenFile is the file of the data directory with the owner's token, with which the
	// command line calls the API: whoever can read it may do everything.
	OwnerTokenFile = "owner.token"
	// OwnerName is the name of that token: an author of messages, a name in the audit log.
	OwnerName = "owner"
)

// keepOwner makes the owner's token, unless its file has one that is good. The one before it,
// whose file was deleted or stayed on the machine that a backup is of, ends. Without a file
// the daemon goes on: only the command line is not known then.
func (d *Daemon) keepOwner(ctx context.Context) error {
	path := filepath.Join(d.config.Data, OwnerTokenFile)
	if text, err := os.ReadFile(path); err == nil { //nolint:gosec // our own
		_, err := d.tokens.Check(ctx, strings.TrimSpace(string(text)))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
			return errors.Join(err, os.Chmod(path, 0o600)) // nil: it is good; one that others may read is not shown
		}
	}
	token, secret, err := d.tokens.Create(ctx, "daemon", pluginsdk.CreateTokenRequest{Name: OwnerName, Scope: pluginsdk.ScopeAdmin})
	if err != nil {
		return err
	}
	if err := replaceFile(path, secret+"\n"); err != nil {
		d.log.Error("the owner's token cannot be written: the command line on this machine needs another one (harness token create)", "err", err)
		return d.tokens.Revoke(ctx, "daemon", token.ID)
	}
	return d.endOwnersBefore(ctx, token)
}

// endOwnersBefore ends the owner's tokens that the daemon made before this one.
func (d *Daemon) endOwnersBefore(ctx context.Context, now pluginsdk.Token) error {
	for page := (pluginsdk.ListTokensRequest{}); ; {
		found, err := d.tokens.List(ctx, page)
		if err != nil || len(found) == 0 {
			return err
		}
		page.After = found[len(found)-1].ID
		for _, token := range found {
			if token.ID == now.ID || token.Name != now.Name || token.Kind != now.Kind || token.CreatedBy != now.CreatedBy {
				continue
			}
			if err := d.tokens.Revoke(ctx, "daemon", token.ID); err != nil {
				return err
			}
		}
	}
}

// replaceFile writes a file that only its owner can read. Whoever reads it meanwhile has the
// file before it, or the whole of this one.
func replaceFile(path, content string) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = io.Copy(temporary, strings.NewReader(content))
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// OpenLife is how long a link is good that opens the dashboard at once.
const OpenLife = time.Minute

// OpenLink makes a link that opens the dashboard in the owner's name, once, within OpenLife.
// The secret is in its fragment, which browsers send to nobody.
func (d *Daemon) OpenLink(ctx context.Context) (string, error) {
	_, secret, err := d.tokens.Create(ctx, "daemon", pluginsdk.CreateTokenRequest{
		Name: OwnerName, Kind: pluginsdk.TokenLogin, Scope: pluginsdk.ScopeAdmin, ExpiresAt: time.Now().Add(OpenLife),
	})
	if err != nil {
		return "", fmt.Errorf("make a link to open the dashboard: %w", err)
	}
	return d.config.URL() + "/login#" + secret, nil
}
