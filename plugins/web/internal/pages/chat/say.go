package chat

import (
	"crypto/rand"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// compose is the field to say something in, with what is typed there.
type compose struct {
	Key   string // says once what is sent twice
	Text  string
	Files []pluginsdk.File // that were taken in and not sent yet
	Wrong string           // what is wrong with it; empty: nothing
}

func newKey() string { return rand.Text() }

// say takes what a person says. Without script the files come with it. What is refused stands
// in its field again, with the reason.
func (c *chat) say(r *http.Request) (site.Done, error) {
	thread, form := r.PathValue("thread"), r.PostForm
	typed := compose{Key: form.Get("key"), Text: strings.ReplaceAll(form.Get("content"), "\r\n", "\n")}
	if typed.Key == "" {
		typed.Key = newKey()
	}
	err := c.attach(r, thread, &typed)
	if err == nil {
		err = c.send(r, thread, typed)
	}
	if err == nil {
		return site.Done{To: path(thread) + "#end"}, nil
	}
	switch site.Status(err) {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden:
		return site.Done{}, err
	case http.StatusConflict:
		typed.Key = newKey() // this one has been said: what is typed now is something else
	}
	typed.Wrong = wrongIn(err)
	view, shown := c.page(r, typed)
	if shown != nil {
		return site.Done{}, shown
	}
	return site.Done{}, &site.Again{View: view}
}

// wrongIn is what is wrong with a message, in words for who has typed it.
func wrongIn(err error) string {
	words := err.Error()
	if rest, cut := strings.CutPrefix(words, "validation failed: body.content: "); cut {
		return "The message " + rest + "."
	}
	return words
}

// send says it.
func (c *chat) send(r *http.Request, thread string, typed compose) error {
	request := api.ChatRequest{ThreadID: thread, Content: typed.Text, IdempotencyKey: typed.Key}
	for _, file := range typed.Files {
		request.Attachments = append(request.Attachments, api.ChatAttachment{FileID: file.ID})
	}
	return c.Post(r.Context(), "/api/chat", request, nil)
}

// attach takes in the files that a form brings, and finds those again that one before it has
// brought.
func (c *chat) attach(r *http.Request, thread string, typed *compose) error {
	for _, id := range r.PostForm["file"] {
		var kept pluginsdk.File
		if err := c.Get(r.Context(), "/api/files/"+url.PathEscape(id), nil, &kept); err != nil {
			return fmt.Errorf("the file %s: %w", id, err)
		}
		typed.Files = append(typed.Files, kept)
	}
	if r.MultipartForm == nil {
		return nil
	}
	for _, header := range r.MultipartForm.File["files"] {
		if header.Filename == "" {
			continue // a field in which nothing was chosen
		}
		kept, err := c.takeIn(r, thread, header)
		if err != nil {
			return fmt.Errorf("%s: %w", header.Filename, err)
		}
		typed.Files = append(typed.Files, kept)
	}
	return nil
}

func (c *chat) takeIn(r *http.Request, thread string, header *multipart.FileHeader) (kept pluginsdk.File, err error) {
	file, err := header.Open()
	if err != nil {
		return kept, err
	}
	defer file.Close()
	return c.Upload(r.Context(), url.Values{"name": {header.Filename}, "threadId": {thread}}, file, header.Size)
}

// stop interrupts what the thread's agent does.
func (c *chat) stop(r *http.Request) (site.Done, error) {
	queue := pluginsdk.KeepQueue
	if r.PostForm.Get("queue") == string(pluginsdk.DropQueue) {
		queue = pluginsdk.DropQueue
	}
	thread := r.PathValue("thread")
	return site.Done{To: path(thread)}, c.Post(r.Context(), "/api/threads/"+url.PathEscape(thread)+"/stop", api.StopRequest{Queue: queue}, nil)
}

// busy sets what becomes of messages that come while the agent works.
func (c *chat) busy(r *http.Request) (site.Done, error) {
	mode := pluginsdk.BusyMode(r.PostForm.Get("mode"))
	thread := r.PathValue("thread")
	return site.Done{To: path(thread)}, c.patch(r, thread, api.ThreadChange{BusyMode: &mode})
}

func (c *chat) patch(r *http.Request, thread string, change api.ThreadChange) error {
	return c.Ask(r.Context(), http.MethodPatch, "/api/threads/"+url.PathEscape(thread), nil, change, nil)
}

// retry hands in once more what a run has not answered.
func (c *chat) retry(r *http.Request) (site.Done, error) {
	err := c.Post(r.Context(), "/api/runs/"+url.PathEscape(r.PostForm.Get("run"))+"/retry", nil, nil)
	return site.Done{To: path(r.PathValue("thread")) + "#end"}, err
}

// branch makes a thread of all that was said up to a message; without one, of all.
func (c *chat) branch(r *http.Request) (site.Done, error) {
	last, err := number(r.PostForm, "message")
	if err != nil {
		return site.Done{}, err
	}
	made, err := c.branchAt(r, last, r.PostForm.Get("key"))
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{To: path(made.ID), Said: "This is a new thread. It has what was said up to there, and goes its own way."}, nil
}

func (c *chat) branchAt(r *http.Request, message int64, key string) (made pluginsdk.Thread, err error) {
	err = c.Post(r.Context(), "/api/threads/"+url.PathEscape(r.PathValue("thread"))+"/branch", api.BranchRequest{MessageID: message, SourceID: key}, &made)
	return made, err
}

// edit is the page on which something that was said is said differently.
func (c *chat) edit(r *http.Request) (site.View, error) {
	row, err := c.message(r, r.URL.Query().Get("message"))
	if err != nil {
		return site.View{}, err
	}
	return c.editing(r, row.ID, compose{Key: newKey(), Text: row.Content})
}

func (c *chat) editing(r *http.Request, message int64, typed compose) (site.View, error) {
	thread, err := c.thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return site.View{}, err
	}
	return site.View{Title: "Say it differently", At: "/chat", Body: editPage(thread, message, typed)}, nil
}

