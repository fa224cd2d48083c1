package settings_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// oneRow is a Store of one plugin's rows.
type oneRow struct {
	info   ledger.Plugin
	sealed map[string][]byte
	audit  []string
	reads  int // of secrets
}

func (m *oneRow) Plugin(_ context.Context, name string) (ledger.Plugin, error) {
	if name != m.info.Name {
		return ledger.Plugin{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no plugin %s", name)
	}
	return m.info, nil
}

func (m *oneRow) PluginSecrets(context.Context, string) (map[string][]byte, error) {
	m.reads++
	return m.sealed, nil
}

func (m *oneRow) SomeSecret(context.Context) (plugin, name string, sealed []byte, err error) {
	for name, sealed := range m.sealed {
		return m.info.Name, name, sealed, nil
	}
	return "", "", nil, nil
}

func (m *oneRow) EditPluginSettings(_ context.Context, _, who string, edit settings.Edit) error {
	plain, sealed, detail, err := edit(m.info.Settings, m.sealed)
	if err != nil {
		return err
	}
	m.info.Settings, m.sealed = plain, sealed
	m.info.SettingsRevision++
	m.audit = append(m.audit, who+": "+detail)
	return nil
}

type world struct {
	*testing.T
	store *oneRow
	key   string
	*settings.Settings
}

func newWorld(t *testing.T, schema string) *world {
	t.Helper()
	w := &world{T: t, store: &oneRow{info: ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
		Name: "p", Manifest: pluginsdk.Manifest{Name: "p", SettingsSchema: json.RawMessage(schema)},
	}}}, key: filepath.Join(t.TempDir(), "secrets.key")}
	w.restart()
	return w
}

// restart forgets what a process knows.
func (w *world) restart() {
	w.Settings = settings.New(w.store, settings.NewVault("", w.key))
}

func (w *world) change(patch string) {
	w.Helper()
	if err := w.Change(w.Context(), "ann", "p", json.RawMessage(patch)); err != nil {
		w.Fatal(err)
	}
}

// A plugin that may administer others must not have their secrets sent to itself.
func TestAnotherPluginCannotMoveWhereASecretGoes(t *testing.T) {
	w := newWorld(t, `{"type":"object","properties":{"url":{"type":"string"},"hosts":{"type":"array","items":{"type":"string"}},"token":{"type":"string","secret":true},
		"backup":{"type":"string","secret":true},"port":{"type":"integer"},"mode":{"enum":["a","b"]}}}`)
	asks := func(asker, patch string) error {
		return w.ChangeFor(t.Context(), settings.Asker{Plugin: asker, Who: "plugin:" + asker}, "p", json.RawMessage(patch))
	}
	for _, fine := range []string{`{"url":"https://a.example"}`, `{"token":"hunter2"}`, `{"port":1,"mode":"a"}`, `{"url":"https://a.example"}`} {
		if err := asks("web", fine); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
	before := string(w.store.info.Settings)
	for _, refused := range []string{
		`{"url":"https://b.example"}`, `{"url":null}`, `{"hosts":["b"]}`, `{"other":"b"}`, `{"url":"https://b.example","backup":"x"}`,
	} {
		if err := asks("web", refused); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied && !strings.Contains(fmt.Sprint(err), "no such setting") || strings.Contains(fmt.Sprint(err), "hunter") {
			t.Errorf("%s: %v", refused, err)
		}
	}
	if got := string(w.store.info.Settings); got != before {
		t.Errorf("refused, and stored: %s", got)
	}
	for asker, fine := range map[string]string{"web": `{"url":"https://c.example","token":"hunter3","backup":null}`, "p": `{"url":"https://d.example"}`} {
		if err := asks(asker, fine); err != nil {
			t.Errorf("%s: %s: %v", asker, fine, err)
		}
	}
	w.change(`{"url":"https://e.example"}`) // an operator
}

// What a plugin has from its environment can be a secret too, and no schema says so: what
// is declared to be an address is an operator's to change. The rest is a dashboard's too.
func TestAnotherPluginCannotMoveWhereTheEnvironmentGoes(t *testing.T) {
	w := newWorld(t, `{"type":"object","$defs":{"place":{"type":"string","format":"uri"}},"properties":{"url":{"$ref":"#/$defs/place"},"name":{"type":"string"},
		"hosts":{"type":"array","items":{"type":"string","format":"hostname"}},"to":{"type":"object","properties":{"mail":{"type":"string","format":"email"}}}}}`)
	asks := func(asker, patch string) error {
		return w.ChangeFor(t.Context(), settings.Asker{Plugin: asker, Who: "plugin:" + asker}, "p", json.RawMessage(patch))
	}
	addresses := []string{`{"url":"https://b.example"}`, `{"url":null}`, `{"hosts":["b"]}`, `{"to":{"mail":"b@b.example"}}`}
	for _, harmless := range [][]string{nil, {"TZ", "LC_ALL", "HARNESS_PORT"}} {
		w.store.info.GrantedEnv = harmless
		w.change(`{"url":"https://a.example"}`)
		for _, fine := range addresses {
			if err := asks("web", fine); err != nil {
				t.Errorf("with %v, %s: %v", harmless, fine, err)
			}
		}
	}
	w.change(`{"url":"https://a.example","hosts":null,"to":null}`)
	w.store.info.GrantedEnv = []string{"TZ", "P_TOKEN"}
	for _, refused := range addresses {
		if err := asks("web", refused); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "$P_TOKEN") {
			t.Errorf("%s: %v", refused, err)
		}
	}
	if err := errors.Join(asks("web", `{"name":"anything","url":"https://a.example"}`), asks("p", addresses[0])); err != nil {
		t.Error(err)
	}
	w.change(`{"url":"https://e.example"}`) // an operator
}

