package accounts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/accounts"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// vault seals by writing backwards. away is what it fails with.
type vault struct{ away error }

func backwards(text string) []byte {
	bytes := []byte(text)
	slices.Reverse(bytes)
	return bytes
}

func (v *vault) Seal(owner, name string, value json.RawMessage, _ bool) ([]byte, error) {
	return backwards(owner + " " + name + " " + string(value)), v.away
}

func (v *vault) Open(owner, name string, sealed []byte) (json.RawMessage, error) {
	value, ok := strings.CutPrefix(string(backwards(string(sealed))), owner+" "+name+" ")
	if !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "of somebody else")
	}
	return json.RawMessage(value), v.away
}

type fixture struct {
	*testing.T
	*accounts.Room

	store *store.Store
	vault *vault
	data  string
	own   bool // the environment has credentials
	now   time.Time
}

const aKey = "sk-ant-api03-hunter2"

func each(t *testing.T, test func(f *fixture)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		f := &fixture{T: t, store: s, vault: &vault{}, data: t.TempDir(), own: true, now: time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC)}
		f.Room = f.another()
		test(f)
	})
}

// another is a room beside the first, as that of another process.
func (f *fixture) another() *accounts.Room {
	return accounts.New(accounts.Config{
		Data: f.data, Now: func() time.Time { return f.now },
		Credentials: func(home string) string {
			if home == "" && f.own {
				return "ANTHROPIC_API_KEY"
			}
			if path := filepath.Join(home, ".credentials.json"); home != "" {
				if _, err := os.Stat(path); err == nil {
					return path
				}
			}
			return ""
		},
	}, f.store, f.vault)
}

func (f *fixture) add(name string, kind pluginsdk.AccountKind, key string) pluginsdk.Account {
	f.Helper()
	account, err := f.Add(f.Context(), "ann", pluginsdk.AddAccountRequest{Name: name, Kind: kind, Key: key})
	if err != nil {
		f.Fatal(err)
	}
	return account
}

func (f *fixture) set(name string, patch pluginsdk.AccountPatch) (pluginsdk.Account, error) {
	return f.Update(f.Context(), "ann", pluginsdk.UpdateAccountRequest{Name: name, Patch: patch})
}

// logIn does what the CLI's login does in a home.
func (f *fixture) logIn(name string) (home string) {
	f.Helper()
	home, err := f.HomeOf(f.Context(), name)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".credentials.json"), []byte("{}"), 0o600)
	}
	if err != nil {
		f.Fatal(err)
	}
	return home
}

