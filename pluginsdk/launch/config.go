package launch

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// DefaultStartTimeout is how long a plugin may take from its fork to its
// manifest, unless Config says otherwise.
const DefaultStartTimeout = 10 * time.Second

// Config says which plugin to launch, and how.
type Config struct {
	// Path of the executable.
	Path string
	// Name that the plugin's manifest must have. Empty accepts any.
	Name string
	Args []string
	// Dir is the working directory; empty means the daemon's.
	Dir string
	// Env is the plugin's whole environment but for what the handshake adds:
	// nothing of the host's is inherited.
	Env []string
	// Host is served to this plugin only, so it may know whom it serves.
	Host pluginsdk.Host
	// Log receives what the plugin logs, with the attribute plugin. It must
	// not be nil.
	Log *slog.Logger
	// Stderr, when not nil, is called with every line of stderr as it was
	// written, one at a time.
	Stderr func(line string)
	// StartTimeout bounds the time from the fork to the manifest; 0 means
	// DefaultStartTimeout.
	StartTimeout time.Duration
	// SHA256, when not empty, is what the executable's must be.
	SHA256 []byte
	// SocketDir is where the plugin's private directory of sockets is made;
	// empty means the system's temporary directory. A host that is killed
	// leaves the directory (plugin-dir*) behind: one that has a place of its
	// own can empty it at its next start.
	SocketDir string
}

// MaxSocketDir keeps a socket's path within the 107 bytes that the kernel
// allows (unix(7)): SOCKETDIR/plugin-dirNNNNNNNNNN/pluginNNNNNNNNNN.
const MaxSocketDir = 107 - len("/plugin-dir4294967295/plugin4294967295")

func (c Config) check() error {
	if c.Path == "" {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "launch a plugin: Path is empty")
	}
	if c.Log == nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "launch %s: Log is nil", c.Path)
	}
	if len(c.SocketDir) > MaxSocketDir {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "launch %s: SocketDir %s is longer than %d bytes, too long for sockets", c.Path, c.SocketDir, MaxSocketDir)
	}
	if len(c.SHA256) == 0 {
		return nil
	}
	return c.checkSum()
}

// checkSum compares the executable with the sum that it was installed with.
func (c Config) checkSum() error {
	file, err := os.Open(c.Path)
	if err != nil {
		return fmt.Errorf("verify plugin: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return fmt.Errorf("verify plugin: %w", err)
	}
	if got := hash.Sum(nil); subtle.ConstantTimeCompare(got, c.SHA256) != 1 {
		return pluginsdk.Errorf(pluginsdk.CodeDenied,
			"%s has changed since it was installed: its SHA-256 is %s, expected %s; install it again if the change was meant",
			c.Path, hex.EncodeToString(got), hex.EncodeToString(c.SHA256))
	}
	return nil
}

// label is what the plugin is called before its manifest is known.
func (c Config) label() string {
	if c.Name != "" {
		return c.Name
	}
	return c.Path
}

func (c Config) startTimeout() time.Duration {
	if c.StartTimeout > 0 {
		return c.StartTimeout
	}
	return DefaultStartTimeout
}
