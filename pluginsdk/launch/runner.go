package launch

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/seed-706843ae/harness/pluginsdk"
)

var _ runner.Runner = processRunner{}

// processRunner is a process as go-plugin wants it. go-plugin is given the
// handshake line and nothing else of the output: it would wait for the end of
// stderr, which a grandchild may hold open for ever.
type processRunner struct {
	*process
}

// Start forks the process.
func (r processRunner) Start(ctx context.Context) error { return r.start(ctx) }

// Stdout ends after the first line.
func (r processRunner) Stdout() io.ReadCloser { return r.output.handshake }

// Stderr is empty.
func (r processRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait returns when the process has ended.
func (r processRunner) Wait(context.Context) error {
	<-r.done
	return r.err
}

// lastMoment is how long a process of which go-plugin despairs may take to end by
// itself.
const lastMoment = 250 * time.Millisecond

// Kill kills the group. go-plugin calls it as soon as the output ends without a
// handshake: a process that is about to end by itself says better, by how it does, what
// was wrong.
func (r processRunner) Kill(context.Context) error {
	timer := time.NewTimer(lastMoment)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	}
	r.kill()
	return nil
}

// Name is the path of the executable.
func (r processRunner) Name() string { return r.cmd.Path }

// ID must not be empty, or go-plugin leaves the socket directory behind.
func (r processRunner) ID() string { return r.cmd.Path }

// Diagnose adds nothing: the launcher says what it knows of the process.
func (r processRunner) Diagnose(context.Context) string { return "" }

// PluginToHost leaves an address as it is: both see the same file system. The
// host dials no address elsewhere that a plugin may name.
func (r processRunner) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" {
		return "", "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "its handshake names an address of the network %.20q; it must be unix", network)
	}
	return network, address, nil
}

// HostToPlugin is PluginToHost backwards.
func (r processRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
