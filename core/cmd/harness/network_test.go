package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/netns"
	"github.com/seed-706843ae/harness/core/coretest/programs"
)

// neighbour runs programs on another machine, for a daemon on this one.
type neighbour struct {
	*netns.Machine
	distant
	binary string
}

// does runs a program there, with nothing of this test's settings.
func (n neighbour) does(ctx context.Context, t *testing.T, in, name string, args ...string) result {
	t.Helper()
	command := n.Command(ctx, name, args...)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "HARNESS_") })
	command.Dir = t.TempDir()
	var out, err bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(in), &out, &err
	failed := command.Run()
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		t.Fatalf("%s %q: %s", name, args, failed)
	}
	return result{code: command.ProcessState.ExitCode(), out: out.String(), err: err.String()}
}

// harness runs a command line there, with the token.
func (n neighbour) harness(t *testing.T, in string, args ...string) result {
	t.Helper()
	return n.does(t.Context(), t, in, n.binary, append(args, "--server", n.url, "--token-file", n.token, "--ca", n.ca)...)
}

// From another machine, over TLS and with a token, the command line and curl do what they do
// on the daemon's own; without, they are told what is missing.
func TestFromAnotherMachineAllIsAsOnLoopback(t *testing.T) {
	machine := netns.New(t)
	bin := t.TempDir()
	if err := programs.Build(bin, "core/cmd/harness"); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(bin, "harness")
	n := neighbour{machine, startDistantOn(t, "0.0.0.0", machine.Here), binary}
	plan := filepath.Join(t.TempDir(), "plan.txt")
	if err := os.WriteFile(plan, []byte("measure twice"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := n.distant
	here.url = strings.Replace(n.url, machine.Here, "127.0.0.1", 1)
	for where, run := range map[string]func(*testing.T, string, ...string) result{"there": n.harness, "here": here.run} {
		for _, step := range []struct{ line, in, want string }{
			{"send hello " + where, "", "[demo agent]"},
			{"chat", "the walrus of " + where + "\n", "[demo agent]"},
			{"threads", "", "primary"},
			{"doctor", "", "✓ database"},
			{"approvals list", "", ""},
			{"search walrus " + where, "", "walrus"},
			{"plugin list", "", "web   serving"},
			{"token list", "", "Ann"},
			{"backup " + filepath.Join(t.TempDir(), "saved.backup"), "", "Saved what is at https://"},
		} {
			if got := run(t, step.in, strings.Fields(step.line)...); got.code != 0 || !strings.Contains(got.out, step.want) {
				t.Errorf("%s, %s: exit %d\n%s%s\nwant %q", where, step.line, got.code, got.out, got.err, step.want)
			}
		}
		put := run(t, "", "file", "put", plan)
		back := filepath.Join(t.TempDir(), "back.txt")
		got := run(t, "", "file", "get", strings.TrimSpace(put.out), "-o", back)
		if text, err := os.ReadFile(back); err != nil || string(text) != "measure twice" { //nolint:gosec // written by this test
			t.Errorf("%s: %v %q\n%+v\n%+v", where, err, text, put, got)
		}
	}

	plain := strings.Replace(n.url, "https", "http", 1)
	n.does(t.Context(), t, "", n.binary, "threads", "--server", n.url, "--ca", n.ca).want(t, exitFailed, "", "harness token create")
	n.does(t.Context(), t, "", n.binary, "threads", "--server", plain, "--token-file", n.token).want(t, exitFailed, "", "name it as https://")
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("curl is not here, so that what it does is left out")
		return
	}
	bearer := "Authorization: Bearer " + n.secret
	for what, c := range map[string]struct {
		want string
		args []string
	}{
		"somebody":   {`"primary"`, []string{n.url + "/api/threads", "-H", bearer}},
		"a message":  {`"runId"`, []string{n.url + "/api/chat", "-H", bearer, "-H", "Content-Type: application/json", "-d", `{"content":"hi"}`}},
		"a file":     {`"sha256"`, []string{n.url + "/api/files?name=plan.txt", "-H", bearer, "-H", "Content-Type: application/octet-stream", "--data-binary", "@" + plan}},
		"nobody":     {"\n401", []string{n.url + "/api/threads"}},
		"a stranger": {"\n401", []string{n.url + "/api/threads", "-H", "Authorization: Bearer harness_access_x"}},
		"no TLS":     {"\n400", []string{plain + "/api/threads", "-H", bearer}},
	} {
		args := append([]string{"--silent", "--show-error", "--noproxy", "*", "--cacert", n.ca, "--write-out", "\n%{http_code}"}, c.args...)
		if got := n.does(t.Context(), t, "", "curl", args...); got.code != 0 || !strings.Contains(got.out, c.want) {
			t.Errorf("curl as %s: %+v, want %q", what, got, c.want)
		}
	}
}
