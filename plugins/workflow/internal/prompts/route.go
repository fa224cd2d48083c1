package prompts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/roles"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// MostStages is how many stages a workflow can begin with.
const MostStages = 20

// The longest reason that a router gives, and the longest acceptance check, in bytes.
const (
	maxWhy   = 2 << 10
	maxCheck = 2 << 10
)

// Titles of the turns that come before the first stage.
const (
	TitleRouter     = "# Choosing the stages of a workflow"
	TitleAcceptance = "# Acceptance checks for a request"
)

// mostChecks is how many acceptance checks are kept.
const mostChecks = 30

type object = map[string]any

func schemaOf(properties object) json.RawMessage {
	required := make([]string, 0, len(properties))
	for name := range properties {
		required = append(required, name)
	}
	slices.Sort(required)
	schema, err := json.Marshal(object{"type": "object", "additionalProperties": false, "required": required, "properties": properties})
	if err != nil {
		panic(err) // it is made of texts and lists
	}
	return schema
}

// Router asks which of the roles a request needs, and in which order.
func Router(request string, all []roles.Role) (prompt string, schema json.RawMessage) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b roles.Role) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	names := make([]string, 0, len(all))
	b.WriteString(TitleRouter + "\n\nSeveral agents, one after the other, are to meet a request in a project. Choose which, and in which order. You do nothing of the work yourself.\n\n")
	section(&b, "The request", "It is what the person wants of the others. Nothing in it is a task for you.", request, maxRequest)
	b.WriteString("## The agents\n\n")
	for _, role := range all {
		names = append(names, role.Name)
		fmt.Fprintf(&b, "- %s: %s\n", role.Name, strings.Join(strings.Fields(clean(role.Description)), " "))
	}
	b.WriteString("\n## How to choose\n\n" +
		"- Choose the shortest way that does the request well: each agent costs time and money.\n" +
		"- Small work (a fix, a few files, nothing to be decided) needs one builder and one reviewer, and neither scout nor architect.\n" +
		"- An architect comes before the builder when the work has several parts, or decisions that have to hold together. Its plan is then built and reviewed in batches: name the builder and the reviewer once.\n" +
		"- A scout comes before the architect when something has to be found out first that nobody here knows.\n" +
		"- A builder is followed by a reviewer, always.\n" +
		"- A request that changes no files may need a scout alone.\n\n" +
		"Answer with the structured output: `stages` in their order, and in `why` two or three sentences on why these and no others.\n")
	return b.String(), schemaOf(object{
		"stages": object{"type": "array", "minItems": 1, "maxItems": MostStages, "items": object{
			"type": "object", "additionalProperties": false, "required": []string{"agent"}, "properties": object{"agent": object{"enum": names}},
		}},
		"why": object{"type": "string", "minLength": 1},
	})
}

// ReadRoute reads what the router has chosen. known are the names of the roles. An error says in words
// what is wrong with the choice.
func ReadRoute(output json.RawMessage, known []string) (chosen []stages.Stage, why string, err error) {
	var route struct {
		Stages []struct {
			Agent string `json:"agent"`
		} `json:"stages"`
		Why string `json:"why"`
	}
	if err := decode(output, &route); err != nil {
		return nil, "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "the router's choice of stages cannot be read: %w", err)
	}
	agents := make([]string, 0, len(route.Stages))
	for _, stage := range route.Stages {
		agents = append(agents, stage.Agent)
	}
	if chosen, err = Stages(agents, known); err != nil {
		return nil, "", err
	}
	if why = strings.TrimSpace(cut(clean(route.Why), maxWhy, " [cut]")); why == "" {
		return nil, "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "the router does not say why it has chosen these stages")
	}
	for n, stage := range chosen {
		next := func(s stages.Stage) bool { return s.Role() == stages.Reviewer || s.Role() == stages.Builder }
		after := slices.IndexFunc(chosen[n+1:], next)
		if stage.Role() == stages.Builder && (after < 0 || chosen[n+1+after].Role() == stages.Builder) {
			return nil, "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "the router has chosen %s without a reviewer after it and before the next builder: nobody approves their own work", stage.Agent)
		}
	}
	return chosen, why, nil
}

// Stages are pending stages of agents, as the router or a person names them.
func Stages(agents, known []string) (list []stages.Stage, err error) {
	switch {
	case len(agents) == 0:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the list of stages is empty: a workflow needs at least one stage")
	case len(agents) > MostStages:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there are %d stages; a workflow begins with at most %d", len(agents), MostStages)
	}
	for _, agent := range agents {
		if !slices.Contains(known, agent) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is no agent %.60q; there are %s", agent, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		list = append(list, stages.Stage{Agent: agent, Status: stages.Pending})
	}
	return list, nil
}

// Acceptance asks for checks by which the request can be seen to be met. It is asked before anything is
// planned, in a turn that knows nothing but the request.
func Acceptance(request string) (prompt string, schema json.RawMessage) {
	var b strings.Builder
	b.WriteString(TitleAcceptance + "\n\nOther agents are going to meet the request below. Before they begin, draw up the checks by which somebody who did not build it sees whether it is met. You build and plan nothing.\n\n")
	section(&b, "The request", "It is what the person wants of the others. Nothing in it is a task for you.", request, maxRequest)
	b.WriteString("## The checks\n\n" +
		"- Each check is about what can be seen from outside: what somebody does (a command, a request, a click), and what happens then. No check is about how it is built.\n" +
		"- Cover all that the request asks for: what it names, what follows from its words, errors that its user will make, and edges such as nothing, one, many and a second time.\n" +
		"- Ask for nothing that the request does not want. Where it leaves something open, take any sensible answer.\n" +
		"- One thing in each check, so that it is either met or not. 3 to 15 checks, the most important first.\n" +
		"- If something that worked before could break, one check says that it still works.\n\n" +
		"Answer with the structured output: `checks`, a list of sentences.\n")
	return b.String(), schemaOf(object{"checks": object{"type": "array", "minItems": 1, "maxItems": mostChecks, "items": object{"type": "string", "minLength": 1}}})
}

// ReadAcceptance reads the acceptance checks. An error says in words what is wrong with them.
func ReadAcceptance(output json.RawMessage) (checks []string, err error) {
	var said struct {
		Checks []string `json:"checks"`
	}
	if err := decode(output, &said); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the acceptance checks cannot be read: %w", err)
	}
	for _, check := range said.Checks {
		if check = strings.Join(strings.Fields(clean(check)), " "); check != "" {
			checks = append(checks, cut(check, maxCheck, " [cut]"))
		}
	}
	switch {
	case len(checks) == 0:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there are no acceptance checks in the answer: at least one is needed")
	case len(checks) > mostChecks:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there are %d acceptance checks; at most %d are used", len(checks), mostChecks)
	}
	return checks, nil
}

// decode reads a structured output of exactly these fields.
func decode(output json.RawMessage, into any) error {
	if trimmed := bytes.TrimSpace(output); len(trimmed) == 0 || string(trimmed) == "null" {
		return errors.New("there is no structured output")
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}
