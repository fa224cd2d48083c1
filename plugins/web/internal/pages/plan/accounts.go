package plan

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// accounts is what the page of accounts shows.
type accounts struct {
	all   []pluginsdk.Account
	form  keyForm
	wrong map[string]string // what is wrong with the change of an account, by its name
}

// keyForm is what an account of the kind key is made from, as it is typed.
type keyForm struct{ name, key, limit ui.Input }

func newKeyForm() keyForm {
	return keyForm{
		name:  ui.Input{Name: "name", Label: "Name", Required: true, Hint: "a to z, 0 to 9 and -"},
		key:   ui.Input{Name: "key", Label: "API key", Type: "password", Required: true, Hint: "It is kept sealed, and not shown again."},
		limit: ui.Input{Name: "limit", Label: "Daily limit as a fallback, in USD", Type: "number", Min: "0", Step: "0.01", Hint: "What runs that wait for a plan may cost on it in a day (UTC). Empty: no account can use the key as its fallback."},
	}
}

func (p pages) accounts(r *http.Request) (site.View, error) {
	page, err := p.list(r)
	if err != nil {
		return unless(r, err, accountsPath, "Accounts", "This page has what the agent authenticates with.")
	}
	return accountsView(r, page), nil
}

func accountsView(r *http.Request, page accounts) site.View {
	return site.View{Title: "Accounts", At: at, Body: accountsPage(tabs(r, accountsPath), page)}
}

func (p pages) list(r *http.Request) (page accounts, err error) {
	var answer struct{ Accounts []pluginsdk.Account }
	err = p.Get(r.Context(), "/api/accounts", nil, &answer)
	return accounts{all: answer.Accounts, form: newKeyForm(), wrong: map[string]string{}}, err
}

// maxLimit is the highest daily limit that the API takes, in USD.
const maxLimit = 100_000

// dollars reads an amount; an empty one is 0.
func dollars(text string) (float64, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	if text == "" {
		return 0, nil
	}
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || !(amount >= 0) {
		return 0, errors.New("an amount in USD, such as 5.00")
	}
	if amount > maxLimit {
		return 0, fmt.Errorf("at most %d USD", maxLimit)
	}
	return amount, nil
}

// add makes an account of a key. What was typed as the key is not shown again.
func (p pages) add(r *http.Request) (site.Done, error) {
	form := newKeyForm()
	form.name.Value, form.limit.Value = strings.TrimSpace(r.PostForm.Get("name")), strings.TrimSpace(r.PostForm.Get("limit"))
	limit, err := dollars(form.limit.Value)
	if err != nil {
		form.limit.Wrong = err.Error()
		return p.addAgain(r, form)
	}
	request := api.AccountRequest{Name: form.name.Value, Kind: pluginsdk.AccountKey, Key: strings.TrimSpace(r.PostForm.Get("key"))}
	err = p.Post(r.Context(), "/api/accounts", request, nil)
	var told *site.Problem
	if errors.As(err, &told) && (told.Status == http.StatusUnprocessableEntity || told.Status == http.StatusConflict) {
		form.wrongWith(told)
		return p.addAgain(r, form)
	}
	if err == nil && limit > 0 {
		err = p.patch(r, form.name.Value, api.AccountChange{DailyLimitUSD: &limit})
	}
	return site.Done{To: accountsPath, Said: "The API key " + form.name.Value + " is added."}, err
}

// wrongWith puts what the API says at the field that it is about.
func (f *keyForm) wrongWith(told *site.Problem) {
	for _, wrong := range told.Fields {
		switch wrong.Location {
		case "body.key":
			f.key.Wrong = wrong.Message
		case "body.name":
			f.name.Wrong = wrong.Message
		}
	}
	if f.key.Wrong+f.name.Wrong == "" {
		f.name.Wrong = told.Detail
	}
}

func (p pages) addAgain(r *http.Request, form keyForm) (site.Done, error) {
	page, err := p.list(r)
	if err != nil {
		return site.Done{}, err
	}
	page.form = form
	return site.Done{}, &site.Again{View: accountsView(r, page)}
}

func (p pages) patch(r *http.Request, name string, change api.AccountChange) error {
	return p.Ask(r.Context(), http.MethodPatch, "/api/accounts/"+url.PathEscape(name), nil, change, nil)
}

// change takes the settings of an account: those of its form that are other ones than they
// were. What stays as it is is not sent, since it may not be accepted any more.
func (p pages) change(r *http.Request) (site.Done, error) {
	name, form := r.PathValue("name"), r.PostForm
	page, err := p.list(r)
	if err != nil {
		return site.Done{}, err
	}
	var was pluginsdk.Account
	if i := slices.IndexFunc(page.all, func(a pluginsdk.Account) bool { return a.Name == name }); i >= 0 {
		was = page.all[i]
	}
	var change api.AccountChange
	if form.Has("plan") { // a login's: a box that is not ticked is not sent
		if overage := form.Get("overage") == "true"; overage != was.Overage {
			change.Overage = &overage
		}
		if fallback := form.Get("fallback"); fallback != was.Fallback {
			change.Fallback = &fallback
		}
	}
	if typed := form.Get("limit"); form.Has("limit") && typed != limit(was) {
		amount, err := dollars(typed)
		if err != nil {
			return p.changeAgain(r, name, "The daily limit is "+err.Error()+".")
		}
		change.DailyLimitUSD = &amount
	}
	if key := strings.TrimSpace(form.Get("key")); key != "" {
		change.Key = &key
	}
	if was.Name != "" && change == (api.AccountChange{}) {
		return site.Done{To: accountsPath, Said: "Nothing of the account " + name + " was changed."}, nil
	}
	err = p.patch(r, name, change)
	if status := site.Status(err); status == http.StatusUnprocessableEntity || status == http.StatusConflict {
		return p.changeAgain(r, name, err.Error())
	}
	return site.Done{To: accountsPath, Said: "The account " + name + " is saved."}, err
}

func (p pages) changeAgain(r *http.Request, name, wrong string) (site.Done, error) {
	page, err := p.list(r)
	if err != nil {
		return site.Done{}, err
	}
	page.wrong[name] = wrong
	return site.Done{}, &site.Again{View: accountsView(r, page)}
}

func (p pages) makeDefault(r *http.Request) (site.Done, error) {
	name, yes := r.PathValue("name"), true
	return site.Done{To: accountsPath, Said: name + " is the default account now."}, p.patch(r, name, api.AccountChange{Default: &yes})
}

func (p pages) remove(r *http.Request) (site.Done, error) {
	name := r.PathValue("name")
	err := p.Ask(r.Context(), http.MethodDelete, "/api/accounts/"+url.PathEscape(name), nil, nil, nil)
	if site.Status(err) == http.StatusConflict {
		return p.changeAgain(r, name, err.Error())
	}
	return site.Done{To: accountsPath, Said: "The account " + name + " is removed."}, err
}

// kinds say what an account is.
var kinds = map[pluginsdk.AccountKind]string{
	pluginsdk.AccountEnvironment: "the daemon's own credentials", pluginsdk.AccountLogin: "login", pluginsdk.AccountKey: "API key",
}

// keys are the accounts that can be a fallback, as a choice.
func (a accounts) keys() []ui.Option {
	options := ui.Options("", "None")
	for _, one := range a.all {
		if one.Kind == pluginsdk.AccountKey {
			options = append(options, ui.Option{Value: one.Name, Label: one.Name})
		}
	}
	return options
}

// removable reports whether an account may be offered to be removed.
func removable(one pluginsdk.Account) bool {
	return one.Kind != pluginsdk.AccountEnvironment && !one.Default
}
