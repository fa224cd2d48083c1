package daemon_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The database goes away in the middle of a turn: a message is refused with
// words that say so, the turn's answer is kept until it can be stored, and
// everything goes on when the database is back, without a restart.
func TestDatabaseGoesAwayAndComesBack(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	in := newInstallation(t, config.URL)
	in.demo(`[{"match":"slow","delay":1500,"text":"slow answer"}]`)
	in.start()
	watch := in.watch()
	thread := in.thread("a thread")
	slow := in.chat(thread, "slow")
	watch.atWork(slow.RunID)
	waiting := in.chat(thread, "waiting")

	gate.Close()
	var problem struct{ Detail string }
	status := in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": "refused", "idempotencyKey": "k"}, &problem)
	if status != http.StatusServiceUnavailable || !strings.Contains(problem.Detail, "database") && !strings.Contains(problem.Detail, "accept message") {
		t.Errorf("during the outage: %d %q", status, problem.Detail)
	}
	in.until("the turn waits for the database", func() bool {
		return strings.Contains(in.log.String(), "the database does not answer; trying again")
	})
	gate.Open()

	watch.end(slow.RunID)
	watch.end(waiting.RunID)
	if run := in.run(slow.RunID); run.State != pluginsdk.RunSucceeded || run.Attempt != 1 {
		t.Errorf("the run that was at work: %+v", run)
	}
	var accepted pluginsdk.Accepted
	in.until("messages are accepted again", func() bool {
		return in.call(http.MethodPost, "/api/chat", map[string]string{"threadId": thread, "content": "refused", "idempotencyKey": "k"}, &accepted) == http.StatusAccepted
	})
	if accepted.Existed {
		t.Error("the refused message had been accepted")
	}
	in.until("the message after the outage is answered", func() bool { return in.run(accepted.RunID).State == pluginsdk.RunSucceeded })
}

// What the log calls back is back: a turn that begins then is stored with all
// that a turn has, although plugins say it once and do not wait.
func TestTurnsAfterAnOutageAreStoredWhole(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	in := newInstallation(t, config.URL)
	in.demo(`[{"think":"hm","toolName":"Bash","toolResult":"ok","text":"done"}]`)
	in.start()
	const rooms = 6
	turns := func() (rows []string) {
		t.Helper()
		var threads []string
		var runs []pluginsdk.Accepted
		for i := range rooms {
			threads = append(threads, in.thread(fmt.Sprint("room ", i)))
		}
		for _, thread := range threads { // at once, so that the pools are full
			runs = append(runs, in.chat(thread, "hello"))
		}
		for _, run := range runs {
			in.until("the message is answered", func() bool { return in.run(run.RunID).State == pluginsdk.RunSucceeded })
		}
		for _, thread := range threads {
			kinds := ""
			in.until("the end of the turn is recorded", func() bool {
				kinds = ""
				for _, m := range in.messages(thread) {
					kinds += string(m.Role) + "/" + string(m.Kind) + " "
					if m.Kind == pluginsdk.MessageStatus && strings.HasPrefix(m.Content, "Pipeline completed") {
						return true
					}
				}
				return false
			})
			rows = append(rows, kinds)
		}
		return rows
	}
	before := turns()
	gate.Close()
	in.until("the outage is noticed", func() bool { return strings.Contains(in.log.String(), "was lost; nothing is begun") })
	gate.Open()
	in.until("the database is back", func() bool { return strings.Contains(in.log.String(), "the database is back; going on") })
	after := turns()
	if !slices.Equal(before, after) {
		t.Errorf("before the outage turns had the rows\n%q\nafter it\n%q", before, after)
	}
}

