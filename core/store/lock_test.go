package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two daemons on one database would answer everything twice.
func TestOneDaemonADatabase(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		first, other := storetest.OpenConfig(t, config), storetest.OpenConfig(t, config)
		lost, release, err := first.Lock(ctx, "boot 1")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = other.Lock(ctx, "boot 2")
		wantCode(t, err, pluginsdk.CodeUnavailable)
		if !strings.Contains(fmt.Sprint(err), "boot 1") {
			t.Errorf("%q does not name the holder", err)
		}
		if first.Dialect() == "sqlite3" && !strings.Contains(fmt.Sprint(err), fmt.Sprintf("pid %d", os.Getpid())) {
			t.Errorf("%q does not name the holder's process", err)
		}
		check(t, other.Audit(ctx, "ann", "looks without a lock", "", ""))
		release()
		release()
		select {
		case <-lost:
			t.Error("a lock that was released counts as lost")
		default:
		}
		_, release, err = other.Lock(ctx, "boot 2")
		check(t, err)
		release()
	})
}

// A daemon whose connection is cut has lost its claim and must know.
func TestLockIsLostWithItsConnection(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.Postgres(t))
	ctx := context.Background()
	lost, release, err := s.Lock(ctx, "cut "+t.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	_, err = s.Reader().ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", "harness cut "+t.Name())
	check(t, err)
	<-lost
}
