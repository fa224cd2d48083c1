package adapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/plugins/examples/slack-like/internal/chat"
)

const token = "xoxb-the-token"

// service is the chat service in memory.
type service struct {
	*httptest.Server

	mu      sync.Mutex
	status  int            // what every call is answered with, when not 0
	posts   map[string]int // key to the number of the message
	written []string       // CHANNEL: TEXT
	updates []chat.Update
	changed chan struct{} // closed and replaced when there is something new
	asked   chan string   // receives the cursor of every long poll, if somebody listens
}

func newService(t *testing.T) *service {
	s := &service{posts: make(map[string]int), changed: make(chan struct{}), asked: make(chan string, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /messages", s.post)
	mux.HandleFunc("GET /updates", s.poll)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch status := s.refusal(r); status {
		case 0:
			mux.ServeHTTP(w, r)
		default:
			http.Error(w, http.StatusText(status), status)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) refusal(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token {
		return http.StatusUnauthorized
	}
	return s.status
}

// answer makes every call fail with the status from now on; 0 ends that.
func (s *service) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *service) post(w http.ResponseWriter, r *http.Request) {
	var body struct{ Channel, Key, Text string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number, known := s.posts[body.Key]
	if !known {
		number = len(s.posts) + 1
		s.posts[body.Key] = number
		s.written = append(s.written, body.Channel+": "+body.Text)
	}
	fmt.Fprintf(w, `{"id":"m%d"}`, number)
}

// write is a person who writes a message.
func (s *service) write(channel, author, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, chat.Update{ID: "u" + strconv.Itoa(len(s.updates)+1), Channel: channel, Author: author, Text: text})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *service) poll(w http.ResponseWriter, r *http.Request) {
	cursor := r.URL.Query().Get("after")
	select {
	case s.asked <- cursor:
	default:
	}
	after, _ := strconv.Atoi(cursor)
	for {
		s.mu.Lock()
		news, changed := s.updates[after:], s.changed
		s.mu.Unlock()
		if len(news) > 0 {
			_ = json.NewEncoder(w).Encode(chat.Updates{Updates: news, Next: strconv.Itoa(after + len(news))})
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *service) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.written...)
}
