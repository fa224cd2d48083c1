package client_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func connect(t *testing.T, address string) *client.Client {
	t.Helper()
	c, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	return c.Hurry()
}

func TestAddressesThatCannotBeADaemonsAreRefused(t *testing.T) {
	for _, address := range []string{"", "localhost:3001", "ftp://localhost", "http://", "http://%zz"} {
		if _, err := client.New(address); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:3001") {
			t.Errorf("New(%q) = %v; want an error with an example", address, err)
		}
	}
}

// A person must be able to read what was wrong, in the daemon's own words.
func TestProblemsBecomeErrorsWithTheirDetail(t *testing.T) {
	for name, test := range map[string]struct{ contentType, body, want string }{
		"problem document": {"application/problem+json", `{"title":"Not Found","status":404,"detail":"there is no thread x"}`, "there is no thread x"},
		"without detail":   {"application/problem+json; charset=utf-8", `{"title":"Not Found"}`, "the daemon answered 404 Not Found"},
		"something else":   {"text/html", "<h1>nope</h1>", "answered 404 Not Found: <h1>nope</h1>"},
		"nothing":          {"text/plain", "", "the daemon answered 404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write([]byte(test.body))
			}))
			defer server.Close()
			_, err := connect(t, server.URL).Thread(t.Context(), "x")
			var problem *client.Problem
			if !errors.As(err, &problem) || problem.Status != http.StatusNotFound || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v; want a Problem of 404 that says %q", err, test.want)
			}
		})
	}
}

func TestNobodyThereIsUnreachableAndNamesTheAddress(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := connect(t, server.URL).Health(t.Context())
	var away *client.Unreachable
	if !errors.As(err, &away) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("err = %v; want Unreachable with %s", err, server.URL)
	}
}

func TestGivingUpIsNotTheDaemonsFault(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := connect(t, daemon.URL()).Health(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v; want context.Canceled", err)
	}
}

// A client that only reads the first page loses what is beyond it.
func TestListsAreReadToTheirEnd(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	const many = 2500
	for n := range many {
		daemon.AddMessage(pluginsdk.Message{ThreadID: clienttest.Primary, Kind: pluginsdk.MessageText, Content: strconv.Itoa(n)})
		daemon.AddThread(pluginsdk.Thread{ID: "t" + strconv.Itoa(n)})
	}
	c := connect(t, daemon.URL())
	messages, err := c.Messages(t.Context(), clienttest.Primary, 10)
	if err != nil || len(messages) != many-10 || messages[len(messages)-1].ID != many {
		t.Errorf("Messages = %d rows, %v; want %d", len(messages), err, many-10)
	}
	threads, err := c.Threads(t.Context())
	if err != nil || len(threads) != many+1 {
		t.Errorf("Threads = %d rows, %v; want %d", len(threads), err, many+1)
	}
}

// A page is bounded in bytes, so it may be shorter than what was asked for. Who
// takes that for the end does not see the newest messages.
func TestAShortPageIsNotTheEnd(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Shorten(2)
	for range 7 {
		daemon.AddMessage(pluginsdk.Message{ThreadID: clienttest.Primary, Kind: pluginsdk.MessageText})
		daemon.AddThread(pluginsdk.Thread{ID: "t" + rand.Text()})
	}
	c := connect(t, daemon.URL())
	if messages, err := c.Messages(t.Context(), clienttest.Primary, 0); err != nil || len(messages) != 7 {
		t.Errorf("Messages = %d rows, %v; want 7", len(messages), err)
	}
	if threads, err := c.Threads(t.Context()); err != nil || len(threads) != 8 {
		t.Errorf("Threads = %d rows, %v; want 8", len(threads), err)
	}
}

func TestTheThreadWithoutAnIdIsThePrimaryOne(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	thread, err := connect(t, daemon.URL()).Thread(t.Context(), "")
	if err != nil || thread.ID != clienttest.Primary {
		t.Errorf("Thread(\"\") = %+v, %v", thread, err)
	}
}

// A command beside its thread waits behind no message, and no message behind it.
func TestWhatIsBesideAThreadIsNotAhead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"runs": [{"id": "turn"}, {"id": "command", "beside": true}, {"id": "message"}]}`))
	}))
	defer server.Close()
	for run, want := range map[string]int{"turn": 0, "command": 0, "message": 1} {
		if ahead, err := connect(t, server.URL).Ahead(t.Context(), "T", run); err != nil || ahead != want {
			t.Errorf("%d runs are ahead of the %s (%v), want %d", ahead, run, err, want)
		}
	}
}
