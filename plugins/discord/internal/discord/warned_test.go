package discord

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// flush waits until all is dealt with that was told of the primary thread.
func flush(p *post) {
	p.Helper()
	if err := p.inner.side.flush(p.Context(), "primary"); err != nil {
		p.Error(err)
	}
}

// Whoever has nobody carry what is said in the primary thread reads on Discord that most of a
// limit is used, once for each warning. What else is said there, and what the core has
// carried, stays where it is.
func TestAWarningOfThePlanReachesDiscord(t *testing.T) {
	t.Parallel()
	for _, reports := range []bool{true, false} {
		p := newPost(t, fake.Config{}, nil)
		if reports {
			p.host.SetSettings(json.RawMessage(`{"token":"token","apiURL":"` + p.inner.account.Load().APIURL + `","channel":"` + p.channel + `"}`))
			p.serve()
		}
		p.connect()
		p.host.AddThread(pluginsdk.Thread{ID: "primary", Source: "web", SourceID: "primary"})
		p.host.AddThread(pluginsdk.Thread{ID: "carried", Source: "web", SourceID: "x", ReportTo: pluginsdk.Target{Plugin: "discord"}})
		tell := func(thread, by, about, said string) {
			id := p.host.AddMessage(pluginsdk.Message{
				ThreadID: thread, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: by, Content: said,
				Metadata: json.RawMessage(`{"event":"` + about + `"}`),
			})
			told := event(pluginsdk.EventThreadMessage, pluginsdk.MessagePayload{ThreadID: thread, MessageID: id, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification})
			p.hear(told, told) // events come twice
		}
		const first, second = "75 % of the plan's five-hour limit is used (account work_1).", "90 % of the plan's five-hour limit is used (account work_1)."
		tell("carried", "core", pluginsdk.NotePlanWarning, "carried")
		tell("primary", "agent", pluginsdk.NotePlanWarning, "forged")
		tell("primary", "core", "notify", "something else")
		tell("primary", "core", pluginsdk.NotePlanWarning, first)
		tell("primary", "core", pluginsdk.NotePlanWarning, second)
		if !reports {
			flush(p)
			p.holds("without a channel")
			continue
		}
		p.until("both warnings", func() bool { return len(p.says()) >= 2 })
		flush(p)
		p.holds("in the end", strings.ReplaceAll(first, "_", `\_`), strings.ReplaceAll(second, "_", `\_`))
	}
}
