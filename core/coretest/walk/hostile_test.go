package walk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/browser"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// payloads are what somebody writes who wants a page to do something. Those that run call a
// function that there is not, load what a page may not, or open a dialog: each is a fault of the page.
func payloads(t *testing.T) (all []string) {
	t.Helper()
	file, err := os.ReadFile("../../../plugins/web/internal/hostile/payloads.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		payload, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
		if err != nil {
			t.Fatalf("payloads.txt: %s: %v", line, err)
		}
		all = append(all, strings.ReplaceAll(payload, "\x00", "")) // the API takes none
	}
	if len(all) < 40 {
		t.Fatalf("there are %d payloads", len(all))
	}
	return all
}

// lines are the payloads on a line each, which some fields want.
func lines(payloads []string) (all []string) {
	for _, payload := range payloads {
		all = append(all, strings.Join(strings.FieldsFunc(payload, func(r rune) bool { return r < ' ' }), " "))
	}
	return all
}

// numbered is a text of payloads, with something before and after each by which it can be told
// that none of them has swallowed what follows.
func numbered(payloads []string) string {
	var text strings.Builder
	for n, payload := range payloads {
		fmt.Fprintf(&text, "before%d\n\n%s\n\nafter%d\n\n", n, payload, n)
	}
	return text.String()
}

// hostilePlugin says all of itself in payloads.
func hostilePlugin(name string, payloads []string) object {
	properties, commands := object{}, []object{}
	for n, payload := range payloads {
		properties[fmt.Sprintf("setting%d", n)] = object{"type": "string", "title": payload, "description": payload, "enum": []string{payload, "other"}, "default": payload}
		commands = append(commands, object{"name": fmt.Sprintf("%s-%d", name, n), "description": payload, "usage": payload})
	}
	schema, err := json.Marshal(object{"type": "object", "title": payloads[0], "properties": properties})
	if err != nil {
		panic(err) // texts only
	}
	return object{
		"name": name, "version": payloadVersion, "description": strings.Join(payloads[:4], " "), "settingsSchema": json.RawMessage(schema), "commands": commands,
		"capabilities": []object{{"capability": "state", "reason": payloads[5]}, {"capability": "messages.read", "reason": payloads[9]}, {"capability": "threads.admin", "reason": payloads[12]}},
		"environment":  []object{{"name": "HOME", "reason": payloads[14]}},
	}
}

const payloadVersion = "<img/src=x/onerror=hostile()>"

