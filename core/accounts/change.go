package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxKey is how long a key may be, in bytes.
	maxKey = 8 << 10
	// maxLimit is the highest daily limit, in USD.
	maxLimit = 100_000
)

func invalid(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, format, args...)
}

// Add makes an account. who is for the audit log, which gets no key. A login gets a home, into
// which somebody has to log in on the daemon's machine.
func (r *Room) Add(ctx context.Context, who string, request pluginsdk.AddAccountRequest) (pluginsdk.Account, error) {
	defer r.changed()
	if err := ledger.CheckNewAccountName(request.Name); err != nil {
		return pluginsdk.Account{}, err
	}
	if request.Name == pluginsdk.EnvironmentAccount {
		return pluginsdk.Account{}, pluginsdk.Errorf(pluginsdk.CodeConflict, "the account environment is always there: take another name")
	}
	made := ledger.Account{Name: request.Name, Kind: request.Kind}
	var err error
	switch request.Kind {
	case pluginsdk.AccountKey:
		made.Key, _, err = r.seal(ctx, request.Name, request.Key)
	case pluginsdk.AccountLogin:
		if request.Key != "" {
			err = invalid("key: a login has none")
		} else {
			made.Home, err = r.makeHome(request.Name)
		}
	default:
		err = invalid("kind: %.40q is not a kind of account that can be added; want login or key", request.Kind)
	}
	if err != nil {
		return pluginsdk.Account{}, err
	}
	_, err = r.store.EditAccount(ctx, ledger.AccountChange{
		Name: request.Name, Who: who, Action: "account.add",
		Edit: func(row *ledger.Account, known bool, _ []ledger.Account) (string, error) {
			if known {
				return "", pluginsdk.Errorf(pluginsdk.CodeConflict, "there is an account %s already, of the kind %s", row.Name, row.Kind)
			}
			row.Kind, row.Key, row.Home = made.Kind, made.Key, made.Home
			return string(made.Kind), nil
		},
	})
	if err != nil {
		return pluginsdk.Account{}, err
	}
	return r.get(ctx, request.Name)
}

// Update changes the fields of an account that are set.
func (r *Room) Update(ctx context.Context, who string, request pluginsdk.UpdateAccountRequest) (pluginsdk.Account, error) {
	defer r.changed()
	var sealed []byte
	var lost []string
	if key := request.Patch.Key; key != nil {
		var err error
		if sealed, lost, err = r.seal(ctx, request.Name, *key); err != nil {
			return pluginsdk.Account{}, err
		}
	}
	_, err := r.store.EditAccount(ctx, ledger.AccountChange{
		Name: request.Name, Who: who, Action: "account.update",
		Edit: func(row *ledger.Account, known bool, all []ledger.Account) (string, error) {
			if row.Name == pluginsdk.EnvironmentAccount {
				row.Kind = pluginsdk.AccountEnvironment
			} else if !known {
				return "", unknown(request.Name, all)
			}
			detail, err := edit(row, request.Patch, sealed, all)
			if len(lost) > 0 {
				detail += fmt.Sprintf("; what is stored as the key of %s cannot be opened and is lost", strings.Join(lost, ", "))
			}
			return detail, err
		},
	})
	if err != nil {
		return pluginsdk.Account{}, err
	}
	return r.get(ctx, request.Name)
}

// edit applies a patch to a row. detail says for the audit log what was set; it has no key.
func edit(row *ledger.Account, patch pluginsdk.AccountPatch, sealed []byte, all []ledger.Account) (detail string, err error) {
	var set []string
	if patch.Default != nil {
		if !*patch.Default {
			return "", invalid("default: make another account the default instead")
		}
		row.Default = true
		set = append(set, "default")
	}
	if patch.Overage != nil {
		if row.Kind == pluginsdk.AccountKey {
			return "", invalid("overage: the account %s is an API key, which has no plan to go beyond", row.Name)
		}
		row.Overage = *patch.Overage
		set = append(set, fmt.Sprintf("overage %v", row.Overage))
	}
	if patch.DailyLimitUSD != nil {
		limit := *patch.DailyLimitUSD
		switch {
		case row.Kind != pluginsdk.AccountKey:
			return "", invalid("dailyLimitUsd: only an API key has a daily limit, and the account %s is none", row.Name)
		case !(limit >= 0) || limit > maxLimit || math.IsInf(limit, 0):
			return "", invalid("dailyLimitUsd: must be an amount in USD from 0 (none) to %d, got %v", maxLimit, limit)
		}
		row.DailyLimitUSD = limit
		set = append(set, fmt.Sprintf("daily limit %g USD", limit))
	}
	if patch.Fallback != nil {
		if err := checkFallback(*row, *patch.Fallback, all); err != nil {
			return "", err
		}
		row.Fallback = *patch.Fallback
		set = append(set, fmt.Sprintf("fallback %q", row.Fallback))
	}
	if patch.Key != nil {
		if row.Kind != pluginsdk.AccountKey {
			return "", invalid("key: the account %s is no API key", row.Name)
		}
		row.Key = sealed
		set = append(set, "key")
	}
	if len(set) == 0 {
		return "", invalid("nothing is to be changed: want default, overage, fallback, dailyLimitUsd or key")
	}
	return "set " + strings.Join(set, ", "), nil
}

