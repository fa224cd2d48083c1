package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// patience is for what is expected to happen; a test that runs into it fails.
const patience = 30 * time.Second

func settingsFor(s *service) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"url":%q,"token":%q,"channel":"lobby"}`, s.URL, token))
}

// connected is the plugin with the service, as the daemon sees it.
func connected(t *testing.T, s *service, host *plugintest.Host) *plugintest.Plugin {
	t.Helper()
	host.SetSettings(settingsFor(s))
	return host.Serve(t, &Plugin{Pause: time.Millisecond})
}

// listening is connected and active.
func listening(t *testing.T, s *service, host *plugintest.Host) *plugintest.Plugin {
	t.Helper()
	plugin := connected(t, s, host)
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	deactivated(t, plugin)
	return plugin
}

// deactivated ends listening with the test, whose own context has ended by then.
func deactivated(t *testing.T, plugin *plugintest.Plugin) {
	t.Helper()
	t.Cleanup(func() {
		if err := plugin.Deactivate(context.Background()); err != nil {
			t.Errorf("deactivate: %v", err)
		}
	})
}

// awaitCursor waits until the service is asked for what comes after cursor: all
// before it has been submitted.
func awaitCursor(t *testing.T, s *service, cursor string) {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case asked := <-s.asked:
			if asked == cursor {
				return
			}
		case <-limit:
			t.Fatalf("the service was never asked for what comes after %q", cursor)
		}
	}
}

func said(host *plugintest.Host) (texts []string) {
	for _, submission := range host.Submissions() {
		texts = append(texts, submission.Source+"/"+submission.Key+" "+submission.Author+": "+submission.Content)
	}
	return texts
}

func deliver(t *testing.T, plugin *plugintest.Plugin, id, target, text string) (string, error) {
	t.Helper()
	answer, err := plugin.Deliver(t.Context(), &pluginsdk.DeliverRequest{
		Call: pluginsdk.Call{ID: id}, Delivery: pluginsdk.Delivery{ID: id, Place: target}, Message: pluginsdk.Message{Content: text},
	})
	if err != nil {
		return "", err
	}
	return answer.ExternalID, nil
}

func TestWhatPeopleWriteIsSubmittedToTheThreadOfItsChannel(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	s.write("general", "ann", "hello")
	listening(t, s, host)
	awaitCursor(t, s, "1")
	s.write("general", "bob", "hi")
	s.write("random", "ann", "psst")
	awaitCursor(t, s, "3")
	if got, want := said(host), []string{"slack/u1 ann: hello", "slack/u2 bob: hi", "slack/u3 ann: psst"}; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
	listed, err := host.SDK().Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Source: source}})
	if err != nil {
		t.Fatal(err)
	}
	threads := listed.Threads
	if len(threads) != 2 || threads[0].SourceID != "general" || threads[1].SourceID != "random" {
		t.Errorf("threads %+v", threads)
	}
	if submissions := host.Submissions(); submissions[0].ThreadID != threads[0].ID || submissions[2].ThreadID != threads[1].ID {
		t.Errorf("submitted to %+v", submissions)
	}
}

// A process that dies before its cursor is stored reads a message again; the
// person must not be answered twice.
func TestWhatIsReadAgainIsNotSubmittedTwice(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	s.write("general", "ann", "hello")
	plugin := listening(t, s, host)
	awaitCursor(t, s, "1")
	if err := plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := host.As(new(Plugin).Manifest()).State.Delete(t.Context(), &pluginsdk.DeleteStateRequest{Key: cursorKey}); err != nil {
		t.Fatal(err)
	}
	s.write("general", "ann", "and again")
	listening(t, s, host)
	awaitCursor(t, s, "2")
	if got, want := said(host), []string{"slack/u1 ann: hello", "slack/u2 ann: and again"}; !slices.Equal(got, want) {
		t.Errorf("submitted %q, want %q", got, want)
	}
}

func TestNothingIsReadBeforeActivateNorAfterDeactivate(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	plugin := connected(t, s, host)
	s.write("general", "ann", "too early")
	if err := plugin.Deactivate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := said(host); got != nil {
		t.Errorf("before Activate: %q", got)
	}
	for range 2 { // Activate may come again
		if err := plugin.Activate(t.Context()); err != nil {
			t.Fatal(err)
		}
		awaitCursor(t, s, "1")
		if err := plugin.Deactivate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.write("general", "ann", "too late")
	if got := said(host); len(got) != 1 {
		t.Errorf("after Deactivate: %q", got)
	}
}

func TestAHostThatRefusesLosesNoMessage(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeExhausted, "the queue is full"))
	s.write("general", "ann", "hello")
	listening(t, s, host)
	awaitCursor(t, s, "")
	awaitCursor(t, s, "") // it asks for the same again
	host.Fail("Messages.Submit", nil)
	awaitCursor(t, s, "1")
	if got := said(host); len(got) != 1 {
		t.Errorf("submitted %q", got)
	}
}

// One message that is too long must not silence a channel for ever.
func TestAMessageThatIsNeverAcceptedDoesNotHoldUpTheNext(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	host.Fail("Messages.Submit", pluginsdk.Errorf(pluginsdk.CodeInvalid, "too long"))
	s.write("general", "ann", "hello")
	listening(t, s, host)
	awaitCursor(t, s, "1")
}

func TestATokenThatIsSetLaterIsUsedAtOnce(t *testing.T) {
	s, host := newService(t), plugintest.NewHost()
	s.write("general", "ann", "hello")
	plugin := host.Serve(t, &Plugin{Pause: time.Hour})
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	deactivated(t, plugin)
	if _, err := deliver(t, plugin, "d", "general", "hi"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("a delivery without a token must be tried again: %v", err)
	}
	if _, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: settingsFor(s)}); err != nil {
		t.Fatal(err)
	}
	awaitCursor(t, s, "1")
}

func TestADeliveryIsCarriedOnceWhateverIsRepeated(t *testing.T) {
	s := newService(t)
	plugin := connected(t, s, plugintest.NewHost())
	for range 2 {
		if id, err := deliver(t, plugin, "d1", "general", "hi"); id != "m1" || err != nil {
			t.Errorf("receipt %q, %v", id, err)
		}
	}
	if id, err := deliver(t, plugin, "d2", "", "a notification"); id != "m2" || err != nil {
		t.Errorf("receipt %q, %v", id, err)
	}
	if got, want := s.read(), []string{"general: hi", "lobby: a notification"}; !slices.Equal(got, want) {
		t.Errorf("people read %q, want %q", got, want)
	}
}

// What is permanent is given up and the next goes on; a message that is given
// up for what would have passed is lost.
func TestOnlyWhatCannotPassIsPermanent(t *testing.T) {
	s := newService(t)
	plugin := connected(t, s, plugintest.NewHost())
	permanent := []pluginsdk.Code{pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeDenied}
	for status, want := range map[int]bool{
		http.StatusBadRequest: true, http.StatusNotFound: true, http.StatusForbidden: true, http.StatusRequestEntityTooLarge: true,
		http.StatusUnauthorized: false, http.StatusTooManyRequests: false, http.StatusInternalServerError: false, http.StatusBadGateway: false,
	} {
		s.answer(status)
		if _, err := deliver(t, plugin, "d", "general", "hi"); slices.Contains(permanent, pluginsdk.CodeOf(err)) != want || err == nil {
			t.Errorf("status %d: %s %v, want permanent: %v", status, pluginsdk.CodeOf(err), err, want)
		}
	}
	s.Close()
	if _, err := deliver(t, plugin, "d", "general", "hi"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("without the service: %v", err)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	s := newService(t)
	plugin := connected(t, s, plugintest.NewHost())
	for _, settings := range []string{`{"url":"chat.example.org"}`, `{"url":"ftp://x"}`, `{"tokn":"x"}`, `{"token":5}`} {
		_, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)})
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%s: %v", settings, err)
		}
	}
	if _, err := deliver(t, plugin, "d", "general", "hi"); err != nil {
		t.Errorf("the last good settings do not hold: %v", err)
	}
}

// What an operator is shown before the plugin is run must be what it then says.
func TestPluginJSONSaysTheSame(t *testing.T) {
	raw, err := os.ReadFile("../../plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(plugintest.NewHost().Serve(t, new(Plugin)).Manifest())
	if err != nil {
		t.Fatal(err)
	}
	var written, manifest map[string]any
	if err := json.Unmarshal(raw, &written); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(said, &manifest); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(written, manifest) {
		t.Errorf("plugin.json says\n%v, the plugin\n%v; run: go run . --describe > plugin.json", written, manifest)
	}
}
