package client

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// keyring has the token that is shown with each request.
type keyring struct {
	mu    sync.Mutex
	token string
}

func (k *keyring) get() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.token
}

func (k *keyring) set(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.token = token
}

// ownerParameter is the parameter of a daemon's challenge that names the file of its owner's
// token. Whoever can read that file may show the token.
const ownerParameter = "owner_token_file"

// learn takes the owner's token from the file that the challenge of a refusal names, and
// reports whether the request may be made again with it. It does so on this machine only,
// and only for a daemon of the same user: another user's program that listens at the port
// would be given the token else.
func (c *Client) learn(response *http.Response, shown http.Header) bool {
	if response.StatusCode != http.StatusUnauthorized || shown.Get("Authorization") != "" {
		return false
	}
	if c.keys.get() != "" {
		return true // another request has learned it meanwhile
	}
	if host := c.base.Hostname(); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return false
	}
	file := parameter(response.Header.Get("WWW-Authenticate"), ownerParameter)
	if filepath.Base(file) != "owner.token" || !filepath.IsAbs(file) || !ownListener(c.base.Port(), file) {
		return false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > maxOwnerToken {
		return false
	}
	text, err := os.ReadFile(file) //nolint:gosec // see above
	token := strings.TrimSpace(string(text))
	if err != nil || !strings.HasPrefix(token, "harness_access_") {
		return false
	}
	c.keys.set(token)
	return true
}

// maxOwnerToken bounds the file of the owner's token, in bytes.
const maxOwnerToken = 4 << 10

// parameter returns a parameter of a challenge (RFC 9110, section 11.2), whose value stands in
// quotation marks.
func parameter(challenge, name string) string {
	_, rest, found := strings.Cut(challenge, name+`="`)
	if !found {
		return ""
	}
	var value strings.Builder
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			return value.String()
		case '\\':
			if i++; i == len(rest) {
				return ""
			}
		}
		value.WriteByte(rest[i])
	}
	return ""
}

// introduce learns the owner's token, if there is one to learn, before a request whose body
// can be sent only once. What fails here fails in that request as well.
func (c *Client) introduce(ctx context.Context) {
	if c.keys.get() == "" {
		_ = c.get(ctx, "/api/me", nil, nil)
	}
}
