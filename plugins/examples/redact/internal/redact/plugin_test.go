package redact

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// served is the plugin as the daemon sees it, over gRPC, with settings.
func served(t *testing.T, settings string) *plugintest.Plugin {
	t.Helper()
	host := plugintest.NewHost()
	host.SetSettings(json.RawMessage(settings))
	return host.Serve(t, new(Plugin))
}

func shown(t *testing.T, plugin *plugintest.Plugin, text string) string {
	t.Helper()
	got, err := plugin.OnBeforeReply(t.Context(), &pluginsdk.OnBeforeReplyRequest{Call: pluginsdk.Call{ID: "c"}, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return *got.Text // an empty one is a value too
}

func TestSecretsAreNotShown(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
	for _, row := range []struct{ name, settings, text, want string }{
		{"nothing to hide", `{}`, "All is well, sk-ip that.", "All is well, sk-ip that."},
		{"an empty reply stays one", `{}`, "", ""},
		{"a key", `{}`, "Here:\n" + key + "\nDone.", "Here:\n[redacted]\nDone."},
		{"a key that is cut off", `{}`, "Here: " + strings.TrimSuffix(key, "-----END RSA PRIVATE KEY-----"), "Here: [redacted]"},
		{"tokens", `{}`, "AKIAABCDEFGHIJKLMNOP and ghp_" + strings.Repeat("a", 36), "[redacted] and [redacted]"},
		{"patterns of one's own", `{"patterns":["(?i)project \\w+"],"mark":"$1***"}`, "Project Blue and project red", "$1*** and $1***"},
		{"no patterns", `{"patterns":[]}`, "AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"},
		{"an empty mark", `{"patterns":["x"],"mark":""}`, "axb", "ab"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := shown(t, served(t, row.settings), row.text); got != row.want {
				t.Errorf("shown %q, want %q", got, row.want)
			}
		})
	}
}

// An operator who makes a mistake must be told, and the secrets that were
// hidden before must stay so.
func TestWrongSettingsAreRefusedAndTheLastGoodOnesStay(t *testing.T) {
	plugin := served(t, `{"patterns":["secret"]}`)
	change := func(settings string) error {
		_, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(settings)})
		return err
	}
	for _, row := range []struct{ settings, names string }{
		{`{"patterns":["good","(bad"]}`, "(bad"},
		{`{"patterns":["x*"]}`, "x*"},
		{`{"pattern":["x"]}`, "pattern"},
		{`[]`, "array"},
	} {
		if err := change(row.settings); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), row.names) {
			t.Errorf("%s: %v", row.settings, err)
		}
	}
	if got := shown(t, plugin, "a secret"); got != "a [redacted]" {
		t.Errorf("after wrong settings: %q", got)
	}
	if err := change(`{"patterns":["other"]}`); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, plugin, "a secret, other"); got != "a secret, [redacted]" {
		t.Errorf("after good settings: %q", got)
	}
}

func TestItDoesNotStartWithWrongSettings(t *testing.T) {
	host := plugintest.NewHost()
	host.SetSettings(json.RawMessage(`{"patterns":["(bad"]}`))
	plugin, err := host.New(t, new(Plugin))
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Start(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("start: %v", err)
	}
}

// What an operator is shown before the plugin is run must be what it then says.
func TestPluginJSONSaysTheSame(t *testing.T) {
	raw, err := os.ReadFile("../../plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(served(t, `{}`).Manifest())
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
