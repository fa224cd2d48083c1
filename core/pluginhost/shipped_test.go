package pluginhost

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// upgrade is the next start of the daemon, with the plugins of a release.
func upgrade(t *testing.T, h *Host, release shipped.Table) {
	t.Helper()
	h.shipped = release
	if err := h.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// released is a release that ships the plugin first, in so many versions of its grants.
func released(versions int) shipped.Table {
	all := []shipped.Grants{
		{Since: 1, Capabilities: []pluginsdk.Capability{"a", "b"}, Env: []string{"A"}},
		{Since: 2, Capabilities: []pluginsdk.Capability{"c"}},
		{Since: 3, Capabilities: []pluginsdk.Capability{"b", "d"}, Env: []string{"A", "B"}}, // names again what it had
	}
	return shipped.Table{{Name: "other"}, {Name: "first", Grants: all[:versions]}}
}

func has(t *testing.T, row ledger.Plugin, granted, env string, version int) {
	t.Helper()
	if got := listed(row.Granted); got != granted || listed(row.GrantedEnv) != env || row.GrantsVersion != version {
		t.Errorf("granted %s; %s; version %d; want %s; %s; %d", got, listed(row.GrantedEnv), row.GrantsVersion, granted, env, version)
	}
}

// registered is a host whose directory has the plugin first, with a row as it was
// before.
func registered(t *testing.T, before ...ledger.Plugin) (*Host, *registry) {
	t.Helper()
	h, r := start(t, "first")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.audit = before, nil
	return h, r
}

func TestANewInstallationHasTheGrantsOfAllVersions(t *testing.T) {
	h, r := registered(t)
	upgrade(t, h, released(2))
	row := r.row("first")
	has(t, row, "a, b, c", "A", 2)
	if !row.Enabled || row.Position != 20 || len(r.audit) != 0 {
		t.Errorf("%+v; audit %q", row, r.audit)
	}
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, b, c", "A", 2)
	if len(r.audit) != 0 {
		t.Errorf("audit of the second start: %q", r.audit)
	}
}

// old is a row of the release before there were versions, with what was left of its
// grants.
func old(h *Host, r *registry, granted ...pluginsdk.Capability) {
	row := h.found("first", h.config.Dir+"/first", 10)
	row.Granted, row.GrantedEnv, row.GrantsVersion = granted, []string{"A"}, 0
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = []ledger.Plugin{row}
}

func TestAnUpgradeGrantsWhatItHasAdded(t *testing.T) {
	h, r := registered(t)
	old(h, r, "a", "b")
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, b, c", "A", 2)
	noted := slices.DeleteFunc(slices.Clone(r.audit), func(line string) bool { return !strings.Contains(line, "plugin.grant") })
	if len(noted) != 1 || noted[0] != "daemon plugin.grant first this release (grants 2) needs: c" {
		t.Errorf("audit: %q", noted)
	}
}

// A right that an operator took away must not come back with an upgrade.
func TestAnUpgradeGivesNothingBack(t *testing.T) {
	for name, left := range map[string][]pluginsdk.Capability{"some": {"a"}, "all": nil} {
		t.Run(name, func(t *testing.T) {
			h, r := registered(t)
			old(h, r, left...)
			upgrade(t, h, released(2))
			has(t, r.row("first"), listed(append(slices.Clone(left), "c")), "A", 2)

			_ = r.edit("first", func(p *ledger.Plugin) { p.Granted = left })
			upgrade(t, h, released(2)) // only another start
			has(t, r.row("first"), listed(left), "A", 2)
			upgrade(t, h, released(3))
			has(t, r.row("first"), listed(append(slices.Clone(left), "d")), "A, B", 3)
		})
	}
}

func TestTwoUpgradesAtOnceAndOneAfterTheOther(t *testing.T) {
	h, r := registered(t)
	old(h, r, "a", "b")
	upgrade(t, h, released(2))
	upgrade(t, h, released(3))
	has(t, r.row("first"), "a, b, c, d", "A, B", 3)
	old(h, r, "a", "b")
	upgrade(t, h, released(3))
	has(t, r.row("first"), "a, b, c, d", "A, B", 3)
	upgrade(t, h, released(2)) // back to the release before
	has(t, r.row("first"), "a, b, c, d", "A, B", 3)
}

// What was granted by hand before the release asked for it is the operator's to take.
func TestAGrantThatIsThereAlreadyIsNotGivenAgain(t *testing.T) {
	h, r := registered(t)
	old(h, r, "a", "b", "c")
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, b, c", "A", 2)
	_ = r.edit("first", func(p *ledger.Plugin) { p.Granted = p.Granted[:2] })
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, b", "A", 2)
}

// A row that was broken by hand is the operator's to mend: nothing is written over it.
func TestABrokenRowIsGrantedNothing(t *testing.T) {
	h, r := registered(t)
	old(h, r)
	_ = r.edit("first", func(p *ledger.Plugin) { p.Problem = "granted: not JSON" })
	upgrade(t, h, released(2))
	has(t, r.row("first"), "", "A", 0)
	_ = r.edit("first", func(p *ledger.Plugin) { p.Problem, p.Granted = "", []pluginsdk.Capability{"a"} })
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, c", "A", 2)
}

// Rows of before there were origins lack what came between then and now, and would not
// work. They get all of it, once: what an operator takes from then on stays taken.
func TestARowWithoutAnOriginHasNoVersion(t *testing.T) {
	h, r := registered(t)
	old(h, r, "a")
	_ = r.edit("first", func(p *ledger.Plugin) { p.Origin, p.GrantedEnv = "", nil })
	upgrade(t, h, released(2))
	has(t, r.row("first"), "a, b, c", "A", 2)
	_ = r.edit("first", func(p *ledger.Plugin) { p.Granted, p.GrantedEnv = p.Granted[:1], nil })
	upgrade(t, h, released(3))
	has(t, r.row("first"), "a, d", "B", 3)
}

// A compiler is no fault of the plugin that runs it: it would be ended, and after the fifth
// time in quarantine. A plugin that only has the name gets what any plugin gets.
func TestWhatRunsProjectsProgramsHasRoomForThem(t *testing.T) {
	h, _ := registered(t)
	h.shipped = shipped.Table{{Name: "validation"}}
	limits := limitsOf(h.found("validation", "", 10).Limits, DefaultLimits())
	if limits.MemoryBytes != 0 || limits.Processes != 0 || limits.OpenFiles != 0 {
		t.Errorf("validation may use %+v", limits)
	}
	if other := h.found("worktree", "", 20).Limits; other != (pluginsdk.PluginLimits{}) {
		t.Errorf("one that is not shipped may use %+v", other)
	}
}

// A recorder that has stored what it may in all would be silent from then on. What comes
// with Harness is for retention to bound; whoever takes its name is not.
func TestWhatComesWithHarnessMayStoreAnyAmount(t *testing.T) {
	for name, row := range map[string]struct {
		info pluginsdk.PluginInfo
		want int64
	}{
		"shipped":           {pluginsdk.PluginInfo{Name: "activity", Origin: pluginsdk.OriginDirectory}, -1},
		"shipped, with one": {pluginsdk.PluginInfo{Name: "activity", Origin: pluginsdk.OriginDirectory, Limits: pluginsdk.PluginLimits{StoredBytes: 7}}, 7},
		"of its name":       {pluginsdk.PluginInfo{Name: "activity", Origin: pluginsdk.OriginStore}, 0},
		"another":           {pluginsdk.PluginInfo{Name: "greeter", Origin: pluginsdk.OriginDirectory}, 0},
	} {
		if got := Quotas(row.info).StoredBytes; got != row.want {
			t.Errorf("%s: %d bytes in all, want %d", name, got, row.want)
		}
	}
}

// What the version before has asked for says nothing of what a new one needs: what the
// daemon itself provides is there at its first start.
func TestWhatTheDaemonProvidesNeedsTheGrantAlone(t *testing.T) {
	t.Setenv("TOKEN_OF_OURS", "hunter2")
	h := New(Config{Provide: map[string]string{"HARNESS_VERSION": "v9"}}, newRegistry(), &bus{}, nobody{})
	row := rowOf("first")
	row.Manifest.Name, row.GrantedEnv = "first", []string{"HARNESS_VERSION", "TOKEN_OF_OURS"}
	got := strings.Join(h.environment(row), " ")
	if !strings.Contains(got, "HARNESS_VERSION=v9") || strings.Contains(got, "hunter2") {
		t.Errorf("its environment is %s", got)
	}
}

// A token that stands in the settings file reaches the plugin that asks for it and was granted
// it, and no other; one in the environment is the one that is meant.
func TestVariablesOfTheSettingsFile(t *testing.T) {
	t.Setenv("TOKEN_IN_BOTH", "environment's")
	file := map[string]string{"TOKEN_IN_BOTH": "file's", "TOKEN_IN_FILE": "file's", "TOKEN_NOT_ASKED_FOR": "file's", "TOKEN_NOT_GRANTED": "file's", "DATABASE_URL": "file's"}
	h := New(Config{Variables: file}, newRegistry(), &bus{}, nobody{})
	row := rowOf("first")
	row.Manifest.Name, row.GrantedEnv = "first", []string{"TOKEN_IN_BOTH", "TOKEN_IN_FILE", "TOKEN_NOT_ASKED_FOR", "TOKEN_NOWHERE", "DATABASE_URL"}
	for _, name := range []string{"TOKEN_IN_BOTH", "TOKEN_IN_FILE", "TOKEN_NOT_GRANTED", "TOKEN_NOWHERE", "DATABASE_URL"} {
		row.Manifest.Environment = append(row.Manifest.Environment, pluginsdk.EnvironmentRequest{Name: name})
	}
	var got []string
	for _, entry := range h.environment(row) {
		if strings.HasPrefix(entry, "TOKEN_") || strings.HasPrefix(entry, "DATABASE") {
			got = append(got, entry)
		}
	}
	if want := []string{"TOKEN_IN_BOTH=environment's", "TOKEN_IN_FILE=file's"}; !slices.Equal(got, want) {
		t.Errorf("it is given %q, want %q", got, want)
	}
}
