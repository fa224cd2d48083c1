package daemon

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/certificate"
)

// A certificate that is over, or about to be, keeps everybody out at once: who asks the doctor
// learns it before.
func TestDoctorLooksAtTheCertificate(t *testing.T) {
	now := time.Now()
	look := func(config Config, at time.Time) Check {
		t.Helper()
		found := checkCertificate(config, at)
		if len(found) == 0 {
			return Check{}
		}
		return found[0]
	}
	config := ailing(t)
	if check, ok := said(t, config, "certificate"); ok {
		t.Errorf("on loopback without one: %+v", check)
	}
	config.Host = "::1"
	if got := look(config, now); got.Name != "" {
		t.Errorf("on loopback without one: %+v", got)
	}
	config.Host = "0.0.0.0"
	if got := look(config, now); got.OK || !got.Optional || !strings.Contains(got.Detail, "without TLS") {
		t.Errorf("on a network without one: %+v", got)
	}
	config.Host = ""
	config.TLSCert, config.TLSKey = certificate.Write(t, "harness.example.org", "192.0.2.7") // for 30 days
	for what, c := range map[string]struct {
		at       time.Time
		optional bool
		detail   string
	}{
		"about to end": {now.Add(20 * 24 * time.Hour), true, "for harness.example.org, 192.0.2.7, until "},
		"over":         {now.Add(31 * 24 * time.Hour), false, "over since"},
		"not yet":      {now.Add(-48 * time.Hour), false, "not good before"},
	} {
		if got := look(config, c.at); got.OK || got.Optional != c.optional || !strings.Contains(got.Detail, c.detail) || got.Remedy == "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	wantCheck(t, look(config, now), true, "for harness.example.org, 192.0.2.7, until ")
	if err := os.Chmod(config.TLSKey, 0o644); err != nil { //nolint:gosec // what is tested
		t.Fatal(err)
	}
	if got := check(t, config, "certificate"); got.OK || !got.Optional || !strings.Contains(got.Detail, "can read its key") {
		t.Errorf("a key that all can read: %+v", got)
	}
	if err := os.WriteFile(config.TLSCert, []byte("half of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, look(config, now), false, "cannot be used")
	config.TLSCert = ""
	wantCheck(t, look(config, now), false, "is missing")
	config.TLSCert = config.TLSKey + ".none"
	wantCheck(t, look(config, now), false, "no such file")
}
