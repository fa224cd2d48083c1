package doors

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// verdict is what is expected of a try, or seen.
type verdict string

const (
	yes        verdict = "yes"
	open       verdict = "open"
	byCarrier  verdict = "yes c"
	byScope    verdict = "no s"
	byGrant    verdict = "no g"
	byPerson   verdict = "no p"
	byAncestry verdict = "no a"
	byOrigin   verdict = "no o"
	byToken    verdict = "no t"
	byOperator verdict = "no r"
	byApart    verdict = "no d"
	byNobody   verdict = "no n"
)

// had reports whether somebody who is answered so has the right.
func (v verdict) had() bool { return v == yes || v == byCarrier || v == open }

// attempt is one try of a way at a column.
type attempt struct {
	name   string
	mark   string // empty: the one that it was given
	expect verdict
	do     func() Answer
	// answered says that the answer tells whether it was done: nothing else shows it.
	answered bool
}

// way is a way in.
type way struct {
	group, name string
	before      func()
	tries       func(c column) []try
}

// try makes an attempt with a mark of its own.
type try func(mark string) attempt

// ways are all that there are.
func (w *world) ways(t tables) (all []way) {
	admin := bearer(w.tokens[pluginsdk.ScopeAdmin])
	own := w.cookie()
	page := map[string]string{"Cookie": own, "Origin": w.d.URL}
	all = append(all,
		w.apiWay(t, "a person", "by a page, logged in with scope admin", page, pluginsdk.ScopeAdmin, ""),
		w.cliWay("a person", "by the command line, with an admin's token", "", byAncestry),
		w.apiWay(t, "a person", "by a page of another site, with the person's cookie", map[string]string{"Cookie": own, "Origin": "https://evil.example"}, "", byOrigin),
		w.apiWay(t, "a person", "by a page, not logged in", nil, "", byToken),
	)
	for _, scope := range scopes {
		all = append(all, w.apiWay(t, "a token", "with scope "+string(scope), bearer(w.tokens[scope]), scope, ""))
	}
	one := pluginsdk.ScopeOfCron(job)
	all = append(all, w.apiWay(t, "a token", "with the scope of that scheduled job (cron:NAME)", bearer(w.tokens[one]), one, ""))
	for _, scope := range scopes {
		all = append(all, w.carrierWay(t, scope))
	}
	had := []pluginsdk.Capability{pluginsdk.CapState}
	for _, capability := range pluginsdk.AllCapabilities() {
		one := w.pluginWay(t, string(capability), []pluginsdk.Capability{capability}, false)
		before := had
		one.before = func() { w.regrant(before, capability) }
		had = []pluginsdk.Capability{capability}
		all = append(all, one)
	}
	tool := w.pluginWay(t, "by a tool of a plugin that has all capabilities", pluginsdk.AllCapabilities(), true)
	tool.group = "the agent"
	tool.before = func() { w.regrant(had, pluginsdk.AllCapabilities()...) }
	all = append(all, tool)
	for _, below := range w.below() {
		all = append(all,
			w.requestWay(below.name+", with curl and an admin's token", below.socket, admin),
			w.cliWay("the agent", below.name+", with harness and an admin's token", below.socket, byAncestry))
	}
	all = append(all, w.filesWay())
	return append(all, w.commandWays(t)...)
}

// cookie logs a person in at the page, and returns the cookie.
func (w *world) cookie() string {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	form := url.Values{"token": {w.tokens[pluginsdk.ScopeAdmin]}}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.d.URL+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", w.d.URL)
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if answer := w.do(client, request); answer.Code != "303" {
		w.t.Fatalf("log in: %s %s", answer.Code, answer.Text)
	}
	site, err := url.Parse(w.d.URL)
	if err != nil || len(jar.Cookies(site)) != 1 {
		w.t.Fatalf("there is no cookie: %v", err)
	}
	cookie := jar.Cookies(site)[0]
	return cookie.Name + "=" + cookie.Value
}