func (w *world) refused(patch, words string) {
	w.Helper()
	before := string(w.store.info.Settings)
	err := w.Change(w.Context(), "ann", "p", json.RawMessage(patch))
	if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter") {
		w.Errorf("%s: %v; want %q and no secret", patch, err, words)
	}
	if string(w.store.info.Settings) != before {
		w.Errorf("%s: refused, and yet the row is %s", patch, w.store.info.Settings)
	}
}

// gets checks what the plugin is given, and what people are told.
func (w *world) gets(want, problem string) (secrets []string) {
	w.Helper()
	held, err := w.Of(w.Context(), w.store.info)
	if err != nil || string(held.Values) != want {
		w.Errorf("the plugin gets %s, %v; want %s", held.Values, err, want)
	}
	w.told(held.Problem, problem)
	return held.Secrets
}

func (w *world) told(got, want string) {
	w.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "hunter") || strings.Contains(got, "; ") {
		w.Errorf("problem %q, want %q", got, want)
	}
}

// getsNothing checks that the plugin is given no settings, and why.
func (w *world) getsNothing(words string) {
	w.Helper()
	held, err := w.Of(w.Context(), w.store.info)
	if err == nil || held.Values != nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hunter") {
		w.Errorf("the plugin gets %s, %v; want an error with %q", held.Values, err, words)
	}
	w.told(held.Problem, strings.ReplaceAll(words, "; ", ", "))
}

const defaults = `"channel":"general","mode":"quiet"`

func TestAPluginGetsDefaultsSettingsAndSecrets(t *testing.T) {
	w := newWorld(t, courier)
	w.getsNothing("token: it is required and not set")
	w.change(`{"port":80,"limits":{"more":1}}`)
	w.getsNothing("token: it is required and not set")
	w.change(`{"token":"hunter2hunter2","account":{"user":"hunter5"}}`)
	secrets := w.gets(`{"account":{"user":"hunter5"},"channel":"general","limits":{"more":1,"size":5},"mode":"quiet","port":80,"token":"hunter2hunter2"}`, "")
	if !slices.Contains(secrets, "hunter2hunter2") || !slices.Contains(secrets, "hunter5") {
		t.Errorf("the secrets to be kept out of logs are %d", len(secrets))
	}
	if row := string(w.store.info.Settings); strings.Contains(row, "hunter") || row != `{"limits":{"more":1},"port":80}` {
		t.Errorf("the row has %s", row)
	}
	w.change(`{"account":null,"port":null,"limits":null}`)
	w.gets(`{`+defaults+`,"token":"hunter2hunter2"}`, "")
	want := []string{"ann: set limits, port", "ann: set account, token", "ann: unset account, limits, port"}
	if !slices.Equal(w.store.audit, want) {
		t.Errorf("audit %q", w.store.audit)
	}
	if got, err := w.Get(t.Context(), "p"); err != nil || !strings.Contains(string(got), "hunter2hunter2") {
		t.Errorf("Get: %v", err)
	}
	if _, err := w.Get(t.Context(), "q"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("Get of another: %v", err)
	}
}

