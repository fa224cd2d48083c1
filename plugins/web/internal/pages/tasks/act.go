package tasks

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What can be done with a task: the values of the buttons named do.
const (
	doAccept = "accept"
	doReject = "reject"
	doGoOn   = "go-on"
	doCancel = "cancel"
	doRetry  = "retry"
	doSay    = "say"
)

// act does what a form of the page wants. What the API refuses is said on the page as it is
// by now, beside what was typed.
func (p pages) act(r *http.Request) (site.Done, error) {
	said := words{about: r.PostForm.Get("do")}
	said.typed = strings.TrimSpace(r.PostForm.Get(field(said.about)))
	done, err := p.do(r, said)
	told := refused(err)
	if told == nil {
		return done, err
	}
	said.wrong = told.Detail
	if told.Status == http.StatusConflict {
		said.wrong = "Nothing was done: " + told.Detail + ". You see the task as it is now."
	}
	view, err := p.look(r, said)
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{}, &site.Again{View: view}
}

// field is the name of the field that has the words to what is done.
func field(about string) string {
	switch about {
	case doSay, doCancel, doRetry:
		return about + "-words"
	}
	return "words"
}

// refused is what the API will not do as it stands, and would otherwise; nil: it is something else.
func refused(err error) *site.Problem {
	var told *site.Problem
	if errors.As(err, &told) && slices.Contains([]int{
		http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable,
	}, told.Status) {
		return told
	}
	return nil
}

func unsaid(words string) error {
	return &site.Problem{Status: http.StatusUnprocessableEntity, Detail: words}
}

func (p pages) do(r *http.Request, said words) (site.Done, error) {
	ctx, path := r.Context(), "/api/tasks/"+url.PathEscape(r.PathValue("id"))
	here := site.Done{To: r.URL.RequestURI()}
	seen, err := strconv.Atoi(r.PostForm.Get("iteration"))
	if err != nil {
		seen = 0
	}
	decision := api.DecideTaskRequest{Iteration: seen, Feedback: said.typed}
	switch said.about {
	case doAccept:
		decision.Verdict = pluginsdk.VerdictAccept
		here.Said = "The work is accepted, and handed over now."
		return here, p.Post(ctx, path+"/decide", decision, nil)
	case doReject:
		if said.typed == "" {
			return here, unsaid("Say what is wrong with it: its worker reads that, and goes on with it.")
		}
		decision.Verdict = pluginsdk.VerdictReject
		here.Said = "The work is sent back: its worker goes on with your words."
		return here, p.Post(ctx, path+"/decide", decision, nil)
	case doGoOn:
		here.Said = "Its worker goes on."
		return here, p.Post(ctx, path+"/decide", decision, nil)
	case doCancel:
		here.Said = "The task is cancelled. Its agent ends within seconds."
		return here, p.Post(ctx, path+"/cancel", api.CancelTaskRequest{Reason: said.typed}, nil)
	case doRetry:
		var next pluginsdk.Task
		request := api.RetryTaskRequest{Text: said.typed, IdempotencyKey: r.PostForm.Get("key")}
		if err := p.Post(ctx, path+"/retry", request, &next); err != nil {
			return here, err
		}
		return site.Done{To: pathOf(next.ID), Said: "This task goes on from the one before."}, nil
	case doSay:
		if said.typed == "" {
			return here, unsaid("Say something to the worker.")
		}
		var history api.TaskHistory
		if err := p.Get(ctx, path, url.Values{"limit": {"1"}}, &history); err != nil {
			return here, err
		}
		here.Said = "Said. The answer stands in its conversation."
		return here, p.Post(ctx, "/api/chat", api.ChatRequest{
			ThreadID: history.Task.ThreadID, Content: said.typed, IdempotencyKey: r.PostForm.Get("key"),
		}, nil)
	}
	return here, unsaid("The form does not say what is to be done.")
}
