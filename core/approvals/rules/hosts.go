package rules

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// hosts offers a WebFetch by scheme and host.
func hosts(call Call, fields map[string]any) []leave {
	address, _ := fields["url"].(string)
	if call.Tool != "WebFetch" || !known(fields, "url", "prompt") {
		return nil
	}
	origin, ok := originOf(address)
	if !ok {
		return nil
	}
	return []leave{{origin, "fetch anything from " + origin}}
}

// numeric matches a last label that makes browsers read a host as an IPv4 address, in
// whatever notation.
var numeric = regexp.MustCompile(`^(?:[0-9]+|0x[0-9a-f]*)$`)

// originOf returns scheme and host of an address, the host in lower case and as ASCII.
// ok is false when programs could read another host from it than people, or one another:
// with a name and password, an escape, a backslash or an unseen character, a port that is
// not the scheme's own, a dot at the end, or an IP address.
func originOf(address string) (string, bool) {
	if strings.ContainsFunc(address, func(r rune) bool { return r == ' ' || r == '\\' || !unicode.IsPrint(r) }) {
		return "", false
	}
	scheme, rest, ok := strings.Cut(address, "://")
	scheme = strings.ToLower(scheme)
	port, known := map[string]string{"https": ":443", "http": ":80"}[scheme]
	if !ok || !known {
		return "", false
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = strings.TrimSuffix(rest, port)
	if strings.ContainsAny(rest, "@%:[]") {
		return "", false
	}
	host, err := idna.Lookup.ToASCII(rest)
	if err != nil || host == "" || len(host) > 253 || strings.HasSuffix(host, ".") || !strings.Contains(host, ".") {
		return "", false
	}
	if _, err := netip.ParseAddr(host); err == nil || numeric.MatchString(host[strings.LastIndex(host, ".")+1:]) {
		return "", false
	}
	return scheme + "://" + host, true
}