// A slip in SQL must not take a plugin down, nor give it what makes no sense.
func TestABadRowKeepsTheLastGoodSettings(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"token":"hunter2hunter2","port":80}`)
	good := `{` + defaults + `,"port":80,"token":"hunter2hunter2"}`
	w.gets(good, "")
	for row, words := range map[string]string{
		`{"port":"http"}`: `settings: port: "http" is not accepted, it takes a whole number`,
		`{"prot":80}`:     "prot: there is no such setting",
		`[1]`:             "must be a JSON object",
	} {
		w.store.info.Settings = json.RawMessage(row)
		w.gets(good, words)
	}
	w.store.info.Settings, w.store.info.Problem = nil, "position: 3x is not a number; settings: must be a JSON object"
	w.gets(good, "must be a JSON object")

	// A new secret holds all the same.
	w.store.info.Settings, w.store.info.Problem = json.RawMessage(`{"port":80}`), ""
	w.change(`{"token":"hunter3hunter3"}`)
	w.store.info.Settings = json.RawMessage(`{"port":0}`)
	w.gets(`{`+defaults+`,"port":80,"token":"hunter3hunter3"}`, "port: 0")

	// What was good before the process began is not known.
	w.restart()
	w.getsNothing("port: 0 is not accepted")
	w.store.info.Settings = json.RawMessage(`{"port":81}`)
	w.gets(`{`+defaults+`,"port":81,"token":"hunter3hunter3"}`, "")
	w.store.info.Settings = nil
	w.gets(`{`+defaults+`,"token":"hunter3hunter3"}`, "")
}

// The plugin's process may hold a secret for a while that was replaced: it must
// not reach a log then either.
func TestAReplacedSecretIsStillKeptOutOfLogs(t *testing.T) {
	w := newWorld(t, courier)
	for _, value := range []string{"hunter2hunter2", "hunter3hunter3"} {
		w.change(`{"token":"` + value + `"}`)
		w.gets(`{`+defaults+`,"token":"`+value+`"}`, "")
	}
	if err := os.Remove(w.key); err != nil {
		t.Fatal(err)
	}
	held, err := w.Of(t.Context(), w.store.info)
	if err == nil || !slices.Equal(held.Secrets, []string{"hunter2hunter2", "hunter3hunter3"}) {
		t.Errorf("%d secrets are known, %v", len(held.Secrets), err)
	}
}

// The list of plugins is read all the time: it must not open secrets, nor check
// settings, that it has seen before, and must see what has changed.
func TestAProblemIsFoundOnce(t *testing.T) {
	w := newWorld(t, courier)
	problem := func(want string, reads int) {
		t.Helper()
		w.store.reads = 0
		w.told(w.Problem(t.Context(), w.store.info), want)
		if w.store.reads != reads {
			t.Errorf("the secrets were read %d times, want %d", w.store.reads, reads)
		}
	}
	problem("token: it is required", 1)
	problem("token: it is required", 0)
	w.change(`{"token":"hunter2hunter2"}`)
	problem("", 1)
	problem("", 0)
	w.store.info.Settings = json.RawMessage(`{"port":0}`)
	problem("port: 0", 1)
	problem("port: 0", 0)
	w.store.info.Settings, w.store.info.Problem = nil, "settings: must be a JSON object"
	problem("must be a JSON object", 1)
	w.store.info.Problem = ""
	w.gets(`{`+defaults+`,"token":"hunter2hunter2"}`, "")
	problem("", 0)

	// A key that is away may be put back at any time.
	if err := os.Rename(w.key, w.key+".away"); err != nil {
		t.Fatal(err)
	}
	w.getsNothing("restore " + w.key)
	problem("restore "+w.key, 1)
	problem("restore "+w.key, 1)
	if err := os.Rename(w.key+".away", w.key); err != nil {
		t.Fatal(err)
	}
	problem("", 1)
	problem("", 0)
}

// A plugin that is installed under the name of one that was removed is a stranger
// to it.
func TestWhatAnotherPluginHadIsForgotten(t *testing.T) {
	before := func(t *testing.T) *world {
		w := newWorld(t, "")
		w.change(`{"password":"hunter2hunter2"}`)
		w.gets(`{"password":"hunter2hunter2"}`, "")
		w.store.info.Settings = json.RawMessage(`[]`)
		w.gets(`{"password":"hunter2hunter2"}`, "must be a JSON object")
		return w
	}
	t.Run("its row is gone", func(t *testing.T) {
		w := before(t)
		w.Forget("p")
		w.getsNothing("must be a JSON object")
	})
	t.Run("its row is a new one", func(t *testing.T) {
		w := before(t)
		w.store.info.SettingsRevision = 0
		w.getsNothing("must be a JSON object")
	})
	t.Run("its schema is another", func(t *testing.T) {
		w := before(t)
		w.store.info.Manifest.SettingsSchema = json.RawMessage(`{"properties":{}}`)
		w.getsNothing("must be a JSON object")
	})
	t.Run("its secrets are gone with the row", func(t *testing.T) {
		w := newWorld(t, courier)
		w.change(`{"token":"hunter2hunter2"}`)
		w.gets(`{`+defaults+`,"token":"hunter2hunter2"}`, "")
		w.Forget("p")
		w.store.info.Settings, w.store.sealed = nil, nil
		if held, _ := w.Of(t.Context(), w.store.info); len(held.Secrets) != 0 {
			t.Errorf("%d secrets are still known", len(held.Secrets))
		}
	})
}

// A secret in the column has been in a shell's history; it is neither used nor
// shown, and goes away with the next change.
func TestASecretInPlainTextIsAProblem(t *testing.T) {
	w := newWorld(t, courier)
	w.store.info.Settings = json.RawMessage(`{"token":"hunter2hunter2","port":80}`)
	w.getsNothing("token: a secret stands in the row in plain text")
	w.change(`{"token":"hunter3hunter3"}`)
	w.gets(`{`+defaults+`,"port":80,"token":"hunter3hunter3"}`, "")

	w.store.info.Settings = json.RawMessage(`{"token":"hunter2hunter2","port":80}`)
	secrets := w.gets(`{`+defaults+`,"port":80,"token":"hunter3hunter3"}`, "harness plugin settings set p token")
	if !slices.Contains(secrets, "hunter2hunter2") {
		t.Error("what stands in plain text is not kept out of logs")
	}
	view, err := w.View(t.Context(), "p")
	if err != nil || strings.Contains(string(view.Values), "hunter") || !slices.Equal(view.SecretsSet, []string{"token"}) {
		t.Errorf("shown %s, %v, %v", view.Values, view.SecretsSet, err)
	}
	w.change(`{"port":81}`)
	if row := string(w.store.info.Settings); row != `{"port":81}` || !strings.Contains(w.store.audit[1], "plain text, token") {
		t.Errorf("row %s, audit %q", row, w.store.audit)
	}
}

func TestWhatDoesNotFitIsNotStored(t *testing.T) {
	w := newWorld(t, courier)
	w.refused(`{"port":"http"}`, "port:")
	w.refused(`{"tokn":"hunter2"}`, "no such setting")
	w.refused(`{"token":"hunter2"}`, "token: the value is not accepted")
	w.refused(`[]`, "must be a JSON object")
	w.change(`{"token":"hunter2hunter2"}`)
	w.refused(`{"token":null}`, "token: it is required and not set")
	if err := w.Change(t.Context(), "ann", "q", json.RawMessage(`{}`)); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("unknown plugin: %v", err)
	}
	w.store.info.Settings = json.RawMessage(`[1]`)
	w.refused(`{"port":1}`, "replace them as a whole")
	if err := w.Replace(t.Context(), "ann", "p", json.RawMessage(`{"port":1}`)); err != nil {
		t.Error(err)
	}
	w.gets(`{`+defaults+`,"port":1,"token":"hunter2hunter2"}`, "")
	if err := w.Replace(t.Context(), "ann", "p", json.RawMessage(`{"mode":"loud","token":"hunter9hunter9"}`)); err != nil {
		t.Error(err)
	}
	w.gets(`{"channel":"general","mode":"loud","token":"hunter9hunter9"}`, "")
	if last := w.store.audit[len(w.store.audit)-1]; last != "ann: set mode, token; unset port" {
		t.Errorf("audit %q", last)
	}
}

func TestALostKeyIsSaidAndRecoveredFrom(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"token":"hunter2hunter2"}`)
	if err := os.Rename(w.key, w.key+".away"); err != nil {
		t.Fatal(err)
	}
	w.getsNothing("restore " + w.key)
	w.refused(`{"token":"hunter3hunter3"}`, "restore "+w.key)
	w.change(`{"port":80}`) // no business of the key
	if err := os.Rename(w.key+".away", w.key); err != nil {
		t.Fatal(err)
	}
	w.gets(`{`+defaults+`,"port":80,"token":"hunter2hunter2"}`, "")

	// Lost for good: the secrets are unset, and a new key is made.
	if err := os.Remove(w.key); err != nil {
		t.Fatal(err)
	}
	w.change(`{"token":null}`)
	w.change(`{"token":"hunter3hunter3"}`)
	w.gets(`{`+defaults+`,"port":80,"token":"hunter3hunter3"}`, "")
}

