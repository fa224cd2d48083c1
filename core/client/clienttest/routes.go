package clienttest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func (d *Daemon) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, client.Health{Status: "ok", Version: "test", UptimeMS: 1})
	})
	mux.HandleFunc("POST /api/chat", d.chat)
	mux.HandleFunc("GET /api/threads", d.listThreads)
	mux.HandleFunc("GET /api/threads/{id}", d.getThread)
	mux.HandleFunc("GET /api/commands", d.listCommands)
	mux.HandleFunc("GET /api/plugins", d.listPlugins)
	mux.HandleFunc("GET /api/threads/{id}/messages", d.listMessages)
	mux.HandleFunc("GET /api/threads/{id}/runs", d.listRuns)
	mux.HandleFunc("GET /api/runs/{id}", d.getRun)
	mux.HandleFunc("POST /api/runs/{id}/cancel", d.cancelRun)
	mux.HandleFunc("POST /api/runs/{id}/retry", d.retryRun)
	mux.HandleFunc("POST /api/threads/{id}/stop", d.stopThread)
	mux.HandleFunc("GET /api/deliveries", d.listDeliveries)
	mux.HandleFunc("POST /api/deliveries/{id}/retry", d.retryDelivery)
	mux.HandleFunc("POST /api/files", d.takeFile)
	mux.HandleFunc("GET /api/files", d.listFiles)
	mux.HandleFunc("GET /api/files/{id}", d.file)
	mux.HandleFunc("GET /api/files/{id}/{content}", d.file)
	mux.HandleFunc("DELETE /api/files/{id}", d.file)
	mux.HandleFunc("GET /api/tasks", d.listTasks)
	mux.HandleFunc("GET /api/tasks/{id}", d.getTask)
	mux.HandleFunc("POST /api/tasks/{id}/cancel", d.word("cancel", cancelled))
	mux.HandleFunc("POST /api/tasks/{id}/decide", d.word("decide", decided))
	mux.HandleFunc("POST /api/tasks/{id}/retry", d.word("retry", retried))
	mux.HandleFunc("GET /api/workflows", d.listWorkflows)
	mux.HandleFunc("GET /api/workflows/{id}", d.getWorkflow)
	mux.HandleFunc("GET /api/approvals", d.listApprovals)
	mux.HandleFunc("GET /api/approvals/{id}", d.getApproval)
	mux.HandleFunc("POST /api/approvals/{id}/decide", d.decideApproval)
	mux.HandleFunc("GET /api/approvals/rules", d.listRules)
	mux.HandleFunc("DELETE /api/approvals/rules/{id}", d.revokeRule)
	mux.HandleFunc("GET /api/tools", d.listTools)
	mux.HandleFunc("POST /api/tools/{name}", d.callTool)
	mux.HandleFunc("GET /ws", d.socket)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		revoked := d.revoked
		d.mu.Unlock()
		if revoked {
			refuse(w, http.StatusUnauthorized, "the token is revoked")
			return
		}
		if r.Method == http.MethodGet && r.URL.Path != "/ws" && d.busy() {
			refuse(w, http.StatusServiceUnavailable, "the connection to the database was lost")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// busy reports whether the next request that reads is to fail.
func (d *Daemon) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unavailable == 0 {
		return false
	}
	d.unavailable--
	return true
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}

func (d *Daemon) chat(w http.ResponseWriter, r *http.Request) {
	var request client.ChatRequest
	if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&request) != nil {
		refuse(w, http.StatusUnsupportedMediaType, "the Content-Type header must be application/json")
		return
	}
	if request.ThreadID == "" {
		request.ThreadID = Primary
	}
	d.mu.Lock()
	d.posts++
	if d.refusal != "" {
		refuse(w, http.StatusUnprocessableEntity, d.refusal)
		d.mu.Unlock()
		return
	}
	d.attach(request.Attachments)
	accepted, turn := d.accept(request)
	lose := d.failing > 0
	if lose {
		d.failing--
	}
	if turn != nil {
		d.work.Go(func() { d.answer(turn) })
	}
	d.mu.Unlock()
	if lose {
		panic(http.ErrAbortHandler)
	}
	reply(w, http.StatusAccepted, accepted)
}

func (d *Daemon) listThreads(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	query := r.URL.Query()
	threads := []pluginsdk.Thread{}
	skip := query.Get("after") != ""
	for _, thread := range d.threads {
		if !skip && (query.Get("kind") == "" || query.Get("kind") == string(thread.Kind)) {
			threads = append(threads, thread)
		}
		if thread.ID == query.Get("after") {
			skip = false
		}
	}
	reply(w, http.StatusOK, map[string]any{"threads": threads[:min(len(threads), d.limit(r))]})
}

// limit is how many rows an answer has at most.
func (d *Daemon) limit(r *http.Request) int {
	n, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		n = 100
	}
	if d.shortest > 0 {
		n = min(n, d.shortest)
	}
	return n
}

// AddCommand adds a command that people can type.
func (d *Daemon) AddCommand(command pluginsdk.Command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commands = append(d.commands, command)
}

// AddPlugin registers a plugin, with its manifest.
func (d *Daemon) AddPlugin(plugin pluginsdk.PluginInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plugins = append(d.plugins, client.Plugin{PluginInfo: plugin})
}

func (d *Daemon) listPlugins(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"plugins": d.plugins})
}

func (d *Daemon) listCommands(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	reply(w, http.StatusOK, map[string]any{"commands": d.commands})
}

func (d *Daemon) getThread(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, thread := range d.threads {
		if thread.ID == r.PathValue("id") {
			reply(w, http.StatusOK, thread)
			return
		}
	}
	refuse(w, http.StatusNotFound, "there is no thread "+r.PathValue("id"))
}

func (d *Daemon) listMessages(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	query := r.URL.Query()
	after, _ := strconv.ParseInt(query.Get("after"), 10, 64)
	found := []pluginsdk.Message{}
	for _, message := range d.messages {
		wanted := len(query["kind"]) == 0 || slices.Contains(query["kind"], string(message.Kind))
		if message.ThreadID == r.PathValue("id") && message.ID > after && wanted {
			found = append(found, message)
		}
	}
	if over := len(found) - d.limit(r); over > 0 && query.Get("last") == "true" {
		found = found[over:]
	} else if over > 0 {
		found = found[:d.limit(r)]
	}
	reply(w, http.StatusOK, map[string]any{"messages": found})
}

func (d *Daemon) listRuns(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := []client.Run{}
	for _, run := range d.runs {
		if run.ThreadID == r.PathValue("id") && slices.Contains(r.URL.Query()["state"], string(run.State)) {
			found = append(found, run)
		}
	}
	reply(w, http.StatusOK, map[string]any{"runs": found})
}

func (d *Daemon) getRun(w http.ResponseWriter, r *http.Request) {
	d.watched.Do(func() { close(d.reading) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.swollen {
		refuse(w, http.StatusTooManyRequests, "the answer is larger than a message may be")
		return
	}
	for _, run := range d.runs {
		if run.ID == r.PathValue("id") {
			reply(w, http.StatusOK, run)
			return
		}
	}
	refuse(w, http.StatusNotFound, "there is no run "+r.PathValue("id"))
}
