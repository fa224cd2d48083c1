package api_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/web"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// greeter is a package whose bytes are its version.
func greeter(of pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error) {
	version := string(of.Archive) + of.Upload
	if len(version) > 10 {
		version = "big"
	}
	return pluginsdk.PluginVersion{Version: version, SHA256: strings.Repeat(version[:1], 64), Manifest: pluginsdk.Manifest{
		Name: "greeter", Version: version,
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapMessagesRead, Reason: "to read"}, {Capability: pluginsdk.CapPluginsAdmin, Reason: "to rule"}},
	}}, nil
}

func (f fixture) decide(path string, body map[string]any) answer {
	f.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.Fatal(err)
	}
	return f.send("POST", path, string(text))
}

// agree plans something, and does what was planned.
func (f fixture) agree(path string, body map[string]any) answer {
	f.Helper()
	planned := f.decide(path, body)
	plan, _ := planned.body["plan"].(map[string]any)
	if planned.status != http.StatusOK || planned.body["outcome"] != nil || plan["digest"] == "" {
		f.Fatalf("%s planned: %d %s", path, planned.status, planned.raw)
	}
	body["digest"] = plan["digest"]
	done := f.decide(path, body)
	if done.status != http.StatusOK || done.body["outcome"] == nil {
		f.Fatalf("%s done: %d %s", path, done.status, done.raw)
	}
	return done
}

// Whatever an operator decides at the command line can be decided here, and what needs consent
// is shown before it is done.
func TestPluginsAreDecidedAboutThroughTheAPI(t *testing.T) {
	fake := plugintest.NewHost()
	fake.Package = greeter
	f := serveFor(t, nil, fake.As((*web.Plugin)(nil).Manifest()))
	archive := func(version string) map[string]any {
		return map[string]any{"archive": base64.StdEncoding.EncodeToString([]byte(version))}
	}
	install := map[string]any{"package": archive("1"), "grant": []string{"messages.read"}, "enable": true}
	if planned := f.decide("/api/plugins", install); len(known(t, fake)) != 0 || !strings.Contains(planned.raw, `"mayGrant":["messages.read"]`) {
		t.Errorf("planning has done it, or does not say what may be granted: %s", planned.raw)
	}
	if done := f.agree("/api/plugins", install); !strings.Contains(done.raw, `"granted":["messages.read"]`) || !strings.Contains(done.raw, `"missing":{"capabilities":["plugins.admin"]}`) {
		t.Errorf("installed: %s", done.raw)
	}
	f.agree("/api/plugins/greeter/upgrade", map[string]any{"package": archive("2")})
	if done := f.agree("/api/plugins/greeter/rollback", map[string]any{}); !strings.Contains(done.raw, `"version":"1"`) {
		t.Errorf("rolled back: %s", done.raw)
	}
	for _, step := range []struct{ method, path, body, want string }{
		{"POST", "/api/plugins/greeter/revoke", `{"capabilities":["messages.read"]}`, `"granted":[]`},
		{"POST", "/api/plugins/greeter/grant", `{"capabilities":["messages.read"]}`, `"granted":["messages.read"]`},
		{"PATCH", "/api/plugins/greeter/limits", `{"memoryBytes":1000,"openFiles":-1}`, `"limits":{"memoryBytes":1000,"openFiles":-1}`},
		{"POST", "/api/plugins/order", `{"names":["greeter"]}`, `{"order":["greeter"]}`},
		{"GET", "/api/plugins/greeter/follow", "", `"standing":`},
		{"GET", "/api/plugins/greeter", "", `"manifest":{"name":"greeter"`},
		{"GET", "/api/plugins?manifests=true", "", `"manifest":{"name":"greeter"`},
	} {
		if got := f.send(step.method, step.path, step.body); got.status != http.StatusOK || !strings.Contains(got.raw, step.want) {
			t.Errorf("%s %s: %d %s, want %s", step.method, step.path, got.status, got.raw, step.want)
		}
	}
	if got := f.send("GET", "/api/plugins", ""); strings.Contains(got.raw, `"manifest"`) {
		t.Errorf("a list has manifests that nobody asked for: %s", got.raw)
	}
	f.agree("/api/plugins/greeter/remove", map[string]any{"keepState": true})
	if left := known(t, fake); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	f.agree("/api/plugins", map[string]any{"package": map[string]any{"upload": "3"}})
}