// Whatever people, agents, tools and plugins write, and wherever a page shows it: it is text.
func TestNothingThatIsWrittenRuns(t *testing.T) {
	t.Parallel()
	b := browser.Shared(t)
	all := payloads(t)
	flat := lines(all)
	var rules []rule
	for n, payload := range flat {
		rules = append(rules, rule{"match": fmt.Sprintf("use tool number %d.", n), "think": payload, "toolName": payload, "toolInput": object{"command": payload, payload: payload, "file_path": payload, "old_string": payload, "new_string": "x" + payload},
			"toolResult": all[n], "text": numbered(all[n : n+1]), "toolError": n%2 == 1})
	}
	rules = append(rules,
		rule{"match": "edit the file", "toolName": "Edit", "toolInput": object{"file_path": flat[0], "old_string": strings.Join(all[:40], "\n"), "new_string": strings.Join(all[20:], "\n")}, "toolResult": "", "text": "x"},
		rule{"match": "ask about it", "toolName": "Bash", "toolInput": object{"command": strings.Join(flat, "\n"), "description": flat[3]}, "ask": true, "text": "x"},
		rule{"match": "fail with it", "failure": object{"kind": "api", "apiStatus": 400, "message": strings.Join(flat[:30], " ")}},
		rule{"match": "hand it in", "text": numbered(all[:60]) + "\nDONE: " + flat[2]},
	)
	d := start(t, rules...)

	// What plugins say of themselves.
	d.MustRun(t, "plugin", "install", pack(t, hostilePlugin("hostile", flat[:40]), map[string]string{"log.txt": strings.Join(flat, "\n")}), "--yes", "--enable")
	d.MustRun(t, "plugin", "install", pack(t, hostilePlugin("faulty", flat[40:80]), map[string]string{"fault.txt": strings.Join(flat[:20], " ")}), "--yes")
	verdict, err := json.Marshal(object{"Verdict": "reject", "Feedback": numbered(all[:60]), "Evidence": []object{
		{"kind": flat[0], "command": strings.Join(flat[:30], "\n"), "output": strings.Join(flat, "\n"), "file": flat[1], "note": flat[2]},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d.MustRun(t, "plugin", "install", pack(t, hostilePlugin("judge", flat[80:]), map[string]string{"verdict.json": string(verdict)}), "--yes", "--grant", "all", "--enable")
	d.call(t, http.MethodPatch, "/api/plugins/faulty", object{"enabled": true}, nil)

	// What people and agents say.
	thread := d.thread(t, object{"name": flat[0], "instructions": strings.Join(all, "\n")})
	var runs, threads []string
	for n, payload := range flat[:60] {
		threads = append(threads, d.thread(t, object{"name": payload, "instructions": all[n]}))
		runs = append(runs, d.say(t, threads[n], payload, all[n]))
	}
	for part := range slices.Chunk(all, 12) {
		runs = append(runs, d.say(t, thread, flat[len(runs)%len(flat)], numbered(part)))
	}
	talk := d.thread(t, object{"name": "hostile tools"})
	for n := range flat {
		runs = append(runs, d.say(t, talk, flat[n], fmt.Sprintf("Please use tool number %d.", n)))
	}
	var attached []object
	for n, payload := range flat[:20] {
		var file pluginsdk.File
		d.call(t, http.MethodPost, "/api/files?name="+url.QueryEscape(strings.ReplaceAll(payload, "/", "∕")), bytes.NewReader([]byte(payload)), &file)
		attached = append(attached, object{"fileId": file.ID})
		if n%2 == 1 {
			attached[n] = object{"name": payload, "type": "image/png", "size": 3, "where": payload}
		}
	}
	var accepted pluginsdk.Accepted
	d.call(t, http.MethodPost, "/api/chat", object{"threadId": thread, "content": "edit the file", "attachments": attached}, &accepted)
	failed := d.say(t, thread, "", "fail with it")
	runs = append(runs, accepted.RunID, failed)
	for _, run := range runs {
		d.finish(t, run)
	}
	asking := d.thread(t, object{"name": flat[1]})
	d.say(t, asking, "", "ask about it")
	d.open(t, asking)

	// Tasks, context files, tokens, the audit log.
	task := d.handOn(t, object{"text": "hand it in\n" + numbered(all[:80]), "threadId": threads[0]})
	d.task(t, task, pluginsdk.TaskFailed)
	version := ""
	for _, text := range []string{numbered(all[:70]), numbered(all)} {
		version = d.remember(t, "context/hostile.md", text, version, flat[4])
	}
	var tokens []string
	for _, payload := range flat[:20] {
		if status, _ := d.ask(t, http.MethodPost, "/api/tokens", object{"name": payload, "scope": "read"}); status == http.StatusCreated {
			tokens = append(tokens, payload)
		}
	}
	eventually(t, "the end of what does not start", func() bool {
		var plugin struct{ LastError string }
		d.call(t, http.MethodGet, "/api/plugins/faulty", nil, &plugin)
		return plugin.LastError != ""
	})
	var changes struct{ Changes []pluginsdk.WorkspaceChange }
	d.call(t, http.MethodGet, "/api/context/history?path=context/hostile.md", nil, &changes)
	change := url.Values{"path": {changes.Changes[0].Path}, "version": {changes.Changes[0].Version}} // all of it, as if it had been made then

	p := b.Page(t, browser.Options{})
	look := func(path string, payloads ...string) {
		t.Helper()
		p.Open(d.URL + path)
		p.Wait("h1")
		for _, details := range []string{"work", "step"} {
			p.Eval(`document.querySelectorAll("details.`+details+`").forEach((one) => (one.open = true))`, nil)
			p.WaitTrue(`!document.querySelector(".htmx-request")`)
		}
		p.Eval(`document.querySelectorAll("details").forEach((one) => (one.open = true))`, nil)
		judge(t, p, path, payloads)
	}
	look("/")
	var newest struct{ Threads []pluginsdk.Thread }
	d.call(t, http.MethodGet, "/api/threads?order=activity&limit=20", nil, &newest)
	var names []string
	for _, one := range newest.Threads {
		names = append(names, one.Name)
	}
	look("/threads", names...)
	look("/palette?q=hostile")
	look("/search?q=hostile")
	look("/search?q=onerror")
	look("/search?q=" + url.QueryEscape(flat[3]))
	look("/chat/"+thread, flat[0], "before0", "after11")
	look("/chat/"+thread+"/settings", all...)
	for _, one := range threads[:10] {
		look("/chat/" + one)
	}
	look("/chat/" + talk)
	look("/chat/"+asking, flat...)
	look("/runs")
	look("/runs?state=failed")
	look("/runs/"+failed, flat[:10]...)
	look("/runs/" + accepted.RunID)
	for n := range 12 {
		look("/runs/"+runs[len(runs)-3-n], flat[len(flat)-1-n])
	}
	look("/tasks")
	look("/tasks?view=list")
	look("/tasks?view=list&thread=" + url.QueryEscape(flat[0]) + "&plugin=" + url.QueryEscape(flat[1]))
	for _, tab := range []string{"overview", "iterations", "verdicts", "changes", "below"} {
		look("/tasks/"+task+"?tab="+tab, map[string][]string{"verdicts": flat[:30]}[tab]...)
	}
	look("/memory")
	look("/memory/file?path=context%2Fhostile.md", all...)
	look("/memory/history")
	// There it stands line by line.
	look("/memory/change?"+change.Encode(), slices.DeleteFunc(slices.Clone(all[:70]), func(payload string) bool { return strings.Contains(payload, "\n") })...)
	look("/plugins")
	for name, part := range map[string][]string{"hostile": flat[:40], "faulty": flat[40:80], "judge": flat[80:]} {
		for _, tab := range []string{"overview", "grants", "limits", "log", "versions"} {
			look("/plugins/" + name + "?tab=" + tab)
		}
		look("/plugins/"+name+"?tab=settings", part...)
		look("/plugins/" + name + "/remove")
	}
	look("/plugins/hostile?tab=log", flat[len(flat)-40:]...)
	look("/plugins/faulty", flat[:10]...)
	for _, tab := range []string{"", "/about", "/approvals", "/audit", "/backups", "/deliveries"} {
		look("/system" + tab)
	}
	look("/system/tokens", tokens...)
	look("/usage")
	look("/nothing/" + url.PathEscape(flat[1]))
}

// made finds what a page has no business with, whatever is written on it.
const made = `[...document.querySelectorAll("*")].filter((one) =>
	one.matches("body script, iframe, object, embed, base, body meta, body link, body style, math, marquee, template, plaintext, xmp, video, audio, [srcdoc], [style]") && !one.matches("#new") && !one.closest("svg.chart") ||
	[...one.attributes].some((a) => /^(on|hx-on|data-hx-on)/.test(a.name) || /^(href|src|action|formaction|xlink:href|data)$/.test(a.name) && /^[\s\u0000-\u0020]*(javascript|data|vbscript):/i.test(a.value)) ||
	one.matches("main [src]") && !one.src.startsWith(location.origin)).map((one) => one.outerHTML.slice(0, 300))`

// judge checks that nothing has run on a page, and that payloads can be read there.
func judge(t *testing.T, p *browser.Page, path string, payloads []string) {
	t.Helper()
	var foreign []string
	p.Eval(made, &foreign)
	for _, element := range foreign {
		t.Errorf("%s has %s", path, element)
	}
	for _, fault := range p.Faults() {
		t.Errorf("%s: %s", path, fault)
	}
	var text string
	p.Eval(`document.querySelector("main").textContent + [...document.querySelectorAll("main input, main textarea, main option")].map((one) => " " + one.value).join("")`, &text)
	plain := func(words string) string { return strings.Join(strings.Fields(words), "") }
	text = plain(text)
	for _, payload := range payloads {
		if !strings.Contains(text, plain(payload)) {
			t.Errorf("%s does not have the text %q", path, payload)
		}
	}
}
