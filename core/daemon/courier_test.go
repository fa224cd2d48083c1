package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const courierName = "courier"

// courier is a plugin that carries messages into a file beside its binary. What
// it does wrong is written in mishaps.txt there, one word a delivery: fail,
// die (after it has carried and before it acknowledges), refuse; then it does
// its work.
type courier struct{}

func runCourier() { serve.Main(courier{}) }

func (courier) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: courierName, Version: "1.0.0"}
}

func (courier) Deliver(_ context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	mishap := nextMishap()
	switch mishap {
	case "fail":
		return nil, errors.New("the line is busy")
	case "refuse":
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "nobody lives there")
	}
	appendLine(beside("carried.txt"), request.Delivery.ID+" "+request.Delivery.Place+" "+request.Message.Content)
	if mishap == "die" {
		os.Exit(3)
	}
	return &pluginsdk.DeliverResponse{ExternalID: "X-" + request.Delivery.ID}, nil
}

// nextMishap takes the first line off the file.
func nextMishap() string {
	content, err := os.ReadFile(beside("mishaps.txt"))
	if err != nil {
		return ""
	}
	first, rest, _ := strings.Cut(string(content), "\n")
	_ = os.WriteFile(beside("mishaps.txt"), []byte(rest), 0o600)
	return first
}

// carried returns the lines that the courier has written.
func (in *installation) carried() (lines []string) {
	file, err := os.Open(filepath.Join(in.config.Plugins, "carried.txt"))
	if err != nil {
		return nil
	}
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines
}

func (in *installation) mishaps(words ...string) {
	in.t.Helper()
	content := strings.Join(words, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(in.config.Plugins, "mishaps.txt"), []byte(content), 0o600); err != nil {
		in.t.Fatal(err)
	}
}

// Replies of a thread whose people read elsewhere are carried there: kept while
// the plugin is off, in order, again under the same id when nobody knows whether
// they came, and given up only when the plugin says that it is no use.
func TestRepliesAreCarriedToTheirTarget(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := newInstallation(t, database(t), courierName)
		in.config.PluginBackoff = in.config.RetryBase
		in.demo(`[{"match":"quince","text":"third"},{"match":"medlar","text":"second"},{"match":"damson","text":"first"}]`)
		in.mishaps("fail", "die", "", "refuse")
		in.start()
		store := in.database()
		thread, _, err := store.CreateThread(t.Context(), pluginsdk.NewThread{Source: courierName, SourceID: "the house at the corner"})
		if err != nil {
			t.Fatal(err)
		}
		watch := in.watch()
		for _, content := range []string{"damson", "medlar", "quince"} {
			in.say(watch, thread.ID, content)
		}
		if lines := in.carried(); len(lines) != 0 {
			t.Errorf("a plugin that is off has carried %q", lines)
		}
		in.sql("UPDATE plugins SET enabled = true WHERE name = 'courier'")
		deliveries := func() []pluginsdk.Delivery {
			found, err := store.Deliveries(t.Context(), pluginsdk.DeliveryQuery{Plugin: courierName})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		in.until("everything is carried or dead", func() bool {
			for _, delivery := range deliveries() {
				if delivery.State != pluginsdk.DeliveryDelivered && delivery.State != pluginsdk.DeliveryDead {
					return false
				}
			}
			return true
		})
		// first: failed, then carried without a word (died), then carried again and
		// acknowledged. second: refused. third: carried.
		done := deliveries()
		lines := in.carried()
		if len(lines) != 3 || lines[0] != lines[1] || !strings.Contains(lines[0], "the house at the corner") ||
			!strings.HasSuffix(lines[0], "first") || !strings.HasSuffix(lines[2], "third") {
			t.Errorf("carried %q", lines)
		}
		if len(done) != 3 || done[0].Attempt != 3 || done[0].ExternalID != "X-"+done[0].ID ||
			done[1].State != pluginsdk.DeliveryDead || !strings.Contains(done[1].LastError, "nobody lives there") ||
			done[2].State != pluginsdk.DeliveryDelivered {
			t.Errorf("deliveries %+v", done)
		}
	})
}