func (f *fixture) list() map[string]pluginsdk.Account {
	f.Helper()
	all, err := f.List(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	if all[0].Name != pluginsdk.EnvironmentAccount || !slices.IsSortedFunc(all[1:], func(a, b pluginsdk.Account) int { return strings.Compare(a.Name, b.Name) }) {
		f.Errorf("in the order %+v", all)
	}
	found := make(map[string]pluginsdk.Account)
	for _, account := range all {
		found[account.Name] = account
	}
	return found
}

func (f *fixture) refused(what string, err error, code pluginsdk.Code, words string) {
	f.Helper()
	if pluginsdk.CodeOf(err) != code || !strings.Contains(fmt.Sprint(err), words) {
		f.Errorf("%s: %v; want %s %q", what, err, code, words)
	}
	if strings.Contains(fmt.Sprint(err), aKey) {
		f.Errorf("%s: the error has the key: %s", what, err)
	}
}

func to[T any](value T) *T { return &value }

// Who has added nothing must go on as before there were accounts, and who has, must get the
// account that they have named and no other.
func TestATurnGetsTheAccountThatWasNamed(t *testing.T) {
	each(t, func(f *fixture) {
		if found, err := f.Resolve(""); err != nil || found.Name != pluginsdk.EnvironmentAccount || found.Home != "" || len(found.Env) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
		f.add("work", pluginsdk.AccountLogin, "")
		f.add("spare", pluginsdk.AccountKey, aKey)
		_, err := f.Resolve("work")
		f.refused("a login without credentials", err, pluginsdk.CodeUnavailable, "harness account login work")
		home := f.logIn("work")
		if found, err := f.Resolve("work"); err != nil || found.Home != home || len(found.Env) > 0 {
			t.Errorf("%+v, %v", found, err)
		}
		if found, err := f.Resolve("spare"); err != nil || found.Home != "" || !slices.Equal(found.Env, []string{"ANTHROPIC_API_KEY=" + aKey}) {
			t.Errorf("%+v, %v", found, err)
		}
		_, err = f.Resolve("wrok")
		f.refused("an unknown one", err, pluginsdk.CodeNotFound, "there are: environment, spare, work")
		if name := f.Account(""); name != pluginsdk.EnvironmentAccount || f.Account("work") != "work" || f.Account("wrok") != "wrok" {
			t.Errorf("the default is %s", name)
		}
		if _, err := f.set("work", pluginsdk.AccountPatch{Default: to(true), Overage: to(true)}); err != nil {
			t.Fatal(err)
		}
		if found, err := f.Resolve(""); err != nil || found.Name != "work" || !found.Overage {
			t.Errorf("%+v, %v", found, err)
		}
		if f.Account("") != "work" || !f.Overage("work") || f.Overage("spare") || f.DailyLimit("spare") != 0 {
			t.Error("what holds for the default is not what was set")
		}
		if _, err := f.set("spare", pluginsdk.AccountPatch{DailyLimitUSD: to(2.5)}); err != nil || f.DailyLimit("spare") != 2.5 || f.DailyLimit("work") != 0 {
			t.Errorf("the limit is %v, %v", f.DailyLimit("spare"), err)
		}
		if found, err := f.Resolve(pluginsdk.EnvironmentAccount); err != nil || found.Name != pluginsdk.EnvironmentAccount || found.Home != "" {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := f.set(pluginsdk.EnvironmentAccount, pluginsdk.AccountPatch{Default: to(true), Overage: to(true)}); err != nil {
			t.Fatal(err)
		}
		if found, err := f.Resolve(""); err != nil || found.Name != pluginsdk.EnvironmentAccount || !found.Overage {
			t.Errorf("%+v, %v", found, err)
		}
		if all := f.list(); all["work"].Default || !all[pluginsdk.EnvironmentAccount].Default {
			t.Errorf("%+v", all)
		}
	})
}

// An operator changes accounts by the command line while the daemon is up; a daemon that goes
// on with the old key would be one that cannot be told to stop.
func TestAChangeOfAnotherProcessIsSeenWithinASecond(t *testing.T) {
	each(t, func(f *fixture) {
		f.add("spare", pluginsdk.AccountKey, aKey)
		if _, err := f.Resolve("spare"); err != nil {
			t.Fatal(err)
		}
		operator := f.another()
		if _, err := operator.Update(t.Context(), "bob", pluginsdk.UpdateAccountRequest{Name: "spare", Patch: pluginsdk.AccountPatch{Key: to("sk-other")}}); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Second)
		if found, err := f.Resolve("spare"); err != nil || found.Env[0] != "ANTHROPIC_API_KEY=sk-other" {
			t.Errorf("%+v, %v", found, err)
		}
		if err := operator.Remove(t.Context(), "bob", "spare"); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Second)
		_, err := f.Resolve("spare")
		f.refused("one that was removed", err, pluginsdk.CodeNotFound, "spare")
		// A database that is away for a moment must not stop the turns.
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Hour)
		if found, err := f.Resolve(""); err != nil || found.Name != pluginsdk.EnvironmentAccount {
			t.Errorf("%+v, %v", found, err)
		}
		if _, err := f.another().Resolve(""); err == nil {
			t.Error("who has never read the accounts takes the environment's for the default")
		}
	})
}

