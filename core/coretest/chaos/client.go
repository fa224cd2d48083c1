package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// retryPause is what a client waits before it tries again.
const retryPause = 50 * time.Millisecond

// door is a way into the system that a person has.
type door interface {
	// send hands a message in, once. An error is worth another try with the
	// same key; a refusal is for good.
	send(ctx context.Context, m message) (accepted check.Acceptance, refused string, err error)
}

// message is what a person says.
type message struct {
	marker  string // also the key
	content string
}

// web is the door of a thread of the HTTP API.
type web struct {
	http     *http.Client
	base     string
	threadID string
	secret   string // of the token that is shown; empty: the owner's
}

// openWeb makes the thread, however long it takes.
func openWeb(ctx context.Context, client *http.Client, base, name string, mode pluginsdk.BusyMode) (*web, error) {
	w := &web{http: client, base: base}
	for {
		var made struct{ ID string }
		status, body, err := w.post(ctx, "/api/threads", map[string]string{"name": name, "sourceId": name, "busyMode": string(mode)}, &made)
		switch {
		case err == nil && status == http.StatusCreated:
			w.threadID = made.ID
			return w, nil
		case err == nil && !again(status):
			return nil, fmt.Errorf("make the thread %s: %d %s", name, status, body)
		}
		if err := pause(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}

func (w *web) send(ctx context.Context, m message) (check.Acceptance, string, error) {
	var ids pluginsdk.Accepted
	status, body, err := w.post(ctx, "/api/chat",
		map[string]string{"threadId": w.threadID, "content": m.content, "idempotencyKey": m.marker}, &ids)
	switch {
	case err != nil:
		return check.Acceptance{}, "", err
	case status == http.StatusAccepted:
		return acceptance(ids), "", nil
	case again(status):
		return check.Acceptance{}, "", fmt.Errorf("POST /api/chat: %d %s", status, body)
	}
	return check.Acceptance{}, fmt.Sprintf("POST /api/chat: %d %s", status, body), nil
}

func acceptance(a pluginsdk.Accepted) check.Acceptance {
	return check.Acceptance{ThreadID: a.ThreadID, MessageID: a.MessageID, RunID: a.RunID}
}

// again reports whether a status asks for another try. That there are too many
// messages does not: so few wait in this load that nobody may be told so.
func again(status int) bool { return status >= http.StatusInternalServerError }

// insist changes something, however long it takes.
func (w *web) insist(ctx context.Context, path string, change any) error {
	for {
		status, body, err := w.call(ctx, http.MethodPatch, path, change, new(any))
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case err == nil && !again(status):
			return fmt.Errorf("PATCH %s: %d %s", path, status, body)
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// as is the same way for a person with a token of their own.
func (w *web) as(secret string) *web {
	with := *w
	with.secret = secret
	return &with
}

func (w *web) post(ctx context.Context, path string, body, out any) (status int, answer string, err error) {
	return w.call(ctx, http.MethodPost, path, body, out)
}

func (w *web) call(ctx context.Context, method, path string, body, out any) (status int, answer string, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(encoded))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if w.secret != "" {
		request.Header.Set("Authorization", "Bearer "+w.secret)
	}
	response, err := w.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	content, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, "", err
	}
	if response.StatusCode < http.StatusMultipleChoices {
		err = json.Unmarshal(content, out)
	}
	return response.StatusCode, string(content), err
}

// mailbox is the door of the courier's people.
type mailbox struct {
	dir  string
	name string
	mode pluginsdk.BusyMode
}

// mailPatience is how long one try waits for the courier.
const mailPatience = 2 * time.Second

func (b *mailbox) send(ctx context.Context, m message) (check.Acceptance, string, error) {
	if err := courier.Put(b.dir, courier.Ask{Key: m.marker, SourceID: b.name, BusyMode: b.mode, Content: m.content}); err != nil {
		return check.Acceptance{}, "", err
	}
	var ack courier.Ack
	var failed error
	found, err := until(ctx, mailPatience, func() (found bool) {
		ack, found, failed = courier.Take(b.dir, m.marker)
		return found || failed != nil
	})
	if err := errors.Join(err, failed); err != nil {
		return check.Acceptance{}, "", err
	}
	if !found {
		return check.Acceptance{}, "", errors.New("the courier has not answered yet")
	}
	return acceptance(ack.Accepted), ack.Refused, nil
}
