// Package discord is the assistant on Discord as people meet it: a daemon with its plugins as
// processes, the real Claude CLI before a model that is made up, and a fake Discord.
package discord

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/installation"
)

// bin has harness and the plugins, service the fake Discord; built once.
var bin, service string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("HARNESS_TEST_CLAUDE") == "" {
		return m.Run() // everything is left out
	}
	dir, err := os.MkdirTemp("", "harness-discord")
	if err == nil {
		defer os.RemoveAll(dir)
		bin, service = filepath.Join(dir, "bin"), filepath.Join(dir, "service")
		err = installation.Build(bin, "activity", "context", "delegation", "discord", "time", "web")
	}
	if err == nil {
		err = buildService()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func buildService() error {
	command := exec.Command("go", "build", "-trimpath", "-o", service, "github.com/seed-706843ae/harness/plugins/discord/internal/fake/serve") //nolint:gosec // our own
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the fake Discord: %w\n%s", err, output)
	}
	return nil
}

// discord is a fake Discord in a process of its own.
type discord struct {
	t    *testing.T
	base string
	who  struct{ Bot, Owner, App string }
}

// object is a JSON object.
type object map[string]any

// message is what people see in a channel.
type message struct {
	ID, Author, Text string
	Bot, Loading     bool
	Past             []string
	ReplyTo          string `json:"reply_to"`
	Buttons          []struct {
		Label    string
		CustomID string `json:"custom_id"`
	}
	Reactions map[string][]string
	Pinged    object
}

func startDiscord(t *testing.T) *discord {
	t.Helper()
	command := exec.Command(service, "-stdin")
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = command.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the fake Discord does not say where it is: %v", err)
	}
	d := &discord{t: t, base: strings.TrimSpace(line)}
	d.control("who", nil, &d.who)
	return d
}

// control asks the fake for something that people do, or for what there is.
func (d *discord) control(name string, argument, into any) {
	d.t.Helper()
	body, err := json.Marshal(argument)
	if argument == nil {
		body = nil
	}
	if err != nil {
		d.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.base+"/control/"+name, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		d.t.Fatalf("control %s: %d %s %v", name, response.StatusCode, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			d.t.Fatalf("control %s: %v in %s", name, err, answer)
		}
	}
}

// made is control for what makes something, and returns its id.
func (d *discord) made(name string, argument any) string {
	d.t.Helper()
	var id struct{ ID string }
	d.control(name, argument, &id)
	return id.ID
}

func (d *discord) say(channel, by, text string) string {
	d.t.Helper()
	return d.made("say", object{"channel": channel, "by": by, "text": text})
}

func (d *discord) messages(channel string) (all []message) {
	d.t.Helper()
	d.control("messages", object{"id": channel}, &all)
	return all
}

// wait waits for a message of the bot's in a channel, behind one, of which something holds.
func (d *discord) wait(what, channel, behind string, holds func(message) bool) (found message) {
	d.t.Helper()
	eventually(d.t, what, func() bool {
		reached := behind == ""
		for _, m := range d.messages(channel) {
			if reached && m.Bot && holds(m) {
				found = m
				return true
			}
			reached = reached || m.ID == behind
		}
		return false
	}, func() string { return d.transcript(channel) })
	return found
}

// press presses the button of a message that has this label.
func (d *discord) press(m message, by, label string) string {
	d.t.Helper()
	for _, button := range m.Buttons {
		if strings.Contains(button.Label, label) {
			return d.made("press", object{"id": m.ID, "by": by, "name": button.CustomID})
		}
	}
	d.t.Fatalf("there is no button %q below %+v", label, m)
	return ""
}

// transcript is a channel as people read it.
func (d *discord) transcript(channel string) string {
	var b strings.Builder
	for _, m := range d.messages(channel) {
		who := "person"
		if m.Bot {
			who = "bot"
		}
		fmt.Fprintf(&b, "\n  %-6s %s", who, strings.ReplaceAll(m.Text, "\n", "\n         "))
		if n := len(m.Past); n > 0 {
			fmt.Fprintf(&b, "\n         (edited %d times, first: %q)", n, m.Past[0])
		}
		for _, button := range m.Buttons {
			fmt.Fprintf(&b, "\n         [%s]", button.Label)
		}
		for emoji := range m.Reactions {
			fmt.Fprintf(&b, "\n         %s", emoji)
		}
	}
	return b.String()
}

// eventually waits until something holds; state says how it stands when that is in vain.
func eventually(t *testing.T, what string, holds func() bool, state func() string) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited for %s%s", what, state())
		}
	}
}