// What is not checked here is found out when a turn fails at night, or costs without a bound.
func TestWhatCannotBeAnAccountIsRefused(t *testing.T) {
	each(t, func(f *fixture) {
		f.add("work", pluginsdk.AccountLogin, "")
		f.add("home", pluginsdk.AccountLogin, "")
		f.add("spare", pluginsdk.AccountKey, aKey)
		for what, c := range map[string]struct {
			name string
			kind pluginsdk.AccountKind
			key  string
			code pluginsdk.Code
			says string
		}{
			"no name":             {"../work", pluginsdk.AccountLogin, "", pluginsdk.CodeInvalid, "An account name has"},
			"environment":         {"environment", pluginsdk.AccountLogin, "", pluginsdk.CodeConflict, "always there"},
			"a taken name":        {"spare", pluginsdk.AccountKey, aKey, pluginsdk.CodeConflict, "already"},
			"a taken login":       {"work", pluginsdk.AccountLogin, "", pluginsdk.CodeConflict, "already"},
			"no kind":             {"new", "", "", pluginsdk.CodeInvalid, "want login or key"},
			"the default's word":  {"default", pluginsdk.AccountLogin, "", pluginsdk.CodeInvalid, "means the default account"},
			"no fallback's word":  {"none", pluginsdk.AccountKey, aKey, pluginsdk.CodeInvalid, "no account"},
			"the fallback's word": {"fallback", pluginsdk.AccountKey, aKey, pluginsdk.CodeInvalid, "take another name"},
			"the daemon's kind":   {"new", pluginsdk.AccountEnvironment, "", pluginsdk.CodeInvalid, "want login or key"},
			"a login's key":       {"new", pluginsdk.AccountLogin, aKey, pluginsdk.CodeInvalid, "a login has none"},
			"no key":              {"new", pluginsdk.AccountKey, "", pluginsdk.CodeInvalid, "missing"},
			"two lines":           {"new", pluginsdk.AccountKey, aKey + "\nX=1", pluginsdk.CodeInvalid, "one word"},
			"a long key":          {"new", pluginsdk.AccountKey, strings.Repeat(aKey, 1000), pluginsdk.CodeInvalid, "at most"},
		} {
			_, err := f.Add(t.Context(), "ann", pluginsdk.AddAccountRequest{Name: c.name, Kind: c.kind, Key: c.key})
			f.refused(what, err, c.code, c.says)
		}
		for what, c := range map[string]struct {
			name  string
			patch pluginsdk.AccountPatch
			code  pluginsdk.Code
			says  string
		}{
			"unknown":              {"wrok", pluginsdk.AccountPatch{Default: to(true)}, pluginsdk.CodeNotFound, "there are: environment, home, spare, work"},
			"nothing":              {"work", pluginsdk.AccountPatch{}, pluginsdk.CodeInvalid, "nothing"},
			"no default":           {"work", pluginsdk.AccountPatch{Default: to(false)}, pluginsdk.CodeInvalid, "another account"},
			"a key's overage":      {"spare", pluginsdk.AccountPatch{Overage: to(true)}, pluginsdk.CodeInvalid, "no plan"},
			"a login's limit":      {"work", pluginsdk.AccountPatch{DailyLimitUSD: to(1.0)}, pluginsdk.CodeInvalid, "only an API key"},
			"a login's key":        {"work", pluginsdk.AccountPatch{Key: to(aKey)}, pluginsdk.CodeInvalid, "no API key"},
			"less than nothing":    {"spare", pluginsdk.AccountPatch{DailyLimitUSD: to(-1.0)}, pluginsdk.CodeInvalid, "USD"},
			"no number":            {"spare", pluginsdk.AccountPatch{DailyLimitUSD: to(math.NaN())}, pluginsdk.CodeInvalid, "USD"},
			"without an end":       {"spare", pluginsdk.AccountPatch{DailyLimitUSD: to(math.Inf(1))}, pluginsdk.CodeInvalid, "USD"},
			"another login":        {"work", pluginsdk.AccountPatch{Fallback: to("home")}, pluginsdk.CodeInvalid, "not taken in turn"},
			"itself":               {"work", pluginsdk.AccountPatch{Fallback: to("work")}, pluginsdk.CodeInvalid, "not taken in turn"},
			"nobody":               {"work", pluginsdk.AccountPatch{Fallback: to("nobody")}, pluginsdk.CodeNotFound, "nobody"},
			"a key without limit":  {"work", pluginsdk.AccountPatch{Fallback: to("spare")}, pluginsdk.CodeInvalid, "harness account set spare --limit"},
			"of a key":             {"spare", pluginsdk.AccountPatch{Fallback: to("spare")}, pluginsdk.CodeInvalid, "is an API key"},
			"half of it is":        {"spare", pluginsdk.AccountPatch{DailyLimitUSD: to(1.0), Overage: to(true)}, pluginsdk.CodeInvalid, "no plan"},
			"the environment's":    {"environment", pluginsdk.AccountPatch{DailyLimitUSD: to(1.0)}, pluginsdk.CodeInvalid, "only an API key"},
			"a key that is no key": {"spare", pluginsdk.AccountPatch{Key: to("a b")}, pluginsdk.CodeInvalid, "one word"},
		} {
			_, err := f.set(c.name, c.patch)
			f.refused(what, err, c.code, c.says)
		}
		if all := f.list(); len(all) != 4 || all["spare"].DailyLimitUSD != 0 || all["work"].Fallback != "" {
			t.Errorf("%+v", all)
		}
		for _, patch := range []pluginsdk.AccountPatch{{DailyLimitUSD: to(5.0)}, {Default: to(true)}} {
			if _, err := f.set("spare", patch); err != nil {
				t.Error(err)
			}
		}
		for _, name := range []string{"work", "environment"} {
			if _, err := f.set(name, pluginsdk.AccountPatch{Fallback: to("spare")}); err != nil {
				t.Error(err)
			}
		}
		f.refused("removing environment", f.Remove(t.Context(), "ann", "environment"), pluginsdk.CodeStale, "cannot be removed")
		f.refused("removing the default", f.Remove(t.Context(), "ann", "spare"), pluginsdk.CodeStale, "default")
		if _, err := f.set("home", pluginsdk.AccountPatch{Default: to(true)}); err != nil {
			t.Error(err)
		}
		f.refused("removing a fallback", f.Remove(t.Context(), "ann", "spare"), pluginsdk.CodeStale, "fallback")
		for _, name := range []string{"work", "environment"} {
			if _, err := f.set(name, pluginsdk.AccountPatch{Fallback: to("")}); err != nil {
				t.Error(err)
			}
		}
		for range 2 { // an absent one is no error
			if err := f.Remove(t.Context(), "ann", "spare"); err != nil {
				t.Error(err)
			}
		}
	})
}

