// Package keys is the page of the keys that the dashboard answers to.
package keys

import (
	"net/http"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page to the site.
func Register(s *site.Site) {
	s.Page("GET /shortcuts", pluginsdk.ScopeRead, func(*http.Request) (site.View, error) {
		return site.View{Title: "Keys", Body: page(site.Keys())}, nil
	})
}

type group struct {
	name string
	keys []key
}

type key struct {
	pressed []string
	does    string
}

var groups = []group{
	{"In lists", []key{{[]string{"j"}, "The next row"}, {[]string{"k"}, "The row before"}, {[]string{"Enter"}, "Open it"}}},
	{"In a conversation", []key{
		{[]string{"Enter"}, "Send"}, {[]string{"Shift", "Enter"}, "A new line"}, {[]string{"/"}, "Go to the message field; in it, at the beginning: choose a command"},
		{[]string{"Esc"}, "Stop the agent, when the message field is empty; else leave it"},
	}},
}
