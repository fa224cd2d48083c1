package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/coretest/ports"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

// world is everything that one campaign takes place in.
type world struct {
	dir        string // of this campaign; data/, plugins/, courier/ are in it
	seed       uint64
	threads    int
	url        string // of the HTTP API
	agents     bool   // there is a real agent
	courierDir string
	plugins    []string // names

	http     *http.Client
	database *database
	model    *model
	discord  *community
	daemon   *daemon
	killer   *killer // who writes down what was struck

	accepted atomic.Int64 // messages
	hired    atomic.Int64 // jobs of the courier
	progress atomic.Int64 // anything that went forward
	mark     atomic.Pointer[string]

	tokens  sync.Mutex
	secrets map[string]string // of persons' tokens, by their names

	diary *os.File // what was done, for a look
}

// clientPatience is how long a client waits for an answer before it tries
// again.
const clientPatience = 15 * time.Second

// newWorld makes the directories, the database and the model. Close must be
// called when it succeeds.
func newWorld(ctx context.Context, o options, name string) (w *world, err error) {
	w = &world{seed: o.seed, threads: o.threads, agents: o.claude != "", secrets: make(map[string]string), http: &http.Client{
		Timeout: clientPatience, Transport: owner.Transport{Next: &http.Transport{MaxIdleConnsPerHost: o.threads}},
	}}
	if w.dir, err = os.MkdirTemp("", "harness-chaos-"+name+"-"); err != nil {
		return nil, err
	}
	if w.dir, err = filepath.EvalSymlinks(w.dir); err != nil { // as /proc names it
		return nil, err
	}
	w.courierDir = filepath.Join(w.dir, "courier")
	if err := errors.Join(os.Mkdir(w.data(), 0o700), os.Mkdir(w.home(), 0o700), courier.Prepare(w.courierDir)); err != nil {
		return nil, err
	}
	if w.diary, err = os.Create(filepath.Join(w.dir, "diary.log")); err != nil {
		return nil, err
	}
	rules, err := script(o)
	if err := errors.Join(err, os.WriteFile(w.script(), rules, 0o600), w.install(o.bin)); err != nil {
		return nil, errors.Join(err, w.diary.Close())
	}
	if w.database, err = openDatabase(ctx, name, w.data(), o.postgres); err != nil {
		return nil, errors.Join(err, w.diary.Close())
	}
	if w.model, err = startModel(filepath.Join(w.dir, "deeds.log"), func() { w.progress.Add(1) }); err != nil {
		return nil, errors.Join(err, w.database.close(), w.diary.Close())
	}
	if w.discord, err = startDiscord(ctx, o.seed); err != nil {
		return nil, errors.Join(err, w.close())
	}
	port, err := ports.Free()
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	w.url = "http://127.0.0.1:" + strconv.Itoa(port)
	owner.Know(w.url, filepath.Join(w.data(), "owner.token"))
	w.daemon = newDaemon(w.dir, filepath.Join(w.dir, "harness"), w.url, []string{
		"up", "--data", w.data(), "--port", strconv.Itoa(port), "--plugins", filepath.Join(w.dir, "plugins"),
	}, w.environment(o))
	return w, nil
}

func (w *world) data() string { return filepath.Join(w.dir, "data") }
func (w *world) home() string { return filepath.Join(w.dir, "home") }

// script is where the demo agent's lies.
func (w *world) script() string { return filepath.Join(w.dir, "script.json") }

