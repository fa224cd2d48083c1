package plugins

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
)

// setting is one setting as the form shows it.
type setting struct {
	name   string // as the API calls it
	kind   kind
	input  ui.Input
	shown  string    // what was in the field when it was shown
	secret bool      // is typed and never shown
	isSet  bool      // of a secret: it has a value
	choice string    // of a secret that is set: keep, replace or remove
	group  []setting // of ofGroup
	of     schema
}

// settingsForm is the form of a plugin's settings.
type settingsForm struct {
	plugin   string
	settings []setting
	admin    bool
	wrong    string
	values   map[string]json.RawMessage
}

// The names of fields: what is typed, what was shown there, and what is to be done with a
// secret, each of a setting by its name; below a group, with a slash.
const (
	typedField = "set/"
	shownField = "was/"
	doField    = "do/"
)

// What is done with a secret that is set.
const (
	keepSecret    = "keep"
	replaceSecret = "replace"
	removeSecret  = "remove"
)

// settingsBody is the tab of the settings. form is one that was sent and is shown again; nil: as
// the settings are.
func (p pages) settingsBody(r *http.Request, page onePage, form *settingsForm) (templ.Component, error) {
	if form == nil {
		var err error
		if form, err = p.settings(r, page); err != nil {
			if status := site.Status(err); status == http.StatusForbidden || status == http.StatusNotFound {
				return ui.Empty("settings", "Settings cannot be shown", "Here is what the plugin can be told. "+err.Error()), nil
			}
			return nil, err
		}
	}
	return settingsTab(*form), nil
}

func (p pages) settings(r *http.Request, page onePage) (*settingsForm, error) {
	var answer api.Settings
	if err := p.Get(r.Context(), "/api"+path(page.plugin.Name, "settings"), nil, &answer); err != nil {
		return nil, err
	}
	form := &settingsForm{plugin: page.plugin.Name, admin: page.admin, values: answer.Values}
	if len(answer.Schema) == 0 {
		return form, nil
	}
	var root schema
	if err := json.Unmarshal(answer.Schema, &root); err != nil {
		return form, nil //nolint:nilerr // a schema of which no form can be made: what is set is shown as it is
	}
	for _, one := range root.Properties {
		form.settings = append(form.settings, newSetting("", one, answer.Values[one.name], answer.SecretsSet, slices.Contains(root.Required, one.name)))
	}
	return form, nil
}

func newSetting(below string, of property, value json.RawMessage, secretsSet []string, required bool) setting {
	name := below + of.name
	one := setting{name: name, kind: of.kind(), of: of.schema, secret: of.Secret, isSet: slices.Contains(secretsSet, name)}
	if of.Secret {
		one.kind, one.choice = ofText, keepSecret
	}
	if one.kind == ofGroup && below != "" {
		one.kind = ofJSON // one level is enough for a form
	}
	one.shown = textOf(one.kind, value)
	least, most, bounds := of.bounds()
	one.input = ui.Input{
		Name: typedField + name, Label: or(of.Title, of.name), Value: one.shown, Hint: sentence(of.Description, bounds, defaultWords(of.schema, one.kind)),
		Mono: one.kind == ofJSON || one.kind == ofLines, Min: least, Max: most, Required: required && one.kind != ofLines && !of.Secret,
		Checked: one.shown == "true",
	}
	switch one.kind {
	case ofChoice:
		one.input.Options = choices(of.schema, one.shown)
	case ofNumber:
		one.input.Type, one.input.Step = "number", "any"
	case ofInteger:
		one.input.Type, one.input.Step = "number", "1"
	case ofLines:
		one.input.Rows = rows(strings.Count(one.shown, "\n") + 2)
		one.input.Hint = sentence(one.input.Hint, "one on each line")
	case ofJSON:
		one.input.Rows = rows(strings.Count(one.shown, "\n") + 1)
		one.input.Hint = sentence(one.input.Hint, "written as JSON")
	case ofGroup:
		var inside map[string]json.RawMessage
		_ = json.Unmarshal(value, &inside) // what is no object has no values
		for _, child := range of.Properties {
			one.group = append(one.group, newSetting(name+"/", child, inside[child.name], nil, slices.Contains(of.Required, child.name)))
		}
	case ofText, ofBool:
	}
	return one
}

// rows is how high a field for so many lines is.
func rows(lines int) int { return min(max(2, lines), 14) }

// choices are what an enum allows, and, where nothing is chosen yet, that.
func choices(of schema, now string) (options []ui.Option) {
	if now == "" {
		options = append(options, ui.Option{Label: "Not set"})
	}
	for _, one := range of.Enum {
		text, _ := one.(string)
		options = append(options, ui.Option{Value: text, Label: or(text, "(empty)")})
	}
	return options
}

