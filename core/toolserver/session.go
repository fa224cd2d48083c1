package toolserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Session is the tools as one process of the agent's CLI has them.
type Session struct {
	server  *Server
	token   string
	mcp     *mcp.Server
	handler http.Handler
	life    context.Context
	end     context.CancelCauseFunc

	mu      sync.Mutex
	turn    *turn             // that runs in the process; nil between turns
	offered map[string]string // what the agent is told of each tool, by name
	listed  bool              // it has read the list
}

// Open makes a session for a process that is about to be started. Close ends
// it.
func (s *Server) Open() *Session {
	session := &Session{server: s, token: rand.Text(), offered: make(map[string]string)}
	session.life, session.end = context.WithCancelCause(context.Background())
	session.mcp = mcp.NewServer(&mcp.Implementation{Name: Name, Title: "Harness", Version: "1"}, &mcp.ServerOptions{
		Instructions: "Tools of Harness, the daemon that this conversation runs in, and of its plugins.",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		// The CLI's connection for what it is told between calls is closed after
		// 5 min of silence, and the news of another list must not meet the moment
		// in which it connects anew. One that misses a ping is not given up for
		// that: the session ends with its process.
		KeepAlive: s.config.Ping, KeepAliveFailureThreshold: math.MaxInt,
	})
	session.mcp.AddReceivingMiddleware(session.receive)
	session.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return session.mcp }, nil)
	session.offer(s.menu().tools()) // nobody else has it yet
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[sha256.Sum256([]byte(session.token))] = session
	return session
}

// Config is the session's entry in the mcpServers of a CLI's MCP configuration.
// It holds the token: it belongs in a file that only the user can read.
func (s *Session) Config() json.RawMessage {
	entry, err := json.Marshal(map[string]any{
		"type": "http", "url": "http://" + s.server.listener.Addr().String() + "/mcp",
		"headers": map[string]string{"Authorization": "Bearer " + s.token},
	})
	if err != nil {
		panic("toolserver: encode strings: " + err.Error())
	}
	return entry
}

// Begin is called before the turn of a run begins in the process: its calls are of
// the turn that the server knows of that run. It returns the names of the tools
// that there are, sorted, and whether the agent was told of others before: it is
// told of these now, by notifications/tools/list_changed.
func (s *Session) Begin(runID string) (names []string, news bool) {
	turn := s.server.turnOf(runID)
	menu := s.menuFor(turn)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
	news = s.offer(menu.tools()) && s.listed
	return slices.Sorted(maps.Keys(s.offered)), news
}

// Keeps reports whether all tools that the agent was told of are there for a turn of the run,
// and are as it was told.
func (s *Session) Keeps(runID string) bool {
	now := make(map[string]string)
	for _, tool := range s.menuFor(s.server.turnOf(runID)).tools() {
		now[tool.spec.Name] = shown(tool)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, told := range s.offered {
		if now[name] != told {
			return false
		}
	}
	return true
}

// menuFor returns what a turn is offered.
func (s *Session) menuFor(turn *turn) *menu {
	menu := s.server.menu()
	if run := turn.run(); run != "" {
		menu = s.server.catalog.menu(s.server.plugins.Offering(run))
	}
	return menu
}

// shown is what the agent is told of a tool.
func shown(t *tool) string { return t.spec.Description + "\x00" + string(t.spec.InputSchema) }

// End is called when the turn in the process is over.
func (s *Session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = nil
}

// Close makes the token worthless, and cancels the calls under way in the
// session. It may be called more than once.
func (s *Session) Close() {
	s.server.mu.Lock()
	delete(s.server.sessions, sha256.Sum256([]byte(s.token)))
	s.server.mu.Unlock()
	s.end(pluginsdk.Errorf(pluginsdk.CodeCancelled, "the agent's process has ended"))
	for connected := range s.mcp.Sessions() {
		_ = connected.Close() // of a peer that is gone
	}
}

// offer makes the tools those that the agent is told of, and reports whether
// anything changed for it. The lock is held.
func (s *Session) offer(tools []*tool) (changed bool) {
	left := s.offered
	s.offered = make(map[string]string, len(tools))
	for _, tool := range tools {
		name, shown := tool.spec.Name, shown(tool)
		if left[name] != shown {
			changed = true
			s.mcp.AddTool(tool.mcp(), unreached)
		}
		s.offered[name] = shown
		delete(left, name)
	}
	for name := range left {
		changed = true
		s.mcp.RemoveTools(name)
	}
	return changed
}

// unreached is the SDK's handler of the tools; receive answers before it.
func unreached(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, fmt.Errorf("tool %s: not answered here", request.Params.Name)
}

// receive is in front of the SDK's own handling of what the agent sends, which
// is in goroutines of the SDK: a panic ends its request alone. What goes wrong
// with a call is a result, which the agent reads.
func (s *Session) receive(next mcp.MethodHandler) mcp.MethodHandler {
	log := s.server.config.Log
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		if call, ok := request.(*mcp.CallToolRequest); ok {
			if guard.Try(log, "a call of a tool", func() { result = s.answer(ctx, call) }) {
				result = mcpResult(failedResult(pluginsdk.Errorf(pluginsdk.CodeInternal, "the call of the tool failed inside the daemon")))
			}
			return result, nil
		}
		if method == "tools/list" {
			s.mu.Lock()
			s.listed = true
			s.mu.Unlock()
		}
		err = guard.Call(log, method, func() (err error) {
			result, err = next(ctx, method, request)
			return err
		})
		return result, err
	}
}

// answer makes the call that a request asks for.
func (s *Session) answer(ctx context.Context, request *mcp.CallToolRequest) *mcp.CallToolResult {
	s.mu.Lock()
	turn := s.turn
	_, known := s.offered[request.Params.Name]
	s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })()

	progress := report(ctx, s.server.config.Log, request, s.server.config.Beat)
	defer progress.finish() // before the result is sent
	made, err := s.server.callIn(ctx, turn, invocation{
		name: request.Params.Name, known: known, input: request.Params.Arguments, progress: progress.take(),
	})
	if err != nil {
		s.note(request.Params.Name, err)
		return mcpResult(failedResult(err))
	}
	return mcpResult(made)
}

// note logs a call that failed. What is wrong with an input is between the agent
// and the tool: the words for it repeat parts of the input.
func (s *Session) note(tool string, err error) {
	log, code := s.server.config.Log.With("tool", tool), pluginsdk.CodeOf(err)
	if code != pluginsdk.CodeInvalid {
		log = log.With("err", err)
	}
	log.Info("the agent's call of a tool failed", "code", code)
}
