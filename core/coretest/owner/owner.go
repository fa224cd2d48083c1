// Package owner has tests call daemons as their owner does: what they send to a daemon that
// was made known shows its owner's token.
package owner

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
)

// files are the files of owners' tokens, by the host of the daemon's address.
var files sync.Map

// Know makes a daemon known by its address, with the file of its owner's token. From then on
// the requests of http.DefaultClient to it show that token, unless they show another.
func Know(base, file string) {
	files.Store(hostOf(base), file)
	install()
}

var install = sync.OnceFunc(func() { http.DefaultClient.Transport = Transport{Next: http.DefaultTransport} })

func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Host
}

// Token returns the owner's token of the daemon at an address; empty: it is not known.
func Token(address string) string {
	file, known := files.Load(hostOf(address))
	if !known {
		return ""
	}
	text, err := os.ReadFile(file.(string)) //nolint:forcetypeassert // see Know
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Header has the token of the daemon at an address, for what no http.Client sends.
func Header(address string) http.Header {
	token := Token(address)
	if token == "" {
		return nil
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}

// Transport shows the owner's token with what it sends to daemons that are known.
type Transport struct{ Next http.RoundTripper }

// RoundTrip sends a request.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if header := Header(request.URL.String()); header != nil && request.Header.Get("Authorization") == "" && len(request.Cookies()) == 0 {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", header.Get("Authorization"))
	}
	return t.Next.RoundTrip(request)
}

// CloseIdleConnections closes those that no request uses.
func (t Transport) CloseIdleConnections() {
	if idle, ok := t.Next.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
}

// Session logs the owner in at the daemon of an address, and returns the session's cookies;
// none: the daemon is not known.
func Session(address string) ([]*http.Cookie, error) {
	token := Token(address)
	if token == "" {
		return nil, nil
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.PostForm("http://"+hostOf(address)+"/login", url.Values{"token": {token}})
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	cookies := response.Cookies()
	if response.StatusCode != http.StatusSeeOther || len(cookies) == 0 {
		return nil, errors.New(fmt.Sprint("the owner is not logged in: ", response.Status))
	}
	return cookies, nil
}
