package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/certificate"
	"github.com/seed-706843ae/harness/core/coretest/programs"
	"github.com/seed-706843ae/harness/core/daemon"
)

// distant is a daemon that is reached through TLS only, with a token, and what is needed for
// that.
type distant struct {
	url, token, ca string // token and ca are files
	secret         string // what is in token
	data           string
}

// startDistant starts a daemon with the plugins web and time on loopback, which speaks TLS and
// demands a token.
func startDistant(t *testing.T) distant {
	t.Helper()
	return startDistantOn(t, "127.0.0.1", "127.0.0.1")
}

// startDistantOn is startDistant where it listens on an address, and is known by another.
func startDistantOn(t *testing.T, listens, known string) distant {
	t.Helper()
	isolate(t)
	t.Setenv("HARNESS_HTTP_ADDR", listens)
	d := distant{data: t.TempDir()}
	plugins := t.TempDir()
	if err := programs.Build(plugins, "plugins/web", "plugins/time"); err != nil {
		t.Fatal(err)
	}
	var key string
	d.ca, key = certificate.Write(t, "127.0.0.1", known)
	t.Setenv("HARNESS_TLS_CERT", d.ca)
	t.Setenv("HARNESS_TLS_KEY", key)
	told := notified(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	port := freePort(t)
	go func() {
		ended <- harnessIn(ctx, "", "up", "--data", d.data, "--port", port, "--plugins", plugins, "--agent", "demo")
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = filepath.WalkDir(d.data, func(path string, entry os.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
			}
			return nil
		})
	})
	select {
	case <-told:
	case got := <-ended:
		ended <- got
		t.Fatalf("up ended: %+v", got)
	}
	if err := os.Remove(filepath.Join(d.data, daemon.OwnerTokenFile)); err != nil { // so that this machine is not the daemon's
		t.Fatal(err)
	}
	var made struct{ Secret string }
	created := harness(t, "", "token", "create", "Ann", "--scope", "admin", "--json", "--data", d.data)
	if err := json.Unmarshal([]byte(created.out), &made); err != nil || made.Secret == "" {
		t.Fatalf("%v %+v", err, created)
	}
	d.url, d.token, d.secret = "https://"+known+":"+port, filepath.Join(t.TempDir(), "token"), made.Secret
	if err := os.WriteFile(d.token, []byte(made.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Unsetenv("HARNESS_DATA"); err != nil { // isolate has set it, and restores it
		t.Fatal(err)
	}
	t.Chdir(t.TempDir()) // nothing is on this machine
	return d
}

// run carries out a command line for the daemon.
func (d distant) run(t *testing.T, in string, args ...string) result {
	t.Helper()
	return harness(t, in, append(args, "--server", d.url, "--token-file", d.token, "--ca", d.ca)...)
}

// Whoever works from another machine must be able to do there what they do here.
func TestEveryCommandWorksOnADaemonElsewhere(t *testing.T) {
	d := startDistant(t)
	packs := t.TempDir()
	one, two := packPlugin(t, "greeter", "1.0.0"), packPlugin(t, "greeter", "2.0.0")
	saved, talk := filepath.Join(packs, "saved.backup"), filepath.Join(packs, "talk.md")
	for _, step := range []struct {
		line, in, want string
	}{
		{"send hello", "", "[demo agent]"},
		{"chat", "hello\n", "[demo agent]"},
		{"threads", "", "primary"},
		{"stop", "", "Nothing was running."},
		{"task list", "", "There are no such tasks"},
		{"delivery list", "", "There are no such deliveries."},
		{"tools list", "", "time__current_time"},
		{"tools call time__current_time", "", "2"},
		{"doctor", "", "✓ database"},
		{"pause", "", "Paused: nothing that a plugin starts is begun"},
		{"pause", "", "It has been paused since"},
		{"resume", "", "Resumed"},
		{"plugin list", "", "web   serving"},
		{"plugin info time", "", "granted   turns.change"},
		{"plugin logs web -n 5", "", "HTTP API is listening"},
		{"plugin disable time", "", "time is disabled, and has ended."},
		{"plugin enable time", "", "time is enabled, and it serves."},
		{"plugin settings time", "", "timezone = "},
		{"plugin settings set time timezone=Europe/Berlin", "", "The settings of time are changed, and it serves."},
		{"plugin settings time", "", `timezone = "Europe/Berlin"   (set)`},
		{"plugin settings unset time timezone", "", "The settings of time are changed"},
		{"plugin settings set time --json -", `{"timezone": "Europe/Paris"}`, "The settings of time are changed"},
		{"plugin install " + one + " --yes --grant all", "", "will be granted: messages.read.\ngreeter is installed, and disabled."},
		{"plugin info greeter", "", "granted      messages.read"},
		{"plugin limits greeter --memory 200MB", "", "memory 200 MB"},
		{"plugin limits greeter", "", "memory 200 MB"},
		{"plugin upgrade greeter " + two + " --yes", "", "greeter is version 2.0.0 now, was 1.0.0, and disabled."},
		{"plugin rollback greeter --yes", "", "greeter is version 1.0.0 now, was 2.0.0"},
		{"plugin revoke greeter --all", "", "messages.read was taken from greeter"},
		{"plugin grant greeter messages.read", "", "greeter was granted messages.read"},
		{"plugin order greeter after web", "", "The order is: time, web, greeter, and the daemon asks in it."},
		{"plugin remove greeter --yes", "", "greeter is removed"},
		{"audit greeter", "", "plugin.install"},
		{"backup " + saved, "", "Saved what is at https://127.0.0.1"},
		{"export -o " + talk + " --format markdown", "", ""},
		{"version", "", "the daemon at https://127.0.0.1"},
		{"token create Bob --scope chat --expires 30d", "", "Bob may chat, until "},
		{"token login Bob --scope read", "", "  https://127.0.0.1"},
		{"token list", "", "Bob"},
		{"token revoke Bob --all", "", "Revoked: Bob (access, chat)"},
		{"account add spare --key", "sk-canary\n", "The account spare is added."},
		{"account set spare --limit 5", "", "it may cost $5.00 a day"},
		{"account add work", "", "On the daemon's machine: harness account login work"},
		{"account set work --fallback spare --overage on", "", "work: Anthropic may bill you when the plan is used up; fallback key: spare"},
		{"account use spare", "", "spare is the default from the next turn on."},
		{"account list", "", "not usable: nobody is logged in to the account work"},
		{"account use environment", "", "environment is the default"},
		{"account remove work", "", filepath.Join("accounts", "work", "claude") + " on the daemon's machine"},
		{"plan", "", "Nothing is parked."},
		{"usage --by account", "", "all"},
		{"audit", "", "plugin:web (Ann, token "},
	} {
		got := d.run(t, step.in, strings.Fields(step.line)...)
		if got.code != 0 || !strings.Contains(got.out, step.want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %q", step.line, got.code, got.out, got.err, step.want)
		}
	}
	d.run(t, "", "audit").want(t, 0, "backup.make", "")
	if text, err := os.ReadFile(talk); err != nil || !strings.Contains(string(text), "hello") { //nolint:gosec // written by this test
		t.Errorf("%v\n%s", err, text)
	}
	info, err := os.Stat(saved)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(d.data, "backups", "*")); err != nil || len(left) != 0 {
		t.Errorf("on the daemon's machine is left: %v, %v", left, err)
	}
	restored := t.TempDir()
	harness(t, "", "restore", saved, "--data", filepath.Join(restored, "data")).want(t, 0, "", "")
}

