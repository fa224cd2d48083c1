package launch_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

var invitation = regexp.MustCompile(`harness plugin attach test --pid (\d+) --address (\S+)`)

// session is a plugin under a debugger: the test binary, and its terminal.
type session struct {
	*os.Process
	ended chan error // has what Wait returned
}

// await waits for the end of the process.
func (s session) await() error {
	err := <-s.ended
	s.ended <- err
	return err
}

// debugged starts the test binary as a plugin for a debugger, and returns it
// with what it says to attach to.
func debugged(t *testing.T) (session, launch.AttachTo) {
	t.Helper()
	cmd := exec.Command(config(t, "").Path, serve.DebugFlag)
	cmd.Env = []string{modeKey + "=plugin", "TMPDIR=" + shortDir(t)}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running := session{Process: cmd.Process, ended: make(chan error, 1)}
	said := make(chan launch.AttachTo, 1)
	go func() {
		defer close(said)
		readInvitation(t, stderr, said)
		running.ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = running.Kill()
		_ = running.await()
	})
	to, ok := <-said
	if !ok {
		t.Fatal("it never said what to attach to")
	}
	return running, to
}

// readInvitation reads to the end, and sends what is said to attach to.
func readInvitation(t *testing.T, stderr io.Reader, said chan<- launch.AttachTo) {
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if match := invitation.FindStringSubmatch(lines.Text()); match != nil {
			pid, err := strconv.Atoi(match[1])
			if err != nil {
				t.Error(err)
			}
			said <- launch.AttachTo{PID: pid, Address: match[2]}
		}
	}
}

func attached(t *testing.T, to launch.AttachTo, host *plugintest.Host) *launch.Plugin {
	t.Helper()
	cfg := config(t, "")
	cfg.Path, cfg.Host = "", host.SDK()
	plugin, err := newLauncher(t).Attach(t.Context(), cfg, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plugin.Stop(ended()) })
	return plugin
}

// An author steps through a hook in a debugger: the plugin must answer, and
// reach the host, as if the daemon had started it.
func TestAPluginUnderADebuggerIsUsedAsAnyOther(t *testing.T) {
	running, to := debugged(t)
	host := plugintest.NewHost()
	plugin := attached(t, to, host)
	if plugin.Manifest().Name != "test" || plugin.PID() != running.Pid {
		t.Errorf("attached to %q, process %d", plugin.Manifest().Name, plugin.PID())
	}
	ctx := t.Context()
	if err := errors.Join(plugin.Start(ctx), plugin.Activate(ctx), plugin.Ping(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := tell(ctx, plugin, message("call-host key")); err != nil {
		t.Fatal(err)
	}
	if calls := host.Calls(); len(calls) != 1 || calls[0].Method != "State.Put" {
		t.Errorf("the host saw %v", calls)
	}
	if err := plugin.Stop(within(t, patience)); err != nil {
		t.Error(err)
	}
	if err := running.await(); err != nil {
		t.Errorf("asked to end, it ended with %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(filepath.Dir(to.Address))); err != nil || len(left) != 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

// A plugin that stands at a breakpoint is its author's: the daemon must come
// away from it, and not kill it.
func TestAPluginAtABreakpointIsLetGoOf(t *testing.T) {
	running, to := debugged(t)
	plugin := attached(t, to, plugintest.NewHost())
	if err := plugin.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	freeze(t, running.Pid)
	if err := plugin.Stop(within(t, 200*time.Millisecond)); err == nil || !strings.Contains(err.Error(), "is left alone") {
		t.Errorf("error is %v", err)
	}
	awaitDone(t, plugin)
	if state(running.Pid) != "T" {
		t.Errorf("its state is %q", state(running.Pid))
	}
}

// What was asked of a plugin that the daemon lets go of is not answered any
// more. Nobody cancelled it: a run that took it for that would end, and would
// not be tried again.
func TestCallsOfAPluginThatIsLetGoOfAreUnavailable(t *testing.T) {
	running, to := debugged(t)
	plugin := attached(t, to, plugintest.NewHost())
	if err := plugin.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	under, ends := make(chan struct{}), make(chan error, 2)
	go func() { ends <- tell(context.Background(), plugin, message("hang")) }()
	go func() {
		ctx := pluginsdk.WithProgress(context.Background(), func(pluginsdk.Progress) { close(under) })
		_, err := plugin.CallTool(ctx, &pluginsdk.CallToolRequest{Name: "wait"})
		ends <- err
	}()
	<-under
	freeze(t, running.Pid)
	if err := plugin.Stop(within(t, 200*time.Millisecond)); err == nil {
		t.Error("it has ended")
	}
	for range cap(ends) {
		if err := <-ends; pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("%s: %v", pluginsdk.CodeOf(err), err)
		}
	}
}

func TestTheEndOfAnAttachedPluginIsNoticed(t *testing.T) {
	running, to := debugged(t)
	plugin := attached(t, to, plugintest.NewHost())
	if err := running.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = running.await()
	awaitDone(t, plugin)
	if plugin.ExitError() == nil {
		t.Error("there is no exit error")
	}
	if err := tell(t.Context(), plugin, message("")); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("a call to the dead: %v", err)
	}
}

// A signal ends it too: it is a program in a terminal.
func TestAPluginUnderADebuggerEndsAtASignal(t *testing.T) {
	running, to := debugged(t)
	if err := running.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := running.await(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(filepath.Dir(to.Address)); !os.IsNotExist(err) {
		t.Errorf("its directory is still there (%v)", err)
	}
}

func TestWhatCannotBeAttachedToIsRefused(t *testing.T) {
	_, good := debugged(t)
	open := shortDir(t)
	if err := os.Chmod(open, 0o755); err != nil { //nolint:gosec // that is what is to be refused
		t.Fatal(err)
	}
	listener := unixSocket(filepath.Join(open, "s"))
	t.Cleanup(func() { _ = listener.Close() })
	for _, row := range []struct {
		name, want string
		to         launch.AttachTo
		code       pluginsdk.Code
	}{
		{"no process", "want the id of a process", launch.AttachTo{Address: good.Address}, pluginsdk.CodeInvalid},
		{"no path", "absolute path", launch.AttachTo{PID: good.PID, Address: "s"}, pluginsdk.CodeInvalid},
		{"no socket there", "no such file", launch.AttachTo{PID: good.PID, Address: good.Address + ".gone"}, pluginsdk.CodeNotFound},
		{"a file", "no socket", launch.AttachTo{PID: good.PID, Address: config(t, "").Path}, pluginsdk.CodeInvalid},
		{"a directory for all", "chmod 700", launch.AttachTo{PID: good.PID, Address: filepath.Join(open, "s")}, pluginsdk.CodeDenied},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := newLauncher(t).Attach(context.Background(), config(t, ""), row.to); pluginsdk.CodeOf(err) != row.code || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %s %v, want %q", pluginsdk.CodeOf(err), err, row.want)
			}
		})
	}
	if to, err := launch.ParseAttachTo(`{"pid":` + strconv.Itoa(good.PID) + `,"address":"` + good.Address + `"}`); err != nil || to != good {
		t.Errorf("parsed %+v, %v", to, err)
	}
	if _, err := launch.ParseAttachTo("here"); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("error is %v", err)
	}
	if running, to := debugged(t); running.Kill() == nil {
		_ = running.await()
		if err := to.Check(); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound || !strings.Contains(err.Error(), "it has ended") {
			t.Errorf("a process that has ended: %v", err)
		}
	}
}
