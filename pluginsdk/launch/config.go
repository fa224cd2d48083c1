package launch

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
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
	// Admit is asked before each call that the plugin makes to Host, with the
	// capability that it needs; empty for what every plugin may do. Nil admits
	// everything.
	Admit func(ctx context.Context, capability pluginsdk.Capability) error
	// Log receives what the plugin logs and prints, with the attribute plugin:
	// 200 lines a second (1000 at once), of 64 KiB at most. It must not be nil.
	Log *slog.Logger
	// Stderr, when not nil, is called with every line of stderr as it was
	// written, one at a time, also with those that are too many for Log.
	Stderr func(line string)
	// Ended, when not nil, is called once when the process has ended, and before
	// what is left of its process group is killed. It is for examinations of
	// what a plugin leaves behind: the plugin's end waits for it.
	Ended func(group int)
	// Limits of the plugin's process.
	Limits Limits
	// Cgroups enforce Limits and keep the plugin's descendants together. Nil:
	// see Limits.
	Cgroups *Cgroups
	// Fault, when not nil, is called when the plugin does to the host what no
	// honest plugin does, such as leaking connections; at most once, on a
	// goroutine of its own. It may stop the plugin; the host is safe without.
	Fault func(error)
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
	if err := c.Limits.check(); err != nil {
		return err
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

func (c Config) admit() wire.Admit {
	if c.Admit != nil {
		return c.Admit
	}
	return func(context.Context, pluginsdk.Capability) error { return nil }
}
