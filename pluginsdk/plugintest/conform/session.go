package conform

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// session is one process of the plugin, with a host of its own.
type session struct {
	*launch.Plugin
	gate *gate

	mark string

	watched atomic.Bool // its end is looked at
	mu      sync.Mutex
	left    string // what was still there when it had ended
}

// launch starts a process and asks for its manifest.
func (x *exam) launch(ctx context.Context) (*session, error) {
	return x.launchWith(ctx, x.cfg.Settings)
}

func (x *exam) launchWith(ctx context.Context, settings []byte) (*session, error) {
	host := plugintest.NewHost()
	host.SetSettings(settings)
	furnish(host)
	s := &session{gate: newGate(&x.refused), mark: x.mark}
	plugin, err := x.launcher.Launch(ctx, launch.Config{
		Path: x.cfg.Path, Args: x.cfg.Args, Dir: x.cfg.Dir, Env: x.environment(), SocketDir: x.sockets(),
		Host: host.As(x.manifest), Admit: s.gate.admit, Log: x.cfg.Log, StartTimeout: x.cfg.Patience + launch.DefaultStartTimeout,
		Ended: s.ended,
	})
	if err != nil {
		return nil, err
	}
	s.Plugin = plugin
	s.gate.declare(plugin.Manifest())
	return s, nil
}

// serve returns a session that is started and active. It is the only one: two
// could want the same port.
func (x *exam) serve(ctx context.Context) (*session, error) {
	x.giveBack()
	s, err := x.launch(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Patience+launch.DefaultStartTimeout)
	defer cancel()
	if err := s.Start(ctx); err != nil {
		s.discard()
		return nil, fmt.Errorf("start: %w", err)
	}
	if err := s.Activate(ctx); err != nil {
		s.discard()
		return nil, fmt.Errorf("activate: %w", err)
	}
	return s, nil
}

// borrow returns the session that checks share which only ask and look. A new
// one takes the place of one that has died.
func (x *exam) borrow(ctx context.Context) (*session, error) {
	if x.common != nil && x.common.dead() == "" {
		return x.common, nil
	}
	s, err := x.serve(ctx)
	if err != nil {
		return nil, err
	}
	x.common = s
	return s, nil
}

// giveBack ends the shared session.
func (x *exam) giveBack() {
	if x.common != nil {
		x.common.discard()
		x.common = nil
	}
}

// discard kills the process, where how it ends is not the question.
func (s *session) discard() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Stop(ctx)
}

// dead says how the process ended, or nothing while it lives.
func (s *session) dead() string {
	select {
	case <-s.Done():
	default:
		return ""
	}
	how := "exit status 0"
	if err := s.ExitError(); err != nil {
		how = err.Error()
	}
	return "its process ended (" + how + ")" + lastWords(s.LastStderr())
}

func lastWords(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "; it last said: " + strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// gate stands before the host. It refuses what the manifest does not ask for,
// and can hold calls back, so that hooks are under way for as long as a check
// needs them to be.
type gate struct {
	refused *refusals

	mu       sync.Mutex
	declared map[pluginsdk.Capability]bool
	release  chan struct{} // closed when calls are not held (any more)
	holding  int
	changed  chan struct{} // closed and replaced when holding changes
}

func newGate(refused *refusals) *gate {
	open := make(chan struct{})
	close(open)
	return &gate{refused: refused, release: open, changed: make(chan struct{})}
}

func (g *gate) declare(manifest pluginsdk.Manifest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.declared = make(map[pluginsdk.Capability]bool)
	for _, request := range manifest.Capabilities {
		g.declared[request.Capability] = true
	}
}

// admit is launch.Config.Admit.
func (g *gate) admit(ctx context.Context, capability pluginsdk.Capability) error {
	g.mu.Lock()
	release, declared := g.release, capability == "" || g.declared[capability]
	g.mu.Unlock()
	if !declared {
		g.refused.add(capability)
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "the manifest does not ask for %s", capability)
	}
	select {
	case <-release:
		return nil
	default:
	}
	g.count(+1)
	defer g.count(-1)
	select {
	case <-release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holding += n
	close(g.changed)
	g.changed = make(chan struct{})
}

// held returns how many calls are held, and a channel that is closed when that
// has changed.
func (g *gate) held() (int, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holding, g.changed
}

// hold holds every call from now on, until it is let go.
func (g *gate) hold() (letGo func()) {
	release := make(chan struct{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.release = release
	return sync.OnceFunc(func() { close(release) })
}

// refusals are the capabilities that were used without being declared.
type refusals struct {
	mu   sync.Mutex
	seen map[pluginsdk.Capability]int
}

func (r *refusals) add(capability pluginsdk.Capability) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[pluginsdk.Capability]int)
	}
	r.seen[capability]++
}

func (r *refusals) names() []pluginsdk.Capability {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]pluginsdk.Capability, 0, len(r.seen))
	for _, capability := range pluginsdk.AllCapabilities() {
		if r.seen[capability] > 0 {
			names = append(names, capability)
		}
	}
	return names
}