// environment is the daemon's: kills must not use up the attempts, nor
// recovery wait for long.
func (w *world) environment(o options) []string {
	env := append([]string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "DATABASE_URL=" + w.database.url,
		"HARNESS_AGENT=demo", "HARNESS_AGENTS=" + strconv.Itoa(places), "HARNESS_MAX_ATTEMPTS=100", "HARNESS_RETRY_BASE=50ms",
		"HARNESS_RETRY_MAX=2s", "HARNESS_DELIVERY_ATTEMPTS=1000", "HARNESS_DELIVERY_RETRY_MAX=2s", "HARNESS_HOOK_DEADLINES=Deliver=1s", "HARNESS_PLUGIN_BACKOFF=50ms", "HARNESS_HOOK_GRACE=1s", "HARNESS_DRAIN_GRACE=5s",
		"HARNESS_SILENCE_TIMEOUT=30s", "HARNESS_ALLOWED_TOOLS=Bash(sleep:*)",
		"HARNESS_APPROVAL_PARK=" + parkAfter.String(), "HARNESS_PLAN_SPREAD=" + planSpread.String(),
	}, fakeapi.EnvLogin(w.model.api.URL(), w.home())...)
	if w.agents {
		return append(env, "HARNESS_AGENT=claude", "HARNESS_CLAUDE="+o.claude)
	}
	return append(env, "HARNESS_DEMO_SCRIPT="+w.script())
}

// pluginsProgram is the program of the shipped plugins, to which they are links.
const pluginsProgram = "harness-plugins"

// install copies the binaries, so that a build beside us changes nothing, and
// puts this program among the plugins as the courier.
func (w *world) install(bin string) error {
	plugins := filepath.Join(w.dir, "plugins")
	if err := os.Mkdir(plugins, 0o700); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(bin, "harness"), filepath.Join(w.dir, "harness")); err != nil {
		return fmt.Errorf("%w (make build)", err)
	}
	entries, err := os.ReadDir(filepath.Join(bin, "plugins"))
	if err != nil {
		return fmt.Errorf("%w (make build)", err)
	}
	if err := copyFile(filepath.Join(bin, pluginsProgram), filepath.Join(w.dir, pluginsProgram)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		from, to := filepath.Join(bin, "plugins", entry.Name()), filepath.Join(plugins, entry.Name())
		if target, err := os.Readlink(from); err == nil && target == filepath.Join("..", pluginsProgram) {
			err = os.Symlink(target, to)
			if err != nil {
				return err
			}
		} else if err := copyFile(from, to); err != nil { // make plugins
			return err
		}
		w.plugins = append(w.plugins, entry.Name())
	}
	w.plugins = append(w.plugins, courier.Name)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return copyFile(self, filepath.Join(plugins, courier.Name))
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// start brings the daemon up with the courier at work.
func (w *world) start(ctx context.Context) error {
	if err := w.daemon.start(ctx); err != nil {
		return err
	}
	settings, err := json.Marshal(courier.Settings{Dir: w.courierDir, Seed: w.seed})
	if err != nil {
		return err
	}
	granted, err := json.Marshal(courier.Grants())
	if err != nil {
		return err
	}
	if err := w.database.enable(ctx, courier.Name, string(settings), string(granted)); err != nil {
		return err
	}
	// Every run of the campaign is one that the courier has seen.
	return w.database.await(ctx, courier.Name, "serving")
}

// processes returns those of the installation, by its mark or by where they
// are. The mark is not known before the first daemon has made it.
func (w *world) processes() []process {
	if w.mark.Load() == nil {
		if id, err := os.ReadFile(filepath.Join(w.data(), "installation-id")); err == nil {
			mark := "HARNESS_OWNER=" + strings.TrimSpace(string(id))
			w.mark.Store(&mark)
		}
	}
	mark := ""
	if known := w.mark.Load(); known != nil {
		mark = *known
	}
	return processesOf(mark, w.dir)
}

// note writes a line into the diary.
func (w *world) note(format string, args ...any) {
	fmt.Fprintf(w.diary, time.Now().Format("15:04:05.000 ")+format+"\n", args...)
}

// close gives everything back but the directory.
func (w *world) close() error {
	var ended error
	if w.discord != nil {
		ended = w.discord.close()
	}
	return errors.Join(ended, w.model.api.Close(), w.database.close(), w.diary.Close())
}
