package daemon_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Secrets of a plugin that does its worst are nowhere but in that plugin: not in
// logs, events, answers of the API, the list of processes, environments, the
// database, the data directory, backups and exports.
func TestSecretsAreNowhereElse(t *testing.T) {
	t.Parallel()
	program := buildHarness(t)
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), leakyName)
		h := &hunt{installation: in, program: program, decoy: "decoy" + rand.Text(), places: map[string]string{}}
		stop := in.start()
		frames := in.record()
		rows := in.database()
		if err := errors.Join(rows.SetPluginGrants(t.Context(), leakyName, withHooks(), nil), rows.SetPluginEnabled(t.Context(), leakyName, true)); err != nil {
			t.Fatal(err)
		}
		in.until("the first start of the plugin", func() bool { return plugin(t, in.database(), leakyName).State == pluginsdk.PluginServing })

		h.setThem()
		h.doItsWorst()
		h.setThem() // others, while it runs
		h.doItsWorst()

		h.processes()
		h.api()
		h.files("while it runs")
		h.backup()
		h.export()
		stop()
		h.note("events", frames())
		h.note("log of the daemon", in.log.String())
		h.files("after the stop")
		h.judge()
	})
}

// buildHarness builds the command line.
func buildHarness(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := programs.Build(dir, "core/cmd/harness"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "harness")
}

// hunt collects what an installation shows of itself, and looks for secrets in
// it.
type hunt struct {
	*installation
	program string
	secrets []string
	decoy   string            // a setting that is no secret: what finds it would find a secret
	places  map[string]string // what was seen, by where
	round   int
}

func (h *hunt) note(place, text string) { h.places[place] += text + "\n" }

// secret makes one with what is written otherwise in JSON and in URLs around
// what is looked for.
func (h *hunt) secret() string {
	core := "canary" + rand.Text()
	h.secrets = append(h.secrets, core)
	return "\"<&/+ %\\" + core + "\u00e9\t"
}

// aside starts a command that has lost its parent before it begins, so that it is not below
// this process, which is the daemon: a person's is not either. It prints the command's number.
const aside = `exec 3<&0; ( read -r go; exec "$0" "$@" 2>&1 ) <&3 >&2 & echo $!`

