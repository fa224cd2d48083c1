//go:build design

package web

import (
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/design"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
)

// registerDesign adds the page of all that pages are made of, for who works on them.
func registerDesign(frame *site.Site) { design.Register(frame) }