func TestAViewHasEverythingButSecrets(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"token":"hunter2hunter2","port":80}`)
	view, err := w.View(t.Context(), "p")
	if err != nil || string(view.Values) != `{`+defaults+`,"port":80}` || string(view.Schema) != courier || !slices.Equal(view.SecretsSet, []string{"token"}) {
		t.Errorf("view %s %v, %v", view.Values, view.SecretsSet, err)
	}
	rows, problem, err := w.Rows(t.Context(), "p")
	if err != nil || problem != "" {
		t.Errorf("problem %q, %v", problem, err)
	}
	from := make(map[string]settings.From)
	for _, row := range rows {
		from[row.Name] = row.From
		if row.Secret && row.Value != nil {
			t.Errorf("%s is shown", row.Name)
		}
	}
	for name, want := range map[string]settings.From{
		"token": settings.FromOperator, "port": settings.FromOperator, "channel": settings.FromDefault, "account": "", "hosts": "",
	} {
		if from[name] != want {
			t.Errorf("%s is from %q, want %q", name, from[name], want)
		}
	}
}

// A plugin without a schema takes what it is given, and nobody can say what of it
// is a secret.
func TestWithoutASchemaNothingIsChecked(t *testing.T) {
	w := newWorld(t, "")
	w.change(`{"any":"hunter2","thing":null}`)
	w.gets(`{"any":"hunter2"}`, "")
	view, err := w.View(t.Context(), "p")
	if err != nil || string(view.Values) != "{}" {
		t.Errorf("view %s, %v", view.Values, err)
	}
	rows, _, err := w.Rows(t.Context(), "p")
	if err != nil || len(rows) != 1 || !rows[0].Undeclared || rows[0].Value != nil {
		t.Errorf("rows %+v, %v", rows, err)
	}
}

// A new version may stop calling something a secret; it must not become public by
// that, and it can be taken away.
func TestASecretThatIsNoLongerDeclaredStaysSealed(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"token":"hunter2hunter2"}`)
	w.store.info.Manifest.SettingsSchema = json.RawMessage(`{"properties":{"token":{"type":"string"}}}`)
	w.gets(`{}`, "")
	if view, err := w.View(t.Context(), "p"); err != nil || strings.Contains(string(view.Values), "hunter") {
		t.Errorf("view %s, %v", view.Values, err)
	}
	w.change(`{"token":null}`)
	if len(w.store.sealed) != 0 {
		t.Error("it cannot be taken away")
	}
}

