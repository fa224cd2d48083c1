package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const doomedName = "doomed"

// The test binary is the process that is killed when it is started under that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == doomedName {
		runDoomed()
	}
	os.Exit(m.Run())
}

// doom is what a process that indexes is told. It dies by SIGKILL when it comes to a step
// for the DieAt-th time, or, with Within, while it stores the batch after that: so many
// hundredths of the time in which it stored the one before have gone by then.
type doom struct {
	URL, Dir      string
	Step          string
	DieAt, Within int
}

func runDoomed() {
	var d doom
	err := json.Unmarshal([]byte(os.Getenv("DOOM")), &d)
	var s *store.Store
	if err == nil {
		s, err = store.Open(context.Background(), store.Config{URL: d.URL, Dir: d.Dir})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	die := func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	passed := make(map[string]int)
	var began time.Time
	var took time.Duration
	room := search.New(search.Config{Delay: time.Millisecond, Fault: func(step string) {
		switch passed[step]++; {
		case d.Within > 0 && step == "store":
			if began = time.Now(); passed[step] == d.DieAt {
				time.AfterFunc(took*time.Duration(d.Within)/100, die)
			}
		case d.Within > 0 && step == "stored":
			took = time.Since(began)
		case step == d.Step && passed[step] == d.DieAt:
			die()
		}
	}}, s)
	if err := room.Start(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	select {}
}

// killed indexes in a process of its own until that is dead.
func (d doom) killed(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	process := exec.Command(self)
	process.Args, process.Env, process.Stderr = []string{doomedName}, append(os.Environ(), "DOOM="+string(encoded)), &complaints
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = process.Process.Signal(syscall.SIGABRT) })
	defer late.Stop()
	var exit *exec.ExitError
	if err := process.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the process that indexes has not been killed: %v\n%s", err, complaints.String())
	}
}

// A process that indexes is killed with SIGKILL, again and again: at each of its steps, and
// in the middle of storing. Each time everything is found, once; the next process goes on
// from there, and in the end the index is what it would be without all that.
func TestTheIndexSurvivesKilledProcesses(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s := must[*store.Store](t)(store.Open(ctx, config))
		thread := newThread(t, s, "one")
		var ids []int64
		add := func(n int) {
			rows := make([]pluginsdk.NewMessage, n)
			for i := range rows {
				rows[i] = pluginsdk.NewMessage{
					Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: fmt.Sprintf("said number%d 世界", len(ids)+i),
				}
			}
			done, err := s.Append(ctx, ledger.Append{ThreadID: thread, Rows: rows})
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range done.Messages {
				ids = slices.Insert(ids, 0, message.ID)
			}
		}
		add(2500)
		// An index by other rules: the first process begins it anew.
		if err := s.ResetIndex(ctx, search.Rules+1); err != nil {
			t.Fatal(err)
		}
		dooms := []doom{{Step: "read", DieAt: 1}, {Step: "store", DieAt: 1}, {Step: "stored", DieAt: 1}, {Step: "read", DieAt: 3}, {Step: "store", DieAt: 3}}
		for within := 5; within < 100; within += 10 {
			dooms = append(dooms, doom{DieAt: 3, Within: within})
		}
		far := int64(0) // how far the index has come
		for kills := range len(dooms) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			d := dooms[kills]
			d.URL, d.Dir = config.URL, config.Dir
			d.killed(t)
			s = must[*store.Store](t)(store.Open(ctx, config))
			mark := must[ledger.IndexMark](t)(s.IndexMark(ctx))
			if mark.Rules != search.Rules || mark.MessageID < far || mark.MessageID >= ids[0] {
				t.Fatalf("after %d kills the index is at %+v; it was at %d of %d", kills+1, mark, far, ids[0])
			}
			far = mark.MessageID
			room := search.New(search.Config{}, s)
			if got := all(t, room, pluginsdk.SearchQuery{Text: "said", Order: pluginsdk.SearchNewest}, 100); !slices.Equal(got, ids) {
				t.Fatalf("after %d kills a search finds %d of %d", kills+1, len(got), len(ids))
			}
			if problems := must[[]string](t)(s.Integrity(ctx)); len(problems) != 0 {
				t.Fatalf("after %d kills: problems %q", kills+1, problems)
			}
			add(10)
		}
		if far == 0 {
			t.Error("no process has stored anything: this tests nothing")
		}
		room := search.New(search.Config{}, s)
		if err := room.Finish(ctx, nil); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"said", "世界"} {
			if got := indexed(t, s, word); !slices.Equal(got, ids) {
				t.Errorf("%s: the index has %d, want %d", word, len(got), len(ids))
			}
		}
		sound(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
