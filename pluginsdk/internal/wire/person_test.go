package wire

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// named is a state service that knows in whose name it was asked last.
type named struct {
	pluginsdk.State
	person, token string
}

func (n *named) Get(ctx context.Context, _ *pluginsdk.GetStateRequest) (*pluginsdk.GetStateResponse, error) {
	n.person, n.token = pluginsdk.PersonFrom(ctx), pluginsdk.TokenFrom(ctx)
	return nil, nil
}

// An audit log that names the plugin alone does not say who decided.
func TestAPersonArrivesWithTheCall(t *testing.T) {
	state := &named{}
	host := hosted(t, pluginsdk.Host{State: state})
	for sent, want := range map[string]string{
		"":                       "",
		"Ann":                    "Ann",
		"Žofie 李":                "Žofie 李",
		"Ann\nadmin granted all": "Annadmin granted all",
		"a\xffb":                 "ab",
		" Ann\x00 ":              "Ann",
		strings.Repeat("é", 60):  strings.Repeat("é", 50),
		"Ann\u2028admin":         "Annadmin", // another line to some
		"A\u202enn\u200b\u00ad":  "Ann",      // what is not seen can make one name look like another
		strings.Repeat("x", 1e6): strings.Repeat("x", 100),
	} {
		state.person = "nobody asked"
		if _, err := host.State.Get(pluginsdk.WithPerson(t.Context(), sent), nil); err != nil || state.person != want {
			t.Errorf("%q arrived as %q, %v; want %q", sent, state.person, err, want)
		}
	}
}

// A row must not say by which token a person called when another one was meant.
func TestATokenArrivesWithTheCall(t *testing.T) {
	state := &named{}
	host := hosted(t, pluginsdk.Host{State: state})
	const id = "01994b1a-0000-7000-8000-000000000001"
	for _, sent := range []string{"", id, "a"} {
		state.token = "nobody asked"
		if _, err := host.State.Get(pluginsdk.WithToken(t.Context(), sent), nil); err != nil || state.token != sent {
			t.Errorf("%q arrived as %q, %v", sent, state.token, err)
		}
	}
	state.token = "nobody asked"
	if _, err := host.State.Get(pluginsdk.WithToken(t.Context(), strings.Repeat("a", maxToken+1)), nil); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || state.token != "nobody asked" {
		t.Errorf("an id that is none: %v", err)
	}
}