// checkFallback refuses what cannot be the fallback of an account: only an API key with a
// daily limit can, so that what it costs is bounded.
func checkFallback(row ledger.Account, name string, all []ledger.Account) error {
	if name == "" {
		return nil
	}
	if row.Kind == pluginsdk.AccountKey {
		return invalid("fallback: the account %s is an API key; only a login or environment, which can have a plan, has a fallback", row.Name)
	}
	i := slices.IndexFunc(all, func(a ledger.Account) bool { return a.Name == name })
	switch {
	case i < 0:
		return unknown(name, all)
	case all[i].Kind != pluginsdk.AccountKey:
		return invalid("fallback: the account %s is of the kind %s; only an API key can be a fallback: logins are not taken in turn", name, all[i].Kind)
	case all[i].DailyLimitUSD <= 0:
		return invalid("fallback: the key %[1]s has no daily limit; set one first: harness account set %[1]s --limit 5.00", name)
	}
	return nil
}

// Remove forgets an account, with its key; an absent one is no error. The home of a login
// stays.
func (r *Room) Remove(ctx context.Context, who, name string) error {
	defer r.changed()
	if name == pluginsdk.EnvironmentAccount {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the account environment cannot be removed: it is whatever the daemon's environment authenticates with")
	}
	_, err := r.store.RemoveAccount(ctx, name, who)
	return err
}

// unknown is the error for the name of an account that there is not.
func unknown(name string, all []ledger.Account) error {
	all = whole(all)
	names := make([]string, len(all))
	for i, account := range all {
		names[i] = account.Name
	}
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no account %.100q; there are: %s (harness account add makes one)", name, strings.Join(names, ", "))
}

// seal checks a key of an account and seals it. The errors do not repeat it. Where nothing but
// keys of accounts is sealed, and that of this account cannot be opened any more, it is sealed
// all the same: lost are the other accounts whose keys cannot be opened either.
func (r *Room) seal(ctx context.Context, name, key string) (sealed []byte, lost []string, err error) {
	switch {
	case key == "":
		return nil, nil, invalid("key: the API key is missing")
	case len(key) > maxKey:
		return nil, nil, invalid("key: an API key has at most %d bytes, this has %d", maxKey, len(key))
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, nil, invalid("key: an API key is one word of ASCII characters, this has others")
	}
	owner, other, some, err := r.store.SomeSecret(ctx)
	if err != nil {
		return nil, nil, err
	}
	others := some != nil
	if others { // not under a second key
		if _, err := r.vault.Open(owner, other, some); pluginsdk.CodeOf(err) == pluginsdk.CodeUnavailable {
			if lost, err = r.lost(ctx, name, owner, err); err != nil {
				return nil, nil, err
			}
			others = false
		}
	}
	value, err := json.Marshal(key)
	if err != nil {
		return nil, nil, invalid("key: it cannot be kept")
	}
	owner, field := ledger.AccountSecret(name)
	sealed, err = r.vault.Seal(owner, field, value, others)
	return sealed, lost, err
}

// lost returns the accounts beside one whose keys cannot be opened. With unopened, the error of
// what belongs to an owner and cannot be opened, it fails when that is a plugin's, or when the
// one account has no key that could not be opened: then a key is not to be made.
func (r *Room) lost(ctx context.Context, name, owner string, unopened error) (lost []string, err error) {
	if _, ok := ledger.AccountOfSecret(owner); !ok {
		return nil, unopened
	}
	rows, err := r.store.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	replaced := false
	for _, row := range rows {
		if row.Kind != pluginsdk.AccountKey {
			continue
		}
		if _, err := r.vault.Open(sealedAs(row)); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			continue
		}
		if row.Name == name {
			replaced = true
		} else {
			lost = append(lost, row.Name)
		}
	}
	if !replaced {
		return nil, unopened
	}
	return lost, nil
}

// sealedAs is what the key of an account is sealed as, and the sealed key.
func sealedAs(row ledger.Account) (owner, name string, sealed []byte) {
	owner, name = ledger.AccountSecret(row.Name)
	return owner, name, row.Key
}

// changed has the rows read anew at the next look.
func (r *Room) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stale = true
}
