package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newUp() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the daemon until it is told to stop",
		Long: `Run the daemon in this terminal. It logs to stderr. SIGINT (Ctrl-C) or SIGTERM
stop it: it takes no more messages, lets running turns end for a moment
(HARNESS_DRAIN_GRACE), and keeps the rest for its next start. A second signal
interrupts them at once, a third ends the process; nothing that was accepted is
lost then either.`,
		Example: `  harness up
  harness up --data /var/lib/harness --port 3100
  harness up --agent demo        without the Claude CLI, to try things`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return up(cmd) },
	}
	addDaemonFlags(cmd)
	return cmd
}

// addDaemonFlags adds the flags that are settings of the daemon.
func addDaemonFlags(cmd *cobra.Command) {
	addPort(cmd)
	cmd.Flags().String("agent", "auto", "who answers: auto, claude or demo (HARNESS_AGENT)")
	cmd.Flags().String("plugins", "", "directory of the plugin binaries (HARNESS_PLUGINS; default the directory plugins beside this program)")
	cmd.Flags().String("log-format", "text", "how the log is written: text or json (HARNESS_LOG_FORMAT)")
	cmd.Flags().Bool("dev", false, "let plugins run under a debugger (HARNESS_DEV); see 'harness plugin attach'")
}

func up(cmd *cobra.Command) (err error) {
	config, err := loadOwn(cmd)
	if err != nil {
		return err
	}
	config.Log = config.NewLog(cmd.ErrOrStderr())
	shareProcessors()
	for _, wrong := range daemon.Misspelt(os.Environ()) {
		config.Log.Warn(wrong)
	}
	if !config.Dev {
		if err := daemon.Harden(); err != nil {
			config.Log.Warn("plugins can read this process's environment", "err", err)
		}
	}
	leave, err := daemon.Adopt(config.Log)
	if err != nil {
		return err
	}
	defer leave()
	ctx, hurry, release := untilSignalled(cmd.Context())
	defer release()

	supervisor := &supervisor{log: config.Log}
	defer supervisor.stop()
	context.AfterFunc(ctx, supervisor.stopping)

	began := time.Now()
	d, err := daemon.New(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		supervisor.stop() // it asks the daemon how it is
		err = errors.Join(err, d.Close())
	}()
	supervisor.alive = d.Alive
	return d.Run(ctx, hurry, func() {
		supervisor.ready(func() string { return inAWord(d.Outages()) })
		welcome(ctx, cmd.OutOrStdout(), d, config, time.Since(began))
	})
}

// untilSignalled returns a context that ends with the first SIGINT or SIGTERM, and
// one that ends with the second. A third ends the process.
func untilSignalled(parent context.Context) (ctx, hurry context.Context, release func()) {
	ctx, stop := context.WithCancel(parent)
	hurry, rush := context.WithCancel(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for _, end := range []func(){stop, rush} {
			select {
			case <-signals:
				end()
			case <-done:
				return
			}
		}
	}()
	return ctx, hurry, func() { close(done); stop(); rush() }
}

// welcome says where the daemon is and what to try.
func welcome(ctx context.Context, out io.Writer, d *daemon.Daemon, config daemon.Config, age time.Duration) {
	style := terminal.StyleFor(out, os.LookupEnv)
	address := config.URL()
	fmt.Fprintf(out, "\n%s\n\n", style.Bold("Harness is up."))
	fmt.Fprintf(out, "  address  %s\n  data     %s\n  agent    %s\n\n", address, config.Data, d.AgentName())
	if d.AgentName() == "demo" {
		fmt.Fprintln(out, demoNotice(ctx, style, config))
	}
	if all, err := d.Accounts(ctx); err == nil {
		fmt.Fprint(out, accountview.Brief(all, time.Now()))
	}
	for _, notice := range d.AgentNotices() {
		fmt.Fprintf(out, "%s\n\n", style.Yellow("  "+notice+"."))
	}
	if down := d.Outages(); len(down) > 0 {
		fmt.Fprintf(out, "%s\n%s\n", style.Red("  BUT NOT ALL OF IT: "+inAWord(down)+"."), outagesSaid(down))
	}
	found, problem := apiProblem(ctx, config, age)
	if problem != "" {
		fmt.Fprintf(out, "%s\n\n", style.Red("  "+problem))
		return
	}
	token := ""
	if found.Demands {
		token = ` -H "Authorization: Bearer $(cat '` + filepath.Join(config.Data, daemon.OwnerTokenFile) + `')"`
		fmt.Fprintln(out, entrance(ctx, out, d, config))
	}
	fmt.Fprintf(out, `Try, in another terminal:

  bin/harness send%[2]s "hello"
  bin/harness chat%[2]s
  curl -s%[3]s %[1]s/api/chat -H 'Content-Type: application/json' -d '{"content":"hello"}'

`, address, portFlag(config), token)
}