// A key that stands in plain text anywhere is a key that somebody else spends.
func TestAKeyIsInNothingThatIsKept(t *testing.T) {
	each(t, func(f *fixture) {
		made := f.add("spare", pluginsdk.AccountKey, aKey)
		changed, err := f.set("spare", pluginsdk.AccountPatch{Key: to(aKey + "-2"), DailyLimitUSD: to(2.5)})
		if err != nil {
			t.Fatal(err)
		}
		entries, err := f.store.AuditEntries(t.Context(), "spare", 0)
		if err != nil || len(entries) != 2 || entries[0].Action != "account.add" || entries[1].Detail != "set daily limit 2.5 USD, key" || entries[1].Who != "ann" {
			t.Errorf("%+v, %v", entries, err)
		}
		rows, err := f.store.Accounts(t.Context())
		if err != nil || len(rows) != 1 || len(rows[0].Key) == 0 {
			t.Errorf("%+v, %v", rows, err)
		}
		for what, kept := range map[string]any{"the answer": made, "the answer to a change": changed, "the list": f.list(), "the audit log": entries, "the rows": rows} {
			encoded, err := json.Marshal(kept)
			if err != nil || strings.Contains(string(encoded), aKey) || strings.Contains(fmt.Sprintf("%+v", kept), aKey) {
				t.Errorf("%s: the key is in %s, %v", what, encoded, err)
			}
		}
		// A row's key that was sealed for another account opens nowhere else.
		if _, err := f.store.EditAccount(t.Context(), ledger.AccountChange{Name: "thief", Who: "sql", Action: "x",
			Edit: func(row *ledger.Account, _ bool, _ []ledger.Account) (string, error) {
				row.Kind, row.Key = pluginsdk.AccountKey, rows[0].Key
				return "", nil
			}}); err != nil {
			t.Fatal(err)
		}
		f.now = f.now.Add(time.Minute)
		_, err = f.Resolve("thief")
		f.refused("another one's key", err, pluginsdk.CodeUnavailable, "harness account set thief --key")
		f.vault.away = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "restore secrets.key")
		if all, err := f.another().List(t.Context()); err != nil || len(all) != 3 || all[1].Usable || !strings.Contains(all[1].Reason, "restore secrets.key") {
			t.Errorf("%+v, %v", all, err)
		}
		_, err = f.Add(t.Context(), "ann", pluginsdk.AddAccountRequest{Name: "second", Kind: pluginsdk.AccountKey, Key: aKey})
		f.refused("a key without the vault's", err, pluginsdk.CodeUnavailable, "secrets.key")
	})
}

