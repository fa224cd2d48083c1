package toolserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Name is what the MCP server is called: the agent sees a tool as
// mcp__harness__PLUGIN__TOOL.
const Name = "harness"

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	// Own is the plugin name under which Plugins have the core's own tools. They are
	// the agent's alone, which speaks by them in its own name: Call refuses them.
	Own   string
	Depth int // how deep tools may call tools; default 8
	// Strays is how many calls a plugin may have under way that it makes of its
	// own accord, outside of any hook; default 16, so that those that wait leave
	// it most of the Host calls that it may have under way. Depth does not see
	// them.
	Strays int
	// Guests is how many such calls, of all plugins, the tools of one plugin may
	// have to answer at a time; default 32.
	Guests int
	Bounds Bounds        // of what the agent is offered
	Beat   time.Duration // the agent hears of a call at least so often; default 30 s
	Ping   time.Duration // and from the server at all; default 1 min
	Log    *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Depth = cmp.Or(c.Depth, 8)
	c.Strays = cmp.Or(c.Strays, 16)
	c.Guests = cmp.Or(c.Guests, 32)
	c.Beat = cmp.Or(c.Beat, 30*time.Second)
	c.Ping = cmp.Or(c.Ping, time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Plugins are the plugins, as far as they have tools.
type Plugins interface {
	// Offering returns the enabled plugins that declare tools, in the
	// operator's order, as a run (empty: none) sees them.
	Offering(run string) []*pluginsdk.PluginInfo
	// Registered returns all plugins, enabled or not.
	Registered(ctx context.Context) ([]pluginsdk.PluginInfo, error)
	// Plugin returns an enabled plugin that declares tools, as a run sees it; nil:
	// there is none of that name.
	Plugin(run, name string) hooks.Plugin
}

// Server serves the plugins' tools. Open, Begin, Call and List may be called at
// any time; sessions are reached from Start to Stop.
type Server struct {
	config  Config
	plugins Plugins
	hooks   *hooks.Runner
	catalog *catalog

	http     *http.Server
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*Session // by the hash of their token
	turns    map[string]*turn               // by their run
	strays   map[string]int                 // calls of nobody's run, by the plugin that made them
	guests   map[string]int                 // and by the plugin whose tools they are of
}

// New returns a Server.
func New(config Config, plugins Plugins, asked *hooks.Runner) *Server {
	config = config.withDefaults()
	return &Server{
		config: config, plugins: plugins, hooks: asked,
		catalog:  newCatalog(config.Bounds, config.Log),
		sessions: make(map[[sha256.Size]byte]*Session), turns: make(map[string]*turn),
		strays: make(map[string]int), guests: make(map[string]int),
	}
}

// Start listens on a port of loopback that the system chooses.
func (s *Server) Start(context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the agent's tool calls: %w", err)
	}
	s.listener = listener
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	s.serving.Go(func() {
		err := guard.Call(s.config.Log, "the tool server", func() error { return s.http.Serve(listener) })
		if !errors.Is(err, http.ErrServerClosed) {
			s.config.Log.Error("the agent's tool calls are not served any more", "err", err)
		}
	})
	return nil
}

// Stop ends the sessions, with the calls under way in them, and listens no
// more.
func (s *Server) Stop(context.Context) error {
	if s.http == nil {
		return nil
	}
	s.mu.Lock()
	open := make([]*Session, 0, len(s.sessions))
	for _, session := range s.sessions {
		open = append(open, session)
	}
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, session := range open {
		closing.Go(func() { guard.Try(s.config.Log, "the end of a session", session.Close) })
	}
	closing.Wait()
	err := s.http.Close()
	s.serving.Wait()
	if err != nil {
		return fmt.Errorf("close the tool server: %w", err)
	}
	return nil
}

// ServeHTTP hands a request to the session whose token it carries. The SDK
// behind it refuses a Host header that is not loopback's; a browser, which
// always says where its page comes from, has no business here at all.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "" {
		http.Error(w, "this server is not for browsers", http.StatusForbidden)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	session := s.session(token)
	if !ok || session == nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="harness"`)
		http.Error(w, "the token is missing, or of a session that is over", http.StatusUnauthorized)
		return
	}
	if guard.Try(s.config.Log, "a request of the agent", func() { session.handler.ServeHTTP(w, r) }) {
		panic(http.ErrAbortHandler) // the connection is cut: a part of the answer may be out
	}
}

// session returns the session of a token, or nil. What is looked up is a hash:
// how long it takes says nothing about the tokens that there are.
func (s *Server) session(token string) *Session {
	key := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[key]
}

// menu is what runs that begin now are offered.
func (s *Server) menu() *menu {
	menu := s.catalog.menu(s.plugins.Offering(""))
	s.catalog.tell(menu)
	return menu
}

// List returns the tools that are offered and can be called, named PLUGIN__TOOL,
// in the operator's order of the plugins.
func (s *Server) List() []pluginsdk.ToolSpec {
	tools := s.menu().tools()
	specs := make([]pluginsdk.ToolSpec, len(tools))
	for n, tool := range tools {
		specs[n] = tool.spec
	}
	return specs
}

// Count returns how many tools a run that begins now is offered.
func (s *Server) Count() int { return len(s.menu().tools()) }
