package plugins

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// formOf is the form of a schema whose values are set.
func formOf(t *testing.T, of, values string, secretsSet ...string) *settingsForm {
	t.Helper()
	var root schema
	form := &settingsForm{}
	if err := json.Unmarshal([]byte(of), &root); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(values), &form.values); err != nil {
		t.Fatal(err)
	}
	for _, one := range root.Properties {
		form.settings = append(form.settings, newSetting("", one, form.values[one.name], secretsSet, false))
	}
	return form
}

// What was typed is sent as the schema has it, and what was left alone is not sent: somebody
// else may have changed it meanwhile.
func TestOnlyWhatWasTypedIsChanged(t *testing.T) {
	const of = `{"properties":{
		"zone":{"type":"string"},"mode":{"enum":["a","b"]},"count":{"type":"integer","minimum":1},"cost":{"type":"number"},
		"on":{"type":"boolean"},"roots":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":"string"}},
		"mail":{"type":"object","properties":{"host":{"type":"string"},"port":{"type":"integer"}}},"token":{"type":"string","secret":true},"pin":{"type":"integer","secret":true}}}`
	const values = `{"zone":"UTC","mode":"a","count":3,"cost":0.5,"on":true,"roots":["/a","/b"],"env":{"A":"1"},"mail":{"host":"h","port":25,"other":true}}`
	for name, c := range map[string]struct{ typed, want, wrong string }{
		"nothing":                 {"", `{}`, ""},
		"a text":                  {"set/zone=Europe/Berlin", `{"zone":"Europe/Berlin"}`, ""},
		"a text taken back":       {"set/zone=", `{"zone":null}`, ""},
		"a choice":                {"set/mode=b", `{"mode":"b"}`, ""},
		"a whole number":          {"set/count= 7 ", `{"count":7}`, ""},
		"no whole number":         {"set/count=7.5", `{}`, "count"},
		"no number":               {"set/cost=much", `{}`, "cost"},
		"a long number as it is":  {"set/cost=12345678901234567890.125", `{"cost":12345678901234567890.125}`, ""},
		"off":                     {"-set/on", `{"on":false}`, ""},
		"lines":                   {"set/roots=/a\r\n\r\n  /c \r\n", `{"roots":["/a","/c"]}`, ""},
		"no lines":                {"set/roots=", `{"roots":[]}`, ""},
		"JSON":                    {`set/env={"B":"2"}`, `{"env":{"B":"2"}}`, ""},
		"no JSON":                 {`set/env={"B"`, `{}`, "env"},
		"a part of a group":       {"set/mail/port=587", `{"mail":{"host":"h","other":true,"port":587}}`, ""},
		"a part taken back":       {"set/mail/host=", `{"mail":{"other":true,"port":25}}`, ""},
		"no part of a group":      {"set/mail/port=x", `{}`, "mail"},
		"a secret":                {"set/token=hunter2", `{"token":"hunter2"}`, ""},
		"a secret that is set":    {"set/token=x&do/token=replace", `{"token":"x"}`, ""},
		"a secret is removed":     {"do/token=remove&set/token=x", `{"token":null}`, ""},
		"nothing to replace with": {"do/token=replace", `{}`, "token"},
		"a secret number":         {"set/pin=1234", `{"pin":1234}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			form := formOf(t, of, values, "token")
			sent := url.Values{}
			var fill func(settings []setting)
			fill = func(settings []setting) {
				for _, one := range settings {
					fill(one.group)
					if one.kind != ofGroup && !one.secret {
						sent.Set(shownField+one.name, one.shown)
						sent.Set(typedField+one.name, one.input.Value)
					}
				}
			}
			fill(form.settings)
			if c.typed == "-set/on" {
				sent.Del("set/on") // an empty box is not sent
			} else if typed, err := url.ParseQuery(url.PathEscape(c.typed)); err != nil {
				t.Fatal(err)
			} else {
				for field := range typed {
					sent.Set(field, typed.Get(field))
				}
			}
			change, bad := form.take(sent)
			got, err := json.Marshal(change)
			if err != nil {
				t.Fatal(err)
			}
			wrong := ""
			for _, one := range form.settings {
				if one.isWrong() {
					wrong += one.name
				}
			}
			if string(got) != c.want || wrong != c.wrong || bad != (c.wrong != "") {
				t.Errorf("%s, wrong %q; want %s, %q", got, wrong, c.want, c.wrong)
			}
		})
	}
}

// What the API says of several settings at once is shown at each of them.
func TestWhatIsWrongIsShownAtItsField(t *testing.T) {
	form := formOf(t, `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}}}`, `{}`)
	if !form.place(`a: too long; b: 0 is not accepted; it takes a whole number`) {
		t.Error("not all has found its place")
	}
	if a, b := form.settings[0].input.Wrong, form.settings[1].input.Wrong; a != "too long" || b != "0 is not accepted; it takes a whole number" {
		t.Errorf("%q, %q", a, b)
	}
	if formOf(t, `{"properties":{"a":{"type":"string"}}}`, `{}`).place("the plugin is not there") {
		t.Error("what is of no setting is said to have a place")
	}
}

// A form is made of any schema, in the order in which its author has written it.
func TestAFormIsMadeOfAnySchema(t *testing.T) {
	form := formOf(t, `{"properties":{"z":true,"y":{"type":["string","null"]},"x":{"enum":[1,2]},"w":{"$ref":"#/x"},
		"v":{"type":"object","properties":{"u":{"type":"object","properties":{"t":{"type":"string"}}}}}}}`, `{"z":[1],"v":3}`)
	names := ""
	for _, one := range form.settings {
		names += one.name
		if one.kind != ofJSON && one.name != "v" {
			t.Errorf("%s is of the kind %d", one.name, one.kind)
		}
	}
	if inner := form.settings[4].group[0]; names != "zyxwv" || inner.kind != ofJSON || inner.name != "v/u" {
		t.Errorf("%s, %+v", names, inner)
	}
}

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "none": -1, " None ": -1, "512": 512 << 20, "0.5": 1 << 19} {
		if got, wrong := limitOf(text, mebi); got != want || wrong != "" {
			t.Errorf("%q: %d, %q", text, got, wrong)
		}
	}
	for _, text := range []string{"0", "-1", "much", "NaN", "1e30", "0.00000001"} {
		if got, wrong := limitOf(text, mebi); wrong == "" {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
	for _, field := range limitFields(pluginsdk.PluginLimits{MemoryBytes: 3 << 19, Processes: -5}) {
		if want := map[string]string{"memoryBytes": "1.5", "processes": "none"}[field.Name]; field.Value != want {
			t.Errorf("%s: %q", field.Name, field.Value)
		}
	}
}