// Only the connection that holds the lock is lost, so that everything else could
// go on: what waits for people is not begun, for another daemon may carry it.
func TestNothingIsDeliveredWhileTheLockIsLost(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	in := newInstallation(t, config.URL, courierName)
	in.demo(`[{"text":"hi"}]`)
	in.mishaps("refuse")
	in.start()
	in.sql("UPDATE plugins SET enabled = true WHERE name = 'courier'")
	thread, _, err := in.database().CreateThread(t.Context(), pluginsdk.NewThread{Source: courierName, SourceID: "room"})
	if err != nil {
		t.Fatal(err)
	}
	in.chat(thread.ID, "hello")
	var list struct{ Deliveries []pluginsdk.Delivery }
	in.until("the delivery is dead", func() bool {
		in.call(http.MethodGet, "/api/deliveries?state=dead", nil, &list)
		return len(list.Deliveries) == 1
	})

	server, err := sql.Open("postgres", config.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The store has as many connections then as are wanted at once afterwards.
	var readers sync.WaitGroup
	for range 32 {
		readers.Go(func() { in.call(http.MethodGet, "/api/deliveries", nil, nil) })
	}
	readers.Wait()
	gate.Refuse()
	endLock(t, server)
	in.until("the loss is noticed", func() bool { return strings.Contains(in.log.String(), "was lost; nothing is begun") })
	if status := in.call(http.MethodPost, "/api/deliveries/"+list.Deliveries[0].ID+"/retry", nil, nil); status != http.StatusOK {
		t.Fatalf("retry: %d", status)
	}
	in.until("the lock is asked for again", func() bool { return strings.Count(in.log.String(), "the database is still away") > 1 })
	if lines := in.carried(); len(lines) > 0 {
		t.Errorf("carried without the right to: %q", lines)
	}
	gate.Open()
	in.until("the delivery is carried", func() bool { return len(in.carried()) == 1 })
}

// The lock may be lost while the daemon still starts: it is taken again, and the
// start goes on.
func TestAStartGoesOnWithALockThatWasLostMeanwhile(t *testing.T) {
	config := storetest.Postgres(t)
	in := newInstallation(t, config.URL)
	in.demo(`[{"text":"hi"}]`)
	server, err := sql.Open("postgres", config.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	in.opened = func() { endLock(t, server) }
	in.start()
	hello := in.chat(in.thread("a thread"), "hello")
	in.until("the answer", func() bool { return in.run(hello.RunID).State == pluginsdk.RunSucceeded })
}

// What a person has typed when the lock goes is carried out once it is back: nobody is told
// that it failed, and has to type it again.
func TestWorkIsHandedOnAcrossALostLock(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	in := leanInstallation(t, config.URL)
	in.link(filepath.Join(pluginDir, "delegation"), "delegation")
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	in.config.Fault = func(step, _ string) {
		if step == "runCommands" {
			once.Do(func() { close(reached) })
			<-goOn
		}
	}
	in.start()
	server, err := sql.Open("postgres", config.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	in.until("the serving of delegation", func() bool {
		var row struct{ State pluginsdk.PluginState }
		return in.call(http.MethodGet, "/api/plugins/delegation", nil, &row) == http.StatusOK && row.State == pluginsdk.PluginServing
	})
	thread := in.thread("a thread")
	asked := in.chat(thread, "/delegate make it")
	<-reached
	gate.Refuse()
	endLock(t, server)
	in.until("the loss is noticed", func() bool { return strings.Contains(in.log.String(), "was lost; nothing is begun") })
	close(goOn)
	in.until("the lock is asked for again", func() bool { return strings.Count(in.log.String(), "the database is still away") > 1 })
	gate.Open()
	in.until("the end of the command", func() bool { return in.run(asked.RunID).State.Final() })
	for _, row := range in.messages(thread) {
		if row.RunID == asked.RunID && row.Role == pluginsdk.RoleSystem && row.Kind == pluginsdk.MessageText && !strings.HasPrefix(row.Content, "Delegated as ") {
			t.Errorf("the thread is told %q", row.Content)
		}
	}
	var page struct{ Tasks []pluginsdk.Task }
	if status := in.call(http.MethodGet, "/api/tasks", nil, &page); status != http.StatusOK || len(page.Tasks) != 1 {
		t.Errorf("%d, %d tasks", status, len(page.Tasks))
	}
}

// endLock ends the connection on which the daemon of this process holds the lock.
func endLock(t *testing.T, server *sql.DB) {
	t.Helper()
	if _, err := server.ExecContext(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE $1",
		fmt.Sprintf("harness pid %d,%%", os.Getpid())); err != nil {
		t.Fatal(err)
	}
}

// Connections that are cut one by one, the one with the lock among them, are
// made again; nobody is answered twice.
func TestCutConnectionsAreMadeAgain(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	in := newInstallation(t, config.URL)
	in.start()
	thread := in.thread("a thread")
	var runs []string
	for range 5 {
		var accepted pluginsdk.Accepted
		body := map[string]string{"threadId": thread, "content": "hello", "idempotencyKey": in.t.Name() + string(rune('a'+len(runs)))}
		in.until("the message is accepted", func() bool {
			return in.call(http.MethodPost, "/api/chat", body, &accepted) == http.StatusAccepted
		})
		runs = append(runs, accepted.RunID)
		gate.Close()
		gate.Open()
	}
	for _, run := range runs {
		in.until("the message is answered", func() bool {
			var got pluginsdk.Run
			return in.call(http.MethodGet, "/api/runs/"+run, nil, &got) == http.StatusOK && got.State == pluginsdk.RunSucceeded
		})
	}
	var page struct{ Messages []pluginsdk.Message }
	in.until("the thread can be read", func() bool {
		return in.call(http.MethodGet, "/api/threads/"+thread+"/messages?limit=1000&role=assistant&kind=text", nil, &page) == http.StatusOK
	})
	if len(page.Messages) != len(runs) {
		t.Errorf("%d replies to %d messages", len(page.Messages), len(runs))
	}
}
