package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/daemon"
)

// newRoot returns the command line. begun turns true once it has been
// understood: errors after that are not about how it was written.
func newRoot(std streams) (root *cobra.Command, begun *bool) {
	begun = new(bool)
	root = &cobra.Command{
		Use:   "harness",
		Short: "A lasting home for an agent: messages in, answers out, nothing lost",
		Long: `Harness keeps an agent (the Claude Code CLI) at work: a daemon takes messages,
runs each through a pipeline of plugins, and stores all of it.

A command of a plugin's is given by its name: harness delegate, as /delegate in a
thread. Its flags are those of send, and the named options of the command (harness
delegate --help lists them): --model opus is model=opus.

Settings come from flags, else the environment, else DATA/harness.env, else
defaults; docs/operating.md lists them.`,
		Example: `  harness up                     start the daemon in this terminal
  harness send "hello"           say something, print the answer
  harness chat                   talk
  harness plugin disable time    turn a plugin off, at once
  harness backup FILE            save everything, while it runs
  harness doctor                 what is wrong, and what to do
  harness chat --server https://harness.example.org:3001 --token-file token`,
		Version:       theBuild().String(),
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPlace(cmd); err != nil {
				return err
			}
			*begun = true
			return nil
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.PersistentFlags().String("data", "", "data directory (HARNESS_DATA; default ./data)")
	addServer(root)
	root.AddCommand(here(newUp(), "up starts a daemon on this machine"))
	root.AddCommand(newSend(), newChat(), newOpen(), newThreads(), newThread(), newContext(), newSearch(), newPlugin(), newDoctor(), newVersion(), newProfile())
	root.AddCommand(newStop(), newPause(), newResume(), newRetry(), newTask(), newWorkflow(), newApprovals(), newDelivery(), newFile(), newTools())
	root.AddCommand(newBackup(), newExport(), newAudit(), newToken(), newAccount(), newPlan(), newUsage(), newAgent())
	root.AddCommand(here(newRestore(), "restore makes a new installation on this machine"))
	root.AddCommand(here(newDB(), "db works on the database itself, partly with the daemon down"))
	root.AddCommand(here(newConfig(), "config shows what a daemon would read that is started on this machine"))
	addPluginCommands(root)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		beside(completion, "completion writes a script for the shell on this machine")
		completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // and refuses shells that it does not know
		completion.Example = "  source <(harness completion bash)"
		for _, shell := range completion.Commands() {
			shell.Example = "  harness completion " + shell.Name()
		}
	}
	addCompletions(root)
	return root, begun
}

// flagOf are the settings that a flag beats, and may be wrong then.
var flagOf = map[string]string{
	"PORT": "port", "HARNESS_AGENT": "agent", "HARNESS_DEV": "dev", "HARNESS_PLUGINS": "plugins", "HARNESS_LOG_FORMAT": "log-format",
}

// loadConfig reads the configuration; flags that were set beat it.
func loadConfig(cmd *cobra.Command) (daemon.Config, error) {
	data, err := cmd.Flags().GetString("data")
	if err != nil {
		return daemon.Config{}, err
	}
	flags := cmd.Flags()
	config, err := daemon.Load(data, func(name string) (string, bool) {
		if flag, ok := flagOf[name]; ok && flags.Changed(flag) {
			return "", true // whatever it is there
		}
		return os.LookupEnv(name)
	})
	if err != nil {
		return daemon.Config{}, err
	}
	if config.Data, err = filepath.Abs(config.Data); err != nil {
		return daemon.Config{}, fmt.Errorf("--data: %w", err)
	}
	config.Version = theBuild().Version
	if flags.Changed("port") {
		config.Port, _ = flags.GetInt("port")
		config.FromFlag("PORT", "--port")
	}
	if flags.Changed("agent") {
		config.Agent, _ = flags.GetString("agent")
		config.FromFlag("HARNESS_AGENT", "--agent")
	}
	if flags.Changed("dev") {
		config.Dev, _ = flags.GetBool("dev")
		config.FromFlag("HARNESS_DEV", "--dev")
	}
	if flags.Changed("plugins") {
		config.Plugins, _ = flags.GetString("plugins")
		config.FromFlag("HARNESS_PLUGINS", "--plugins")
	}
	if flags.Changed("log-format") {
		config.LogFormat, _ = flags.GetString("log-format")
		config.FromFlag("HARNESS_LOG_FORMAT", "--log-format")
	}
	return config, config.Validate()
}

// loadOwn reads the configuration for a command that acts on the installation itself, or reads
// its database, past the API: a person's, and nobody's below the daemon.
func loadOwn(cmd *cobra.Command) (daemon.Config, error) {
	config, err := loadConfig(cmd)
	if err != nil {
		return daemon.Config{}, err
	}
	return config, daemon.CheckPerson(config)
}

// addPort adds the flag that says where the daemon listens.
func addPort(cmd *cobra.Command) {
	cmd.Flags().Int("port", 0, "port of the daemon on this machine (PORT; default 3001)")
}

// addAddress adds the flags of commands that talk to the daemon.
func addAddress(cmd *cobra.Command) {
	addPort(cmd)
	cmd.Flags().String("url", "", "address of the daemon (HARNESS_URL; default http://127.0.0.1:PORT)")
}

// newClient returns a client of the daemon elsewhere that the command is for, else of the
// one that --url or HARNESS_URL names, else of the port on this machine.
func newClient(cmd *cobra.Command) (*client.Client, error) {
	if remote, err := elsewhere(cmd); remote != nil || err != nil {
		return remote, err
	}
	address, err := cmd.Flags().GetString("url")
	if err != nil {
		return nil, err
	}
	if address == "" && !cmd.Flags().Changed("port") {
		address = os.Getenv("HARNESS_URL")
	}
	if address == "" {
		config, err := loadConfig(cmd)
		if err != nil {
			return nil, err
		}
		address = "http://127.0.0.1:" + strconv.Itoa(config.Port)
	}
	token, err := tokenOf(cmd, "")
	if err != nil {
		return nil, err
	}
	return profile{Server: address, Token: token, CA: authorityOf(cmd, "")}.open()
}
