package devloop

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/ledger"
)

// Store is the daemon's database, as far as WatchState needs it.
type Store interface {
	Plugin(ctx context.Context, name string) (ledger.Plugin, error)
}

// WatchState tells the author how the daemon fares with the plugin, until ctx
// ends: each state that is another than the one before. A tick is when the row
// is looked at.
func WatchState(ctx context.Context, store Store, name string, out io.Writer, tick <-chan time.Time) {
	var told string
	for {
		if row, err := store.Plugin(ctx, name); err == nil {
			if now := stateOf(row); now != told {
				told = now
				fmt.Fprintf(out, "%s is %s\n", name, terminal.Clean(now))
			}
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

func stateOf(row ledger.Plugin) string {
	text := string(row.State)
	if !row.Enabled {
		text = "disabled"
	}
	for _, more := range []string{row.LastError, row.Quarantine, row.Problem} {
		if more != "" {
			text += "; " + more
		}
	}
	return text
}