// Somebody who may not in, or is not sure with whom they talk, has to be told what to do.
func TestWhatIsInTheWayToADaemonElsewhereIsSaid(t *testing.T) {
	d := startDistant(t)
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		flags []string
		code  int
		words string
	}{
		{"no token", []string{"--server", d.url, "--ca", d.ca}, exitFailed, "harness token create"},
		{"another token", []string{"--server", d.url, "--ca", d.ca, "--token", "hrn_x"}, exitFailed, "the token is unknown"},
		{"no certificate", []string{"--server", d.url, "--token-file", d.token}, exitFailed, "--ca FILE"},
		{"another certificate", []string{"--server", d.url, "--token-file", d.token, "--ca", wrong}, exitFailed, "has none in PEM"},
		{"another name", []string{"--server", strings.Replace(d.url, "127.0.0.1", "localhost", 1), "--token-file", d.token, "--ca", d.ca}, exitFailed, "for another name"},
		{"no TLS", []string{"--server", strings.Replace(d.url, "https", "http", 1), "--token-file", d.token}, exitFailed, "speaks https; name it as https://127.0.0.1"},
		{"nobody there", []string{"--server", "https://127.0.0.1:" + freePort(t), "--token-file", d.token}, exitUnreachable, "no daemon answers"},
		{"no address", []string{"--server", "here"}, exitFailed, "is not the address of a daemon"},
		{"no file", []string{"--server", d.url, "--token-file", wrong + "x"}, exitUsage, "--token-file: open"},
		{"two ways", []string{"--server", d.url, "--data", "x"}, exitUsage, "give one of them"},
	} {
		for _, line := range []string{"threads", "plugin list", "audit"} {
			if got := harness(t, "", append(strings.Fields(line), c.flags...)...); got.code != c.code || !strings.Contains(got.err, c.words) {
				t.Errorf("%s, %s: exit %d %s, want %d %q", c.what, line, got.code, got.err, c.code, c.words)
			}
		}
	}
	if got := d.run(t, "", "plugin", "enable", "time", "--force"); got.code != exitFailed || !strings.Contains(got.err, "on the daemon's own machine: `harness plugin enable time --force` there") {
		t.Errorf("%+v", got)
	}
	for line, words := range map[string]string{
		"plugin trust time":                "harness plugin trust time",
		"plugin grant time --env X":        "harness plugin grant time --env X",
		"plugin revoke web messages.read":  "may not decide about itself",
		"plugin install . --yes":           "is sent an archive",
		"backup x --with-settings":         "does not leave the daemon's machine",
		"plugin info nothing":              "there is no plugin",
		"plugin settings set time hour=13": "hour",
	} {
		if got := d.run(t, "", strings.Fields(line)...); got.code != exitFailed || !strings.Contains(got.err, words) {
			t.Errorf("%s: exit %d %s, want %q", line, got.code, got.err, words)
		}
	}
}

