package guard

import (
	"net"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Hosts are the hosts that are allowed besides loopback's names. One without a
// port stands for every port.
type Hosts []host

// ParseHosts reads a list of NAME or NAME:PORT. An entry that is neither is an
// error with CodeInvalid that quotes it.
func ParseHosts(entries []string) (Hosts, error) {
	hosts := make(Hosts, 0, len(entries))
	for _, entry := range entries {
		parsed, ok := parseHost(entry)
		if !ok {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"settings: allowedHosts has %q; an entry is a host name with or without :port, such as harness.example.org", entry)
		}
		hosts = append(hosts, parsed)
	}
	return hosts, nil
}

// permit reports whether a Host header names loopback or a listed host.
func (h Hosts) permit(header string) bool {
	parsed, ok := parseHost(header)
	if !ok {
		return false
	}
	switch parsed.name {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return h.listed(parsed)
}

func (h Hosts) listed(wanted host) bool {
	for _, entry := range h {
		if entry.name == wanted.name && (entry.port == "" || entry.port == wanted.port) {
			return true
		}
	}
	return false
}

// host is a name, in lower case, or an address without brackets, and a port or
// nothing.
type host struct{ name, port string }

// withPort returns the host as NAME:PORT, with the scheme's port when it has
// none.
func (h host) withPort(scheme string) string {
	port := h.port
	if port == "" {
		port = "80"
		if scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(h.name, port)
}

// parseHost reads NAME, NAME:PORT, an IPv4 address or a bracketed IPv6 address
// in the same way.
func parseHost(s string) (host, bool) {
	name, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		name, port = s[:i], s[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return host{}, false
		}
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") || net.ParseIP(inner) == nil {
			return host{}, false
		}
		return host{name: net.ParseIP(inner).String(), port: port}, true
	}
	name = strings.ToLower(name)
	return host{name: name, port: port}, validName(name)
}

func validName(name string) bool {
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' {
			return false
		}
	}
	return name != ""
}
