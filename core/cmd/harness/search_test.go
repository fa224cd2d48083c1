package main

import (
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// What was found is shown with when, who and where; nothing in it plays with the terminal.
func TestSearchShowsWhatWasFound(t *testing.T) {
	isolate(t)
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+"?"+r.URL.RawQuery)
		if r.URL.Query().Get("q") == "nothing" {
			_, _ = w.Write([]byte(`{"hits":[],"newest":false}`))
			return
		}
		_, _ = w.Write([]byte(`{"hits":[{"messageId":7,"threadId":"T","threadName":"plans","role":"user","kind":"text","author":"ann",` +
			`"snippet":"bring\u001b[2J the words","marks":[{"start":14,"end":19}],"createdAt":"2026-01-02T03:04:05Z"}],"next":"N","newest":true}`))
	}))
	t.Cleanup(server.Close)
	got := harness(t, "", "search", "the", "words", "--url", server.URL, "--thread", "T", "--role", "user", "--author", "ann",
		"--since", "2026-01-01T00:00:00Z", "--until", "2027-01-01T00:00:00Z", "--newest", "--limit", "5")
	for _, part := range []string{"ann  plans T\n", "\n  bring[2J the words\n", "Only the newest", "There is more"} {
		if got.code != 0 || !strings.Contains(got.out, part) {
			t.Errorf("%q is missing in %+v", part, got)
		}
	}
	if want := "/api/search?author=ann&limit=5&order=newest&q=the+words&role=user&since=2026-01-01T00%3A00%3A00Z&thread=T&until=2027-01-01T00%3A00%3A00Z"; asked[0] != want {
		t.Errorf("asked %s\nwant  %s", asked[0], want)
	}
	harness(t, "", "search", "x", "--url", server.URL, "--json").want(t, 0, `"messageId": 7`, "")
	harness(t, "", "search", "nothing", "--url", server.URL).want(t, 0, "Nothing was found.", "")
	harness(t, "", "search", "nothing", "--url", server.URL, "--json").want(t, 0, "[]", "")
	harness(t, "", "search", "x", "--url", server.URL, "--since", "soon").want(t, exitFailed, "", "--since")
	harness(t, "", "search", "x", "--url", server.URL, "--role", "me").want(t, exitFailed, "", "--role: \"me\" is not accepted; it is user")
	harness(t, "", "search", "x", "--url", server.URL, "--limit", "0").want(t, exitFailed, "", "--limit")
}

// The index is made anew at once with the daemon down, and left to the daemon otherwise.
func TestDBReindex(t *testing.T) {
	data, _ := inUse(t)
	harness(t, "", "db", "reindex").want(t, 0, "The search index is whole.", "")
	database := openStore(t, data)
	mark, err := database.IndexMark(t.Context())
	newest, err2 := database.NewestMessage(t.Context())
	if err != nil || err2 != nil || newest == 0 || mark.MessageID != newest {
		t.Errorf("indexed up to %d of %d; %v, %v", mark.MessageID, newest, err, err2)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	pretendRunning(t, data)
	harness(t, "", "db", "reindex").want(t, 0, "the daemon makes it again", "")
	database = openStore(t, data)
	if mark, err = database.IndexMark(t.Context()); err != nil || mark.MessageID != 0 || mark.Epoch != 2 {
		t.Errorf("%+v, %v", mark, err)
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
}

// The sums of usage are made anew at once with the daemon down, and left to the daemon otherwise.
func TestDBRollup(t *testing.T) {
	data, _ := inUse(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "harness.db"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "INSERT INTO agent_runs (purpose, started_at) VALUES ('pipeline', '2026-03-01 07:00:00+00:00'), ('pipeline', '2026-03-01 08:00:00+00:00')")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	rolledUp := func() (in, behind int64) {
		database := openStore(t, data)
		in, behind, err := database.UsageRolledUp(t.Context())
		if err := errors.Join(err, database.Close()); err != nil {
			t.Fatal(err)
		}
		return in, behind
	}
	in, turns := rolledUp()
	if in != 0 || turns == 0 {
		t.Fatalf("%d turns are rolled up before, and %d are not", in, turns)
	}
	harness(t, "", "db", "rollup").want(t, 0, "The sums of usage are whole.", "")
	if in, behind := rolledUp(); in != turns || behind != 0 {
		t.Errorf("%d turns are rolled up of %d, and %d are not", in, turns, behind)
	}
	pretendRunning(t, data)
	harness(t, "", "db", "rollup").want(t, 0, "the daemon makes them again", "")
	if in, behind := rolledUp(); in != 0 || behind != turns {
		t.Errorf("%d turns are rolled up of %d, and %d are not", in, turns, behind)
	}
}
