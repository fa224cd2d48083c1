package web

import (
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/keys"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
)

// register adds the pages to the site. A new one is its folder in internal/pages, its line
// here, and, if all pages lead to it, its entry in the site's navigation.
func register(frame *site.Site) {
	keys.Register(frame)
}