// known are the plugins that there are.
func known(t *testing.T, fake *plugintest.Host) []pluginsdk.PluginInfo {
	t.Helper()
	answer, err := fake.SDK().Plugins.List(t.Context(), &pluginsdk.ListPluginsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Plugins
}

func TestWhatMayNotBeDecidedIsRefused(t *testing.T) {
	fake := plugintest.NewHost()
	fake.Package = greeter
	f := serveFor(t, nil, fake.As((*web.Plugin)(nil).Manifest()))
	one := map[string]any{"archive": "MQ=="}
	for _, c := range []struct {
		what, path string
		body       map[string]any
		status     int
	}{
		{"another plan's digest", "/api/plugins", map[string]any{"package": one, "digest": "0"}, http.StatusConflict},
		{"no package", "/api/plugins", map[string]any{"package": map[string]any{}}, http.StatusUnprocessableEntity},
		{"no base64", "/api/plugins", map[string]any{"package": map[string]any{"archive": "*"}}, http.StatusUnprocessableEntity},
		{"more than web has", "/api/plugins", map[string]any{"package": one, "grant": []string{"plugins.admin"}}, http.StatusForbidden},
		{"what is not there", "/api/plugins/nothing/remove", map[string]any{}, http.StatusNotFound},
		{"nothing to grant", "/api/plugins/nothing/grant", map[string]any{"capabilities": []string{}}, http.StatusUnprocessableEntity},
	} {
		if got := f.decide(c.path, c.body); got.status != c.status {
			t.Errorf("%s: %d %s", c.what, got.status, got.raw)
		}
	}
}

// A plugin is larger than what people type, and what they type is bounded as before.
func TestAPackageMayBeLarge(t *testing.T) {
	fake := plugintest.NewHost()
	fake.Package = greeter
	f := serveFor(t, nil, fake.As((*web.Plugin)(nil).Manifest()))
	large := map[string]any{"package": map[string]any{"archive": base64.StdEncoding.EncodeToString(make([]byte, 12<<20))}}
	if got := f.decide("/api/plugins", large); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.raw)
	}
	large = map[string]any{"package": map[string]any{"archive": base64.StdEncoding.EncodeToString(make([]byte, 13<<20))}}
	f.isProblem(f.decide("/api/plugins", large), http.StatusRequestEntityTooLarge, "17 MiB")
	f.isProblem(f.send("POST", "/api/plugins/order", `{"name":"`+strings.Repeat("x", 1<<20)+`"}`), http.StatusRequestEntityTooLarge, "1 MiB")
}

// A package is sent once, and named when it is planned and when that is carried out.
func TestAPackageMayBeAFileThatWasTakenIn(t *testing.T) {
	fake := plugintest.NewHost()
	var signed string
	fake.Package = func(of pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error) {
		signed = string(of.Signature)
		return greeter(of)
	}
	f := serveFor(t, nil, fake.As((*web.Plugin)(nil).Manifest()))
	archive := fake.AddFile(pluginsdk.File{Name: "greeter.tar.gz"}, []byte("1.5"))
	signature := fake.AddFile(pluginsdk.File{Name: "greeter.tar.gz.minisig"}, []byte("by ann"))
	huge := fake.AddFile(pluginsdk.File{Name: "huge.tar.gz"}, make([]byte, 12<<20+1))
	done := f.agree("/api/plugins", map[string]any{"package": map[string]any{"fileId": archive.ID, "signatureFileId": signature.ID}})
	if !strings.Contains(done.raw, `"version":"1.5"`) || signed != "by ann" {
		t.Errorf("%s, signed %q", done.raw, signed)
	}
	for words, of := range map[string]map[string]any{
		"there is no such file":                  {"fileId": "nothing"},
		"may have 12582912; a larger archive":    {"fileId": huge.ID},
		"want one of archive, upload":            {"fileId": archive.ID, "upload": "x"},
		"want one of signature and":              {"fileId": archive.ID, "signature": "eA==", "signatureFileId": signature.ID},
		"body.package.signatureFileId: there is": {"fileId": archive.ID, "signatureFileId": "nothing"},
	} {
		f.isProblem(f.decide("/api/plugins", map[string]any{"package": of}), http.StatusUnprocessableEntity, words)
	}
}