// A profile is what people use each day, and has their token in it.
func TestProfilesAreSavedAndUsed(t *testing.T) {
	d := startDistant(t)
	d.run(t, "", "profile", "save", "home", "--default").want(t, 0, "Saved home: "+d.url+", with its token; it is what commands are for", "")
	info, err := os.Stat(profilesFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	harness(t, "", "threads").want(t, 0, "primary", "")
	harness(t, "", "plugin", "list").want(t, 0, "web   serving", "")
	harness(t, "", "plugin", "list", "--profile", "local").want(t, exitFailed, "", "harness up")
	harness(t, "", "plugin", "list", "--data", "x").want(t, exitFailed, "", "harness up")
	list := harness(t, "", "profile", "list")
	if list.want(t, 0, d.url, ""); strings.Contains(list.out, d.secret) {
		t.Errorf("the token is shown:\n%s", list.out)
	}
	// Another address must not be shown the token of this one.
	harness(t, "", "profile", "save", "home", "--server", "https://127.0.0.1:1").want(t, 0, "without a token", "")
	harness(t, "", "profile", "save", "home", "--server", d.url, "--token-file", d.token).want(t, 0, "with its token", "")
	for _, address := range []string{"http://127.0.0.1:3001", "http://localhost:3001", "https://192.0.2.7"} {
		harness(t, "", "profile", "save", "clear", "--server", address, "--token", "harness_access_x").want(t, 0, "Saved clear", "")
	}
	save := []string{"profile", "save", "clear", "--server", "http://192.0.2.7:3001", "--token", "harness_access_x"}
	harness(t, "", save...).want(t, exitFailed, "", "whoever is on the way reads the token")
	t.Setenv("HARNESS_ALLOW_HTTP", "yes")
	harness(t, "", save...).want(t, 0, "Saved clear", "")
	harness(t, "", "profile", "remove", "clear").want(t, 0, "Removed", "")
	harness(t, "", "profile", "save", "local", "--server", d.url).want(t, exitFailed, "", "this machine")
	harness(t, "", "profile", "save", "../x", "--server", d.url).want(t, exitFailed, "", "is not accepted")
	harness(t, "", "profile", "use", "nothing").want(t, exitFailed, "", "there is no profile")
	harness(t, "", "threads", "--profile", "nothing").want(t, exitUsage, "", "there is no profile")
	harness(t, "", "profile", "use", "local").want(t, 0, "for this machine", "")
	harness(t, "", "plugin", "list").want(t, exitFailed, "", "harness up")
	harness(t, "", "threads", "--profile", "home").want(t, 0, "primary", "")
	t.Setenv("HARNESS_PROFILE", "home")
	harness(t, "", "threads").want(t, 0, "primary", "")
	if err := os.Chmod(profilesFile(), 0o644); err != nil { //nolint:gosec // what is tested
		t.Fatal(err)
	}
	harness(t, "", "threads").want(t, exitUsage, "", "can be read by others")
	if err := os.Chmod(profilesFile(), 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "profile", "remove", "home").want(t, 0, "Removed home.", "")
	harness(t, "", "threads").want(t, exitUsage, "", "there is no profile")
}

// What cannot work through an API says why and where, and touches nothing here instead.
func TestWhatWorksOnThisMachineOnlySaysSo(t *testing.T) {
	data := isolate(t)
	for _, line := range []string{"up", "restore x", "db status", "db migrate", "db prune --older-than 90d", "config", "plugin dev .", "plugin attach x --pid 1 --address /x", "plugin detach x"} {
		got := harness(t, "", append(strings.Fields(line), "--server", "https://harness.example.org")...)
		if got.code != exitUsage || !strings.Contains(got.err, "https://harness.example.org (--server)") || !strings.Contains(got.err, "Run it on that machine") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{"plugin new x", "plugin test x", "completion bash"} {
		got := harness(t, "", append(strings.Fields(line), "--server", "https://harness.example.org")...)
		if got.code != exitUsage || !strings.Contains(got.err, "on this machine") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	t.Setenv("HARNESS_SERVER", "https://harness.example.org")
	if got := harness(t, "", "completion", "bash"); got.code != 0 {
		t.Errorf("completion: %+v", got)
	}
	if got := harness(t, "", "db", "status"); got.code != exitUsage || !strings.Contains(got.err, "(HARNESS_SERVER)") {
		t.Errorf("db status: %+v", got)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("something was made here: %v, %v", entries, err)
	}
	if daemon.Running(daemon.Config{Data: data}) {
		t.Error("a daemon was started")
	}
}
