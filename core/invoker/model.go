package invoker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Whether a model that the configuration names is known, found out before a turn fails of it.
//
// The Messages API says it for a key (GET /v1/models/ID), for nothing. For a login, whose
// token is the CLI's to use, the CLI is asked: verified with 2.1.197 and 2.1.330, its answer to the control
// request initialize lists the models that it knows, with the one that it was started with
// among them, which it calls a custom model when it does not know it. That calls no API and
// takes about a second. Who reaches the API through a cloud has names of their own; of those
// nothing is said.

// modelLimit bounds each of the two.
const (
	apiLimit = 5 * time.Second
	cliLimit = 20 * time.Second
)

// UnknownModel is a model that turns would fail of.
type UnknownModel struct {
	Model  string
	Reason string // who does not know it, in words
	Remedy string // what to do
}

// CheckModel returns what is wrong with config.Model; nil: nothing, or it cannot be found out
// (no network, no credentials, no CLI). It makes a network call, and no call that costs.
func CheckModel(ctx context.Context, config Config) *UnknownModel {
	path, err := config.lookPath()
	if err != nil || config.Model == "" {
		return nil
	}
	account, failure := config.accountOf("")
	if failure != nil {
		return nil
	}
	environ, _, err := config.environment(false, account)
	if err != nil {
		return nil
	}
	for _, cloud := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
		if truthy(lookup(environ, cloud)) {
			return nil
		}
	}
	known, who, others := modelOfAPI(ctx, config.Model, environ)
	if known == cannotSay {
		known, who, others = modelOfCLI(ctx, path, config.Model, environ)
	}
	if known != isUnknown {
		return nil
	}
	slices.Sort(others)
	return &UnknownModel{
		Model:  config.Model,
		Reason: fmt.Sprintf("%s does not know the default model %q: turns in threads that have no model of their own would fail", who, config.Model),
		Remedy: "set CLAUDE_MODEL_DEFAULT to a model that it knows (" + strings.Join(others, ", ") + "), and restart the daemon",
	}
}

// knowledge is what somebody knows of a model.
type knowledge int

const (
	cannotSay knowledge = iota
	isKnown
	isUnknown
)

// modelOfAPI asks the Messages API, with the key or the token of an environment.
func modelOfAPI(ctx context.Context, model string, environ []string) (known knowledge, who string, others []string) {
	header := http.Header{"Anthropic-Version": {"2023-06-01"}}
	switch key, token := lookup(environ, "ANTHROPIC_API_KEY"), lookup(environ, "ANTHROPIC_AUTH_TOKEN"); {
	case token != "":
		header.Set("Authorization", "Bearer "+token)
	case key != "":
		header.Set("X-Api-Key", key)
	default:
		return cannotSay, "", nil
	}
	base := lookup(environ, "ANTHROPIC_BASE_URL")
	if base == "" {
		base = "https://api.anthropic.com"
	}
	name, _, _ := strings.Cut(model, "[") // claude-sonnet-4-6[1m]
	if !strings.HasPrefix(name, "claude-") {
		return cannotSay, "", nil // a name of the CLI's own, such as sonnet
	}
	ctx, cancel := context.WithTimeout(ctx, apiLimit)
	defer cancel()
	ask := func(path string, into any) (status int) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, nil)
		if err != nil {
			return 0
		}
		request.Header = header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		if json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(into) != nil {
			return 0
		}
		return response.StatusCode
	}
	var answer struct {
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	switch status := ask("/v1/models/"+url.PathEscape(name), &answer); {
	case status == http.StatusOK:
		return isKnown, "", nil
	case status != http.StatusNotFound || answer.Error.Type != "not_found_error":
		return cannotSay, "", nil
	}
	// A gateway that has no models to ask for answers so, too.
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if ask("/v1/models?limit=20", &list) != http.StatusOK || len(list.Data) == 0 {
		return cannotSay, "", nil
	}
	for _, one := range list.Data {
		others = append(others, one.ID)
	}
	return isUnknown, "the Messages API", others
}

// modelOfCLI asks the CLI.
func modelOfCLI(ctx context.Context, path, model string, environ []string) (known knowledge, who string, others []string) {
	ctx, cancel := context.WithTimeout(ctx, cliLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose",
		"--strict-mcp-config", "--setting-sources=", "--no-session-persistence", "--model="+model)
	cmd.Env, cmd.Dir, cmd.WaitDelay = environ, os.TempDir(), time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return cannotSay, "", nil
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return cannotSay, "", nil
	}
	defer func() {
		_ = stdin.Close() // at which the CLI ends
		_ = cmd.Wait()
	}()
	id := uuid.NewString()
	if _, err := stdin.Write(encode(outRequest{Type: "control_request", RequestID: id, Request: outSubtype{Subtype: "initialize"}})); err != nil {
		return cannotSay, "", nil
	}
	const custom = "Custom model"
	reader := bufio.NewReader(stdout)
	for {
		line, err := readLine(reader, maxLine)
		if err != nil {
			return cannotSay, "", nil
		}
		var answer inquired
		var said struct {
			Models []struct {
				Value       string `json:"value"`
				Description string `json:"description"`
			} `json:"models"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.Response.RequestID != id {
			continue
		}
		if json.Unmarshal(answer.Response.Response, &said) != nil || len(said.Models) == 0 {
			return cannotSay, "", nil
		}
		known = isKnown
		for _, one := range said.Models {
			if one.Value == model && one.Description == custom {
				known = isUnknown
			} else {
				others = append(others, one.Value)
			}
		}
		return known, "the Claude CLI", others
	}
}
