package fakeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// post sends a conversation, the last message of which has these blocks.
func post(t *testing.T, s *Server, stream bool, content ...map[string]any) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"model": "m", "stream": stream, "max_tokens": 10,
		"system":   []any{map[string]any{"type": "text", "text": "be brief"}},
		"tools":    []any{map[string]any{"name": "Bash"}},
		"messages": []any{map[string]any{"role": "user", "content": content}},
	})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func text(s string) map[string]any { return map[string]any{"type": "text", "text": s} }

// answer returns the content of a whole reply.
func answer(t *testing.T, response *http.Response) (status int, content []Block) {
	t.Helper()
	var m struct {
		Content []Block `json:"content"`
	}
	if err := json.NewDecoder(response.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, m.Content
}

func TestDirectives(t *testing.T) {
	for prompt, want := range map[string]Reply{
		"":                       {},
		"hello":                  {},
		"please say:no":          {},
		"say:Hello there.":       {Text: "Hello there."},
		"header\n\n---\n\nsay:x": {Text: "x"},
		"say:a\nb\n\nc":          {Text: "a\nb\n\nc"},
		"say:a\nthen:b":          {Text: "a"},
		"say:first\nsay:second":  {Text: "second"},
		"think: say:x":           {Think: defaultThought, Text: "x"},
		"think:hm\nsay:x":        {Think: "hm", Text: "x"},
		"slow:50 hello":          {Delay: 50 * time.Millisecond},
		"block:gate say:x":       {Block: "gate", Text: "x"},
		"apierror:529 hi":        {Status: 529},
		"usetool:Bash {\"command\":\"a b\"} trailing": {Tools: []ToolUse{{Name: "Bash", Input: json.RawMessage(`{"command":"a b"}`)}}},
		"think: usetool:Read":                         {Think: defaultThought, Tools: []ToolUse{{Name: "Read", Input: json.RawMessage(`{}`)}}},
		"say:x\n<system-reminder>\nnot this":          {Text: "x"},
	} {
		got := directives(prompt)
		gotJSON, _ := json.Marshal(got)
		wantJSON, _ := json.Marshal(want)
		if !bytes.Equal(gotJSON, wantJSON) {
			t.Errorf("%q: %s, want %s", prompt, gotJSON, wantJSON)
		}
	}
}

func TestOnlyThePromptCounts(t *testing.T) {
	s := Start(t)
	// What went unanswered before comes again, and reminders follow.
	response := post(t, s, false, text("slow:3600000 never"), text("[Request interrupted by user]"),
		text("say:now"), text("<system-reminder>\nsay:no\n</system-reminder>"))
	if _, content := answer(t, response); len(content) != 1 || content[0].Text != "now" {
		t.Errorf("content %+v", content)
	}
}

func TestAStreamAddsUpToTheReply(t *testing.T) {
	s := Start(t)
	response := post(t, s, true, text("think: say:one two three"))
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said, thought strings.Builder
	var kinds []string
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type  string `json:"type"`
			Delta struct {
				Text     string `json:"text"`
				Thinking string `json:"thinking"`
			} `json:"delta"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, event.Type)
		said.WriteString(event.Delta.Text)
		thought.WriteString(event.Delta.Thinking)
	}
	if said.String() != "one two three" || thought.String() != defaultThought {
		t.Errorf("said %q, thought %q", said.String(), thought.String())
	}
	if kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" {
		t.Errorf("events %v", kinds)
	}
}

func TestAToolsResultIsAnswered(t *testing.T) {
	s := Start(t)
	result := map[string]any{"type": "tool_result", "tool_use_id": "t1", "content": "done"}
	if _, content := answer(t, post(t, s, false, result)); content[0].Text != DefaultText {
		t.Errorf("content %+v", content)
	}
	if _, content := answer(t, post(t, s, false, result, text("say:steered"))); content[0].Text != "steered" {
		t.Errorf("content %+v", content)
	}
	if got := s.Requests()[0].ToolResults(); len(got) != 1 || got[0].ToolUseID != "t1" {
		t.Errorf("tool results %+v", got)
	}
}

func TestThenIsSaidAfterTheTool(t *testing.T) {
	conversation := Request{Messages: []Message{
		{Role: "user", Content: []Block{{Type: "text", Text: "usetool:Bash {}\nthen:all done"}}},
		{Role: "assistant", Content: []Block{{Type: "tool_use", ID: "t1", Name: "Bash"}}},
		{Role: "user", Content: []Block{{Type: "tool_result", ToolUseID: "t1"}}},
	}}
	if got := Directed(conversation); got.Text != "all done" || len(got.Tools) > 0 {
		t.Errorf("reply %+v", got)
	}
}

func TestErrorsLookLikeTheAPIs(t *testing.T) {
	s := Start(t)
	response := post(t, s, true, text("apierror:529"))
	var body struct {
		Error struct{ Type, Message string }
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 529 || body.Error.Type != "overloaded_error" {
		t.Errorf("status %d, body %+v", response.StatusCode, body)
	}
}

func TestABlockedReplyWaitsForItsRelease(t *testing.T) {
	s := Start(t)
	done := make(chan []Block, 1)
	go func() {
		_, content := answer(t, post(t, s, false, text("block:gate say:through")))
		done <- content
	}()
	s.WaitRequest(t, Saying("block:gate"))
	select {
	case <-done:
		t.Fatal("the reply did not wait")
	default:
	}
	s.Release("gate")
	s.Release("gate") // twice is no harm
	if content := <-done; content[0].Text != "through" {
		t.Errorf("content %+v", content)
	}
}

// A stream that stalls has told what went in, and not what comes out.
func TestAReplyCanStallInMidStream(t *testing.T) {
	s := Start(t)
	s.Handle(func(Request) Reply { return Reply{Text: "one two", StopReason: "refusal", Stall: "gate"} })
	body := bufio.NewReader(post(t, s, true, text("go")).Body)
	read := func(until string) (seen string) {
		t.Helper()
		for !strings.Contains(seen, until) {
			line, err := body.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream ended before %s: %v", until, err)
			}
			seen += line
		}
		return seen
	}
	if seen := read("one "); !strings.Contains(seen, `"input_tokens":1200`) || body.Buffered() > len("\n") {
		t.Errorf("it went on, or has not told what went in: %s", seen)
	}
	s.Release("gate")
	if seen := read("message_stop"); !strings.Contains(seen, `"text":"two"`) || !strings.Contains(seen, `"stop_reason":"refusal"`) {
		t.Errorf("the rest is %s", seen)
	}
}

// A tool that the API refuses costs the whole request.
func TestToolsThatTheAPIRefuses(t *testing.T) {
	s := Start(t)
	long := strings.Repeat("x", 65)
	for tool, want := range map[string]string{
		`{"name":"` + long[:64] + `","input_schema":{"type":"object","properties":{"a":{"oneOf":[]}}}}`: "",
		`{"name":"` + long + `"}`:                    "tools.1.custom.name",
		`{"name":"a.b"}`:                             "tools.1.custom.name",
		`{"name":"a","input_schema":{"oneOf":[]}}`:   "oneOf, allOf, or anyOf",
		`{"name":"a","input_schema":{"anyOf":[]}}`:   "oneOf, allOf, or anyOf",
		`{"name":"a","input_schema":{"allOf":[{}]}}`: "oneOf, allOf, or anyOf",
	} {
		body := `{"model":"m","messages":[{"role":"user","content":"say:x"}],"tools":[{"name":"Bash"},` + tool + `]}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct {
			Error struct{ Type, Message string }
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if want == "" && response.StatusCode != http.StatusOK ||
			want != "" && (response.StatusCode != http.StatusBadRequest || answer.Error.Type != "invalid_request_error" || !strings.Contains(answer.Error.Message, want)) {
			t.Errorf("%.100s: %d %+v, want %q", tool, response.StatusCode, answer, want)
		}
	}
}

func TestAHandlerDecides(t *testing.T) {
	s := Start(t)
	s.Handle(func(r Request) Reply {
		if r.Says("ping") {
			return Reply{Text: "pong"}
		}
		return Directed(r)
	})
	if _, content := answer(t, post(t, s, false, text("ping"))); content[0].Text != "pong" {
		t.Errorf("content %+v", content)
	}
	if _, content := answer(t, post(t, s, false, text("say:x"))); content[0].Text != "x" {
		t.Errorf("content %+v", content)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	s := Start(t)
	post(t, s, false, text("<system-reminder>x</system-reminder>"), text("hello"))
	got := s.WaitRequest(t, Main)
	if got.Model != "m" || got.System != "be brief" || !slices.Equal(got.Tools, []string{"Bash"}) || got.Prompt() != "hello" {
		t.Errorf("request %+v", got)
	}
	if texts := got.UserTexts(); len(texts) != 2 {
		t.Errorf("texts %q", texts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.WaitN(ctx, 2, Main); err == nil {
		t.Error("a request that never came was found")
	}
}

func TestWhatElseTheCLIAsks(t *testing.T) {
	s := Start(t)
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{http.MethodHead, "/", 200},
		{http.MethodPost, "/v1/messages/count_tokens", 200},
		{http.MethodGet, "/v1/models", 200},
		{http.MethodGet, "/elsewhere", 404},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, s.URL()+test.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != test.status {
			t.Errorf("%s %s: status %d, want %d", test.method, test.path, response.StatusCode, test.status)
		}
	}
}
