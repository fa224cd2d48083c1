package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/seed-706843ae/harness/core/files"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Below these the data directory's disk is worth a word, or a failure.
const (
	lowDisk  = 1 << 30
	fullDisk = 100 << 20
)

// Check is one thing that Doctor looked at.
type Check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Optional bool   `json:"optional"`         // the installation works without it, in a lesser way
	Detail   string `json:"detail"`           // what was found
	Remedy   string `json:"remedy,omitempty"` // what to do when it is not OK
}

// Doctor looks at what an installation needs, whether its daemon is up or down.
// It makes nothing and changes nothing, and leaves the daemon alone.
func Doctor(ctx context.Context, config Config) []Check {
	found, in := checkDatabase(ctx, config)
	return examine(ctx, config, Running(config), found, in)
}

// seen is what the database has that more is looked at for.
type seen struct {
	plugins  []ledger.Plugin
	accounts []pluginsdk.Account
	waits    []ledger.Waits
	jobs     []string // the names of the scheduled jobs that are on
}

// examine looks at all that can be wrong. found is what was seen of the database, and in what
// it has.
func examine(ctx context.Context, config Config, running bool, found []Check, in seen) []Check {
	rows := in.plugins
	checks := append(checkVariables(), checkAgent(ctx, config, in.accounts)...)
	checks = append(checks, checkAccounts(in.accounts, time.Now())...)
	checks = append(checks, checkAgentTools(config)...)
	checks = append(checks, checkData(config.Data), checkDisk(config.Data))
	checks = append(checks, found...)
	checks = append(checks, checkPort(ctx, config, running, rows))
	checks = append(checks, checkCertificate(config, time.Now())...)
	checks = append(checks, checkPluginDir(config.Plugins))
	for _, row := range rows {
		checks = append(checks, checkPlugin(row, running))
		checks = append(checks, checkPackage(ctx, config, row, running)...)
		checks = append(checks, checkGrants(row)...)
		checks = append(checks, checkSettings(row)...)
		if running {
			checks = append(checks, checkSurroundings(row)...)
			checks = append(checks, checkHooks(row)...)
			checks = append(checks, checkWaits(row, in.waits)...)
		}
	}
	checks = append(checks, checkBudgets(rows, config)...)
	checks = append(checks, checkSchedules(rows, in.jobs)...)
	return append(checks, checkTools(rows, config)...)
}

