package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// fresh is how long rows that were read hold without another look: what another process
	// changes is seen after that.
	fresh = time.Second
	// readTimeout bounds a look. While the database is away, the rows hold that were read last.
	readTimeout = 5 * time.Second
)

// Resolved is what a session of the agent authenticates with.
type Resolved struct {
	Name    string
	Home    string   // of a login: the CLI's configuration directory
	Env     []string // KEY=VALUE; it has secrets
	Overage bool
}

// Resolve returns the account of a name, of the empty name the default. The error is for
// people: it names the account, and says what to do. It reads the database at most once a
// second, for all turns together.
func (r *Room) Resolve(name string) (Resolved, error) {
	row, err := r.row(name)
	if err != nil {
		return Resolved{}, err
	}
	return r.resolved(row)
}

// Account returns the name of the account that a name stands for: of the empty one the
// default's. Whether there is such an account is found out by Resolve.
func (r *Room) Account(named string) string {
	if row, err := r.row(named); err == nil {
		return row.Name
	}
	return cmp.Or(named, pluginsdk.EnvironmentAccount)
}

// Overage reports whether paid use beyond the plan of an account is allowed.
func (r *Room) Overage(name string) bool {
	row, err := r.row(name)
	return err == nil && row.Overage
}

// DailyLimit is what a key may cost in a day as somebody's fallback, in USD; 0: it is nobody's.
func (r *Room) DailyLimit(key string) float64 {
	row, err := r.row(key)
	if err != nil || row.Kind != pluginsdk.AccountKey {
		return 0
	}
	return row.DailyLimitUSD
}

func (r *Room) row(name string) (ledger.Account, error) {
	rows, err := r.known()
	if err != nil {
		return ledger.Account{}, err
	}
	all := whole(rows)
	i := slices.IndexFunc(all, func(a ledger.Account) bool { return a.Name == name || name == "" && a.Default })
	if i < 0 {
		return ledger.Account{}, unknown(name, rows)
	}
	return all[i], nil
}

// known returns the rows as they were within the last second.
func (r *Room) known() ([]ledger.Account, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	if age := now.Sub(r.readAt); age >= 0 && age < fresh && !r.stale {
		return r.rows, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	rows, err := r.store.Accounts(ctx)
	switch {
	case err == nil:
		r.rows, r.readAt, r.stale = rows, now, false
	case r.readAt.IsZero():
		return nil, err
	}
	return r.rows, nil
}

// resolved returns what a row stands for.
func (r *Room) resolved(row ledger.Account) (Resolved, error) {
	found := Resolved{Name: row.Name, Overage: row.Overage}
	switch row.Kind {
	case pluginsdk.AccountLogin:
		found.Home = r.home(row)
		if err := r.checkHome(found.Home); err != nil {
			return Resolved{}, err
		}
		if r.config.Credentials(found.Home) == "" {
			return Resolved{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "nobody is logged in to the account %[1]s: on the daemon's machine, log in: harness account login %[1]s", row.Name)
		}
	case pluginsdk.AccountKey:
		key, err := r.open(row)
		if err != nil {
			return Resolved{}, err
		}
		found.Env = []string{"ANTHROPIC_API_KEY=" + key}
	default: // of the environment's, what looks like no credentials is tried all the same: a gateway may need none
	}
	return found, nil
}

// open returns the key of an account. What was opened once is kept as long as the row has it.
func (r *Room) open(row ledger.Account) (string, error) {
	r.mu.Lock()
	kept, ok := r.keys[row.Name]
	r.mu.Unlock()
	if ok && kept.sealed == string(row.Key) {
		return kept.key, nil
	}
	owner, field := ledger.AccountSecret(row.Name)
	raw, err := r.vault.Open(owner, field, row.Key)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
		return "", err
	}
	var key string
	if err != nil || json.Unmarshal(raw, &key) != nil || key == "" {
		return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "what is stored as the key of the account %[1]s is of no use; set it again: harness account set %[1]s --key", row.Name)
	}
	r.mu.Lock()
	r.keys[row.Name] = opened{string(row.Key), key}
	r.mu.Unlock()
	return key, nil
}

// homesDir is where logins have their homes, below the data directory: no backup reads there.
const homesDir = "accounts"

// home is the home of a login. Where the row says nothing of use it is where Add makes it.
func (r *Room) home(row ledger.Account) string {
	if filepath.IsLocal(row.Home) {
		return filepath.Join(r.config.Data, row.Home)
	}
	return filepath.Join(r.config.Data, relativeHome(row.Name))
}

func relativeHome(name string) string { return filepath.Join(homesDir, name, "claude") }

// makeHome makes the home of a login, which only the daemon's user may enter, or finds it, and
// returns its path below the data directory.
func (r *Room) makeHome(name string) (string, error) {
	home := relativeHome(name)
	path := r.config.Data
	for _, part := range []string{homesDir, name, "claude"} {
		path = filepath.Join(path, part)
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "make the home of the account %s: %w", name, err)
		}
		info, err := os.Lstat(path)
		if err != nil {
			return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "make the home of the account %s: %w", name, err)
		}
		if !info.IsDir() {
			return "", notADirectory(path)
		}
		if info.Mode().Perm() != 0o700 {
			if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a directory
				return "", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "make the home of the account %s: %w", name, err)
			}
		}
	}
	return home, nil
}

func notADirectory(path string) error {
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s is not a directory (a symbolic link counts as none): move it away", path)
}

// checkHome refuses a home that others may enter, or that is reached through a symbolic link.
// One that is not there is no error: nobody is logged in to it.
func (r *Room) checkHome(home string) error {
	rest, err := filepath.Rel(r.config.Data, home)
	if err != nil {
		return notADirectory(home)
	}
	for path := home; rest != "."; path, rest = filepath.Dir(path), filepath.Dir(rest) {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "look at the home of the account: %w", err)
		case !info.IsDir():
			return notADirectory(path)
		case info.Mode().Perm()&0o077 != 0:
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "others than its owner may enter %s (mode %04o): chmod 700 it", path, info.Mode().Perm())
		}
	}
	return nil
}

// HomeOf makes the home of a login, if it is not there, for who logs in to it, and returns its
// path.
func (r *Room) HomeOf(ctx context.Context, name string) (string, error) {
	rows, err := r.store.Accounts(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(rows, func(a ledger.Account) bool { return a.Name == name })
	switch {
	case name == pluginsdk.EnvironmentAccount:
		return "", invalid("the account environment has no home of its own: run `claude` as the daemon's user and log in")
	case i < 0:
		return "", unknown(name, rows)
	case rows[i].Kind != pluginsdk.AccountLogin:
		return "", invalid("the account %s is an API key; nobody logs in to it (harness account set %[1]s --key sets another one)", name)
	}
	if _, err := r.makeHome(name); err != nil {
		return "", err
	}
	return r.home(rows[i]), nil
}

// LoggedIn says that somebody has logged in to an account: what was seen of a plan may be of
// another person's.
func (r *Room) LoggedIn(ctx context.Context, name string) error {
	return r.store.ForgetPlan(ctx, name)
}

// Usable reports whether the agent can be started with an account that was added.
func (r *Room) Usable() bool {
	rows, err := r.known()
	return err == nil && slices.ContainsFunc(rows, func(row ledger.Account) bool {
		_, err := r.resolved(row)
		return row.Name != pluginsdk.EnvironmentAccount && err == nil
	})
}
