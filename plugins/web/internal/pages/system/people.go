package system

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What goes to people, and what they were asked.

// delivered is the page of deliveries.
type delivered struct {
	rows         []pluginsdk.Delivery
	state        string
	plugin       string
	admin        bool
	newer, older string
}

func (p *pages) deliveries(r *http.Request) (site.View, error) {
	query := listQuery(r, "state", "plugin", "after")
	query.Set("newest", "true")
	var answer struct {
		Deliveries []pluginsdk.Delivery `json:"deliveries"`
	}
	if err := p.Get(r.Context(), "/api/deliveries", query, &answer); err != nil {
		return unless(r, err, at+"/deliveries", "mail", "Here is what is on its way to people, and what did not arrive.")
	}
	rows := answer.Deliveries
	page := delivered{rows: rows, state: query.Get("state"), plugin: query.Get("plugin"), admin: admin(r), newer: first(r, "after")}
	if len(rows) > 0 {
		page.older = older(r, len(rows), "after", rows[len(rows)-1].ID)
	}
	return view(r, at+"/deliveries", deliveriesPage(page)), nil
}

var deliveryStates = []ui.Option{
	{Value: "", Label: "All"}, {Value: "pending", Label: "Waiting to be sent"}, {Value: "sending", Label: "Being sent"},
	{Value: "delivered", Label: "Delivered"}, {Value: "dead", Label: "Given up"},
}

func (p *pages) retryDelivery(r *http.Request) (site.Done, error) {
	return site.Done{Said: "It is tried again."}, p.Post(r.Context(), "/api/deliveries/"+url.PathEscape(r.PostForm.Get("id"))+"/retry", nil, nil)
}

// askedPeople is the page of approvals and rules.
type askedPeople struct {
	open, past   []pluginsdk.Approval
	rules        []pluginsdk.ApprovalRule
	moreRules    bool
	mayRevoke    bool
	newer, older string
}

func (p *pages) approvals(r *http.Request) (site.View, error) {
	const path = at + "/approvals"
	open, err := p.asked(r, url.Values{"state": {"open"}, "newest": {"false"}, "limit": {"100"}})
	if err != nil {
		return unless(r, err, path, "shield", "Here is what the agent asks people, what they answered, and what it is not asked about any more.")
	}
	query := listQuery(r, "after")
	query["state"] = []string{"allowed", "denied", "expired", "withdrawn"}
	past, err := p.asked(r, query)
	if err != nil {
		return site.View{}, err
	}
	var answer struct {
		Rules []pluginsdk.ApprovalRule `json:"rules"`
		More  bool                     `json:"more"`
	}
	if err := p.Get(r.Context(), "/api/approvals/rules", nil, &answer); err != nil {
		return site.View{}, err
	}
	page := askedPeople{open: open, past: past, rules: answer.Rules, moreRules: answer.More, mayRevoke: site.May(r, pluginsdk.ScopeApprove), newer: first(r, "after")}
	if len(past) > 0 {
		page.older = older(r, len(past), "after", past[len(past)-1].ID)
	}
	return view(r, path, approvalsPage(page)), nil
}

func (p *pages) asked(r *http.Request, query url.Values) ([]pluginsdk.Approval, error) {
	var answer struct {
		Approvals []pluginsdk.Approval `json:"approvals"`
	}
	err := p.Get(r.Context(), "/api/approvals", query, &answer)
	return answer.Approvals, err
}

func (p *pages) revokeRule(r *http.Request) (site.Done, error) {
	return site.Done{To: at + "/approvals", Said: "The rule has ended: the agent asks again."},
		p.Ask(r.Context(), http.MethodDelete, "/api/approvals/rules/"+url.PathEscape(r.PostForm.Get("id")), nil, nil, nil)
}

func chat(thread string) string { return "/chat/" + url.PathEscape(thread) }

// answered says who answered an approval, and how.
func answered(of pluginsdk.Approval) string {
	words := string(of.State)
	for _, choice := range of.Choices {
		if choice.ID == of.Choice {
			words = choice.Label
		}
	}
	if of.Author != "" {
		words += ", by " + of.Author
	}
	if of.Words != "" {
		words += ": “" + ui.Cut(of.Words, 160) + "”"
	}
	return strings.TrimSpace(words)
}
