package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Whoever is told that a command has failed types it again, as long as there is no task:
// the table must show what is lost in silence, and not what people were told.
func TestTheDelegatorReadsTheAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		answers []string // to each try: task, or the words of a row
		tries   int
	}{
		"made":             {[]string{"task"}, 1},
		"failed twice":     {[]string{"failed", "failed", "task"}, 3},
		"failed, and made": {[]string{"task and failed"}, 1},
		"lost in silence":  {[]string{"done"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			database, err := openDatabase(t.Context(), sqliteName, t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = database.close() })
			store := func(query string, arguments ...any) {
				if _, err := database.db.ExecContext(t.Context(), query, arguments...); err != nil {
					t.Error(err)
				}
			}
			for _, table := range []string{"runs (id, finished_at)", "messages (run_id, content)", "tasks (prompt, completed_at)"} {
				store("CREATE TABLE " + table)
			}
			tries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct{ Content, IdempotencyKey string }
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || tries == len(row.answers) {
					t.Errorf("try %d: %+v, %v", tries+1, asked, err)
					w.WriteHeader(http.StatusBadRequest)
					return
				}
				answer := row.answers[tries]
				tries++
				if answer == "task" || answer == "task and failed" {
					store("INSERT INTO tasks VALUES ($1, 1)", asked.Content)
				}
				if answer == "failed" || answer == "task and failed" {
					store("INSERT INTO messages VALUES ($1, 'The command delegate failed in the plugin delegation: no')", asked.IdempotencyKey)
				}
				store("INSERT INTO runs VALUES ($1, 1)", asked.IdempotencyKey)
				w.WriteHeader(http.StatusAccepted)
				_ = json.NewEncoder(w).Encode(pluginsdk.Accepted{RunID: asked.IdempotencyKey})
			}))
			t.Cleanup(server.Close)
			quiet, silence := context.WithCancel(t.Context())
			silence()
			d := &delegator{world: &world{database: database}, door: &web{http: server.Client(), base: server.URL}}
			if err := d.delegate(t.Context(), quiet); err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(d.works); tries != row.tries || said != "[{d-0001 }]" {
				t.Errorf("%d tries of %s", tries, said)
			}
		})
	}
}