// Running reports whether the installation's daemon is up: it holds the lock on
// the data directory, wherever its database is, until it ends in whatever way.
// What the lock's file says does not count: a daemon that was killed leaves it
// behind.
func Running(config Config) bool {
	file, err := os.Open(filepath.Join(config.Data, "harness.lock"))
	if err != nil {
		return false
	}
	// Closing gives the shared lock back, and at once: a daemon that starts
	// meanwhile would find it taken.
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func apiAnswers(ctx context.Context, config Config) bool {
	found, err := Probe(ctx, config)
	return err == nil && found.Status == "ok"
}

// checkVariables is silent unless the environment has what looks like a setting and is none.
func checkVariables() (checks []Check) {
	for _, wrong := range Misspelt(os.Environ()) {
		checks = append(checks, Check{
			Name: "settings", Optional: true, Detail: wrong,
			Remedy: "correct its name, or take it away; `harness config` shows what holds",
		})
	}
	return checks
}

// checkAgent asks for the real agent, which auto can do without, and says what is to be
// known of it. It can authenticate with any of the accounts.
func checkAgent(ctx context.Context, config Config, accounts []pluginsdk.Account) []Check {
	check := Check{Name: "agent", OK: true, Optional: config.Agent == "auto"}
	if config.Agent == "demo" {
		check.Detail = "the demo agent answers, as --agent or HARNESS_AGENT asks"
		return []Check{check}
	}
	found := DetectAgent(ctx, config)
	if i := slices.IndexFunc(accounts, func(a pluginsdk.Account) bool { return a.Usable }); found.Found && i >= 0 && !found.CanAuthenticate {
		found.CanAuthenticate, found.Reason = true, "credentials: the account "+accounts[i].Name
	}
	if !found.Usable() {
		check.OK, check.Detail, check.Remedy = false, found.Reason, found.Remedy
		if check.Optional {
			check.Detail += "; until then the demo agent answers"
		}
		return []Check{check}
	}
	check.Detail = strings.TrimSpace("Claude CLI "+found.Version) + " at " + found.Path + "; " + found.Reason
	checks := []Check{check}
	if found.Unverified != "" {
		detail, remedy, _ := strings.Cut(found.Unverified, "; ")
		checks = append(checks, Check{Name: "agent's version", Optional: true, Detail: detail, Remedy: remedy})
	}
	if unknown := invoker.CheckModel(ctx, config.agentSeen()); unknown != nil {
		checks = append(checks, Check{Name: "agent's model", Optional: true, Detail: unknown.Reason, Remedy: unknown.Remedy})
	}
	if config.AgentUnsafe {
		checks = append(checks, Check{
			Name: "agent's trust", Optional: true, Detail: "HARNESS_AGENT_UNSAFE is set: sessions begin also with a Claude CLI into which others may speak, or that does not hold its rules",
			Remedy: "take it away once `harness agent check` finds nothing broken",
		})
	}
	return checks
}

// checkAgentTools is silent unless the sessions of the CLI were seen with tools
// that are new to this version of Harness.
func checkAgentTools(config Config) []Check {
	check := Check{Name: "agent's tools", Optional: true}
	if config.Agent == "demo" {
		return nil
	}
	seen, err := invoker.ReadNewTools(config.agentSeen())
	switch {
	case err != nil:
		check.Detail, check.Remedy = err.Error(), "delete the file; the next session of the agent makes it again"
	case len(seen.Tools) == 0:
		return nil
	default:
		check.Detail = "the Claude CLI " + seen.Version + " has tools that this version of Harness does not know: " + strings.Join(seen.Tools, ", ")
		check.Remedy = "see what each does (https://code.claude.com/docs/en/tools-reference): name in HARNESS_DISALLOWED_TOOLS those that do what Harness does itself " +
			"(schedules, tasks, messages to people), or upgrade Harness; what needs a permission is denied in any case"
	}
	return []Check{check}
}

func checkData(dir string) Check {
	check := Check{Name: "data directory", Remedy: "give the daemon's user the right to write there, or name another directory with --data"}
	existing, err := existingDir(dir)
	if err != nil {
		check.Detail = err.Error()
		return check
	}
	if existing != dir {
		check.OK = unix.Access(existing, unix.W_OK|unix.X_OK) == nil
		check.Detail = dir + " does not exist yet; `harness up` makes it"
		if !check.OK {
			check.Detail = dir + " does not exist and cannot be made: " + existing + " is not writable"
		}
		return check
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		check.Detail = err.Error()
		return check
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	check.OK, check.Detail = err == nil, dir+" is writable"
	if err != nil {
		check.Detail = err.Error()
	}
	return check
}

// existingDir is dir, or the nearest directory above it that exists.
func existingDir(dir string) (string, error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return dir, nil
	case err == nil:
		return "", fmt.Errorf("%s is not a directory", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return existingDir(filepath.Dir(absolute))
}

func checkDisk(dir string) Check {
	check := Check{Name: "disk space", Remedy: "free some space, or move the data directory to a larger disk (--data)"}
	existing, err := existingDir(dir)
	if err != nil {
		check.Detail = err.Error()
		return check
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(existing, &disk); err != nil {
		check.Detail = fmt.Sprintf("look at the disk of %s: %s", existing, err)
		return check
	}
	free := disk.Bavail * uint64(disk.Bsize) //nolint:gosec // a block's size is positive
	check.OK, check.Optional = free >= lowDisk, free >= fullDisk
	check.Detail = humanize.IBytes(free) + " free for the data directory"
	return check
}

// serversOf names the plugins that are to serve the API (they are granted to know where
// to listen), and reports whether one of them
// is enabled.
func serversOf(rows []ledger.Plugin) (names string, on bool) {
	var servers []string
	for _, row := range rows {
		if slices.Contains(row.GrantedEnv, addressVariable) {
			servers, on = append(servers, row.Name), on || row.Enabled
		}
	}
	return strings.Join(servers, ", "), on
}

// checkPort wants the port free, or held by this installation's own daemon.
func checkPort(ctx context.Context, config Config, running bool, rows []ledger.Plugin) Check {
	servers, on := serversOf(rows)
	check := Check{Name: "port", Remedy: "stop what holds it, or choose another port with --port or PORT"}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", config.address())
	switch {
	case err == nil && running && servers != "" && !on:
		_ = listener.Close()
		check.OK, check.Detail = true, "nothing listens on "+config.address()+": what serves there is disabled ("+servers+")"
	case err == nil && running:
		_ = listener.Close()
		check.Detail = "the daemon runs, but nothing listens on " + config.address()
		check.Remedy = "see the line of the plugin " + cmp.Or(servers, "web") + " below; if the daemon was started with another port, give doctor the same --port"
	case err == nil:
		_ = listener.Close()
		check.OK, check.Detail = true, config.address()+" is free"
	case !errors.Is(err, unix.EADDRINUSE):
		check.Detail = err.Error()
	case !apiAnswers(ctx, config):
		check.Detail = config.address() + " is held by a program that is not Harness, or does not answer"
	case !running:
		check.Detail = config.address() + " is held by the daemon of another data directory"
	default:
		check.OK, check.Detail = true, config.address()+" is held by the daemon, which answers"
	}
	return check
}

// OpenExisting opens the installation's database for a command that works on
// its rows. It makes nothing and does not migrate: a database that is not there,
// or whose schema is not this program's, is refused with what to do.
func OpenExisting(ctx context.Context, config Config) (*store.Store, error) {
	return openExisting(ctx, config, store.SchemaCurrent)
}

// OpenAsItIs is OpenExisting for commands that look at the schema itself, or
// save it: its version does not matter.
func OpenAsItIs(ctx context.Context, config Config) (*store.Store, error) {
	return openExisting(ctx, config, store.SchemaAny)
}

// OpenStore opens the database as the daemon does, without the daemon's lock:
// it makes what is not there and brings the schema up to date.
func OpenStore(ctx context.Context, config Config) (*store.Store, error) {
	return store.Open(ctx, config.storeConfig())
}

func openExisting(ctx context.Context, config Config, schema store.SchemaPolicy) (*store.Store, error) {
	settings := config.storeConfig()
	settings.Schema = schema
	return store.Open(ctx, settings)
}

func (c Config) storeConfig() store.Config {
	return store.Config{URL: c.DatabaseURL, Dir: c.Data, Log: c.Log, Trace: c.Trace, Now: c.Now, Carriers: shipped.Plugins.Names()}
}

const damagedRemedy = "stop the daemon and restore a backup; see \"When the database is damaged\" in docs/operating.md"

// checkDatabase also returns what the database has.
func checkDatabase(ctx context.Context, config Config) ([]Check, seen) {
	check := Check{Name: "database", Remedy: "see \"When the database cannot be opened\" in docs/operating.md"}
	if err := checkEmptied(config); err != nil {
		check.Detail, check.Remedy = err.Error(), "see \"When the database is gone\" in docs/operating.md"
		return []Check{check}, seen{}
	}
	database, err := OpenExisting(ctx, config)
	if store.Damaged(err) {
		check.Remedy = damagedRemedy
	}
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		check.OK, check.Detail = true, "there is none yet in "+config.Data+"; `harness up` makes it"
		return []Check{check}, seen{}
	}
	if err != nil {
		check.Detail = err.Error()
		return []Check{check}, seen{}
	}
	defer database.Close()
	return examineDatabase(ctx, config, database)
}

// examineDatabase is checkDatabase of one that is open.
func examineDatabase(ctx context.Context, config Config, database *store.Store) ([]Check, seen) {
	check := Check{Name: "database", Detail: database.Describe() + "; ", Remedy: "see \"When the database cannot be opened\" in docs/operating.md"}
	rows, err := database.Plugins(ctx)
	if err != nil {
		check.Detail += err.Error()
		if store.Damaged(err) {
			check.Remedy = damagedRemedy
		}
		return []Check{check}, seen{}
	}
	accounts, err := NewAccounts(config, database).List(ctx)
	if err != nil {
		check.Detail += err.Error()
		return []Check{check}, seen{}
	}
	problems, err := database.Integrity(ctx)
	switch {
	case err != nil:
		check.Detail += err.Error()
		if store.Damaged(err) {
			check.Remedy = damagedRemedy
		}
	case len(problems) > 0:
		check.Detail += fmt.Sprintf("%d faults in the data, the first: %s", len(problems), problems[0])
		check.Remedy = damagedRemedy
	default:
		check.OK = true
		check.Detail += "schema current, no faults"
	}
	waits, err := database.Waits(ctx)
	if err != nil {
		check.OK, check.Detail = false, check.Detail+"; "+err.Error()
	}
	jobs, err := jobsOn(ctx, database)
	if err != nil {
		check.OK, check.Detail = false, check.Detail+"; "+err.Error()
	}
	return slices.Concat([]Check{check}, checkSecrets(ctx, config, database), checkFiles(ctx, config, database), checkIndex(ctx, database), checkUsage(ctx, database), checkPrices(ctx, config, database, time.Now()), checkStarters(ctx, config, database), checkPause(ctx, database), checkWaiting(ctx, database), checkDeliveries(ctx, database), checkStored(ctx, database, rows), checkOff(ctx, database)), seen{rows, accounts, waits, jobs}
}

// jobsOn are the names of the scheduled jobs that are on.
func jobsOn(ctx context.Context, database *store.Store) (names []string, err error) {
	jobs, err := database.Crons(ctx)
	for _, job := range jobs {
		if job.Enabled {
			names = append(names, job.Spec.Name)
		}
	}
	slices.Sort(names)
	return names, err
}

// checkFiles reads the bytes of all files. It is silent when there are none.
func checkFiles(ctx context.Context, config Config, database *store.Store) []Check {
	check := Check{Name: "files"}
	found, err := files.Inspect(ctx, config.files(), database)
	switch {
	case err != nil:
		check.Detail, check.Remedy = err.Error(), "see that the daemon's user can read "+config.files()
	case len(found.Problems) > 0:
		check.Detail = fmt.Sprintf("%d of %d files on disk are missing or damaged, the first: %s", len(found.Problems), found.Count, found.Problems[0])
		check.Remedy = "send them again (the same bytes take their place), restore a backup, or delete the files: harness file list, harness file delete"
	case found.Count == 0:
		return nil
	default:
		check.OK, check.Detail = true, fmt.Sprintf("%d on disk, %s, none missing or damaged", found.Count, humanize.IBytes(uint64(max(found.Bytes, 0)))) //nolint:gosec // not negative
	}
	return []Check{check}
}

// checkIndex says how far the search index is, and is silent when it has everything.
func checkIndex(ctx context.Context, database *store.Store) []Check {
	check := Check{Name: "search index", Optional: true, Remedy: "`harness db reindex` makes it anew"}
	behind, problems, err := database.IndexIntegrity(ctx)
	switch {
	case err != nil:
		check.Detail = err.Error()
	case len(problems) > 0:
		check.Detail = strings.Join(problems, "; ")
	case behind == 0:
		return nil
	default:
		check.OK, check.Remedy = true, ""
		check.Detail = humanize.Comma(behind) + " messages are not in it yet; the running daemon adds them, and until then the newest of them are found"
	}
	return []Check{check}
}

// checkUsage says how far usage is rolled up, and is silent when that is far enough.
func checkUsage(ctx context.Context, database *store.Store) []Check {
	check := Check{Name: "usage", Optional: true, Remedy: "`harness db rollup` makes the sums anew"}
	problems, err := database.UsageIntegrity(ctx)
	if err == nil && len(problems) == 0 {
		return nil
	}
	if check.Detail = strings.Join(problems, "; "); err != nil {
		check.Detail = err.Error()
	}
	return []Check{check}
}

// checkSecrets is silent when no plugin has secrets. All are sealed under one key, so that
// one of them tells whether it is there.
func checkSecrets(ctx context.Context, config Config, database *store.Store) []Check {
	check := Check{Name: "secrets", Remedy: "see \"Settings and secrets\" in docs/operating.md: plugins with secrets do not start without the key"}
	plugin, name, sealed, err := database.SomeSecret(ctx)
	if err == nil && sealed == nil {
		return nil
	}
	if err == nil {
		_, err = config.vault().Open(plugin, name, sealed)
	}
	check.OK, check.Detail = err == nil, "the key opens them"
	if err != nil {
		check.Detail = err.Error()
	}
	return []Check{check}
}

// nearlyFull is how much of what it may have stored in all a plugin has when it is worth
// a word, in percent.
const nearlyFull = 80

// checkStored is silent about plugins that have room for what they store.
func checkStored(ctx context.Context, database *store.Store, rows []ledger.Plugin) (checks []Check) {
	for _, row := range rows {
		limit := cmp.Or(pluginhost.Quotas(row.PluginInfo).StoredBytes, hostapi.DefaultStoredBytes)
		if limit < 0 {
			continue
		}
		stored, err := database.StoredBytes(ctx, row.Name)
		if err != nil || stored < limit/100*nearlyFull {
			continue // a database that cannot be read has a line of its own
		}
		check := Check{
			Name: "what " + row.Name + " has stored", Optional: true,
			Detail: fmt.Sprintf("%s of the %s that it may in all", humanize.IBytes(uint64(stored)), humanize.IBytes(uint64(limit))), //nolint:gosec // not negative
			Remedy: "`harness plugin limits " + row.Name + " --stored N` allows it more; HARNESS_RETENTION_DAYS has old records and metrics deleted each day",
		}
		if stored >= limit {
			check.Detail += ": what else it stores is refused"
		}
		checks = append(checks, check)
	}
	return checks
}

// checkPause is silent unless an operator has paused what plugins start.
func checkPause(ctx context.Context, database *store.Store) []Check {
	lever, err := database.Lever(ctx, ledger.LeverPause)
	if err != nil || !lever.On {
		return nil
	}
	return []Check{{
		Name: "paused", Optional: true, Remedy: "`harness resume` when it is to go on",
		Detail: fmt.Sprintf("nothing that a plugin starts is begun, by the word of %s, since %s", lever.Who, lever.At.Local().Format(time.DateTime)),
	}}
}

// checkWaiting is silent unless runs wait for a budget, or for what else a plugin's gate has them wait.
func checkWaiting(ctx context.Context, database *store.Store) []Check {
	counts, err := database.ParkedCounts(ctx)
	if err != nil {
		return nil // the line of the database says so
	}
	var parts []string
	for _, one := range counts {
		if one.Plugin != "" {
			parts = append(parts, waitingWords(one))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []Check{{
		Name: "waiting for budgets", Optional: true, Detail: strings.Join(parts, "; "),
		Remedy: "`harness plan` lists them; raise the budget (`harness budget set NAME AMOUNT`, in the unit that it has), or wait until it is free again",
	}}
}

// waitingWords say how many runs wait for a budget, or a plugin, how many messages wait behind them, and until when.
func waitingWords(one ledger.ParkedCount) string {
	words, verb := counted(one.Runs, "run"), "waits"
	if one.Behind > 0 {
		words += fmt.Sprintf(" and %s behind %s", counted(one.Behind, "message"), map[bool]string{true: "it", false: "them"}[one.Runs == 1])
	}
	if one.Runs+one.Behind > 1 {
		verb = "wait"
	}
	what := "the budget " + one.Budget
	if one.Budget == "" {
		what = "the plugin " + one.Plugin
	}
	words += " " + verb + " for " + what
	if !one.Until.IsZero() {
		words += " until " + one.Until.UTC().Format("2 January 15:04 MST")
	}
	return words
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkDeliveries is silent unless something did not reach its people.
func checkDeliveries(ctx context.Context, database *store.Store) []Check {
	check := Check{Name: "deliveries", Optional: true}
	dead, err := database.DeadDeliveries(ctx)
	switch {
	case err != nil:
		check.Detail, check.Remedy = err.Error(), "see the line of the database"
	case dead == 0:
		return nil
	default:
		check.Detail = fmt.Sprintf("given up, so that somebody has not got what they carry: %d", dead)
		check.Remedy = "`harness delivery list --state dead` says why; `harness delivery retry ID` tries one again"
	}
	return []Check{check}
}
