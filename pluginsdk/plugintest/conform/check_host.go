package conform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// hostOrder is what a HostProcess is told on stdin.
type hostOrder struct {
	Path, Dir, Sockets string
	Args, Env          []string
	Settings           json.RawMessage
}

// HostProcess is the life of a process that has nothing else to do (see
// Config.Helper): it launches the plugin that stdin names, prints the
// plugin's process id to stdout, and stays until it is killed or stdin ends.
func HostProcess(stdin io.Reader, stdout io.Writer) error {
	decoder := json.NewDecoder(stdin)
	var order hostOrder
	if err := decoder.Decode(&order); err != nil {
		return fmt.Errorf("read what to launch: %w", err)
	}
	launcher := launch.NewLauncher()
	launcher.Start()
	defer launcher.Stop()
	host := plugintest.NewHost()
	host.SetSettings(order.Settings)
	ctx := context.Background()
	plugin, err := launcher.Launch(ctx, launch.Config{
		Path: order.Path, Args: order.Args, Dir: order.Dir, Env: order.Env, SocketDir: order.Sockets,
		Host: host.SDK(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := errors.Join(plugin.Start(ctx), plugin.Activate(ctx)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(stdout, plugin.PID()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), stdin))
	return err
}

// checkHostDeath kills a host of the plugin without warning.
func (x *exam) checkHostDeath(ctx context.Context) error {
	if len(x.cfg.Helper) == 0 {
		return skipped("there is no helper process to be the host (Config.Helper)")
	}
	killMarked(x.mark) // what checks before this one may have left
	pid, err := x.killedHostsPlugin(ctx)
	if err != nil {
		return err
	}
	var left []child
	if until(ctx, x.cfg.Patience, func() bool {
		left = marked(x.mark)
		return gone(pid) && len(left) == 0
	}) {
		return nil
	}
	what := fmt.Sprintf("process %d", pid)
	if len(left) > 0 {
		what = names(left)
		killMarked(x.mark)
	}
	return faultf("end when the parent process changes or the process that HARNESS_HOST_PID names is gone: look once a second",
		"%s after its host was killed, there still was %s", x.cfg.Patience, what)
}

// killedHostsPlugin lets a host launch the plugin, kills the host, and returns
// the plugin's process id.
func (x *exam) killedHostsPlugin(ctx context.Context) (int, error) {
	order, err := json.Marshal(hostOrder{
		Path: x.cfg.Path, Args: x.cfg.Args, Dir: x.cfg.Dir, Env: x.environment(), Sockets: x.sockets(), Settings: x.cfg.Settings,
	})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Patience+launch.DefaultStartTimeout)
	defer cancel()
	host := exec.CommandContext(ctx, x.cfg.Helper[0], x.cfg.Helper[1:]...) //nolint:gosec // the caller's own executable
	host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	host.WaitDelay = time.Second
	var stderr bytes.Buffer
	host.Stderr = &stderr
	stdin, err := host.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := host.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := host.Start(); err != nil {
		return 0, fmt.Errorf("start a process to be the host: %w", err)
	}
	_, writeErr := stdin.Write(append(order, '\n'))
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	killErr := host.Process.Kill()
	_ = host.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(writeErr, readErr, err, killErr); err != nil {
		return 0, fmt.Errorf("a process to be the host: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return pid, nil
}
