package fakeapi

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Model is a model as GET /v1/models lists it
// (https://docs.anthropic.com/en/api/models-list).
type Model struct {
	ID      string
	Name    string // for people; default the id
	Created time.Time
}

// defaultModels are listed until SetModels.
var defaultModels = []Model{
	{ID: "claude-opus-5-5", Name: "Claude Opus 5.5"}, {ID: "claude-sonnet-5-5", Name: "Claude Sonnet 5.5"},
	{ID: "claude-opus-4-6", Name: "Claude Opus 4.6"}, {ID: "claude-sonnet-4-6", Name: "Claude Sonnet 4.6"},
	{ID: "claude-haiku-4-5-20251001", Name: "Claude Haiku 4.5"},
}

// SetModels sets which models there are: those are listed, and calls of others are refused
// (404) as the API does. Before that some are listed, and all are answered for.
func (s *Server) SetModels(models ...Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models, s.strict = slices.Clone(models), true
}

// model returns the model of that id. known is false for one that calls are refused of.
func (s *Server) model(id string) (found Model, listed, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := slices.IndexFunc(s.models, func(m Model) bool { return m.ID == id })
	if n < 0 {
		return Model{}, false, !s.strict
	}
	return s.models[n], true, true
}

func (m Model) wire() map[string]string {
	name := m.Name
	if name == "" {
		name = m.ID
	}
	return map[string]string{"type": "model", "id": m.ID, "display_name": name, "created_at": m.Created.UTC().Format(time.RFC3339)}
}

func (s *Server) handleModels(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	listed := s.models
	s.mu.Unlock()
	data := []any{}
	for _, m := range listed {
		data = append(data, m.wire())
	}
	page := map[string]any{"data": data, "has_more": false}
	if len(listed) > 0 {
		page["first_id"], page["last_id"] = listed[0].ID, listed[len(listed)-1].ID
	}
	writeJSON(w, http.StatusOK, page)
}

func (s *Server) handleModel(w http.ResponseWriter, r *http.Request) {
	m, listed, _ := s.model(r.PathValue("id"))
	if !listed {
		writeUnknownModel(w, r.PathValue("id"))
		return
	}
	writeJSON(w, http.StatusOK, m.wire())
}

func writeUnknownModel(w http.ResponseWriter, id string) {
	writeError(w, http.StatusNotFound, fmt.Sprintf("model: %s", id))
}
