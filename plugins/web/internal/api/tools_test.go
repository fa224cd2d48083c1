package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestTools(t *testing.T) {
	f := serve(t)
	if got := f.send("GET", "/api/tools", ""); got.raw != `{"tools":[]}`+"\n" {
		t.Errorf("no tools: %s", got.raw)
	}
	f.host.tools = []pluginsdk.ToolSpec{{Name: "time__current_time", Description: "The time", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	want := `{"tools":[{"name":"time__current_time","plugin":"time","description":"The time","inputSchema":{"type":"object"}}]}` + "\n"
	if got := f.send("GET", "/api/tools", ""); got.raw != want {
		t.Errorf("%s", got.raw)
	}
}

func TestCallTool(t *testing.T) {
	f := serve(t)
	f.host.result = pluginsdk.ToolResult{Text: "noon", Structured: json.RawMessage(`{"hour":12}`)}
	got := f.send("POST", "/api/tools/time__current_time", `{"input":{"timezone":"UTC"}}`)
	if got.status != http.StatusOK || got.raw != `{"text":"noon","structured":{"hour":12}}`+"\n" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if left := time.Until(f.host.deadline); left < 30*time.Minute {
		t.Errorf("a tool is given %s: it cannot finish what takes longer than a request", left)
	}
	f.host.result = pluginsdk.ToolResult{Text: "no such zone", IsError: true}
	if got := f.send("POST", "/api/tools/time__current_time", `{}`); got.status != http.StatusOK || got.body["isError"] != true {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if want := []any{`call time__current_time {"timezone":"UTC"}`, "call time__current_time {}"}; !reflect.DeepEqual(f.host.asked, want) {
		t.Errorf("asked %v", f.host.asked)
	}
	f.isProblem(f.send("POST", "/api/tools/time__current_time", `{"input":[]}`), 422, "input")
	for code, status := range map[pluginsdk.Code]int{
		pluginsdk.CodeInvalid: 422, pluginsdk.CodeNotFound: 404, pluginsdk.CodeUnavailable: 503, pluginsdk.CodeDeadline: 504,
		pluginsdk.CodeInternal: 502, // of the plugin: to be told, not hidden
	} {
		f.host.err = pluginsdk.Errorf(code, "the plugin fell over")
		f.isProblem(f.send("POST", "/api/tools/time__current_time", `{}`), status, "the plugin fell over")
	}
}
