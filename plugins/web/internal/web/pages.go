package web

import (
	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/budgets"
	conversations "github.com/seed-706843ae/harness/plugins/web/internal/pages/chat"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/crons"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/keys"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/memory"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/overview"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/palette"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/plan"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/plugins"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/runs"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/search"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/system"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/tasks"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/usage"
	"github.com/seed-706843ae/harness/plugins/web/internal/pages/workflows"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
)

// register adds the pages to the site. A new one is its folder in internal/pages, its line
// here, and, if all pages lead to it, its entry in the site's navigation.
func register(frame *site.Site, hub *live.Hub) {
	budgets.Register(frame)
	conversations.Register(frame, hub)
	crons.Register(frame)
	keys.Register(frame)
	memory.Register(frame)
	overview.Register(frame)
	palette.Register(frame)
	plan.Register(frame)
	plugins.Register(frame)
	runs.Register(frame)
	search.Register(frame)
	system.Register(frame)
	tasks.Register(frame)
	usage.Register(frame)
	workflows.Register(frame)
	registerDesign(frame)
}
