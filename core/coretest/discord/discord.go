// Package discord is the assistant on Discord as people meet it: tests with a daemon and its
// plugins as processes, the real Claude CLI before a model that is made up, and a fake
// Discord, which others use as well. That one is the plugin's own, and as the core knows no
// plugin, it is a program here that is spoken to over HTTP.
package discord

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/core/coretest/programs"
)

// Build puts the program of the fake Discord into a directory, and returns its path.
func Build(dir string) (program string, err error) {
	return filepath.Join(dir, "serve"), programs.Build(dir, "plugins/discord/internal/fake/serve")
}

// Server is a fake Discord in a process of its own. Who is there from the beginning is in it.
type Server struct {
	Base            string // of its addresses: http://127.0.0.1:PORT
	Bot, Owner, App string // ids

	process *exec.Cmd
	stdin   io.Closer
}

// Object is a JSON object.
type Object map[string]any

// Message is what people see in a channel.
type Message struct {
	ID, Author, Text string
	Bot, Loading     bool
	Past             []string // what it said before it was edited
	ReplyTo          string   `json:"reply_to"`
	Buttons          []struct {
		Label    string
		CustomID string `json:"custom_id"`
	}
	Reactions map[string][]string
	Pinged    Object
}

// Start starts the program that Build has made, with arguments beside its own. It ends with
// Close, and with this process.
func Start(ctx context.Context, program string, arguments ...string) (*Server, error) {
	s := &Server{process: exec.Command(program, append([]string{"-stdin"}, arguments...)...)} //nolint:gosec // our own
	s.process.Stderr = os.Stderr
	stdin, err := s.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.process.StdoutPipe()
	if err == nil {
		err = s.process.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the fake Discord does not say where it is: %w", err), s.Close())
	}
	s.Base = strings.TrimSpace(line)
	if err := s.Ask(ctx, "who", nil, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends it.
func (s *Server) Close() error {
	return errors.Join(s.stdin.Close(), s.process.Wait())
}

// API is the address that the plugin's setting apiURL takes.
func (s *Server) API() string { return s.Base + "/api/v10" }

// Connect gives the plugin of a daemon its token, by the daemon's API. An operator has set its
// apiURL before: with a token alone it would ask Discord itself.
func (s *Server) Connect(ctx context.Context, daemon, token string) error {
	body, err := json.Marshal(Object{"values": Object{"token": token}})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, daemon+"/api/plugins/discord/settings", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("give the plugin discord its token: %d %s", response.StatusCode, answer)
	}
	return err
}

// Ask has people do something, or something go wrong, or asks for what there is: an
// operation of the fake's control.go. into may be nil.
func (s *Server) Ask(ctx context.Context, operation string, argument, into any) error {
	var body []byte
	if argument != nil {
		var err error
		if body, err = json.Marshal(argument); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+"/control/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the fake Discord, %s: %d %s", operation, response.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// Make is Ask for what makes something, and returns its id.
func (s *Server) Make(ctx context.Context, operation string, argument any) (id string, err error) {
	var made struct{ ID string }
	err = s.Ask(ctx, operation, argument, &made)
	return made.ID, err
}

// Messages are those of a channel, the oldest first.
func (s *Server) Messages(ctx context.Context, channel string) (all []Message, err error) {
	err = s.Ask(ctx, "messages", Object{"id": channel}, &all)
	return all, err
}