// apiWay asks the API from beside the daemon; barred is why nobody is let in, whatever scope
// they have.
func (w *world) apiWay(t tables, group, name string, header map[string]string, scope pluginsdk.TokenScope, barred verdict) way {
	expect := func(needed ...pluginsdk.TokenScope) verdict {
		switch {
		case barred != "":
			return barred
		case slices.ContainsFunc(needed, func(n pluginsdk.TokenScope) bool { return !scope.Has(n) }):
			return byScope
		}
		return yes
	}
	return way{group: group, name: name, tries: func(c column) []try {
		tries := []try{func(mark string) attempt {
			r := c.api(w, mark)
			expected := expect(t.routes[r.method+" "+r.pattern])
			if r.pattern == firePattern && scope.Cron() == job {
				expected = yes
			}
			return attempt{name: r.method + " " + r.pattern, expect: expected, do: func() Answer { return w.ask(header, r.method, r.path, r.body) }}
		}}
		if c.typed != nil {
			tries = append(tries, func(mark string) attempt {
				typed, thread := c.typed(w, mark), w.parent
				if typed.name == "" {
					thread = w.other
				}
				return attempt{name: "POST /api/chat " + typed.text, expect: expect(t.routes["POST /api/chat"], t.needOf(typed.name, typed.word).scope), do: func() Answer {
					return w.ask(header, http.MethodPost, "/api/chat", object{"threadId": thread, "content": typed.text})
				}}
			})
		}
		return tries
	}}
}

// requestWay asks the API from a process below the daemon.
func (w *world) requestWay(name, socket string, header map[string]string) way {
	header = map[string]string{"Authorization": header["Authorization"], "Content-Type": "application/json"}
	return way{group: "the agent", name: name, tries: func(c column) []try {
		return []try{func(mark string) attempt {
			r := c.api(w, mark)
			return attempt{name: r.method + " " + r.pattern, expect: byAncestry, do: func() Answer {
				return w.knock(socket, Knock{Method: r.method, URL: w.d.URL + r.path, Header: header, Body: encoded(w.t, r.body)})
			}}
		}}
	}}
}

// cliWay runs harness, below the daemon where a socket is given.
func (w *world) cliWay(group, name, socket string, below verdict) way {
	file := filepath.Join(w.bin, "token")
	if err := os.WriteFile(file, []byte(w.tokens[pluginsdk.ScopeAdmin]), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return way{group: group, name: name, tries: func(c column) []try {
		return []try{func(mark string) attempt {
			words := w.words(c, mark, file)
			one := attempt{name: "harness " + strings.Join(c.cli(w, mark)[:2], " "), expect: yes, do: func() Answer {
				said, err := w.d.Run(w.t.Context(), words...)
				return Answer{OK: err == nil, Code: fmt.Sprint(err), Text: said}
			}}
			if socket != "" {
				one.expect = below
				one.do = func() Answer { return w.knock(socket, Knock{Command: append([]string{w.d.Program}, words...)}) }
			}
			return one
		}}
	}}
}

// carrierWay types what people of a scope type on a carrier, and otherwise calls the host as
// the carrier.
func (w *world) carrierWay(t tables, scope pluginsdk.TokenScope) way {
	granted, _ := shipped.Plugins.After("discord", 0)
	return way{group: "a carrier's person", name: "with scope " + string(scope), tries: func(c column) []try {
		if c.typed == nil {
			return w.hostTries(t, c, carrier, granted, false, byCarrier)
		}
		return []try{func(mark string) attempt {
			typed, thread := c.typed(w, mark), w.parent
			if typed.name == "" {
				thread = w.other
			}
			need := t.needOf(typed.name, typed.word)
			expect := yes
			switch {
			case !scope.Has(need.scope):
				expect = byScope
			case need.capability != "" && !slices.Contains(granted, need.capability):
				expect = byGrant
			}
			submission := pluginsdk.Submission{Key: w.mark(), ThreadID: thread, Content: typed.text, Scope: scope, Author: "Ann"}
			return attempt{name: "typed " + typed.text, expect: expect, do: func() Answer {
				return w.knock(w.socket(carrier), Knock{Host: "Messages.Submit", Body: encoded(w.t, pluginsdk.SubmitMessageRequest{Submission: submission})})
			}}
		}}
	}}
}

// pluginWay calls the host as a plugin that has capabilities, in a person's name where the
// plugin gives one; inside of a tool's call that is the agent's.
func (w *world) pluginWay(t tables, name string, granted []pluginsdk.Capability, tool bool) way {
	return way{group: "a plugin", name: name, tries: func(c column) []try {
		tries := w.hostTries(t, c, tester, granted, tool, yes)
		if c.typed == nil || c.name == "elsewhere" {
			return tries
		}
		return append(tries, func(mark string) attempt {
			typed := c.typed(w, mark)
			need := t.needOf(typed.name, typed.word)
			expect := yes
			switch {
			case !slices.Contains(granted, pluginsdk.CapMessagesSubmit) || need.capability != "" && !slices.Contains(granted, need.capability):
				expect = byGrant
			case tool && need.people:
				expect = byPerson
			}
			body := encoded(w.t, pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{Key: w.mark(), ThreadID: w.parent, Content: typed.text}})
			return attempt{name: "Messages.Submit " + typed.text, expect: expect, do: func() Answer {
				return w.enter(tool, Knock{Host: "Messages.Submit", Body: body, Tool: tool})
			}}
		})
	}}
}