// To ask for the rights starts a process of the agent's program: they are not asked for as often
// at a time as somebody likes.
func TestRightsAreAskedForOneAtATime(t *testing.T) {
	begun, end := make(chan struct{}, 2), make(chan struct{})
	room := accounts.New(accounts.Config{Rights: func(context.Context, string) (pluginsdk.AgentRights, error) {
		begun <- struct{}{}
		<-end
		return pluginsdk.AgentRights{Version: "2"}, nil
	}}, nil, nil)
	first := make(chan error)
	go func() {
		_, err := room.Rights(t.Context(), "T")
		first <- err
	}()
	<-begun
	second := make(chan error, 1)
	go func() {
		_, err := room.Rights(t.Context(), "U")
		second <- err
	}()
	select {
	case err := <-second:
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "try again") {
			t.Errorf("a second one at a time: %v", err)
		}
	case <-begun:
		t.Error("two are asked for at a time")
	}
	close(end)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if found, err := room.Rights(t.Context(), "U"); err != nil || found.Version != "2" {
		t.Errorf("afterwards: %+v, %v", found, err)
	}
}

// A login belongs to the daemon's user alone, and to where it was made: through a link, or a
// directory that others enter, it would be somebody else's too.
func TestTheHomeOfALoginIsItsOwn(t *testing.T) {
	each(t, func(f *fixture) {
		made := f.add("work", pluginsdk.AccountLogin, "")
		home := filepath.Join(f.data, "accounts", "work", "claude")
		if made.Home != home || made.Usable || !strings.Contains(made.Reason, "harness account login work") {
			t.Errorf("%+v", made)
		}
		for path := home; path != f.data; path = filepath.Dir(path) {
			if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		f.logIn("work")
		if all := f.list(); !all["work"].Usable || all["work"].Reason != "" {
			t.Errorf("%+v", all["work"])
		}
		if err := os.Chmod(home, 0o755); err != nil { //nolint:gosec // what is tested
			t.Fatal(err)
		}
		_, err := f.Resolve("work")
		f.refused("a home that others enter", err, pluginsdk.CodeUnavailable, "chmod 700")
		if _, err := f.HomeOf(t.Context(), "work"); err != nil { // the next login puts it right
			t.Error(err)
		}
		if _, err := f.Resolve("work"); err != nil {
			t.Error(err)
		}
		elsewhere := t.TempDir()
		if err := os.Rename(filepath.Dir(home), filepath.Join(elsewhere, "work")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(elsewhere, "work"), filepath.Dir(home)); err != nil {
			t.Fatal(err)
		}
		_, err = f.Resolve("work")
		f.refused("a link", err, pluginsdk.CodeUnavailable, "symbolic link")
		_, err = f.HomeOf(t.Context(), "work")
		f.refused("a login through a link", err, pluginsdk.CodeUnavailable, "symbolic link")
		if err := os.Remove(filepath.Dir(home)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(elsewhere, "work"), filepath.Dir(home)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"environment", "nobody"} {
			if _, err := f.HomeOf(t.Context(), name); err == nil {
				t.Errorf("%s has a home", name)
			}
		}
		if err := f.Remove(t.Context(), "ann", "work"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(home, ".credentials.json")); err != nil {
			t.Errorf("the login is gone with its account: %v", err)
		}
	})
}

// People decide by this list which account to use: what it says of a plan, of a day's money
// and of what is usable has to be so.
func TestTheListSaysHowAccountsStand(t *testing.T) {
	each(t, func(f *fixture) {
		f.add("work", pluginsdk.AccountLogin, "")
		f.add("spare", pluginsdk.AccountKey, aKey)
		hour := func(n float64) time.Time { return f.now.Add(time.Duration(n * float64(time.Hour))) }
		for name, state := range map[string]ledger.PlanState{
			"paced":   {PlanWindow: pluginsdk.PlanWindow{Used: 0.6, Status: pluginsdk.PlanAllowed, ResetsAt: hour(3), SeenAt: hour(0)}, FirstUsed: 0.2, FirstSeen: hour(-2)},
			"slow":    {PlanWindow: pluginsdk.PlanWindow{Used: 0.3, Status: pluginsdk.PlanAllowed, ResetsAt: hour(3), SeenAt: hour(0)}, FirstUsed: 0.2, FirstSeen: hour(-2)},
			"full":    {PlanWindow: pluginsdk.PlanWindow{Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: hour(3), SeenAt: hour(0)}, FirstUsed: 0.2, FirstSeen: hour(-2)},
			"new":     {PlanWindow: pluginsdk.PlanWindow{Used: 0.6, Status: pluginsdk.PlanAllowed, ResetsAt: hour(3), SeenAt: hour(0)}, FirstUsed: 0.6, FirstSeen: hour(0)},
			"resting": {PlanWindow: pluginsdk.PlanWindow{Used: 0.6, Status: pluginsdk.PlanAllowed, ResetsAt: hour(3), SeenAt: hour(0)}, FirstUsed: 0.6, FirstSeen: hour(-2)},
			"untold":  {PlanWindow: pluginsdk.PlanWindow{Used: 0.6, Status: pluginsdk.PlanAllowed, SeenAt: hour(0)}, FirstUsed: 0.2, FirstSeen: hour(-2)},
		} {
			state.Account, state.Name = "work", name
			if _, err := f.store.SavePlanWindow(t.Context(), state, true); err != nil {
				t.Fatal(err)
			}
		}
		f.own = false
		all := f.list()
		if env := all[pluginsdk.EnvironmentAccount]; env.Usable || env.Reason == "" || env.Plan || !env.Default || env.Kind != pluginsdk.AccountEnvironment {
			t.Errorf("%+v", env)
		}
		if work := all["work"]; !work.Plan || len(work.Windows) != 6 || work.CreatedAt.IsZero() {
			t.Errorf("%+v", work)
		}
		full := make(map[string]time.Time)
		for _, w := range all["work"].Windows {
			full[w.Name] = w.FullAt.UTC()
		}
		want := map[string]time.Time{"paced": hour(2), "untold": hour(2), "slow": {}, "full": {}, "new": {}, "resting": {}}
		if !maps.EqualFunc(full, want, time.Time.Equal) {
			t.Errorf("full at %v; want %v", full, want)
		}
		if _, err := f.Rights(t.Context(), "x"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Error(err)
		}
		if spare := all["spare"]; spare.Plan || spare.SpentTodayUSD != 0 || !spare.Usable {
			t.Errorf("%+v", spare)
		}
	})
}
