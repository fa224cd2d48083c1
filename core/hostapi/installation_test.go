package hostapi

import (
	"context"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// whole is an Installation that remembers what it was asked.
type whole struct{ asked []any }

func (w *whole) Doctor(context.Context) ([]pluginsdk.Check, error) {
	return []pluginsdk.Check{{Name: "disk"}}, nil
}

func (w *whole) Pause(context.Context) (pluginsdk.Pause, error) {
	return pluginsdk.Pause{Paused: true, Who: "before"}, nil
}

func (w *whole) SetPause(_ context.Context, who string, paused bool) (was, is pluginsdk.Pause, err error) {
	w.asked = append(w.asked, who, paused)
	return pluginsdk.Pause{Who: "before"}, pluginsdk.Pause{Paused: paused, Who: who}, nil
}

func (w *whole) Usage(context.Context, pluginsdk.UsageRequest) (*pluginsdk.UsageResponse, error) {
	return &pluginsdk.UsageResponse{}, nil
}

func (w *whole) Backup(_ context.Context, who string) (pluginsdk.Backup, error) {
	w.asked = append(w.asked, who)
	return pluginsdk.Backup{Name: "B"}, nil
}

func (w *whole) Backups(context.Context) ([]pluginsdk.Backup, error) {
	return []pluginsdk.Backup{{Name: "B"}}, nil
}

func (w *whole) ReadBackup(_ context.Context, name string, offset int64, limit int) ([]byte, error) {
	w.asked = append(w.asked, name, offset, limit)
	return []byte("x"), nil
}

func (w *whole) DeleteBackup(_ context.Context, who, name string) error {
	w.asked = append(w.asked, who, name)
	return nil
}

// Who decides through a plugin is named with the plugin, and how much is read at a time is
// the core's to bound.
func TestTheInstallationIsAskedInAPersonsName(t *testing.T) {
	f := newFixture()
	asked := &whole{}
	f.api.Installation = asked
	host := f.api.For("web").Installation
	ann := pluginsdk.WithPerson(t.Context(), "ann")
	pause, err := host.SetPause(ann, &pluginsdk.SetPauseRequest{Paused: true})
	if err != nil || pause.Was.Who != "before" || !pause.Pause.Paused {
		t.Errorf("%+v, %v", pause, err)
	}
	if held, err := host.Pause(ann, &pluginsdk.GetPauseRequest{}); err != nil || !held.Pause.Paused || held.Pause.Who != "before" {
		t.Errorf("%+v, %v", held, err)
	}
	if made, err := host.Backup(t.Context(), &pluginsdk.MakeBackupRequest{}); err != nil || made.Backup.Name != "B" {
		t.Errorf("%+v, %v", made, err)
	}
	for _, limit := range []int{0, 10, 5 << 20} {
		if _, err := host.ReadBackup(ann, &pluginsdk.ReadBackupRequest{Name: "B", Offset: 7, Limit: limit}); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []pluginsdk.ReadBackupRequest{{Name: "B", Offset: -1}, {Name: "B", Limit: -1}} {
		if _, err := host.ReadBackup(ann, &wrong); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if _, err := host.DeleteBackup(ann, &pluginsdk.DeleteBackupRequest{Name: "B"}); err != nil {
		t.Error(err)
	}
	want := []any{
		"plugin:web (ann)", true, "plugin:web", "B", int64(7), 4 << 20, "B", int64(7), 10, "B", int64(7), 4 << 20, "plugin:web (ann)", "B",
	}
	if !reflect.DeepEqual(asked.asked, want) {
		t.Errorf("asked %v\nwant  %v", asked.asked, want)
	}
}