// hostTries are the calls of a column; had is what a granted one is expected to be.
func (w *world) hostTries(t tables, c column, plugin string, granted []pluginsdk.Capability, tool bool, had verdict) (tries []try) {
	for n := range c.host(w, "", granted) {
		tries = append(tries, func(mark string) attempt {
			call := c.host(w, mark, granted)[n]
			capability, known := t.capability[call.rpc]
			if !known {
				w.t.Fatalf("the contract has no method %s any more", call.rpc)
			}
			expect := had
			switch {
			case capability != "" && !slices.Contains(granted, capability):
				expect = byGrant
			case tool && (call.named || t.isPersonal(call.method)):
				expect = byPerson
			case call.unless != "":
				expect = call.unless
			}
			knock := Knock{Host: call.method, Body: encoded(w.t, call.body), Tool: tool}
			return attempt{name: call.method, expect: expect, answered: call.method == "Agent.Start", do: func() Answer {
				if plugin != tester {
					return w.knock(w.socket(plugin), knock)
				}
				return w.enter(tool, knock)
			}}
		})
	}
	return tries
}

// enter asks the tester; inside of a tool the agent has to call that.
func (w *world) enter(tool bool, knock Knock) Answer {
	if !tool {
		return w.knock(w.socket(tester), knock)
	}
	run := w.say(w.thread(`{"name":"the agent that tries"}`), "try by your tool")
	answer := w.knock(w.socket(tester), knock)
	w.finish(run)
	return answer
}

// regrant takes capabilities from the tester and gives it others, by the command line what the
// plugin web may not give, and waits until that holds.
func (w *world) regrant(had []pluginsdk.Capability, wanted ...pluginsdk.Capability) {
	w.t.Helper()
	admin, path := bearer(w.tokens[pluginsdk.ScopeAdmin]), "/api/plugins/"+tester
	w.admin(http.MethodPost, path+"/revoke", object{"capabilities": had}, nil)
	if answer := w.ask(admin, http.MethodPost, path+"/grant", object{"capabilities": wanted}); !answer.OK {
		w.grant(tester, wanted...)
	}
	var followed struct{ Standing pluginsdk.PluginStanding }
	if w.get(path+"/follow", &followed); followed.Standing != "serves" {
		w.t.Fatalf("%v is granted, and the tester is %s", wanted, followed.Standing)
	}
}

// servant is a process below the daemon that does what it is told.
type servant struct{ name, socket string }

// below starts a process for each way in which the agent's work starts some. A plugin stands
// for the agent's program: what it starts is below the daemon in the same way.
func (w *world) below() (all []servant) {
	w.t.Helper()
	program := filepath.Join(w.bin, "plugins", tester)
	for n, one := range []struct{ name, script string }{
		{"by a command", `"$P" serve "$S" </dev/null >/dev/null 2>&1 &`},
		{"by a hook of git", `rm -rf "$R" && git init -q "$R" && printf '#!/bin/sh\n"%s" serve "%s"\n' "$P" "$S" > "$R/.git/hooks/post-commit" && chmod +x "$R/.git/hooks/post-commit" &&
			git -C "$R" -c user.name=n -c user.email=e commit -q --allow-empty -m x </dev/null >/dev/null 2>&1 &`},
		{"by a process with a session of its own (setsid, nohup)", `setsid nohup "$P" serve "$S" </dev/null >/dev/null 2>&1 &`},
		{"by a process without an environment (env -i)", `env -i "$P" serve "$S" </dev/null >/dev/null 2>&1 &`},
		{"by a process that was forked twice", `( ( setsid env -i "$P" serve "$S" </dev/null >/dev/null 2>&1 & ) & )`},
	} {
		socket := filepath.Join(w.bin, fmt.Sprintf("below-%d.sock", n))
		answer := w.knock(w.socket(tester), Knock{Command: []string{"env", "P=" + program, "S=" + socket, "R=" + filepath.Join(w.bin, "repository"), "sh", "-c", one.script}})
		if !answer.OK {
			w.t.Fatalf("%s: %s %s", one.name, answer.Code, answer.Text)
		}
		all = append(all, servant{one.name, socket})
	}
	all = append(all, w.check(program))
	for _, one := range all {
		w.eventually(one.name, func() bool {
			_, err := os.Stat(one.socket)
			return err == nil
		})
	}
	return all
}

