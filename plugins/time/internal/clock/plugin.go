// Package clock tells the agent what time it is.
package clock

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"
	"time"
	_ "time/tzdata" // a machine without a zone database must still know the zones

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// zoneFile is a link to the system's timezone in the database of zones.
const zoneFile = "/etc/localtime"

// Plugin has the tool current_time, and answers OnBeforeInvoke with one line
// that says the date, weekday, time and timezone, at the very front of the
// prompt it is given. Because it comes after the context plugin in the order of
// the chain, a prompt reads: the time, the context, the history, then the
// core's header and the message.
type Plugin struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time

	zone atomic.Pointer[time.Location]
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name:         "time",
		Version:      "0.1.0",
		Description:  "Puts the current time in front of prompts, and tells it on request",
		PromptPrefix: true,
		Tools:        []pluginsdk.ToolSpec{tool()},
		SettingsSchema: json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "timezone": {"type": "string", "description": "IANA name of the timezone, such as Europe/Berlin; absent: the system's"}
  }
}`),
	}
}

// Start reads the settings. An unknown timezone is an error that names it.
func (p *Plugin) Start(ctx context.Context, host pluginsdk.Host) error {
	answer, err := host.Settings.Get(ctx, &pluginsdk.GetSettingsRequest{})
	if err != nil {
		return err
	}
	return p.configure(answer.Settings)
}

// OnSettingsChange takes new settings. Wrong ones are an error, and the last
// good ones stay in force.
func (p *Plugin) OnSettingsChange(_ context.Context, change *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	return &pluginsdk.OnSettingsChangeResponse{}, p.configure(change.Settings)
}

func (p *Plugin) configure(raw json.RawMessage) error {
	var config struct {
		Timezone string `json:"timezone"`
	}
	if err := settings.Decode(raw, &config); err != nil {
		return err
	}
	if config.Timezone == "" {
		p.zone.Store(systemZone(os.Getenv("TZ"), zoneFile))
		return nil
	}
	zone, known := location(config.Timezone)
	if !known {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"settings: timezone %q is not known; use an IANA name such as America/Phoenix or Europe/Berlin", config.Timezone)
	}
	p.zone.Store(zone)
	return nil
}

// systemZone is the zone of the variable TZ, else the one that file links to, by name; else
// the one that Go finds, which has none.
func systemZone(tz, file string) *time.Location {
	name := strings.TrimPrefix(tz, ":")
	if tz == "" {
		target, _ := os.Readlink(file)
		_, name, _ = strings.Cut(target, "zoneinfo/")
	}
	if zone, known := location(name); known && name != "" {
		return zone
	}
	return time.Local
}

// OnBeforeInvoke returns the line that goes in front of the prompt.
func (p *Plugin) OnBeforeInvoke(context.Context, *pluginsdk.OnBeforeInvokeRequest) (*pluginsdk.OnBeforeInvokeResponse, error) {
	return &pluginsdk.OnBeforeInvokeResponse{Prefix: timeLine(p.now().In(p.zone.Load()))}, nil
}

func (p *Plugin) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

// timeLine says a time so that neither the date, the weekday nor the offset
// has to be worked out.
func timeLine(t time.Time) string {
	return "Current time: " + t.Format("Monday, 2006-01-02 15:04:05") + " (" + zoneName(t) + ", UTC" + t.Format("-07:00") + ")"
}

// zoneName is the name of a time's zone; of a system's that has none, its abbreviation.
func zoneName(t time.Time) string {
	if t.Location() == time.Local {
		name, _ := t.Zone()
		return name
	}
	return t.Location().String()
}