// resend says it in a thread of its own, which has all that was said before.
func (c *chat) resend(r *http.Request) (site.Done, error) {
	row, err := c.message(r, r.PostForm.Get("message"))
	if err != nil {
		return site.Done{}, err
	}
	typed := compose{Key: r.PostForm.Get("key"), Text: strings.ReplaceAll(r.PostForm.Get("content"), "\r\n", "\n")}
	if strings.TrimSpace(typed.Text) == "" { // before there is a thread for it
		typed.Wrong = "The message must not be empty."
		view, err := c.editing(r, row.ID, typed)
		if err != nil {
			return site.Done{}, err
		}
		return site.Done{}, &site.Again{View: view}
	}
	made, err := c.threadBefore(r, row.ID, typed.Key)
	if err != nil {
		return site.Done{}, err
	}
	for _, one := range row.Attachments {
		if file, ok := one.FileID(); ok {
			typed.Files = append(typed.Files, pluginsdk.File{ID: file})
		}
	}
	if err := c.send(r, made.ID, typed); err != nil {
		return site.Done{}, err
	}
	return site.Done{To: path(made.ID) + "#end"}, nil
}

// threadBefore makes a thread that has all that was said before a message.
func (c *chat) threadBefore(r *http.Request, message int64, key string) (made pluginsdk.Thread, err error) {
	rows, err := c.messages(r.Context(), r.PathValue("thread"), url.Values{"before": {id(message)}, "last": {"true"}, "limit": {"1"}})
	if err != nil {
		return made, err
	}
	if len(rows) > 0 {
		return c.branchAt(r, rows[0].ID, key)
	}
	old, err := c.thread(r.Context(), r.PathValue("thread"))
	if err != nil {
		return made, err
	}
	err = c.Post(r.Context(), "/api/threads", api.ThreadRequest{
		SourceID: key, Name: old.Name, Model: old.Model, Effort: old.Effort, Instructions: old.Instructions, BusyMode: old.BusyMode,
	}, &made)
	return made, err
}
