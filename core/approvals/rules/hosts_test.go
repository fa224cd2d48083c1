package rules

import "testing"

func fetch(address string) Call { return call("/", "WebFetch", "url", address, "prompt", "p") }

// A rule for a host is for that host, however the address is written, and for no other.
func TestRuleForAHost(t *testing.T) {
	rule := offer(t, KindHost, fetch("https://example.com/a?b#c"))
	if rule.Value != "https://example.com" {
		t.Fatalf("the rule is for %q", rule.Value)
	}
	rows := map[string]bool{
		"https://example.com": true, "https://example.com/": true, "https://example.com/x/../y": true, "https://example.com?x": true, "https://example.com#@evil.com": true, "https://example.com:443/x": true,
		"https://EXAMPLE.com/x": true, "HTTPS://example.com/": true, "https://ｅxample.com/": true, "https://example。com/": true, "https://example.com/a@evil.com": true, "https://example.com/https://evil.com": true,
		"http://example.com/": false, "https://example.com:80/": false, "https://example.com:8443/": false, "https://example.com:/": false, "https://example.com:443:443/": false, "https://example.com:0443/": false,
		"https://example.com.evil.com/": false, "https://evil.com/example.com": false, "https://evilexample.com/": false, "https://www.example.com/": false, "https://com/": false, "https://evil.com?https://example.com": false, "https://evil.com#https://example.com": false,
		"https://user@example.com/": false, "https://example.com@evil.com/": false, "https://example.com:pw@evil.com/": false, "https://evil.com\\@example.com/": false, "https://example.com\\@evil.com/": false, "https://example.com\\.evil.com/": false, "https://evil.com\\.example.com": false,
		"https://example.com./": false, "https://example.com../": false, "https://.example.com/": false, "https://example..com/": false, "https:/example.com/": false, "https:example.com": false, "https:///example.com/": false, "//example.com/": false, "example.com": false,
		"https://ex%61mple.com/": false, "https://example%2ecom/": false, "https://example.com%2eevil.com": false, "https://example.com%00.evil.com": false, "https://example.com\x00.evil.com": false, "https://example.com\n.evil.com": false, "https://exa\tmple.com": false, " https://example.com": false, "https://example.com ": false,
		"https://ехample.com/": false, "https://exаmple.com/": false, "https://exam\u00adple.com/": false, "https://exam\u200bple.com/": false, "https://example.com\u2028/": false, "https://example.\u0441om": false,
		"ftp://example.com/": false, "file://example.com/etc/passwd": false, "javascript://example.com/%0a": false, "https://": false, "": false, "https://[example.com]/": false,
	}
	for address, want := range rows {
		if Allows(rule, fetch(address)) != want {
			t.Errorf("%q: want %v", address, want)
		}
	}
	more := fetch("https://example.com")
	more.Input = []byte(`{"url":"https://example.com","prompt":"p","proxy":"evil.com"}`)
	if Allows(rule, more) {
		t.Error("an unknown field is taken")
	}
	if Allows(rule, Call{Tool: "WebFetch", Cwd: "/", Input: []byte(`{"url":"https://evil.com","URL":"https://example.com","prompt":"p"}`)}) {
		t.Error("a second address hides the first")
	}
	if !Allows(offer(t, KindHost, fetch("http://example.com")), fetch("http://example.com:80/x")) {
		t.Error("plain http, which was asked for, is not allowed")
	}
	if got := offer(t, KindHost, fetch("https://bücher.example/")); got.Value != "https://xn--bcher-kva.example" || !Allows(got, fetch("https://XN--BCHER-KVA.example/")) {
		t.Errorf("the rule for another script's host is for %q", got.Value)
	}
}

// An address of a machine is no host: what answers there is not said by a name, and there
// are many ways to write it.
func TestAddressesOfMachines(t *testing.T) {
	for _, address := range []string{
		"http://127.0.0.1/", "http://169.254.169.254/x", "http://[::1]/", "http://2130706433/", "http://0x7f.1/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://1.2.3/",
		"http://a.0x7f/", "http://a.1/", "http://a.0x/", "http://127.0.0.1./", "http://１２７.0.0.1/", "http://localhost/", "http://[::ffff:7f00:1]/", "http://127。0。0。1/",
	} {
		if offered(KindHost, fetch(address)) {
			t.Errorf("%s is offered as a host", address)
		}
	}
}
