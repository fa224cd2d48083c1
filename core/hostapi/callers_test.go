package hostapi

import (
	"context"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// door is who keeps the tokens: it remembers what it was asked, and by whom.
type door struct {
	CallerTokens
	asked       []string
	id, revoked string
}

func (d *door) Check(_ context.Context, secret string) (pluginsdk.Token, error) {
	d.asked = append(d.asked, "check "+secret)
	return pluginsdk.Token{ID: d.id, Name: "Ann", Scope: pluginsdk.ScopeChat}, nil
}

func (d *door) Revoked(id string) bool { return id == d.revoked }

func (d *door) Create(_ context.Context, who string, request pluginsdk.CreateTokenRequest) (pluginsdk.Token, string, error) {
	d.asked = append(d.asked, who+" creates "+request.Name)
	return pluginsdk.Token{Name: request.Name}, "secret", nil
}

func (d *door) Revoke(_ context.Context, who, id string) error {
	d.asked = append(d.asked, who+" revokes "+id)
	return nil
}

func (d *door) LogOut(_ context.Context, who, secret string) error {
	d.asked = append(d.asked, who+" logs out "+secret)
	return nil
}

// A plugin that may know who calls must not, for that, end the tokens of others; and the
// audit log names the person in whose name it asks.
func TestWhoMayEndTokens(t *testing.T) {
	as := func(granted ...pluginsdk.Capability) (pluginsdk.Tokens, *door) {
		f, keeper := newFixture(granted...), &door{}
		f.api.Callers = keeper
		return f.api.For("web").Tokens, keeper
	}
	ctx := pluginsdk.WithPerson(t.Context(), "Ann\n"+strings.Repeat("ü", 100))
	revoke := func(tokens pluginsdk.Tokens, request pluginsdk.RevokeTokenRequest) error {
		_, err := tokens.Revoke(ctx, &request)
		return err
	}
	tokens, keeper := as(pluginsdk.CapTokensCheck)
	refused(t, "another's token", revoke(tokens, pluginsdk.RevokeTokenRequest{ID: "T"}), pluginsdk.CodeDenied, "tokens.admin")
	refused(t, "neither", revoke(tokens, pluginsdk.RevokeTokenRequest{}), pluginsdk.CodeInvalid, "secret")
	refused(t, "both", revoke(tokens, pluginsdk.RevokeTokenRequest{ID: "T", Secret: "s"}), pluginsdk.CodeInvalid, "secret")
	if len(keeper.asked) > 0 {
		t.Errorf("it was done: %q", keeper.asked)
	}
	if err := revoke(tokens, pluginsdk.RevokeTokenRequest{Secret: "s"}); err != nil {
		t.Error(err)
	}
	person := "plugin:web (Ann\uFFFD" + strings.Repeat("ü", 45) + "…)"
	if keeper.asked[0] != person+" logs out s" {
		t.Errorf("%q", keeper.asked)
	}
	tokens, keeper = as(pluginsdk.CapTokensAdmin)
	if err := revoke(tokens, pluginsdk.RevokeTokenRequest{ID: "T"}); err != nil || keeper.asked[0] != person+" revokes T" {
		t.Errorf("%q %v", keeper.asked, err)
	}
	made, err := tokens.Create(t.Context(), &pluginsdk.CreateTokenRequest{Name: "Bob"})
	if err != nil || made.Secret != "secret" || keeper.asked[1] != "plugin:web creates Bob" {
		t.Errorf("%+v %v %q", made, err, keeper.asked)
	}
}

// Strangers decide how often a token is looked at: what they send must not use up what
// the plugin may ask.
func TestLookingAtTokensCountsInNoQuota(t *testing.T) {
	f := newFixture(pluginsdk.CapTokensCheck)
	f.limits = pluginsdk.PluginLimits{CallsPerMinute: 1}
	f.api.Callers = &door{}
	host := f.api.For("web")
	for range 10 {
		if answer, err := host.Tokens.Check(t.Context(), &pluginsdk.CheckTokenRequest{Secret: "s"}); err != nil || answer.Token.Name != "Ann" {
			t.Fatal(answer, err)
		}
	}
	if calls, _ := f.api.Figures("web"); calls["Tokens.Check"].Calls != 10 {
		t.Errorf("figures %+v", calls)
	}
}
