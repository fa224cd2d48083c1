package settings_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/settings"
)

// A secret that reaches a log in another spelling is in the log.
func TestRedactorFindsASecretHoweverItIsWritten(t *testing.T) {
	const secret = "p&ss \"wörd\"/+<1>\t\\end"
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(string(quoted))
	if err != nil {
		t.Fatal(err)
	}
	redact := settings.Redactor([]string{"abc", secret, secret + " and more"})
	for name, text := range map[string]string{
		"as it is":          secret,
		"JSON":              string(quoted),
		"JSON in JSON":      string(twice),
		"Go":                fmt.Sprintf("%q", secret),
		"query":             url.QueryEscape(secret),
		"path":              url.PathEscape(secret),
		"base64":            base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 for URLs":   base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"user:password":     base64.StdEncoding.EncodeToString([]byte("me:" + secret)),
		"another alignment": base64.StdEncoding.EncodeToString([]byte("user:" + secret + "!")),
		"and a third":       base64.StdEncoding.EncodeToString([]byte("you:" + secret + "!!")),
	} {
		got := redact("before " + text + " after")
		if !strings.Contains(got, settings.Redacted) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
		for _, part := range []string{"wörd", "w%C3%B6rd", base64.StdEncoding.EncodeToString([]byte(secret))[4:20]} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left of it", name, got)
			}
		}
	}
	// The longest wins, so that nothing is left of it; what is short stays.
	if got := redact("abc " + secret + " and more."); got != "abc "+settings.Redacted+"." {
		t.Errorf("got %q", got)
	}
	if got := settings.Redactor(nil)("abc"); got != "abc" {
		t.Errorf("got %q", got)
	}
}

// A key of several lines reaches a log line by line.
func TestRedactorFindsTheLinesOfASecret(t *testing.T) {
	redact := settings.Redactor([]string{"-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n}\n"})
	if got := redact("stderr: MIIEvQIBADANBg"); got != "stderr: "+settings.Redacted {
		t.Errorf("got %q", got)
	}
	if got := redact("a } stays"); got != "a } stays" {
		t.Errorf("got %q", got)
	}
}
