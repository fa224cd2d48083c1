package daemon_test

import (
	"testing"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An author is told at once when the daemon that is up would not run what they build, also
// when the one before it would have.
func TestADaemonSaysWhetherItIsForAuthors(t *testing.T) {
	in := newInstallation(t, "")
	for _, dev := range []bool{true, false, true} {
		in.config.Dev = dev
		d, err := daemon.New(t.Context(), in.config)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := daemon.NewRegistry(in.config, in.database(), func() bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		want := pluginsdk.CodeConflict
		if dev {
			want = ""
		}
		if err := opened.DevDaemon(t.Context()); pluginsdk.CodeOf(err) != want {
			t.Errorf("with --dev %v: %v", dev, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
