package fakeapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// drain reads an answer to its end.
func drain(t *testing.T, response *http.Response) {
	t.Helper()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
}

func unified(response *http.Response, name string) string {
	return response.Header.Get("anthropic-ratelimit-unified-" + name)
}

func TestAnswersTellOfThePlansWindows(t *testing.T) {
	s := Start(t)
	if got := unified(post(t, s, true, text("say:x")), "status"); got != "" {
		t.Errorf("without windows an answer has the status %q", got)
	}
	at := time.Now().Add(time.Hour)
	s.SetWindows(&Windows{Each: []Window{{Name: "5h", Used: 0.93, Status: Warning, Reset: at}, {Name: "7d", Used: 0.41}}})
	response := post(t, s, true, text("say:x"))
	for name, want := range map[string]string{
		"status": Allowed, "representative-claim": "five_hour", "reset": strconv.FormatInt(at.Unix(), 10), "overage-status": Rejected,
		"5h-status": Warning, "5h-utilization": "0.93", "5h-reset": strconv.FormatInt(at.Unix(), 10),
		"7d-status": Allowed, "7d-utilization": "0.41", "7d-reset": "",
	} {
		if got := unified(response, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	s.SetWindows(nil)
	if got := unified(post(t, s, true, text("say:x")), "status"); got != "" {
		t.Errorf("after they were taken away an answer has the status %q", got)
	}
}

func TestAWindowThatIsUsedUpRefuses(t *testing.T) {
	s := Start(t)
	used := Windows{Status: Rejected, Each: []Window{{Name: "5h", Used: 1}}}
	s.SetWindows(&used, "other")
	if response := post(t, s, true, text("say:x")); response.StatusCode != http.StatusOK || unified(response, "status") != "" {
		t.Errorf("the window of another model: %d", response.StatusCode)
	}
	s.SetWindows(&used, "m")
	response := post(t, s, true, text("say:x"))
	var body struct{ Error struct{ Type string } }
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusTooManyRequests || body.Error.Type != "rate_limit_error" || unified(response, "status") != Rejected {
		t.Errorf("used up: %d %+v", response.StatusCode, body)
	}
	used.Overage = Allowed
	s.SetWindows(&used, "m")
	if response := post(t, s, true, text("say:x")); response.StatusCode != http.StatusOK || unified(response, "overage-in-use") != "true" {
		t.Errorf("with overage: %d", response.StatusCode)
	}
	if bill := s.Billed(); bill.Calls != 2 {
		t.Errorf("%d calls were billed", bill.Calls)
	}
}

func TestWindowsByDirectives(t *testing.T) {
	s := Start(t)
	response := post(t, s, true, text("window:7d 0.2\nwindow:5h 1 rejected 60\nsay:x"))
	reset, err := strconv.ParseInt(unified(response, "reset"), 10, 64)
	if response.StatusCode != http.StatusTooManyRequests || unified(response, "representative-claim") != "five_hour" || unified(response, "7d-utilization") != "0.2" ||
		err != nil || time.Until(time.Unix(reset, 0)) > time.Minute {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	if response := post(t, s, true, text("window:5h 0.5 allowed\nsay:x")); response.StatusCode != http.StatusOK || unified(response, "5h-utilization") != "0.5" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}

func TestModelsThatThereAre(t *testing.T) {
	s := Start(t)
	get := func(path string) (status int, body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(content)
	}
	if response := post(t, s, true, text("say:x")); response.StatusCode != http.StatusOK {
		t.Errorf("before SetModels a call of any model gets %d", response.StatusCode)
	}
	s.SetModels(Model{ID: "a"}, Model{ID: "b", Name: "B"})
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Name string `json:"display_name"`
		} `json:"data"`
	}
	if status, body := get("/v1/models"); status != http.StatusOK || json.Unmarshal([]byte(body), &list) != nil ||
		len(list.Data) != 2 || list.Data[0].ID != "a" || list.Data[1].Name != "B" {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := get("/v1/models/a"); status != http.StatusOK {
		t.Errorf("a model that there is: %d", status)
	}
	if status, _ := get("/v1/models/m"); status != http.StatusNotFound {
		t.Errorf("a model that there is not: %d", status)
	}
	if response := post(t, s, true, text("say:x")); response.StatusCode != http.StatusNotFound {
		t.Errorf("a call of a model that there is not gets %d", response.StatusCode)
	}
}
