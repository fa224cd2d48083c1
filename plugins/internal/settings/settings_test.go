package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator who misspells a setting must be told, not left with the default.
func TestDecode(t *testing.T) {
	cases := []struct{ name, raw, zone, wrong string }{
		{"nothing", "", "default", ""},
		{"null", " null ", "default", ""},
		{"empty object", "{}", "default", ""},
		{"a value", `{"zone":"UTC"}`, "UTC", ""},
		{"unknown setting", `{"zome":"UTC"}`, "", "zome"},
		{"wrong type", `{"zone":5}`, "", "zone"},
		{"not an object", `[]`, "", "array"},
		{"more than one", `{} {}`, "", "more than one"},
		{"cut short", `{"zone":`, "", "unexpected EOF"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			target := struct {
				Zone string `json:"zone"`
			}{Zone: "default"}
			err := settings.Decode(json.RawMessage(c.raw), &target)
			if c.wrong == "" {
				if err != nil || target.Zone != c.zone {
					t.Fatalf("zone = %q, err = %v; want %q", target.Zone, err, c.zone)
				}
				return
			}
			if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), c.wrong) {
				t.Fatalf("err = %v (%s); want CodeInvalid naming %q", err, pluginsdk.CodeOf(err), c.wrong)
			}
		})
	}
}
