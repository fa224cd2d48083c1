package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.handleMessages)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]int64{"input_tokens": DefaultUsage.InputTokens})
	})
	mux.HandleFunc("GET /v1/models", s.handleModels)
	mux.HandleFunc("GET /v1/models/{id}", s.handleModel)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, r.URL.Path+" is not served here")
	})
	return mux
}

func (s *Server) handleMessages(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	request, err := parseRequest(body, r.Header)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	reply := s.record(request)(request)
	if !s.hold(r, reply.Block, reply.Delay) {
		return
	}
	if _, _, known := s.model(request.Model); !known {
		writeUnknownModel(w, request.Model)
		return
	}
	windows := s.windowsOf(reply, request.Model)
	windows.write(w.Header())
	switch {
	case reply.Status != 0:
		writeError(w, reply.Status, fmt.Sprintf("simulated %d", reply.Status))
		return
	case windows.refused():
		writeError(w, http.StatusTooManyRequests, "This request would exceed your account's rate limit. Please try again later.")
		return
	}
	message := compose(reply, request.Model, s.nextID())
	charge := s.charge(request)
	if request.Stream {
		stream(r.Context(), w, message, charge, func() bool { return s.hold(r, reply.Stall, 0) })
		return
	}
	charge(message.Usage.Usage, false)
	writeJSON(w, http.StatusOK, message)
}

// hold waits for a release of that name, if it is one, and then for delay. It
// reports whether the caller is still there.
func (s *Server) hold(r *http.Request, block string, delay time.Duration) bool {
	if block != "" {
		s.mu.Lock()
		gate := s.gate(block)
		s.mu.Unlock()
		select {
		case <-gate:
		case <-r.Context().Done():
			return false
		}
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return false
		}
	}
	return true
}

// errorTypes are the API's names for its statuses
// (https://docs.anthropic.com/en/api/errors).
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
	500: "api_error", 529: "overloaded_error",
}

func writeError(w http.ResponseWriter, status int, message string) {
	name, ok := errorTypes[status]
	if !ok {
		name = "api_error"
	}
	writeJSON(w, status, map[string]any{
		"type": "error", "error": map[string]string{"type": name, "message": message},
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