// Before a plugin has said what is secret, a secret would be stored as it is.
func TestNothingIsSetBeforeThePluginIsKnown(t *testing.T) {
	w := newWorld(t, "")
	w.store.info.Manifest = pluginsdk.Manifest{}
	w.refused(`{"token":"hunter2"}`, "harness plugin enable p")
}

func TestABrokenSchemaGivesNothingAndShowsNothing(t *testing.T) {
	w := newWorld(t, `{"type":"array"}`)
	w.store.info.Settings = json.RawMessage(`{"token":"hunter2"}`)
	w.getsNothing(`settingsSchema: type: want "object"`)
	if _, err := w.View(t.Context(), "p"); err == nil {
		t.Error("it is shown")
	}
	if err := w.Change(t.Context(), "ann", "p", json.RawMessage(`{}`)); err == nil {
		t.Error("it can be changed")
	}
}

// broken is a database that does not answer.
type broken struct{ oneRow }

func (*broken) PluginSecrets(context.Context, string) (map[string][]byte, error) {
	return nil, errors.New("the database is away")
}

func TestADatabaseThatIsAwayIsNoReasonToGoWithoutSecrets(t *testing.T) {
	s := settings.New(&broken{}, settings.NewVault("", filepath.Join(t.TempDir(), "secrets.key")))
	info := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
		Name: "p", Manifest: pluginsdk.Manifest{SettingsSchema: json.RawMessage(courier)},
	}}
	if held, err := s.Of(t.Context(), info); err == nil || held.Values != nil {
		t.Errorf("got %s, %v", held.Values, err)
	}
}

