package invoker

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// LoginCommand returns the CLI's own login into a home, for a person at a terminal. It has the
// environment of the one who runs it, for their browser and their terminal, but nothing that
// the CLI would authenticate with instead. (claude auth login: verified with 2.1.197 and
// 2.1.330.)
func LoginCommand(ctx context.Context, config Config, home string) (*exec.Cmd, error) {
	if config.Binary == "" {
		config.Binary = "claude"
	}
	path, err := config.lookPath()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "auth", "login")
	cmd.Dir = home
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "CLAUDECODE" || strings.HasPrefix(name, "CLAUDE_CODE_") || isCredential(name)
	})
	cmd.Env = append(cmd.Env, "CLAUDE_CONFIG_DIR="+home)
	return cmd, nil
}
