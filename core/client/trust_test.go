package client_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// secured serves over TLS, and returns a client that trusts it and shows a token.
func secured(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	api, err := client.Open(client.Config{Base: server.URL, Token: "hrn_t", CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// A daemon, or who sits at its address, must not hand the token on to somebody else.
func TestATokenIsShownToTheNamedAddressOnly(t *testing.T) {
	var shown atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { shown.Add(1) }))
	defer other.Close()
	api := secured(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/api/health", http.StatusTemporaryRedirect)
	})
	_, err := api.Health(t.Context())
	var misled *client.Misled
	if !errors.As(err, &misled) || !strings.Contains(err.Error(), "sends on to "+other.URL) {
		t.Errorf("got %v", err)
	}
	if shown.Load() != 0 {
		t.Error("the other address was asked")
	}
	for base, words := range map[string]string{"http://ann:secret@127.0.0.1": "is not the address", "ftp://127.0.0.1": "is not the address", "": "is not the address"} {
		if _, err := client.Open(client.Config{Base: base}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", base, err)
		}
	}
	if _, err := client.Open(client.Config{Base: "http://127.0.0.1", Token: "a\nb"}); err == nil {
		t.Error("a token with a line break is taken")
	}
	if _, err := client.Open(client.Config{Base: "https://127.0.0.1", CA: "/nowhere.pem"}); err == nil || !strings.Contains(err.Error(), "/nowhere.pem") {
		t.Errorf("got %v", err)
	}
}

// A token that was sent without TLS is everybody's who was on its way, also when it was only a
// slip to name the address so.
func TestATokenIsNotSentInTheClear(t *testing.T) {
	for base, sent := range map[string]bool{
		"http://harness.example.org:3001": false, "http://192.0.2.7": false, "http://[2001:db8::1]:3001": false, "http://localhost.example.org": false,
		"http://localhost:3001": true, "http://127.0.0.1:3001": true, "http://[::1]:3001": true, "https://harness.example.org": true,
	} {
		_, err := client.Open(client.Config{Base: base, Token: "t"})
		var misled *client.Misled
		if refused := errors.As(err, &misled); refused == sent || refused && !strings.Contains(err.Error(), "https://") {
			t.Errorf("%s: %v", base, err)
		}
		for what, config := range map[string]client.Config{"no token": {Base: base}, "as was asked for": {Base: base, Token: "t", Plain: true}} {
			if _, err := client.Open(config); err != nil {
				t.Errorf("%s, %s: %v", base, what, err)
			}
		}
	}
}

// Without the events a chat shows nothing until the answer is there.
func TestEventsComeOverTLSWithAToken(t *testing.T) {
	upgrader := websocket.Upgrader{}
	api := secured(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hrn_t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.WriteMessage(websocket.TextMessage, []byte(`{"event":"hello","boot":"b","seq":1}`))
		_, _, _ = conn.ReadMessage()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	stood := errors.New("it stands")
	err := api.Watch(ctx, client.Subscription{Up: func() { cancel(stood) }, Event: func(pluginsdk.Event) {}})
	if !errors.Is(err, stood) {
		t.Errorf("got %v", err)
	}
}

// A part of a backup that is taken for the whole is found out when it is needed.
func TestABackupThatDoesNotArriveWholeIsNone(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1000)
	sum := sha256.Sum256(content)
	made := pluginsdk.Backup{Name: "b.backup", Size: 1000, SHA256: hex.EncodeToString(sum[:])}
	for what, send := range map[string]func(w http.ResponseWriter){
		"the whole":   func(w http.ResponseWriter) { _, _ = w.Write(content) },
		"a part":      func(w http.ResponseWriter) { _, _ = w.Write(content[:500]) },
		"other bytes": func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte("y"), 1000)) },
		"one that stops": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(content[:500])
			panic(http.ErrAbortHandler)
		},
	} {
		api := secured(t, func(w http.ResponseWriter, _ *http.Request) { send(w) })
		var got bytes.Buffer
		err := api.FetchBackup(t.Context(), made, &got, func(int64) {})
		if whole := what == "the whole"; (err == nil) != whole || whole && got.Len() != 1000 {
			t.Errorf("%s: %d bytes, %v", what, got.Len(), err)
		}
	}
}
