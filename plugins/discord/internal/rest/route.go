package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// route is an endpoint with what is named in its path. Errors and logs have its name only,
// since some of what is named is secret.
type route struct {
	method string
	path   string   // with {places}
	ids    []string // what goes into the places, in their order
	query  url.Values
}

func at(method, path string, ids ...string) route {
	return route{method: method, path: path, ids: ids}
}

var place = regexp.MustCompile(`\{[^}]*\}`)

// name is the same for all of an endpoint's requests.
func (r route) name() string { return r.method + " " + r.path }

// address is where it is; an error when something that it needs is empty.
func (r route) address(base string) (string, error) {
	var missing string
	next := 0
	path := place.ReplaceAllStringFunc(r.path, func(name string) string {
		id := r.ids[next]
		next++
		if id == "" {
			missing = name
		}
		return url.PathEscape(id)
	})
	if missing != "" {
		return "", &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("it was not asked: %s is empty", missing), route: r.name()}
	}
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return base + path, nil
}

// resource is the top-level resource, by which a bucket is divided: a channel, a guild, a
// webhook. An interaction is one as its webhook is.
// Source: topics/rate-limits.
func (r route) resource() string {
	switch {
	case r.interaction():
		return r.ids[0] + "/" + r.ids[1]
	case strings.HasPrefix(r.path, "/channels/"), strings.HasPrefix(r.path, "/guilds/"):
		return r.ids[0]
	}
	return ""
}

// interaction reports whether it is an endpoint of interactions. The token in its path
// lets it in, and the global limit does not bind it.
// Source: interactions/receiving-and-responding#endpoints.
func (r route) interaction() bool {
	return strings.HasPrefix(r.path, "/interactions/") || strings.HasPrefix(r.path, "/webhooks/")
}

// repeatable reports whether asking twice is as good as asking once.
func (r route) repeatable() bool { return r.method != http.MethodPost }
