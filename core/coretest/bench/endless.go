package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
)

// mood is what the API does with the next turn.
type mood int32

const (
	answers mood = iota // as the fake API does
	hangs               // it never begins to answer
	streams             // it never ends
)

// endlessAPI is the fake API, which can be told not to come to an end.
type endlessAPI struct {
	fake   *fakeapi.Server
	server *httptest.Server
	proxy  *httputil.ReverseProxy
	mood   atomic.Int32 // of the next turn; the one after it is answered
	// caught gets a value when a turn is where it does not end.
	caught chan struct{}
}

func startEndless() (*endlessAPI, error) {
	a := &endlessAPI{fake: fakeapi.New(), caught: make(chan struct{}, 1)}
	if err := a.fake.Listen("127.0.0.1:0"); err != nil {
		return nil, err
	}
	behind, err := url.Parse(a.fake.URL())
	if err != nil {
		return nil, err
	}
	a.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		FlushInterval: -1,
	}
	a.server = httptest.NewServer(a)
	return a, nil
}

func (a *endlessAPI) close() error {
	a.server.CloseClientConnections()
	a.server.Close()
	return a.fake.Close()
}

// ServeHTTP lets everything but the turn in question through.
func (a *endlessAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	now := answers
	if isTurn(body) {
		now = mood(a.mood.Swap(int32(answers)))
	}
	switch now {
	case hangs:
		a.caught <- struct{}{}
		<-r.Context().Done()
	case streams:
		a.talk(w, r)
	case answers:
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.proxy.ServeHTTP(w, r)
	}
}

// isTurn tells a turn from the CLI's side requests, which offer no tools.
func isTurn(body []byte) bool {
	var request struct{ Tools []json.RawMessage }
	return json.Unmarshal(body, &request) == nil && len(request.Tools) > 0
}

// wordPause is how far apart the words of an endless reply are, and openingWords
// how many make it a reply under way.
const (
	wordPause    = 5 * time.Millisecond
	openingWords = 10
)

// talk streams words until the caller has gone.
func (a *endlessAPI) talk(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(name, fields string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fields)
		_ = http.NewResponseController(w).Flush() // a caller that has gone is noticed below
	}
	send("message_start", `"message":{"id":"msg_endless","type":"message","role":"assistant","model":"claude-sonnet-4-6",`+
		`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1200,"output_tokens":1}}`)
	send("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
	for n := 1; r.Context().Err() == nil; n++ {
		send("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"and so on "}`)
		if n == openingWords {
			a.caught <- struct{}{}
		}
		<-time.After(wordPause)
	}
}
