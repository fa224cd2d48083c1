package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ask names what an operation is done to, and how.
type ask struct {
	ID      string        `json:"id"`      // of the message, channel, guild, user or interaction
	By      string        `json:"by"`      // a user; default the owner
	Guild   string        `json:"guild"`   // of roles
	Name    string        `json:"name"`    // of a command, button or menu; an emoji; a bucket; a token
	Text    string        `json:"text"`    // new text
	Values  []string      `json:"values"`  // of a menu; roles
	Fields  object        `json:"fields"`  // of a modal
	Bits    uint64        `json:"bits"`    // permissions
	Yes     bool          `json:"yes"`     // resumable, closed, out
	Number  int           `json:"number"`  // a close code, intents, times, a version
	For     time.Duration `json:"for"`     // nanoseconds
	Pattern string        `json:"pattern"` // of requests
	Limit   Limit         `json:"limit"`
}

// operations is the table of what can be asked: POST /control/NAME with the JSON of the
// argument answers with the JSON of the result. Each is one method of the Server.
// Durations are nanoseconds.
var operations = map[string]func(*Server, []byte) (any, error){
	// What people do; the argument is that of the method.
	"guild":   made((*Server).AddGuild),
	"channel": made((*Server).AddChannel),
	"thread":  made((*Server).AddThread),
	"user":    made((*Server).AddUser),
	"role":    made((*Server).AddRole),
	"say":     made((*Server).Say),
	"slash":   made((*Server).Slash),
	"state-of-thread": done(func(s *Server, in ThreadState) {
		s.SetThread(in)
	}),

	// What people do; the argument is an ask.
	"edit":           done(func(s *Server, a ask) { s.Edit(a.ID, a.Text) }),
	"unfurl":         done(func(s *Server, a ask) { s.Unfurl(a.ID, a.Text) }),
	"delete":         done(func(s *Server, a ask) { s.Delete(a.ID) }),
	"react":          done(func(s *Server, a ask) { s.React(a.ID, a.By, a.Name) }),
	"typing":         done(func(s *Server, a ask) { s.StartTyping(a.ID, a.By) }),
	"menu":           made(func(s *Server, a ask) string { return s.Menu(a.ID, a.By, a.Name) }),
	"press":          made(func(s *Server, a ask) string { return s.Press(a.ID, a.By, a.Name) }),
	"choose":         made(func(s *Server, a ask) string { return s.Choose(a.ID, a.By, a.Name, a.Values) }),
	"submit":         made(func(s *Server, a ask) string { return s.Submit(a.ID, texts(a.Fields)) }),
	"dm":             made(func(s *Server, a ask) string { return s.DM(a.ID) }),
	"close-dm":       done(func(s *Server, a ask) { s.CloseDM(a.ID, a.Yes) }),
	"deny":           done(func(s *Server, a ask) { s.Deny(a.ID, a.Bits) }),
	"roles":          done(func(s *Server, a ask) { s.SetRoles(a.Guild, a.ID, a.Values) }),
	"remove-bot":     done(func(s *Server, a ask) { s.RemoveBot(a.ID) }),
	"outage":         done(func(s *Server, a ask) { s.SetOutage(a.ID, a.Yes) }),
	"remove-channel": done(func(s *Server, a ask) { s.RemoveChannel(a.ID) }),

	// What is there.
	"who":            read(func(s *Server, _ ask) any { return s.Who() }),
	"state":          read(func(s *Server, _ ask) any { return s.State() }),
	"messages":       read(func(s *Server, a ask) any { return s.Messages(a.ID) }),
	"channels":       read(func(s *Server, a ask) any { return s.Channels(a.ID) }),
	"commands":       read(func(s *Server, a ask) any { return s.Commands(a.ID) }),
	"interaction":    read(func(s *Server, a ask) any { return s.Interaction(a.ID) }),
	"requests":       read(func(s *Server, _ ask) any { return s.Requests() }),
	"count":          read(func(s *Server, a ask) any { return s.Count(a.Pattern) }),
	"breaches":       read(func(s *Server, _ ask) any { return s.Breaches() }),
	"clear-breaches": done(func(s *Server, _ ask) { s.ClearBreaches() }),
	// wait answers with the version once it is above Number, or after For (default 10 s).
	"wait": read(func(s *Server, a ask) any { return s.waitFor(a.Number, a.For) }),

	// What goes wrong.
	"break":           done((*Server).Break),
	"break-events":    done((*Server).BreakEvents),
	"mend":            done(func(s *Server, _ ask) { s.Mend() }),
	"cut":             done(func(s *Server, _ ask) { s.Cut() }),
	"close":           done(func(s *Server, a ask) { s.CloseWith(a.Number) }),
	"hang":            done(func(s *Server, _ ask) { s.Hang() }),
	"invalid-session": done(func(s *Server, a ask) { s.InvalidSession(a.Yes) }),
	"ask-reconnect":   done(func(s *Server, _ ask) { s.AskReconnect() }),
	"ask-heartbeat":   done(func(s *Server, _ ask) { s.AskHeartbeat() }),
	"lose-sessions":   done(func(s *Server, _ ask) { s.LoseSessions() }),
	"refuse":          done(func(s *Server, a ask) { s.Refuse(a.Number, a.For) }),
	"limit":           done(func(s *Server, a ask) { s.SetLimit(a.Name, a.Limit) }),
	"token":           done(func(s *Server, a ask) { s.SetToken(a.Name) }),
	"privileged":      done(func(s *Server, a ask) { s.SetPrivileged(a.Number) }),
	"advance":         done(func(s *Server, a ask) { s.Advance(a.For) }),
}

