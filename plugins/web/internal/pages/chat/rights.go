package chat

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// rights is the page of what the agent may do in a thread.
func (c *chat) rights(r *http.Request) (site.View, error) {
	thread, err := c.thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return site.View{}, err
	}
	var found pluginsdk.AgentRights
	wrong := ""
	if err := c.Get(r.Context(), "/api/threads/"+url.PathEscape(thread.ID)+"/rights", nil, &found); err != nil {
		wrong = err.Error()
	}
	return site.View{Title: "What the agent may do in " + site.ThreadName(thread), At: "/chat", Body: rightsPage(thread, found, wrong)}, nil
}

// rulesBy are the rules of each behavior, in the order in which they bind: what is denied is
// denied whatever allows it.
func rulesBy(rules []pluginsdk.AgentRule) (groups []ruleGroup) {
	for _, of := range []ruleGroup{{"Denied", ui.Bad, pluginsdk.RuleDeny, nil}, {"Asked about", ui.Wait, pluginsdk.RuleAsk, nil}, {"Allowed", ui.Good, pluginsdk.RuleAllow, nil}} {
		of.Rules = slices.DeleteFunc(slices.Clone(rules), func(rule pluginsdk.AgentRule) bool { return rule.Behavior != of.Behavior })
		if len(of.Rules) > 0 {
			groups = append(groups, of)
		}
	}
	return groups
}

// ruleGroup are the rules of one behavior.
type ruleGroup struct {
	Name     string
	Tone     ui.Tone
	Behavior pluginsdk.RuleBehavior
	Rules    []pluginsdk.AgentRule
}
