// Knocker is who tries what it may: a plugin whose calls a test chooses, and, as
// `knocker serve SOCKET`, a process that sends requests and starts commands for a test. A
// test asks it over a Unix socket, by a Knock.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/doors"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// patience is how long a knock may take.
const patience = 20 * time.Second

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if err := new(knocker).listen(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	serve.Main(&knocker{tool: make(chan func(context.Context))})
}

type knocker struct {
	host *pluginsdk.Host
	tool chan func(context.Context) // what the next call of the tool does
}

// Manifest asks for every capability that there is.
func (*knocker) Manifest() pluginsdk.Manifest {
	manifest := pluginsdk.Manifest{
		Name: filepath.Base(os.Args[0]), Version: "1.0.0",
		Tools: []pluginsdk.ToolSpec{{Name: "knock", Description: "Try a door.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		SettingsSchema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"plain":{"type":"string","default":""},"command":{"type":"string","default":"","operator":true}}}`),
	}
	for _, capability := range pluginsdk.AllCapabilities() {
		manifest.Capabilities = append(manifest.Capabilities, pluginsdk.CapabilityRequest{Capability: capability, Reason: "to try it"})
	}
	return manifest
}

func (k *knocker) Start(_ context.Context, host pluginsdk.Host) error {
	k.host = &host
	program, err := os.Executable()
	if err != nil {
		return err
	}
	socket := filepath.Join(filepath.Dir(program), "..", filepath.Base(os.Args[0])+".sock")
	go func() { host.Log.Error("the socket is gone", "err", k.listen(socket)) }()
	return nil
}

// CallTool does what the test has left for it.
func (k *knocker) CallTool(ctx context.Context, _ *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	select {
	case knock := <-k.tool:
		knock(ctx)
	case <-ctx.Done():
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: "tried"}}, nil
}

// listen answers knocks on a socket.
func (k *knocker) listen(path string) error {
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // a test's own
		var knock doors.Knock
		if err := json.NewDecoder(r.Body).Decode(&knock); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if knock.End {
			os.Exit(0)
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		_ = json.NewEncoder(w).Encode(k.try(ctx, knock)) // the test sees that it is missing
	}))
}

func (k *knocker) try(ctx context.Context, knock doors.Knock) doors.Answer {
	switch {
	case len(knock.Command) > 0:
		return run(ctx, knock.Command)
	case knock.URL != "":
		return request(ctx, knock)
	case k.host == nil:
		return doors.Answer{Code: "no plugin"}
	case !knock.Tool:
		return k.call(context.Background(), knock)
	}
	done := make(chan doors.Answer, 1)
	select {
	case k.tool <- func(ctx context.Context) { done <- k.call(ctx, knock) }:
		return <-done
	case <-ctx.Done():
		return doors.Answer{Code: "no call", Text: "the tool was not called"}
	}
}

func run(ctx context.Context, words []string) doors.Answer {
	var out bytes.Buffer
	command := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the test's
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return doors.Answer{OK: err == nil, Code: fmt.Sprint(command.ProcessState.ExitCode()), Text: out.String()}
}

func request(ctx context.Context, knock doors.Knock) doors.Answer {
	r, err := http.NewRequestWithContext(ctx, knock.Method, knock.URL, bytes.NewReader(knock.Body))
	if err != nil {
		return doors.Answer{Code: "no request", Text: err.Error()}
	}
	for name, value := range knock.Header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return doors.Answer{Code: "no answer", Text: err.Error()}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return doors.Answer{OK: err == nil && response.StatusCode < 300, Code: fmt.Sprint(response.StatusCode), Text: string(text)}
}

// call calls a method of the host.
func (k *knocker) call(ctx context.Context, knock doors.Knock) doors.Answer {
	if knock.Person != "" {
		ctx = pluginsdk.WithPerson(ctx, knock.Person)
	}
	service, name, _ := strings.Cut(knock.Host, ".")
	method := reflect.ValueOf(*k.host).FieldByName(service).MethodByName(name)
	request := reflect.New(method.Type().In(1).Elem())
	if err := json.Unmarshal(knock.Body, request.Interface()); err != nil {
		return doors.Answer{Code: "no request", Text: err.Error()}
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(ctx), request})
	if err, _ := results[1].Interface().(error); err != nil {
		return doors.Answer{Code: string(pluginsdk.CodeOf(err)), Text: err.Error()}
	}
	text, err := json.Marshal(results[0].Interface())
	return doors.Answer{OK: err == nil, Text: string(text)}
}
