package daemon

import (
	"strings"
	"testing"
)

// Where the API listens is what was meant; nobody is on the network by a slip.
func TestWhereTheAPIListens(t *testing.T) {
	for value, want := range map[string]struct{ address, url string }{
		"":                 {"127.0.0.1:3001", "http://127.0.0.1:3001"},
		"0.0.0.0":          {"0.0.0.0:3001", "http://127.0.0.1:3001"},
		":4000":            {"0.0.0.0:4000", "http://127.0.0.1:4000"},
		"[::]:4000":        {"[::]:4000", "http://[::1]:4000"},
		"::1":              {"[::1]:3001", "http://[::1]:3001"},
		"192.0.2.7:80":     {"192.0.2.7:80", "http://192.0.2.7:80"},
		"box.example.org":  {"box.example.org:3001", "http://box.example.org:3001"},
		"http://x:1":       {},
		"127.0.0.1:99999":  {},
		"127.0.0.1:x":      {},
		"::1::2":           {},
		"user@example.org": {},
	} {
		config, err := Load(t.TempDir(), func(name string) (string, bool) { return value, name == addressVariable })
		switch {
		case want.address == "":
			if err == nil || !strings.Contains(err.Error(), addressVariable) {
				t.Errorf("%q: %v, %v", value, config.address(), err)
			}
		case err != nil || config.address() != want.address || config.URL() != want.url:
			t.Errorf("%q: %s, %s, %v", value, config.address(), config.URL(), err)
		}
	}
	if got := (Config{Port: 1}).address(); got != "127.0.0.1:1" {
		t.Errorf("where nothing is set: %s", got)
	}
	for _, c := range []Config{{TLSCert: "c"}, {TLSKey: "k"}} {
		if err := c.checkTLS(); err == nil || !strings.Contains(err.Error(), "HARNESS_TLS_") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
