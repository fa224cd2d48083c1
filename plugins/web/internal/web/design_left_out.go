//go:build !design

package web

import "github.com/seed-706843ae/harness/plugins/web/internal/site"

// registerDesign adds nothing: what ships is without that page.
func registerDesign(*site.Site) {}
