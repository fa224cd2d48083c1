package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

const censusName = "census"

// census is a plugin that calls every method that the host has, with nothing in its
// request, and notes in census.txt what each says: METHOD CODE.
type census struct{ host pluginsdk.Host }

func runCensus() { serve.Main(&census{}) }

func (*census) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: censusName, Version: "1.0.0"}
}

func (p *census) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

func (p *census) Activate(ctx context.Context) error {
	for _, method := range hostMethods(p.host) {
		answers := method.call.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.New(method.call.Type().In(1).Elem())})
		code := pluginsdk.Code("none")
		if err, failed := answers[1].Interface().(error); failed {
			code = pluginsdk.CodeOf(err)
		}
		appendLine(beside("census.txt"), fmt.Sprintf("%s %s", method.name, code))
	}
	appendLine(beside("census.txt"), "done")
	return nil
}

func (*census) Deactivate(context.Context) error { return nil }

type hostMethod struct {
	name string
	call reflect.Value // of an empty host it may not be called
}

func hostMethods(host pluginsdk.Host) (methods []hostMethod) {
	rooms := reflect.ValueOf(host)
	for i := range rooms.NumField() {
		room := rooms.Type().Field(i)
		if room.Type.Kind() != reflect.Interface {
			continue // the log
		}
		for j := range room.Type.NumMethod() {
			method := hostMethod{name: room.Name + "." + room.Type.Method(j).Name}
			if !rooms.Field(i).IsNil() {
				method.call = rooms.Field(i).MethodByName(room.Type.Method(j).Name)
			}
			methods = append(methods, method)
		}
	}
	return methods
}

// Nothing is declared that is not served: a plugin that is granted everything gets an
// answer of every method of the host.
func TestTheDaemonServesTheWholeHost(t *testing.T) {
	all, err := json.Marshal(pluginsdk.AllCapabilities())
	if err != nil {
		t.Fatal(err)
	}
	in := newInstallation(t, "", censusName)
	in.start()
	in.sql(`UPDATE plugins SET granted = '` + string(all) + `', enabled = TRUE WHERE name = 'census'`)
	path := filepath.Join(in.config.Plugins, "census.txt")
	in.until("the census", func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.HasSuffix(string(content), "done\n")
	})
	codes := make(map[string]string)
	for _, line := range lines(t, path) {
		method, code, _ := strings.Cut(line, " ")
		codes[method] = code
	}
	for _, method := range hostMethods(pluginsdk.Host{}) {
		if code := codes[method.name]; slices.Contains([]string{"", "unimplemented", "internal"}, code) {
			t.Errorf("%s: %q", method.name, code)
		}
	}
}
