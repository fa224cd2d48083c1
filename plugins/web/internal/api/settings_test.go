package api_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestSettingsAreShownAsTheHostGivesThem(t *testing.T) {
	f := serve(t)
	f.host.view = pluginsdk.SettingsView{
		Schema: []byte(`{"properties":{"token":{"secret":true}}}`), Values: []byte(`{"big":12345678901234567890,"list":[1]}`),
		SecretsSet: []string{"token"},
	}
	want := `{"schema":{"properties":{"token":{"secret":true}}},"values":{"big":12345678901234567890,"list":[1]},"secretsSet":["token"]}` + "\n"
	if got := f.send("GET", "/api/plugins/p/settings", ""); got.status != 200 || got.raw != want {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.view = pluginsdk.SettingsView{}
	if got := f.send("GET", "/api/plugins/p/settings", ""); got.raw != `{"values":{},"secretsSet":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeDenied, "the plugin web lacks the capability plugins.admin")
	f.isProblem(f.send("GET", "/api/plugins/p/settings", ""), 403, "plugins.admin")
}

func TestSettingsAreChangedAsTheyAreWritten(t *testing.T) {
	f := serve(t)
	f.host.view.Values = []byte(`{"port":1}`)
	got := f.send("PATCH", "/api/plugins/p/settings", `{"values":{"token":"x<y","port":12345678901234567890,"old":null}}`)
	if got.status != 200 || got.raw != `{"values":{"port":1},"secretsSet":[]}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	want := []any{`set p {"old":null,"port":12345678901234567890,"token":"x\u003cy"}`, "settings of p"}
	if !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %v, want %v", f.host.asked, want)
	}
	f.host.err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "port: 0 is not accepted; it takes a whole number")
	f.isProblem(f.send("PATCH", "/api/plugins/p/settings", `{"values":{"port":0}}`), 422, "port: 0 is not accepted")
}

// A body can hold a secret, and answers are kept in browsers and logs.
func TestAWrongChangeOfSettingsIsNotRepeatedInTheAnswer(t *testing.T) {
	f := serve(t)
	for _, body := range []string{
		`{"token":"hunter2"}`, `{"values":"hunter2"}`, `{"values":{"token":"hunter2"}`, `{"values":{"token":hunter2}}`, `"hunter2"`,
		`{"values":{"token":"hunter2"},"other":1}`, `{"values":{}}`,
	} {
		got := f.send("PATCH", "/api/plugins/p/settings", body)
		if got.status < 400 || got.status >= 500 || strings.Contains(got.raw, "hunter2") {
			t.Errorf("%s: %d %s", body, got.status, got.raw)
		}
	}
	if len(f.host.asked) > 0 || strings.Contains(f.log.String(), "hunter2") {
		t.Errorf("asked %v, log %s", f.host.asked, f.log)
	}
}
