package fake

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Request is one request of the bot to the HTTP API.
type Request struct {
	Method string    `json:"method"`
	Path   string    `json:"path"`  // without /api/v10, with the query
	Route  string    `json:"route"` // as in the table below: "POST /channels/{channel}/messages"
	Body   string    `json:"body"`  // JSON; of multipart its payload_json
	Files  int       `json:"files"`
	Status int       `json:"status"` // 0 when no answer was given
	Fault  string    `json:"fault"`  // the kind of the fault that was made of it
	At     time.Time `json:"at"`
}

// Requests lists all requests to the HTTP API, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, len(s.requests))
	for i, r := range s.requests {
		list[i] = *r
	}
	return list
}

// route is a request that there is. Its bucket names its limit (limits.go).
type route struct {
	pattern, bucket string
	// open routes take no authorization and count to no global limit.
	// Source: interactions/receiving-and-responding#endpoints.
	open   bool
	files  bool // takes multipart/form-data
	handle func(*Server, *call) (any, *refusal)
}

// call is a request while it is answered, with the lock held.
type call struct {
	check
	request *http.Request
	entry   *Request
	body    any // decoded JSON
	uploads []upload
	status  int // of the answer; default 200, and 204 without a body
}

func (c *call) path(name string) string { return c.request.PathValue(name) }

// form is the body as an object; of something else a refusal.
func (c *call) form() (object, *refusal) {
	if c.body == nil {
		return object{}, nil
	}
	o, ok := c.body.(object)
	if !ok {
		c.fail("", RuleForm, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
		return nil, c.refusal()
	}
	return o, nil
}

const prefix = "/api/v10"

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, group := range [][]route{accountRoutes, channelRoutes, messageRoutes, threadRoutes, commandRoutes, interactionRoutes} {
		for _, r := range group {
			method, path, _ := strings.Cut(r.pattern, " ")
			mux.HandleFunc(method+" "+prefix+path, func(w http.ResponseWriter, hr *http.Request) { s.answer(w, hr, r) })
		}
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.breach(r.Method+" "+r.URL.Path, RuleRoute, "there is no such route in version 10 of the API, or the fake does not have it")
		s.log(r, "").Status = http.StatusNotFound
		write(w, http.StatusNotFound, object{"message": "404: Not Found", "code": 0})
	})
	mux.HandleFunc("/gateway/", s.connect)
	mux.HandleFunc("/resume/", s.connect)
	mux.HandleFunc("GET /attachments/{channel}/{file}/{name}", s.download)
	mux.HandleFunc("/control/", s.control)
	return mux
}

func (s *Server) log(r *http.Request, route string) *Request {
	entry := &Request{Method: r.Method, Path: strings.TrimPrefix(r.URL.RequestURI(), prefix), Route: route, At: s.now()}
	s.requests = append(s.requests, entry)
	s.touch()
	return entry
}

// agent is the format of the User-Agent.
// Source: reference#user-agent.
var agent = regexp.MustCompile(`^DiscordBot \(https?://[^ ,)]+, [^ )]+\)`)

// answer answers a request to a route: faults first, then who asks, limits, the body,
// and what the route does, which happens at one moment.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, route route) {
	raw, readErr := readBody(w, r)

	s.mu.Lock()
	entry := s.log(r, route.pattern)
	entry.Body, entry.Files = raw.text, len(raw.uploads)
	fault := s.faultFor(r.Method, strings.TrimPrefix(r.URL.Path, prefix))
	if fault != nil {
		entry.Fault = fault.Kind
	}
	s.mu.Unlock()

	slow := fault != nil && fault.Kind == FaultSlow
	if fault != nil && !slow && !s.pause(r, fault.Delay) {
		return
	}
	if fault != nil && fault.Kind == FaultCut {
		hangUp(w)
		return
	}

	status, data := s.act(w, r, route, entry, raw, readErr, fault)
	switch {
	case status == 0:
		hangUp(w)
	case !slow || s.pause(r, fault.Delay):
		send(w, status, data)
	}
}

// act does what a request asks, at one moment, and returns its answer: the status 0 when
// it is to be lost.
func (s *Server) act(w http.ResponseWriter, r *http.Request, route route, entry *Request, raw bodyOf, readErr *refusal, fault *Fault) (int, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touch()
	status, body := s.decide(w, r, route, entry, raw, readErr, fault)
	if fault != nil && fault.Kind == FaultLost {
		s.loseAnswer(r)
		return 0, nil
	}
	entry.Status = status
	s.count(status, w.Header())
	return status, encode(body)
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request, route route, entry *Request, raw bodyOf, readErr *refusal, fault *Fault) (int, any) {
	note := func(rule, format string, args ...any) { s.breach(entry.Method+" "+entry.Path, rule, format, args...) }
	if !agent.MatchString(r.UserAgent()) {
		note(RuleUserAgent, "the User-Agent %q is not of the form DiscordBot ($url, $versionNumber)", r.UserAgent())
		return http.StatusForbidden, object{"message": "error code: 1010", "code": 0}
	}
	if fault != nil && fault.Kind == FaultStatus {
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(seconds(fault.RetryAfter)))
		}
		return fault.Status, object{"message": http.StatusText(fault.Status), "code": 0}
	}
	if !route.open {
		authorization := r.Header.Get("Authorization")
		if token, bot := strings.CutPrefix(authorization, "Bot "); !bot {
			note(RuleAuthorization, "the header Authorization is not of the form Bot TOKEN")
			return unauthorized.status, unauthorized.body()
		} else if token != s.config.Token {
			return unauthorized.status, unauthorized.body()
		}
	}
	if status, body := s.limit(w.Header(), r, route, fault, entry.At, note); status != 0 {
		return status, body
	}
	if readErr != nil {
		rule := RuleJSON
		if readErr.code == tooLarge.code {
			rule = RuleFiles
		}
		note(rule, "%s", readErr.text)
		return readErr.status, readErr.body()
	}
	for _, u := range raw.uploads {
		if len(u.data) > mostFile {
			note(RuleFiles, "the file %q has %d bytes; at most 10 MiB are taken", u.name, len(u.data))
			return tooLarge.status, tooLarge.body()
		}
	}
	if raw.multipart && !route.files || raw.other != "" {
		note(RuleContentType, "the Content-Type %q is not taken here", r.Header.Get("Content-Type"))
		return 400, refuse(400, 50035, "Invalid Form Body").body()
	}
	c := &call{check: check{note: note}, request: r, entry: entry, body: raw.value, uploads: raw.uploads}
	body, refused := route.handle(s, c)
	switch {
	case refused != nil:
		return refused.status, refused.body()
	case c.status != 0:
		return c.status, body
	case body == nil:
		return http.StatusNoContent, nil
	}
	return http.StatusOK, body
}

// pause waits, and reports whether there is still somebody to answer.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// hangUp ends the connection without an answer.
func hangUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	cutOff(c)
}

// cutOff resets a connection, as when a network fails.
func cutOff(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: closing it is enough
	}
	_ = c.Close()
}

func write(w http.ResponseWriter, status int, body any) { send(w, status, encode(body)) }

// encode is an answer's body; nil without one. The lock is held when it is of the world.
func encode(body any) []byte {
	if body == nil {
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are made here
	}
	return data
}

func send(w http.ResponseWriter, status int, data []byte) {
	if data != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) // who went away gets none
}
