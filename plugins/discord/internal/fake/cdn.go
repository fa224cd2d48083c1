package fake

import (
	"net/http"
	"strconv"
	"time"
)

// download gives the bytes of an attachment to whoever has its signed address.
// Source: reference#signed-attachment-cdn-urls.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("file")]
	until, err := strconv.ParseInt(r.URL.Query().Get("ex"), 16, 64)
	good := err == nil && r.URL.Query().Get("hm") == s.sign(r.URL.Path, until) && s.now().Before(time.Unix(until, 0))
	fault := s.faultFor(r.Method, r.URL.Path)
	s.mu.Unlock()
	switch {
	case fault != nil && fault.Delay > 0 && !s.pause(r, fault.Delay):
		return
	case fault != nil && (fault.Kind == FaultCut || fault.Kind == FaultLost):
		hangUp(w)
		return
	case fault != nil && fault.Kind == FaultStatus:
		http.Error(w, http.StatusText(fault.Status), fault.Status)
		return
	case f == nil || !good || f.name != r.PathValue("name"):
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.data)))
	_, _ = w.Write(f.data) // who went away gets none
}
