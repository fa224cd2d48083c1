package cron

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// usualPauseAfter is the default of pauseAfter, and mostPauseAfter the largest value.
	usualPauseAfter, mostPauseAfter = 5, 100

	settingsSchema = `{"type": "object", "additionalProperties": false, "properties": {
  "pauseAfter": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5, "title": "Turn off after failures in a row", "description": "A schedule that has failed this many times in a row is turned off, and its people are told"}
}}`
)

// pauseAfter is after how many failures in a row a job is turned off.
func (p *Plugin) pauseAfter() int { return int(p.mostFailures.Load()) }

// set takes settings.
func (p *Plugin) set(raw json.RawMessage) error {
	config := struct {
		PauseAfter int `json:"pauseAfter"`
	}{PauseAfter: usualPauseAfter}
	if err := settings.Decode(raw, &config); err != nil {
		return err
	}
	if config.PauseAfter < 1 || config.PauseAfter > mostPauseAfter {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: pauseAfter must be a number of failures from 1 to %d, got %d", mostPauseAfter, config.PauseAfter)
	}
	p.mostFailures.Store(int64(config.PauseAfter))
	return nil
}

// OnSettingsChange takes other settings. Jobs that have failed as often already are turned off at once.
func (p *Plugin) OnSettingsChange(_ context.Context, request *pluginsdk.OnSettingsChangeRequest) (*pluginsdk.OnSettingsChangeResponse, error) {
	if err := p.set(request.Settings); err != nil {
		return nil, err
	}
	p.soon()
	return nil, nil
}

// failuresWords is how many failures have turned a job off, in words.
func failuresWords(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures in a row", n)
}
