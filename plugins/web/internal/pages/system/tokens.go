package system

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const tokensPath = at + "/tokens"

// callers is the page of tokens.
type callers struct {
	tokens []pluginsdk.Token
	mine   string // the id of the one that looks at the page
	form   tokenForm
	secret string // of the one that was made just now; empty: none was
	made   pluginsdk.Token
	older  string
}

// tokenForm is what a token is made from, as it is typed.
type tokenForm struct{ name, scope, job, kind, life ui.Input }

// oneJob is what stands in the form for the scope of one schedule, whose name is in a field of its own.
const oneJob = "cron"

func newTokenForm() tokenForm {
	return tokenForm{
		name: ui.Input{Name: "name", Label: "Whose it is", Hint: "A person or a program: the author of what they write, and their name in the audit log.", Required: true},
		scope: ui.Input{Name: "scope", Label: "What they may", Value: "chat", Options: []ui.Option{
			{Value: "read", Label: "read: see everything"}, {Value: "chat", Label: "chat: also talk with the agent"},
			{Value: "approve", Label: "approve: also answer what it asks"}, {Value: "work", Label: "work: also have work done"},
			{Value: "admin", Label: "admin: everything"}, {Value: oneJob, Label: "only have one schedule fire"},
		}},
		job: ui.Input{Name: "job", Label: "The schedule", Hint: "For a token that may only have one schedule fire, from a program elsewhere: the schedule's name."},
		kind: ui.Input{Name: "kind", Label: "What for", Value: "access", Options: []ui.Option{
			{Value: "access", Label: "A program, or to log in again and again"}, {Value: "login", Label: "One login with a browser, within an hour"},
		}},
		life: ui.Input{Name: "life", Label: "Good for", Value: "720h", Options: []ui.Option{
			{Value: "1h", Label: "an hour"}, {Value: "24h", Label: "a day"}, {Value: "168h", Label: "a week"}, {Value: "720h", Label: "30 days"},
			{Value: "8760h", Label: "a year"}, {Value: "", Label: "ever, until it is revoked"},
		}},
	}
}

func (p *pages) tokens(r *http.Request) (site.View, error) {
	page, err := p.callers(r)
	if err != nil {
		return unless(r, err, tokensPath, "key-round", "Here is who may call Harness from outside.")
	}
	return view(r, tokensPath, tokensPage(page)), nil
}

func (p *pages) callers(r *http.Request) (page callers, err error) {
	var answer struct {
		Tokens []pluginsdk.Token `json:"tokens"`
	}
	err = p.Get(r.Context(), "/api/tokens", listQuery(r, "after"), &answer)
	page = callers{tokens: answer.Tokens, mine: access.From(r.Context()).Token.ID, form: newTokenForm()}
	if len(page.tokens) > 0 {
		page.older = older(r, len(page.tokens), "after", page.tokens[len(page.tokens)-1].ID)
	}
	return page, err
}

// makeToken makes a token, and shows its secret this once.
func (p *pages) makeToken(r *http.Request) (site.Done, error) {
	form := newTokenForm()
	for _, field := range []*ui.Input{&form.name, &form.scope, &form.job, &form.kind, &form.life} {
		field.Value = strings.TrimSpace(r.PostForm.Get(field.Name))
	}
	scope := pluginsdk.TokenScope(form.scope.Value)
	if scope == oneJob {
		scope = pluginsdk.ScopeOfCron(form.job.Value)
	}
	body := map[string]any{"name": form.name.Value, "scope": scope, "kind": form.kind.Value}
	if form.kind.Value == string(pluginsdk.TokenLogin) {
		form.life.Value = "1h"
	}
	if life, err := time.ParseDuration(form.life.Value); err == nil && life > 0 {
		body["expiresAt"] = time.Now().Add(life - time.Second)
	}
	var made struct {
		Token  pluginsdk.Token `json:"token"`
		Secret string          `json:"secret"`
	}
	wrong := p.Post(r.Context(), "/api/tokens", body, &made)
	if wrong != nil && site.Status(wrong) != http.StatusUnprocessableEntity {
		return site.Done{}, wrong
	}
	page, err := p.callers(r)
	if err != nil {
		return site.Done{}, err
	}
	if wrong != nil {
		form.name.Wrong = wrong.Error()
		page.form = form
		return site.Done{}, &site.Again{View: view(r, tokensPath, tokensPage(page))}
	}
	page.secret, page.made = made.Secret, made.Token
	shown := view(r, tokensPath, tokensPage(page))
	return site.Done{View: &shown}, nil
}

func (p *pages) revokeToken(r *http.Request) (site.Done, error) {
	return site.Done{To: tokensPath, Said: "The token has ended, with the sessions made of it."},
		p.Post(r.Context(), "/api/tokens/"+url.PathEscape(r.PostForm.Get("id"))+"/revoke", nil, nil)
}

// parent names the token that a session was made of.
func (c callers) parent(of pluginsdk.Token) string {
	n := slices.IndexFunc(c.tokens, func(one pluginsdk.Token) bool { return one.ID == of.ParentID })
	if n < 0 {
		return ""
	}
	return c.tokens[n].Name
}

// kinds say what a token is.
var kinds = map[pluginsdk.TokenKind]string{
	pluginsdk.TokenAccess: "token", pluginsdk.TokenSession: "browser", pluginsdk.TokenLogin: "for one login",
}
