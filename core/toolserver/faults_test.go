package toolserver

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A bug in answering the agent ends that answer, whoever asked for what: not the
// daemon, and not the session.
func TestARequestThatPanics(t *testing.T) {
	f := start(t, nil)
	f.plugins.has("p", "work", anyObject, echo)
	client := f.open()
	defer f.begin(behalf)()

	faulty := f.session.receive(func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("in the SDK") })
	if _, err := faulty(t.Context(), "tools/list", nil); pluginsdk.CodeOf(err) != pluginsdk.CodeInternal {
		t.Errorf("a method that panics: %v", err)
	}

	other := f.server.Open()
	defer other.Close()
	other.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("in the handler") })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.entry().URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+other.token)
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("a request whose handler panics is answered: %s", response.Status)
	}

	if result := f.call(client, "p__work", `{}`); result.IsError {
		t.Errorf("afterwards: %q", text(result))
	}
	for _, want := range []string{"in the SDK", "in the handler"} {
		if !strings.Contains(f.log.String(), `panic="`+want+`" stack=`) {
			t.Errorf("%q is not in the log with its stack:\n%s", want, f.log)
		}
	}
}

// A report that panics is one that the agent does not get; the call goes on, and
// so do the reports.
func TestProgressThatPanics(t *testing.T) {
	f := start(t, nil)
	sent := make(chan float64)
	r := &reporter{log: f.server.config.Log, latest: make(chan pluginsdk.Progress, 1)}
	r.send = func(progress pluginsdk.Progress) {
		sent <- progress.Done
		if progress.Done == 1 {
			panic("a bug")
		}
	}
	r.sending.Go(func() { r.run(time.Hour) })
	tell := r.take()
	for _, done := range []float64{1, 2} {
		tell(pluginsdk.Progress{Done: done})
		if got := <-sent; got != done {
			t.Errorf("sent %v, want %v", got, done)
		}
	}
	r.finish()
}