// check has the checks of a task's work start one.
func (w *world) check(program string) servant {
	w.t.Helper()
	one := servant{"by a check of a task's work", filepath.Join(w.bin, "check.sock")}
	w.d.MustRun(w.t, "plugin", "settings", "set", "validation", fmt.Sprintf(`checks=[{"name":"test","command":"'%s' serve '%s'"}]`, program, one.socket))
	repository := filepath.Join(w.bin, "project")
	w.d.MustRun(w.t, "plugin", "settings", "set", "delegation", fmt.Sprintf(`roots=[%q]`, w.bin))
	script := `git init -q -b main "$0" && cd "$0" && echo begin > file.txt && git add -A && git -c user.name=n -c user.email=e commit -q -m begin`
	if answer := w.knock(w.socket(tester), Knock{Command: []string{"sh", "-c", script, repository}}); !answer.OK {
		w.t.Fatalf("make a repository: %s", answer.Text)
	}
	var made pluginsdk.Task
	w.admin(http.MethodPost, "/api/tasks", object{"threadId": w.parent, "text": "change something", "dir": repository}, &made)
	var history struct{ Task pluginsdk.Task }
	w.eventually("the worker's run", func() bool {
		w.get("/api/tasks/"+made.ID, &history)
		return history.Task.RunID != "" && history.Task.ThreadID != ""
	})
	var thread pluginsdk.Thread
	w.get("/api/threads/"+history.Task.ThreadID, &thread)
	if err := os.WriteFile(filepath.Join(thread.Cwd, "result.txt"), []byte("ok\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.knock(w.socket(tester), Knock{Host: "Settings.Get", Body: encoded(w.t, object{}), Tool: true}) // the worker's tool has returned then
	return one
}

// filesWay does by the files of the installation what the other ways are refused: they are the
// same user's.
func (w *world) filesWay() way {
	return way{group: "the agent", name: "by the files of the installation, from any of these", tries: func(c column) []try {
		return []try{func(mark string) attempt {
			script := []string{"dd", "if=/dev/null", "of=" + filepath.Join(w.d.Dir, "harness.db"), "conv=notrunc"}
			if c.name == "memory" {
				script = []string{"sh", "-c", `printf %s "$1" > "$0"`, filepath.Join(w.d.Dir, "workspace", memory), mark}
			}
			return attempt{name: "open for writing", expect: open, answered: true, do: func() Answer { return w.knock(w.socket(tester), Knock{Command: script}) }}
		}}
	}}
}

// commandWays have the agent give the commands of all columns in its replies, in a thread and
// in one that is apart. What it replies is written down before, and the daemon reads it as it
// starts.
func (w *world) commandWays(t tables) (all []way) {
	type said struct {
		reply
		mark string
	}
	replies := map[string]said{}
	script := func() {
		var rules []object
		for _, thread := range []string{w.parent, w.apart} {
			for _, c := range columns {
				mark := w.mark()
				one := said{c.reply(w, mark), mark}
				replies[thread+c.name] = one
				rules = append(rules, object{"match": "command " + c.name + " in " + thread, "text": one.text, "times": 1})
			}
		}
		if err := os.WriteFile(w.script, encoded(w.t, rules), 0o600); err != nil {
			w.t.Fatal(err)
		}
		if err := errors.Join(w.d.Down(), w.d.Up()); err != nil {
			w.t.Fatal(err)
		}
		w.eventually("the plugins' return", func() bool { return w.serves(target) && w.serves("delegation") })
	}
	for _, in := range []struct{ name, thread string }{{"by a command in its reply", w.parent}, {"by a command in its reply, in a thread apart", w.apart}} {
		all = append(all, way{group: "the agent", name: in.name, before: script, tries: func(c column) []try {
			return []try{func(string) attempt {
				one := replies[in.thread+c.name]
				_, plugins := t.commands[one.name]
				expect := byNobody
				if plugins || one.name == "notify" {
					expect = yes
				}
				if one.name == "cron" {
					expect = byPerson // the agent has the tools of the plugin
				}
				if in.thread == w.apart {
					expect = byApart
				}
				return attempt{name: one.text, mark: one.mark, expect: expect, do: func() Answer {
					run := w.finish(w.say(in.thread, "command "+c.name+" in "+in.thread))
					if len(run.Outcomes) != 1 {
						return Answer{Text: string(encoded(w.t, run))}
					}
					outcome := run.Outcomes[0]
					if !outcome.Handled && outcome.Error == "" {
						outcome.Error = unanswered
					}
					return Answer{Text: outcome.Error}
				}}
			}}
		}})
		script = nil
	}
	return all
}
