package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// errNoKey says that the key's file is not there.
var errNoKey = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "no key")

// keyHead is what a new key's file begins with.
const keyHead = `# Opens the secrets in the database of this directory: those of the plugins and
# the keys of the agent's accounts (an age identity). Keep a copy of it apart from
# the backups: they do not have it, and without it the secrets have to be set again.
`

// keySource is where the key comes from: a text that an operator gives, or else
// a file.
type keySource struct{ key, file string }

// where says for people where the key is from, after "that".
func (k keySource) where() string {
	if k.key != "" {
		return "in HARNESS_SECRETS_KEY"
	}
	return "in " + k.file
}

// load returns the key. A missing file is errNoKey.
func (k keySource) load() (*age.X25519Identity, error) {
	if k.key != "" {
		identity, err := age.ParseX25519Identity(k.key)
		if err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "HARNESS_SECRETS_KEY: it takes a key that begins with AGE-SECRET-KEY-1")
		}
		return identity, nil
	}
	file, err := os.Open(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &pluginsdk.Error{Code: pluginsdk.CodeUnavailable, Cause: errNoKey, Message: fmt.Sprintf(
			"there are secrets in the database, but not the key that opens them: restore %s, or give the key in HARNESS_SECRETS_KEY; "+
				"if it is lost, the secrets have to be set again", k.file)}
	}
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "open the key of the secrets: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "open the key of the secrets: %w", err)
	case !info.Mode().IsRegular():
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s: want a file with the key of the secrets, this is none", k.file)
	case info.Mode().Perm()&0o077 != 0:
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
			"%s: others than its owner may read or write it (mode %04o), so it is not used; chmod 600 it, and if somebody can have "+
				"read it, take a new key and set the secrets again", k.file, info.Mode().Perm())
	}
	return parseKey(k.file, file)
}

func parseKey(name string, from io.Reader) (*age.X25519Identity, error) {
	identities, err := age.ParseIdentities(io.LimitReader(from, 1<<16))
	if err == nil && len(identities) == 1 {
		if identity, ok := identities[0].(*age.X25519Identity); ok {
			return identity, nil
		}
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable,
		"%s: want one line that begins with AGE-SECRET-KEY-1 (comments begin with #); restore the file from your copy; if there is none, move the file away and set the secrets again", name)
}

// make makes the key's file, unless another process is faster: then its key is
// used. A file that is there is never touched.
func (k keySource) make() (*age.X25519Identity, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("make the key of the secrets: %w", err)
	}
	content := keyHead + "# public key: " + identity.Recipient().String() + "\n" + identity.String() + "\n"
	if err := writeOnce(k.file, content); err != nil {
		return nil, fmt.Errorf("make the key of the secrets: %w", err)
	}
	return k.load()
}

// writeOnce makes a file that only its owner can read. It is whole and on the
// disk before it has its name; an existing file stays as it is.
func writeOnce(name, content string) (err error) {
	dir := filepath.Dir(name)
	temporary, err := os.CreateTemp(dir, ".secrets.key.*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary.Name())) }()
	_, err = io.Copy(temporary, strings.NewReader(content))
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := os.Link(temporary.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
