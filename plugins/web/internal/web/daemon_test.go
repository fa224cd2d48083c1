package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// realRounds is how many requests of each operation a real daemon gets.
const realRounds = 12

// real is a daemon with its plugins web and time, as processes.
type real struct {
	*instance // its means to ask; there is no server in it

	program, data, url string
}

// environment is that of this test without the settings in it.
func environment(more ...string) []string {
	clean := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "HARNESS_") || strings.HasPrefix(entry, "DATABASE_URL=")
	})
	return append(clean, more...)
}

// startReal builds a daemon and starts it where a token is demanded.
func startReal(t *testing.T) *real {
	t.Helper()
	_ = os.Getenv("HARNESS_TEST_PROGRAMS") // another one when the daemon may be another: go test does not see what go build reads
	dir := t.TempDir()
	r := &real{instance: &instance{T: t}, program: filepath.Join(dir, "harness"), data: filepath.Join(dir, "data")}
	const module = "github.com/seed-706843ae/harness/"
	for _, build := range [][]string{{r.program, module + "core/cmd/harness"}, {dir + "/plugins/", module + "plugins/cmd/web", module + "plugins/cmd/time"}} {
		command := exec.CommandContext(t.Context(), "go", append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o"}, build...)...)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%s", err, output)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	r.url = "http://127.0.0.1:" + port
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "notify")})
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	daemon := exec.Command(r.program, "up", "--data", r.data, "--port", port, "--plugins", filepath.Join(dir, "plugins"), "--agent", "demo") //nolint:gosec // built above
	daemon.Env = environment("NOTIFY_SOCKET=" + filepath.Join(dir, "notify"))
	var log bytes.Buffer
	daemon.Stdout, daemon.Stderr = &log, &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", log.String())
		}
		_ = filepath.WalkDir(r.data, func(path string, entry os.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) //nolint:gosec // a directory of the test
			}
			return nil
		})
	})
	_ = ready.SetReadDeadline(time.Now().Add(2 * time.Minute))
	told := make([]byte, 1<<10)
	for n := 0; !bytes.Contains(told[:n], []byte("READY=1")); {
		if n, err = ready.Read(told); err != nil {
			t.Fatalf("the daemon is not ready: %v", err)
		}
	}
	return r
}

// command carries out a command line on the installation.
func (r *real) command(args ...string) (output []byte) {
	r.Helper()
	command := exec.CommandContext(r.Context(), r.program, append(args, "--data", r.data)...) //nolint:gosec // built by this test
	command.Env = environment()
	output, err := command.Output()
	if err != nil {
		r.Fatalf("%q: %v", args, err)
	}
	return output
}

// ask makes a request of it.
func (r *real) ask(method, path, body string, headers ...string) got {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	return r.do(&http.Client{CheckRedirect: stay}, request)
}

// What stands behind the API for real has more ways to fail than a host in memory.
func TestTheDaemonAnswersNoRequestOtherwiseThanDescribed(t *testing.T) {
	r := startReal(t)
	var made struct{ Secret string }
	if err := json.Unmarshal(r.command("token", "create", "fuzz", "--scope", string(pluginsdk.ScopeAdmin), "--json"), &made); err != nil {
		t.Fatal(err)
	}
	admin := "Bearer " + made.Secret
	var said pluginsdk.Accepted
	hello := r.expect("hello", r.ask("POST", "/api/chat", `{"content":"hello"}`, "Authorization", admin), 202)
	if err := json.Unmarshal([]byte(hello.body), &said); err != nil {
		t.Fatal(err)
	}
	var file pluginsdk.File
	taken := r.expect("a file", r.ask("POST", "/api/files?name=x.txt", "hi", "Authorization", admin, "Content-Type", "application/octet-stream"), 201)
	if err := json.Unmarshal([]byte(taken.body), &file); err != nil {
		t.Fatal(err)
	}
	known := []string{said.ThreadID, said.RunID, file.ID, "time", "time__current_time"}
	d := describedBy(t, r.expect("the description", r.ask("GET", "/api/openapi.json", "", "Authorization", admin), 200).body)
	fuzz(t, d, realRounds, known, admin, r.ask)
	r.expect("it is still there", r.ask("GET", "/api/threads/"+said.ThreadID, "", "Authorization", admin), 200, fmt.Sprintf("%q", said.ThreadID))
}