// harness runs a command line, and looks at what it shows to others. That the plugin
// refuses its settings, with all that it was given in its words, is part of its worst.
func (h *hunt) harness(stdin string, args ...string) {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "/bin/sh", append([]string{"-c", aside, h.program, "--data", h.config.Data}, args...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+h.config.DatabaseURL)
	in, feed, err := os.Pipe()
	said, says, wrong := os.Pipe()
	if err := errors.Join(err, wrong); err != nil {
		h.t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdin, cmd.Stderr = in, says
	pid, err := cmd.Output()
	_, _ = in.Close(), says.Close()
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = io.WriteString(feed, "go\n")
	h.process(strings.TrimSpace(string(pid))) // it waits for its input
	if _, wrong := io.WriteString(feed, stdin); errors.Join(err, wrong) != nil {
		h.t.Error(err, wrong)
	}
	_ = feed.Close()
	output, err := io.ReadAll(said)
	text := string(output)
	if err != nil || strings.HasPrefix(text, "harness: ") && !strings.Contains(text, ledger.SettingsRefused) {
		h.t.Fatalf("harness %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	h.note("what commands print", text)
}

// setThem sets a secret by the command line and one by the API, and waits until
// the plugin has them.
func (h *hunt) setThem() {
	h.t.Helper()
	token, password := h.secret(), h.secret()
	h.harness(token+"\n", "plugin", "settings", "set", leakyName, "token", "decoy="+h.decoy)
	var answer json.RawMessage
	change := map[string]any{"values": map[string]string{"password": password}}
	if status := h.call(http.MethodPatch, "/api/plugins/"+leakyName+"/settings", change, &answer); status != http.StatusOK {
		h.t.Fatalf("PATCH: %d %s", status, answer)
	}
	h.note("answers of the API", string(answer))
	given := filepath.Join(h.config.Plugins, "given.txt")
	h.until("the plugin's having its secrets", func() bool {
		content, err := os.ReadFile(given)
		return err == nil && string(content) == digest(token)+" "+digest(password)
	})
	h.harness("", "plugin", "settings", leakyName)
	h.setAccounts()
}

// setAccounts adds an account with a key by the command line, or sets another key, and somebody
// logs in to another account.
func (h *hunt) setAccounts() {
	h.t.Helper()
	key, login := "canary"+rand.Text(), "canary"+rand.Text()
	h.secrets = append(h.secrets, key, login)
	room := daemon.NewAccounts(h.config, h.database())
	if h.round == 0 {
		h.harness(key+"\n", "account", "add", "spare", "--key")
		if _, err := room.Add(h.t.Context(), "operator", pluginsdk.AddAccountRequest{Name: "work", Kind: pluginsdk.AccountLogin}); err != nil {
			h.t.Fatal(err)
		}
	} else {
		h.harness(key+"\n", "account", "set", "spare", "--key", "--limit", "5")
	}
	home, err := room.HomeOf(h.t.Context(), "work")
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".credentials.json"), []byte(`{"claudeAiOauth":{"accessToken":"`+login+`"}}`), 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if resolved, err := room.Resolve("spare"); err != nil || resolved.Env[0] != "ANTHROPIC_API_KEY="+key {
		h.t.Errorf("the key is not kept: %v", err)
	}
	h.harness("", "account", "list", "--json")
	h.harness("", "audit")
}

// doItsWorst has the plugin spill its secrets in every way it knows.
func (h *hunt) doItsWorst() {
	h.t.Helper()
	h.round++
	watch, thread := h.watch(), h.thread(fmt.Sprintf("spilled %d", h.round))
	for _, words := range []string{
		"hello", "error in OnMessage", "panic in OnMessage", "error in OnBeforeInvoke", "panic in OnBeforeInvoke",
		"error in OnBeforeRun", "panic in OnBeforeRun", "/spill it",
	} {
		h.say(watch, thread, words+" "+h.decoy)
	}
	registry := h.database()
	serving := func(state pluginsdk.PluginState) func() bool {
		return func() bool { return plugin(h.t, registry, leakyName).State == state }
	}
	for _, end := range []string{"crash in OnMessage", "exit in OnMessage"} {
		restarts := plugin(h.t, registry, leakyName).Restarts
		h.say(watch, thread, end)
		h.until("the end of the plugin", func() bool {
			row := plugin(h.t, registry, leakyName)
			h.note("last words of the plugin", row.LastError)
			return row.Restarts > restarts
		})
		h.until("the plugin's return", serving(pluginsdk.PluginServing))
	}
	for _, enabled := range []bool{false, true} {
		if err := registry.SetPluginEnabled(h.t.Context(), leakyName, enabled); err != nil {
			h.t.Fatal(err)
		}
		h.until("the toggle", serving(map[bool]pluginsdk.PluginState{true: pluginsdk.PluginServing, false: pluginsdk.PluginDisabled}[enabled]))
	}
}

// processes looks at all of the installation's.
func (h *hunt) processes() {
	h.t.Helper()
	id, err := os.ReadFile(filepath.Join(h.config.Data, "installation-id"))
	if err != nil {
		h.t.Fatal(err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		h.t.Skipf("there is no /proc to look for secrets in: %v", err)
	}
	found := 0
	for _, entry := range entries {
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err == nil && bytes.Contains(environ, []byte("HARNESS_OWNER="+strings.TrimSpace(string(id)))) {
			found++
			h.process(entry.Name())
		}
	}
	h.process(fmt.Sprint(os.Getpid()))
	if found < 5 {
		h.t.Errorf("only %d processes of the installation were found", found)
	}
}

func (h *hunt) process(pid string) {
	for _, name := range []string{"cmdline", "environ"} {
		content, err := os.ReadFile(filepath.Join("/proc", pid, name))
		if err == nil {
			h.note("/proc/*/"+name, string(content))
		}
	}
}

// api asks for everything that the API describes.
func (h *hunt) api() {
	h.t.Helper()
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	h.call(http.MethodGet, "/api/openapi.json", nil, &described)
	var threads struct{ Threads []pluginsdk.Thread }
	h.call(http.MethodGet, "/api/threads", nil, &threads)
	asked := 0
	for path, methods := range described.Paths {
		if methods["get"] == nil {
			continue
		}
		for _, thread := range threads.Threads {
			ids := []string{thread.ID}
			if strings.HasPrefix(path, "/api/runs/") {
				ids = h.runIDs(thread.ID)
			}
			for _, id := range ids {
				filled := strings.NewReplacer("{id}", id, "{name}", leakyName).Replace(path)
				var answer json.RawMessage
				status := h.call(http.MethodGet, filled+"?limit=1000", nil, &answer)
				if status == http.StatusUnprocessableEntity {
					status = h.call(http.MethodGet, filled, nil, &answer)
				}
				if status == http.StatusOK {
					asked++
				}
				h.note("answers of the API", string(answer))
			}
		}
	}
	if asked < 20 {
		h.t.Errorf("only %d requests were answered", asked)
	}
}

func (h *hunt) runIDs(thread string) (ids []string) {
	var page struct{ Runs []pluginsdk.Run }
	h.call(http.MethodGet, "/api/threads/"+thread+"/runs?limit=1000", nil, &page)
	for _, run := range page.Runs {
		ids = append(ids, run.ID)
	}
	return ids
}

// files reads every byte of the data directory. The key is where it belongs, and so is a login.
func (h *hunt) files(when string) {
	h.t.Helper()
	err := filepath.WalkDir(h.config.Data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Base(path) == daemon.SecretsKeyFile || filepath.Base(path) == ".credentials.json" {
			return ignoreGone(err)
		}
		content, err := os.ReadFile(path)
		h.note(when+": "+strings.TrimPrefix(path, h.config.Data), string(content))
		return ignoreGone(err)
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the database's files come and go
	}
	return err
}

// backup makes one, which has all tables of either database, and unpacks it.
func (h *hunt) backup() {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "all.backup")
	if _, err := daemon.Backup(h.t.Context(), h.config, daemon.BackupRequest{File: file}); err != nil {
		h.t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		h.t.Fatal(err)
	}
	tables := 0
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			h.t.Fatal(err)
		}
		entry, err := io.ReadAll(archive)
		if err != nil {
			h.t.Fatal(err)
		}
		if strings.Contains(header.Name, daemon.SecretsKeyFile) {
			h.t.Error("the key is in the backup")
		}
		if strings.Contains(header.Name, ".credentials.json") {
			h.t.Errorf("a login is in the backup: %s", header.Name)
		}
		if strings.HasPrefix(header.Name, "tables/") {
			tables++
		}
		h.note("backup: "+header.Name, string(entry))
	}
	if sealed := h.places["backup: tables/plugin_secrets.jsonl"]; tables < 10 || strings.Count(sealed, leakyName) != 2 {
		h.t.Errorf("the backup has %d tables and these secrets: %s", tables, sealed)
	}
}

