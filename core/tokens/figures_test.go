package tokens_test

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator is told that somebody tries secrets, or still uses one that was revoked.
func TestFiguresOfRefusals(t *testing.T) {
	each(t, func(f *fixture) {
		access, secret := f.make(pluginsdk.CreateTokenRequest{Name: "ann", Scope: pluginsdk.ScopeRead})
		_, login := f.make(pluginsdk.CreateTokenRequest{Name: "bob", Scope: pluginsdk.ScopeRead, Kind: pluginsdk.TokenLogin})
		f.good("a token", secret)
		f.exchange(login)
		f.refused("no token", "guess")
		if err := f.Revoke(f.Context(), "operator", access.ID); err != nil {
			f.Fatal(err)
		}
		f.refused("a revoked one", secret)
		for _, used := range []string{login, secret, "guess"} {
			if _, _, err := f.Exchange(f.Context(), "plugin:web", pluginsdk.ExchangeTokenRequest{Secret: used}); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
				f.Error(err)
			}
		}
		told := make(map[string]float64)
		for _, figure := range f.Figures() {
			for _, sample := range figure.Samples {
				told[figure.Name+" "+sample.Labels["for"]] = sample.Value
			}
		}
		if told["harness_tokens_refused_total request"] != 2 || told["harness_tokens_refused_total login"] != 3 || len(told) != 2 {
			f.Errorf("told %v", told)
		}
	})
}
