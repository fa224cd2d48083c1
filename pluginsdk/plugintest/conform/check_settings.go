package conform

import (
	"context"
	"encoding/json"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// checkSettings gives the plugin settings that make no sense. It may refuse
// them, in words; it may not die, nor forget the good ones.
func (x *exam) checkSettings(ctx context.Context) error {
	const advice = "refuse wrong settings with an invalid_argument error that names what is wrong; keep the last good ones, and go on"
	if err := x.startWithRubbish(ctx, advice); err != nil {
		return err
	}
	if !x.manifest.Answers(pluginsdk.HookSettingsChange) {
		x.note("OnSettingsChange is not declared: new settings take a restart")
		return nil
	}
	s, err := x.serve(ctx)
	if err != nil {
		return err
	}
	defer s.discard()
	for _, rubbish := range x.rubbish() {
		if v := x.change(ctx, s, rubbish); v.fault != "" {
			return faultf(advice, "OnSettingsChange with %s: %s", clipped(string(rubbish)), v.fault)
		}
	}
	switch v := x.change(ctx, s, x.cfg.Settings); {
	case v.fault != "":
		return faultf(advice, "OnSettingsChange with good settings, after rubbish: %s", v.fault)
	case v.error != "":
		return faultf(advice, "OnSettingsChange refuses the settings that it was started with: %s", v.error)
	}
	return nil
}

func (x *exam) startWithRubbish(ctx context.Context, advice string) error {
	for _, rubbish := range x.rubbish()[:2] {
		s, err := x.launchWith(ctx, rubbish)
		if err != nil {
			return err
		}
		refused := x.step(ctx, s.Start)
		err = x.step(ctx, func(ctx context.Context) error {
			_, err := s.Describe(ctx)
			return err
		})
		death := s.dead()
		s.discard()
		if refused != nil {
			x.note("Start with %s: %v", clipped(string(rubbish)), refused)
		}
		switch {
		case death != "":
			return faultf(advice, "Start with %s: %s", clipped(string(rubbish)), death)
		case err != nil:
			return faultf(advice, "after Start with %s, Describe answers: %v", clipped(string(rubbish)), err)
		}
	}
	return nil
}

func (x *exam) change(ctx context.Context, s *session, settings json.RawMessage) verdict {
	limit := allowed(pluginsdk.HookSettingsChange)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := ask(ctx, s, pluginsdk.HookSettingsChange, x.sample(""), settings)
	return judge(s, err, limit)
}

// rubbish is an unknown setting, settings of the wrong types, and what is no
// object or no JSON at all.
func (x *exam) rubbish() []json.RawMessage {
	return []json.RawMessage{
		x.settingsWith(map[string]any{"conformance-unknown-setting": 1}),
		x.settingsWith(x.wrongTypes()),
		json.RawMessage(`[]`), json.RawMessage(`null`), json.RawMessage("\xff{rubbish"),
	}
}

// settingsWith are the settings with some values replaced.
func (x *exam) settingsWith(values map[string]any) json.RawMessage {
	object := map[string]any{}
	_ = json.Unmarshal(x.cfg.Settings, &object) // checked by withDefaults
	for name, value := range values {
		object[name] = value
	}
	encoded, err := json.Marshal(object)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return encoded
}

// wrongTypes gives every declared setting a value that no schema of a simple
// type allows.
func (x *exam) wrongTypes() map[string]any {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(x.manifest.SettingsSchema, &schema) // without one there are no properties
	values := map[string]any{}
	for name := range schema.Properties {
		values[name] = []any{map[string]any{"rubbish": true}}
	}
	return values
}