func defaultWords(of schema, kind kind) string {
	text := textOf(kind, of.Default)
	switch {
	case len(of.Default) == 0 || text == "" || text == "[]" || text == "{}":
		return ""
	case kind == ofBool && text == "true":
		return "by default yes"
	case kind == ofBool:
		return "by default no"
	}
	return "by default " + ui.Cut(strings.ReplaceAll(text, "\n", ", "), 120)
}

// sentence puts parts of a hint together.
func sentence(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	for n := range parts[:max(len(parts)-1, 0)] {
		parts[n] = strings.TrimRight(parts[n], ".")
	}
	return strings.Join(parts, "; ")
}

// set takes what was typed: only what is not any more as it was shown is changed.
func (p pages) set(r *http.Request) (site.Done, error) {
	page, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	form, err := p.settings(r, page)
	if err != nil {
		return site.Done{}, err
	}
	page.tab = "settings"
	change, bad := form.take(r.PostForm)
	if len(change) == 0 && !bad {
		return site.Done{To: tab(form.plugin, "settings"), Said: "Nothing has changed."}, nil
	}
	if !bad {
		err = p.Ask(r.Context(), http.MethodPatch, "/api"+path(form.plugin, "settings"), nil, map[string]any{"values": change}, nil)
	}
	if bad || err != nil {
		if err != nil && !form.place(err.Error()) {
			form.wrong = err.Error()
		}
		if page.body, err = p.settingsBody(r, page, form); err != nil {
			return site.Done{}, err
		}
		return site.Done{}, &site.Again{View: page.view()}
	}
	return site.Done{To: followed(form.plugin, "settings"), Said: "The settings of " + form.plugin + " are kept."}, nil
}

// take reads the fields, and returns what changes. bad: something cannot be read, which its field says.
func (f *settingsForm) take(fields url.Values) (change map[string]json.RawMessage, bad bool) {
	change = map[string]json.RawMessage{}
	for n := range f.settings {
		one := &f.settings[n]
		value, changed := one.take(fields, f.values[one.name])
		if changed {
			change[one.name] = value
		}
		bad = bad || one.isWrong()
	}
	return change, bad
}

func (s *setting) isWrong() bool {
	return s.input.Wrong != "" || slices.ContainsFunc(s.group, func(child setting) bool { return child.input.Wrong != "" })
}

// take reads the fields of one setting, of which now is the value.
func (s *setting) take(fields url.Values, now json.RawMessage) (value json.RawMessage, changed bool) {
	typed := strings.ReplaceAll(fields.Get(typedField+s.name), "\r\n", "\n")
	switch {
	case s.secret:
		s.choice = or(fields.Get(doField+s.name), keepSecret)
		switch {
		case s.choice == removeSecret:
			return nothing, s.isSet
		case typed == "" && s.choice == replaceSecret:
			s.input.Wrong = "Type the new value, or keep the one that is set."
			return nil, false
		case typed == "":
			return nil, false
		}
		if value = encoded(typed); s.of.kind() != ofText && json.Valid([]byte(typed)) {
			value = json.RawMessage(typed)
		}
		return value, true
	case s.kind == ofGroup:
		inside := map[string]json.RawMessage{}
		_ = json.Unmarshal(now, &inside) // what is no object is replaced
		for n := range s.group {
			child := &s.group[n]
			name := child.name[len(s.name)+1:]
			if part, other := child.take(fields, inside[name]); other {
				changed = true
				if inside[name] = part; string(part) == string(nothing) {
					delete(inside, name)
				}
			}
		}
		return encoded(inside), changed
	case s.kind == ofBool:
		typed = or(typed, "false")
	}
	shown := strings.ReplaceAll(fields.Get(shownField+s.name), "\r\n", "\n")
	s.input.Value, s.input.Checked, s.shown = typed, typed == "true", shown
	if typed == shown || s.kind == ofBool && shown == "" && typed == "false" {
		return nil, false
	}
	value, s.input.Wrong = valueOf(s.of, typed)
	return value, s.input.Wrong == ""
}

// place puts what the API says is wrong to the fields that it names: each of its sentences
// begins with the name of a setting. It reports whether all of it has found its place.
func (f *settingsForm) place(detail string) (all bool) {
	all = true
	for _, part := range strings.Split(detail, "; ") {
		found := false
		for n := range f.settings {
			one := &f.settings[n]
			if rest, is := strings.CutPrefix(part, one.name+": "); is {
				one.input.Wrong, found = rest, true
			}
		}
		if last := f.lastWrong(); !found && last != nil {
			last.input.Wrong += "; " + part
			found = true
		}
		all = all && found
	}
	return all
}

// lastWrong is the last setting that something was found wrong with; nil: none was.
func (f *settingsForm) lastWrong() (last *setting) {
	for n := range f.settings {
		if f.settings[n].input.Wrong != "" {
			last = &f.settings[n]
		}
	}
	return last
}

// undeclared are the values that no field shows: of a plugin without a schema.
func (f settingsForm) undeclared() bool { return len(f.settings) == 0 && len(f.values) > 0 }