// made is an operation that makes something, and answers {"id": …}.
func made[In any](do func(*Server, In) string) func(*Server, []byte) (any, error) {
	return read(func(s *Server, in In) any { return object{"id": do(s, in)} })
}

// done is an operation that answers {}.
func done[In any](do func(*Server, In)) func(*Server, []byte) (any, error) {
	return read(func(s *Server, in In) any {
		do(s, in)
		return object{}
	})
}

func read[In any](do func(*Server, In) any) func(*Server, []byte) (any, error) {
	return func(s *Server, data []byte) (out any, err error) {
		var in In
		if len(data) > 0 {
			decoder := json.NewDecoder(strings.NewReader(string(data)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&in); err != nil {
				return nil, fmt.Errorf("the argument: %w", err)
			}
		}
		defer func() {
			switch problem := recover().(type) {
			case nil:
			case Misuse:
				err = problem
			default:
				panic(problem)
			}
		}()
		return do(s, in), nil
	}
}

func texts(fields object) map[string]string {
	out := make(map[string]string)
	for name, value := range fields {
		out[name] = fmt.Sprint(value)
	}
	return out
}

// waitFor returns the version once it is above the given one, or when the time is over.
func (s *Server) waitFor(version int, during time.Duration) int {
	if during <= 0 {
		during = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	_ = s.Wait(ctx, func() bool { return s.State().Version > version }) // the version says whether it was in time
	return s.State().Version
}

// control answers POST /control/NAME, and GET /control/ with the names.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/control/")
	if name == "" {
		var names []string
		for name := range operations {
			names = append(names, name)
		}
		slices.Sort(names)
		write(w, http.StatusOK, names)
		return
	}
	operation, ok := operations[name]
	if !ok {
		write(w, http.StatusNotFound, object{"error": fmt.Sprintf("there is no operation %q; GET /control/ lists them", name)})
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return // who asked is gone
	}
	out, err := operation(s, data)
	if err != nil {
		status := http.StatusBadRequest
		if !errors.As(err, new(Misuse)) {
			status = http.StatusUnprocessableEntity
		}
		write(w, status, object{"error": err.Error()})
		return
	}
	write(w, http.StatusOK, out)
}