func (h *hunt) export() {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "all.jsonl")
	h.harness("", "export", "-o", file)
	content, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	if bytes.Contains(content, []byte("plugin_secrets")) {
		h.t.Error("secrets are in the export")
	}
	h.note("export", string(content))
}

// judge looks for every secret, and for the key, in every place.
func (h *hunt) judge() {
	h.t.Helper()
	key, err := os.ReadFile(filepath.Join(h.config.Data, daemon.SecretsKeyFile))
	if err != nil {
		h.t.Fatal(err)
	}
	needles := map[string]string{}
	for _, line := range strings.Split(string(key), "\n") {
		if strings.HasPrefix(line, "AGE-SECRET-KEY-") {
			needles[line] = "the key"
		}
	}
	for n, secret := range h.secrets {
		for how, form := range map[string]string{"": secret, " in hex": hex.EncodeToString([]byte(secret)), " in URLs": url.QueryEscape(secret)} {
			needles[form] = fmt.Sprintf("secret %d%s", n, how)
		}
		for before := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			needles[encoded[4:len(encoded)-4]] = fmt.Sprintf("secret %d in base64", n)
		}
	}
	for place, text := range h.places {
		for needle, name := range needles {
			if at := strings.Index(text, needle); at >= 0 {
				h.t.Errorf("%s: %s is there: ...%s...", place, name, text[max(0, at-200):min(len(text), at+len(needle)+50)])
			}
		}
	}
	h.wouldFind()
}

// wouldFind checks that the search finds what is there: the setting that is no
// secret, and the marks in the place of secrets.
func (h *hunt) wouldFind() {
	h.t.Helper()
	for _, place := range []string{"events", "log of the daemon", "answers of the API", "export", "what commands print", "/proc/*/cmdline", "backup: tables/messages.jsonl"} {
		if !strings.Contains(h.places[place], h.decoy) {
			h.t.Errorf("the decoy is not found in %s: a secret would not be either", place)
		}
	}
	for _, place := range []string{"log of the daemon", "events", "answers of the API", "last words of the plugin"} {
		if !strings.Contains(h.places[place], "[secret]") {
			h.t.Errorf("nothing was taken out of %s: the plugin did not do its worst", place)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(h.places)), func(place string) bool { return strings.HasSuffix(place, "leaky.log") }) {
		h.t.Error("the plugin's own log was not looked at")
	}
}

// record keeps all events from now on; what it returns ends that.
func (in *installation) record() (frames func() string) {
	in.t.Helper()
	conn, response, err := websocket.DefaultDialer.DialContext(in.t.Context(), "ws"+strings.TrimPrefix(in.base, "http")+"/ws", owner.Header(in.base))
	if err != nil {
		in.t.Fatal(err)
	}
	_ = response.Body.Close()
	var all bytes.Buffer
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			_, frame, err := conn.ReadMessage()
			if err != nil {
				return
			}
			all.Write(append(frame, '\n'))
		}
	})
	return func() string {
		_ = conn.Close()
		reader.Wait()
		return all.String()
	}
}
