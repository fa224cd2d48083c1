package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Where the API listens is the daemon's setting; what listens there is a plugin, which is
// told by these variables.
const (
	addressVariable = "HARNESS_HTTP_ADDR"
	certVariable    = "HARNESS_TLS_CERT"
	keyVariable     = "HARNESS_TLS_KEY"
)

// setHTTPAddress takes HOST or HOST:PORT.
func setHTTPAddress(c *Config, value string) error {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]"), ""
		if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
			return errors.New("neither a host nor an address")
		}
	}
	if port != "" {
		if err := intInto(&c.Port, port, 1, 65535); err != nil {
			return fmt.Errorf("its port is %w", err)
		}
	}
	if strings.ContainsAny(host, "/@ ") {
		return errors.New("not a host")
	}
	c.Host = cmp.Or(host, "0.0.0.0")
	return nil
}

// address is where the API listens: on loopback unless another host is set.
func (c Config) address() string {
	return net.JoinHostPort(cmp.Or(c.Host, "127.0.0.1"), strconv.Itoa(c.Port))
}

// URL is where this machine reaches the API.
func (c Config) URL() string {
	scheme, host := "http", cmp.Or(c.Host, "127.0.0.1")
	if c.TLSCert != "" {
		scheme = "https"
	}
	switch host {
	case "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(c.Port))
}

// checkTLS wants a certificate and its key, both or none of them.
func (c Config) checkTLS() error {
	switch {
	case c.TLSCert == "" && c.TLSKey == "":
		return nil
	case c.TLSKey == "":
		return fmt.Errorf("%s: the key that belongs to %s is missing", keyVariable, c.TLSCert)
	case c.TLSCert == "":
		return fmt.Errorf("%s: the certificate that belongs to %s is missing", certVariable, c.TLSKey)
	}
	return nil
}

// Answers is what has answered where the API is to be.
type Answers struct {
	Status   string `json:"status"`
	UptimeMS int64  `json:"uptimeMs"` // 0 where it is told to those with a token only
	// Demands says that a token is demanded.
	Demands bool `json:"-"`
}

// Probe asks whether anything of Harness answers where the API is to be, and whether it
// demands a token. Nothing but that is asked, so whose certificate it has does not count.
func Probe(ctx context.Context, config Config) (found Answers, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // see above
	web := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.URL()+path, nil)
		if err != nil {
			return nil, err
		}
		return web.Do(request)
	}
	health, err := ask("/api/health")
	if err != nil {
		return found, err
	}
	defer health.Body.Close()
	if err := json.NewDecoder(io.LimitReader(health.Body, 1<<20)).Decode(&found); err != nil {
		return found, fmt.Errorf("what answers is not Harness: %w", err)
	}
	me, err := ask("/api/me")
	if err != nil {
		return found, err
	}
	defer me.Body.Close()
	found.Demands = me.StatusCode == http.StatusUnauthorized
	return found, nil
}

// LoginLife is how long a link to log in with is good.
const LoginLife = 10 * time.Minute

// LinkOf is the link that a login token's secret is used with.
func LinkOf(config Config, secret string) string {
	return config.URL() + "/login?" + url.Values{"token": {secret}}.Encode()
}
