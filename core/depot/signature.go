package depot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	// minisign and not sigstore: a publisher needs one key and one command, an
	// operator one line to trust it, and verifying asks no service on the network.
	"aead.dev/minisign"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	signatureSuffix = ".minisig"
	maxSignature    = 16 << 10
)

// Signature is what is known of who signed an archive.
type Signature struct {
	Signed bool
	KeyID  string // as minisign writes it: 16 hex digits
	// Trusted says that the signature is good and its key is a trusted
	// publisher's. A signature that is not good is never reported: it is
	// refused. That of an unknown key may be anything.
	Trusted bool
	Comment string // of a trusted signature, and signed by it
}

// Publisher is the key id of the trusted publisher, empty when there is none.
// The id of an unknown key proves nothing, so it is not one.
func (s Signature) Publisher() string {
	if s.Trusted {
		return s.KeyID
	}
	return ""
}

// Publishers are public keys whose signatures are trusted.
type Publishers []minisign.PublicKey

// ParsePublisher reads a minisign public key: the base64 text, or the content of
// a .pub file.
func ParsePublisher(text string) (minisign.PublicKey, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return minisign.PublicKey{}, invalid("not a minisign public key: %s", strings.TrimPrefix(err.Error(), "minisign: "))
	}
	return key, nil
}

// LoadPublishers reads keys, and the files *.pub of a directory, which need not
// exist.
func LoadPublishers(keys []string, dir string) (Publishers, error) {
	var all Publishers
	for _, text := range keys {
		key, err := ParsePublisher(text)
		if err != nil {
			return nil, fmt.Errorf("publisher %q: %w", text, err)
		}
		all = append(all, key)
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the publishers' keys: %w", err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".pub" {
			continue
		}
		path := filepath.Join(dir, file.Name())
		text, err := os.ReadFile(path) //nolint:gosec // the operator's directory
		if err != nil {
			return nil, fmt.Errorf("read the publishers' keys: %w", err)
		}
		key, err := ParsePublisher(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, key)
	}
	return all, nil
}

// Trusts reports whether the key of that id is a trusted publisher's.
func (p Publishers) Trusts(keyID string) bool {
	for _, key := range p {
		if idOf(key.ID()) == keyID {
			return true
		}
	}
	return false
}

func idOf(id uint64) string { return fmt.Sprintf("%016X", id) }

// judge verifies the detached signature of an archive, if there is one.
func (d *Depot) judge(archive io.ReadSeeker, text []byte) (Signature, error) {
	if len(text) == 0 {
		return d.policy(Signature{})
	}
	if len(text) > maxSignature {
		return Signature{}, denied("what it comes with is too large to be a signature")
	}
	var parsed minisign.Signature
	if err := parsed.UnmarshalText(text); err != nil {
		return Signature{}, denied("what it comes with is not a signature of minisign: %s", strings.TrimPrefix(err.Error(), "minisign: "))
	}
	if parsed.Algorithm != minisign.HashEdDSA {
		return Signature{}, denied("its signature has the old form that minisign makes with -l; sign the archive again without it")
	}
	judged := Signature{Signed: true, KeyID: idOf(parsed.KeyID)}
	if !d.config.Publishers.Trusts(judged.KeyID) {
		return d.policy(judged)
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return Signature{}, err
	}
	hashed := minisign.NewReader(archive)
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return Signature{}, err
	}
	for _, key := range d.config.Publishers {
		if key.ID() == parsed.KeyID && hashed.Verify(key, text) {
			judged.Trusted, judged.Comment = true, parsed.TrustedComment
			return judged, nil
		}
	}
	return Signature{}, denied("the signature by key %s is BAD: the archive or its signature was changed after it was signed; "+
		"do not install it, and tell its publisher", judged.KeyID)
}

// policy decides about what no trusted publisher signed.
func (d *Depot) policy(s Signature) (Signature, error) {
	switch {
	case !d.config.RequireSignature:
		return s, nil
	case s.Signed:
		return s, denied("it is signed by the unknown key %s, and signatures of trusted publishers are required here; "+
			"if you trust that publisher, add the key to HARNESS_PLUGIN_PUBLISHERS or as DATA/publishers/NAME.pub", s.KeyID)
	}
	return s, denied("it is not signed, and signatures are required here (HARNESS_PLUGIN_SIGNATURES); its publisher can make one with `minisign -S`, " +
		"which writes it beside the archive with the suffix " + signatureSuffix)
}

// Accepts refuses a version whose publisher would not be accepted now.
func (d *Depot) Accepts(publisher string) error {
	switch {
	case !d.config.RequireSignature, publisher != "" && d.config.Publishers.Trusts(publisher):
		return nil
	case publisher == "":
		return denied("it is not signed, and signatures are required here (HARNESS_PLUGIN_SIGNATURES)")
	}
	return denied("its publisher %s is not trusted any more, and signatures are required here (HARNESS_PLUGIN_SIGNATURES)", publisher)
}

// readSignature returns nil when there is none.
func readSignature(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // beside what an operator named
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	defer file.Close()
	return signatureIn(file, path)
}

func denied(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeDenied, format, args...)
}