// Whoever may administer plugins must not come to run commands, or be trusted, by it: what the
// schema marks is changed by an operator, or by a plugin that speaks for one.
func TestWhatIsAnOperatorsNoOtherPluginChanges(t *testing.T) {
	w := newWorld(t, `{"type":"object","$defs":{"lines":{"type":"array"}},"properties":{"checks":{"$ref":"#/$defs/lines","operator":true},
		"token":{"type":"string","secret":true,"operator":true},"atOnce":{"type":"integer"},"setup":{"type":"string"}}}`)
	w.change(`{"checks":["make"],"atOnce":2}`)
	asks := func(asker settings.Asker, patch string) error {
		return w.ChangeFor(t.Context(), asker, "p", json.RawMessage(patch))
	}
	before := string(w.store.info.Settings)
	for _, asker := range []settings.Asker{{Plugin: "other", Reserved: []string{"setup"}}, {Plugin: "p", Reserved: []string{"setup"}}} {
		for _, refused := range []string{
			`{"checks":["curl"]}`, `{"checks":[]}`, `{"checks":null}`, `{"atOnce":1,"checks":["curl"]}`, `{"token":"x"}`, `{"token":null}`, `{"setup":"curl"}`, `{"setup":null}`,
			`{"checks":["make"],"atOnce":3}`,
		} {
			err := asks(asker, refused)
			if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), "only an operator") || !strings.Contains(err.Error(), "harness plugin settings ") {
				t.Errorf("%s: %s: %v", asker.Plugin, refused, err)
			}
		}
	}
	if got := string(w.store.info.Settings); got != before {
		t.Errorf("refused, and stored: %s", got)
	}
	if err := asks(settings.Asker{Plugin: "other"}, `{"atOnce":3}`); err != nil {
		t.Errorf("what is not marked: %v", err)
	}
	if err := asks(settings.Asker{Plugin: "web", Operator: true, Reserved: []string{"setup"}}, `{"checks":["make all"],"setup":"make"}`); err != nil {
		t.Errorf("a dashboard: %v", err)
	}
}