// entrance says how a browser gets in where a token is demanded. A link that logs in is shown
// on a terminal alone: what is written elsewhere is kept, and read by others.
func entrance(ctx context.Context, out io.Writer, d *daemon.Daemon, config daemon.Config) string {
	if !terminal.IsTerminal(out) {
		return "To open the dashboard in a browser: harness open" + portFlag(config) + ", or, from elsewhere, with the link of harness token login.\n"
	}
	link, err := d.OpenLink(ctx)
	switch {
	case err != nil:
		return "The dashboard cannot be opened: " + err.Error() + ". Try: harness open" + portFlag(config) + "\n"
	case openInBrowser(out, link) == nil:
		return "The dashboard is open in your browser. Again: harness open" + portFlag(config) + "\n"
	}
	return "To open the dashboard in a browser, once, within a minute, with all rights:\n\n  " + link +
		"\n\nAnother link: harness open" + portFlag(config) + ". From elsewhere: harness token login\n"
}

// inAWord names the plugins that do not serve; empty: they all do.
func inAWord(outages []pluginhost.Outage) string {
	if len(outages) == 0 {
		return ""
	}
	names := make([]string, len(outages))
	for n, down := range outages {
		names[n] = fmt.Sprintf("%s (%s)", down.Plugin, down.State)
	}
	return "plugins that do not serve: " + strings.Join(names, ", ")
}

// outagesSaid says of each plugin that does not serve why, and what to do.
func outagesSaid(outages []pluginhost.Outage) string {
	var text strings.Builder
	for _, down := range outages {
		remedy := fmt.Sprintf("`harness plugin info %s` says more", down.Plugin)
		switch down.State { //nolint:exhaustive // in the others it is on its way
		case pluginsdk.PluginBackoff, pluginsdk.PluginStarting:
			remedy = "it is tried again by itself; " + remedy
		case pluginsdk.PluginQuarantined:
			remedy += fmt.Sprintf(", `harness plugin enable %s` starts it again", down.Plugin)
		}
		fmt.Fprintf(&text, "    %s: %s\n      %s\n", down.Plugin, cmp.Or(down.Why, "it has not started yet"), remedy)
	}
	return text.String()
}

// demoNotice says loudly that no real agent answers, why, and what to do.
func demoNotice(ctx context.Context, style terminal.Style, config daemon.Config) string {
	notice := style.Yellow("  THIS IS THE DEMO AGENT, not a real one: its replies begin with [demo agent].") + "\n"
	if config.Agent == "demo" {
		return notice + "  Why: --agent demo (or HARNESS_AGENT=demo) asks for it.\n"
	}
	found := daemon.DetectAgent(ctx, config)
	return notice + "  Why: " + found.Reason + "\n  What to do: " + found.Remedy + "\n"
}

// apiProblem says why the API cannot be used, or nothing. What has answered there for
// longer than this daemon is another one.
func apiProblem(ctx context.Context, config daemon.Config, age time.Duration) (found daemon.Answers, problem string) {
	found, err := daemon.Probe(ctx, config)
	switch {
	case err != nil:
		return found, "The API does not answer at " + config.URL() + ": see the log above and `harness doctor`."
	case time.Duration(found.UptimeMS)*time.Millisecond > age+3*time.Second:
		return found, "Another daemon has " + config.URL() + ", so this one cannot be reached: choose another --port."
	}
	return found, ""
}

// portFlag is what client commands need to find the daemon.
func portFlag(config daemon.Config) string {
	if config.Port == daemon.Defaults().Port {
		return ""
	}
	return fmt.Sprintf(" --port %d", config.Port)
}
