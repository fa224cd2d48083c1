//go:build !design

package web

import (
	"net/http"
	"testing"
)

// What ships has no page that is for those who work on pages.
func TestThePageOfTheDesignDoesNotShip(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	s.expect("the page", s.ask(http.MethodGet, "/design", ""), http.StatusNotFound)
}
