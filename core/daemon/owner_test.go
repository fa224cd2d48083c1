package daemon_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/coretest/owner"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The command line is known by the owner's token, which is in a file that nobody else reads.
// One that was lost or revoked is made anew, and the one before it ends.
func TestTheOwnersToken(t *testing.T) {
	t.Parallel()
	in := leanInstallation(t, "")
	file := filepath.Join(in.config.Data, daemon.OwnerTokenFile)
	good := func(token string) bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.base+"/api/me", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	stop := in.start()
	first := owner.Token(in.base)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file: %v, %v", info, err)
	}
	var me pluginsdk.Token
	if status := in.call("GET", "/api/me", nil, &me); status != 200 || me.Name != daemon.OwnerName || me.Scope != pluginsdk.ScopeAdmin {
		t.Errorf("%d %+v", status, me)
	}
	stop()

	stop = in.start()
	if second := owner.Token(in.base); second != first {
		t.Error("a token that is good was made anew")
	}
	stop()

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	stop = in.start()
	third := owner.Token(in.base)
	if third == first || !good(third) {
		t.Error("there is no new token")
	}
	if good(first) {
		t.Error("the token of the file that is lost is still good")
	}
	stop()

	for _, rubbish := range []string{"", "\x00\xff", "harness_access_" + first} {
		if err := os.WriteFile(file, []byte(rubbish), 0o600); err != nil {
			t.Fatal(err)
		}
		stop = in.start()
		if token := owner.Token(in.base); token == rubbish || !good(token) {
			t.Errorf("with %q in the file there is no good token", rubbish)
		}
		stop()
	}
}
