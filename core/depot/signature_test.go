package depot_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"aead.dev/minisign"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newKey(t *testing.T) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// sign writes the signature that `minisign -S` would.
func sign(t *testing.T, archive string, content []byte, key minisign.PrivateKey) {
	t.Helper()
	reader := minisign.NewReader(bytes.NewReader(content))
	if _, err := reader.Read(make([]byte, len(content)+1)); err != nil {
		t.Fatal(err)
	}
	write(t, archive+".minisig", reader.SignWithComments(key, "greeter 1.0.0", "nobody signed this"), 0o600)
}

// The worst outcome is code of somebody else under a trusted name: a signature
// that is not good is refused whatever the policy, and the policy "required" lets
// nothing through that no trusted publisher signed.
func TestSignaturesAreJudged(t *testing.T) {
	trusted, key := newKey(t)
	_, stranger := newKey(t)
	content := packed(t, good(t, "1")...)
	other := packed(t, good(t, "2")...)
	id := fmt.Sprintf("%016X", trusted.ID())
	for name, test := range map[string]struct {
		signed   []byte // what the signature is of; nil: there is none
		by       minisign.PrivateKey
		required bool
		refused  string // empty: it is accepted
		want     depot.Signature
	}{
		"good":                {signed: content, by: key, want: depot.Signature{Signed: true, KeyID: id, Trusted: true, Comment: "greeter 1.0.0"}},
		"good, required":      {signed: content, by: key, required: true, want: depot.Signature{Signed: true, KeyID: id, Trusted: true, Comment: "greeter 1.0.0"}},
		"none":                {},
		"none, required":      {required: true, refused: "it is not signed"},
		"stranger":            {signed: content, by: stranger, want: depot.Signature{Signed: true, KeyID: fmt.Sprintf("%016X", stranger.ID())}},
		"stranger, required":  {signed: content, by: stranger, required: true, refused: fmt.Sprintf("unknown key %016X", stranger.ID())},
		"of another archive":  {signed: other, by: key, refused: "is BAD"},
		"of another, require": {signed: other, by: key, required: true, refused: "is BAD"},
	} {
		t.Run(name, func(t *testing.T) {
			source := archive(t, t.TempDir(), good(t, "1")...)
			if test.signed != nil {
				sign(t, source, test.signed, test.by)
			}
			d, dir := newDepot(t, depot.Config{Publishers: depot.Publishers{trusted}, RequireSignature: test.required})
			p, err := d.Stage(t.Context(), source)
			if test.refused != "" {
				wantError(t, err, pluginsdk.CodeDenied, source, test.refused)
				if names := left(t, dir); len(names) != 0 {
					t.Errorf("left behind: %v", names)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Discard() //nolint:errcheck // the test's directory goes anyway
			if p.Signature != test.want {
				t.Errorf("got %+v, want %+v", p.Signature, test.want)
			}
			if want := test.want.Trusted; (p.Signature.Publisher() != "") != want {
				t.Errorf("publisher %q", p.Signature.Publisher())
			}
		})
	}
}

// A key id is a random number and can be claimed by anybody: who made a key with
// a trusted one's id is still a stranger.
func TestAForgedKeyIDIsNotTrusted(t *testing.T) {
	trusted, _ := newKey(t)
	_, stranger := newKey(t)
	source := archive(t, t.TempDir(), good(t, "1")...)
	content := packed(t, good(t, "1")...)
	sign(t, source, content, stranger)
	var forged minisign.Signature
	reader := minisign.NewReader(bytes.NewReader(content))
	if _, err := reader.Read(make([]byte, len(content)+1)); err != nil {
		t.Fatal(err)
	}
	if err := forged.UnmarshalText(reader.Sign(stranger)); err != nil {
		t.Fatal(err)
	}
	forged.KeyID = trusted.ID()
	text, err := forged.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	write(t, source+".minisig", text, 0o600)
	d, _ := newDepot(t, depot.Config{Publishers: depot.Publishers{trusted}})
	_, err = d.Stage(t.Context(), source)
	wantError(t, err, pluginsdk.CodeDenied, "is BAD")
}

func TestWhatIsNoSignatureIsRefused(t *testing.T) {
	trusted, key := newKey(t)
	content := packed(t, good(t, "1")...)
	for name, test := range map[string]struct {
		signature []byte
		want      string
	}{
		"nonsense":     {[]byte("hello"), "not a signature of minisign"},
		"empty":        {nil, "not a signature of minisign"},
		"too large":    {make([]byte, 1<<20), "too large"},
		"the old form": {minisign.Sign(key, content), "the old form"},
	} {
		t.Run(name, func(t *testing.T) {
			source := archive(t, t.TempDir(), good(t, "1")...)
			write(t, source+".minisig", test.signature, 0o600)
			d, _ := newDepot(t, depot.Config{Publishers: depot.Publishers{trusted}})
			_, err := d.Stage(t.Context(), source)
			wantError(t, err, pluginsdk.CodeDenied, test.want)
		})
	}
}

// Only an archive can be signed: the others may not be the way around the policy.
func TestRequiredSignaturesCannotBeGoneAround(t *testing.T) {
	trusted, _ := newKey(t)
	d, _ := newDepot(t, depot.Config{Publishers: depot.Publishers{trusted}, RequireSignature: true})
	path := beside(t, "1")
	for _, source := range []string{path, filepath.Dir(path)} {
		_, err := d.Stage(t.Context(), source)
		wantError(t, err, pluginsdk.CodeDenied, source, "only an archive", "HARNESS_PLUGIN_SIGNATURES")
	}
	id := fmt.Sprintf("%016X", trusted.ID())
	if err := d.Accepts(id); err != nil {
		t.Error(err)
	}
	wantError(t, d.Accepts(""), pluginsdk.CodeDenied, "not signed")
	wantError(t, d.Accepts("0000000000000000"), pluginsdk.CodeDenied, "not trusted any more")
}

func TestPublishersComeFromTheSettingsAndFromFiles(t *testing.T) {
	one, _ := newKey(t)
	two, _ := newKey(t)
	dir := t.TempDir()
	text, err := two.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "two.pub"), append(text, '\n'), 0o600)
	write(t, filepath.Join(dir, "README"), []byte("keys"), 0o600)
	publishers, err := depot.LoadPublishers([]string{one.String()}, dir)
	if err != nil || len(publishers) != 2 {
		t.Fatalf("%v, %v", publishers, err)
	}
	for _, key := range []minisign.PublicKey{one, two} {
		if !publishers.Trusts(fmt.Sprintf("%016X", key.ID())) {
			t.Errorf("%s is not trusted", key)
		}
	}
	if _, err := depot.LoadPublishers(nil, filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
	_, err = depot.LoadPublishers([]string{"RWQnonsense"}, dir)
	wantError(t, err, pluginsdk.CodeInvalid, `publisher "RWQnonsense"`, "not a minisign public key")
	write(t, filepath.Join(dir, "bad.pub"), []byte("x"), 0o600)
	_, err = depot.LoadPublishers(nil, dir)
	wantError(t, err, pluginsdk.CodeInvalid, "bad.pub")
}
