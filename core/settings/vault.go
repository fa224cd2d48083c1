package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxSecret is how long a secret's value may be, as JSON.
const maxSecret = 64 << 10

// Vault seals the values of secrets, so that whoever has the database (a backup
// of it, its disk, its replica) does not have them.
//
// It uses age (https://age-encryption.org/v1) because that is one small,
// audited format without choices to get wrong (no nonces or modes of ours), its
// library is maintained, and the age command opens a value from a database when
// there is no Harness any more.
type Vault struct{ keys keySource }

// NewVault returns a Vault. key is an AGE-SECRET-KEY-1... of an operator; when
// it is empty, the key is in file, which is made when the first secret is
// sealed. Nothing is read or made before it is needed, and a key that is put
// back is used at once.
func NewVault(key, file string) *Vault { return &Vault{keySource{key: key, file: file}} }

// CheckKey reports whether a text is a key that a Vault takes. The error does
// not repeat it.
func CheckKey(text string) error {
	_, err := age.ParseX25519Identity(text)
	if err != nil {
		return errors.New("not an age secret key")
	}
	return nil
}

// sealedValue is what is sealed: the value, and where it belongs. So a row that is
// moved to another plugin by SQL does not open there.
type sealedValue struct {
	Plugin string          `json:"plugin"`
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
}

// Seal seals a value under the key. others says that there are sealed values
// already: then a missing key is an error, not a reason to make another.
func (v *Vault) Seal(plugin, name string, value json.RawMessage, others bool) ([]byte, error) {
	if len(value) > maxSecret {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: a secret has at most %d bytes, this has %d", name, maxSecret, len(value))
	}
	identity, err := v.keys.load()
	if errors.Is(err, errNoKey) && !others {
		identity, err = v.keys.make()
	}
	if err != nil {
		return nil, err
	}
	plaintext, err := json.Marshal(sealedValue{Plugin: plugin, Name: name, Value: value})
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: the value is not JSON", name)
	}
	var sealed bytes.Buffer
	to, err := age.Encrypt(&sealed, identity.Recipient())
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	if _, err := to.Write(plaintext); err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	if err := to.Close(); err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	return sealed.Bytes(), nil
}

// Open returns the value that was sealed for this plugin under this name. The
// error is CodeUnavailable when the key is not the right one, and says what to
// restore; CodeInvalid when the value itself is of no use.
func (v *Vault) Open(plugin, name string, sealed []byte) (json.RawMessage, error) {
	identity, err := v.keys.load()
	if errors.Is(err, errNoKey) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w: %s", err, setAgain(plugin, name))
	}
	if err != nil {
		return nil, err
	}
	content, err := open(identity, sealed)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"the secret %s of %s was sealed under another key than that %s; restore that key, or set the secret again: %s",
			name, plugin, v.keys.where(), setAgain(plugin, name))
	}
	var value sealedValue
	if err != nil || json.Unmarshal(content, &value) != nil {
		return nil, unusable(plugin, name, "is damaged")
	}
	if value.Plugin != plugin || value.Name != name {
		return nil, unusable(plugin, name, fmt.Sprintf("belongs to the setting %s of %s", value.Name, value.Plugin))
	}
	return value.Value, nil
}

func open(identity *age.X25519Identity, sealed []byte) ([]byte, error) {
	reader, err := age.Decrypt(bytes.NewReader(sealed), identity)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, 2*maxSecret))
}

// setAgain is how a secret is replaced that cannot be opened.
func setAgain(owner, name string) string {
	if account, ok := ledger.AccountOfSecret(owner); ok {
		return fmt.Sprintf("harness account set %s --key", account)
	}
	return fmt.Sprintf("harness plugin settings unset %[1]s %[2]s, then harness plugin settings set %[1]s %[2]s", owner, name)
}

func unusable(plugin, name, why string) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid,
		"what is stored as the secret %[2]s of %[1]s %[3]s; set it again: harness plugin settings set %[1]s %[2]s", plugin, name, why)
}
