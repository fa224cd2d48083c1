package tasks

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// draft is the form that hands work on, as it was filled in.
type draft struct {
	api.CreateTaskRequest
	cost    string            // as it was typed
	wrong   string            // with all of it
	fields  map[string]string // what is wrong with a field, by its name
	threads threads
	mayDir  bool // and say whose account it uses
}

func (p pages) blank(r *http.Request) (site.View, error) {
	makes, err := p.makes(r.Context())
	if err != nil {
		return site.View{}, err
	}
	if !makes {
		return site.View{Title: "Hand work on", At: at, Body: unmakeable()}, nil
	}
	asked := r.URL.Query()
	request := api.CreateTaskRequest{Text: asked.Get("text"), ThreadID: asked.Get("thread"), Wake: "yes", IdempotencyKey: rand.Text()}
	if from := asked.Get("from"); from != "" { // a task that is to be done once more
		var history api.TaskHistory
		if err := p.Get(r.Context(), "/api/tasks/"+url.PathEscape(from), url.Values{"limit": {"1"}}, &history); err != nil {
			return site.View{}, err
		}
		request.Text, request.ThreadID, request.Model = history.Task.OriginalMessage, history.Task.ParentThreadID, history.Task.Model
	}
	return p.form(r, draft{CreateTaskRequest: request})
}

func (p pages) form(r *http.Request, d draft) (site.View, error) {
	var err error
	if d.threads, err = p.threads(r.Context()); err != nil {
		return site.View{}, err
	}
	d.mayDir = site.May(r, pluginsdk.ScopeAdmin)
	return site.View{Title: "Hand work on", At: at, Body: form(d)}, nil
}

// create hands work on. A form that is sent twice makes one task: its key is a field.
func (p pages) create(r *http.Request) (site.Done, error) {
	typed := r.PostForm
	d := draft{cost: strings.TrimSpace(typed.Get("cost")), fields: make(map[string]string), CreateTaskRequest: api.CreateTaskRequest{
		Text: strings.TrimSpace(typed.Get("text")), ThreadID: typed.Get("thread"), Model: strings.TrimSpace(typed.Get("model")),
		Dir: strings.TrimSpace(typed.Get("dir")), Account: strings.TrimSpace(typed.Get("account")), Wake: typed.Get("wake"), IdempotencyKey: typed.Get("key"),
	}}
	if d.Text == "" {
		d.fields["text"] = "Say what is to be done."
	}
	if d.cost != "" {
		var err error
		if d.Cost, err = strconv.ParseFloat(d.cost, 64); err != nil || !(d.Cost > 0) {
			d.fields["cost"] = "Give an amount in US dollars, such as 2.50, or leave it empty."
		}
	}
	var made pluginsdk.Task
	if len(d.fields) == 0 {
		err := p.Post(r.Context(), "/api/tasks", d.CreateTaskRequest, &made)
		if err == nil {
			return site.Done{To: pathOf(made.ID), Said: "The work is handed on."}, nil
		}
		told := refused(err)
		if told == nil {
			return site.Done{}, err
		}
		d.take(told)
		// What was refused was not done: the next attempt is another one.
		d.IdempotencyKey = rand.Text()
	}
	view, err := p.form(r, d)
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{}, &site.Again{View: view}
}

// take puts what the API says is wrong where it belongs.
func (d *draft) take(told *site.Problem) {
	names := map[string]string{"body.text": "text", "body.threadId": "thread", "body.model": "model", "body.dir": "dir", "body.account": "account", "body.cost": "cost", "body.wake": "wake"}
	for _, one := range told.Fields {
		if name, ok := names[one.Location]; ok {
			d.fields[name] = one.Message
		}
	}
	if len(d.fields) == 0 {
		d.wrong = told.Detail
	}
}
