package invoker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Rule says what the demo agent does with a prompt that matches, in the order of the
// fields: wait, think, call a tool, then fail or answer.
type Rule struct {
	// Match is a text that the prompt contains; empty matches every prompt.
	Match string `json:"match"`
	// Times is how many prompts the rule answers; 0: any number.
	Times int `json:"times,omitempty"`
	// Delay is how long the turn takes, in milliseconds.
	Delay int `json:"delay,omitempty"`
	// Pace is how long there is between the words that are thought and said, in milliseconds.
	Pace int `json:"pace,omitempty"`
	// Think is emitted as thinking when not empty.
	Think string `json:"think,omitempty"`
	// ToolName, when not empty, is emitted as a tool call with its result. A plugin's
	// tool, PLUGIN__TOOL, is really called unless the rule has a result for it; other
	// tools never are.
	ToolName   string          `json:"toolName,omitempty"`
	ToolInput  json.RawMessage `json:"toolInput,omitempty"` // default {}
	ToolResult string          `json:"toolResult,omitempty"`
	ToolError  bool            `json:"toolError,omitempty"` // the result is an error
	// Ask has people asked about the call first, as the CLI asks about what nothing allows.
	// Denied, the result is their words, and the tool is not called.
	Ask bool `json:"ask,omitempty"`
	// Plan is what the turn is told of a window of the account's plan, as with the answer of
	// the API; PlanUsedUp is a window that is used up, and ends the turn instead of Text.
	Plan       *DemoPlan `json:"plan,omitempty"`
	PlanUsedUp *DemoPlan `json:"planUsedUp,omitempty"`
	// Failure, when set, ends the turn instead of Text.
	Failure *pluginsdk.Failure `json:"failure,omitempty"`
	// Text is the reply, behind DemoMark. It may contain commands.
	Text string `json:"text,omitempty"`
	// Empty makes the reply empty, without even the mark.
	Empty bool `json:"empty,omitempty"`
	// StructuredOutput and CostUSD are reported unchanged; a failure has only the cost.
	// When a turn asks for a structured output that the rule does not have, one is made
	// up. A turn whose cost reaches its cap fails.
	StructuredOutput json.RawMessage `json:"structuredOutput,omitempty"`
	CostUSD          float64         `json:"costUsd,omitempty"`
}

// Script is a list of rules. The first rule that matches a prompt, and has not been used
// up, answers it. It is safe for concurrent use; a nil Script never answers.
type Script struct {
	mu    sync.Mutex
	rules []Rule
	used  []int
}

// NewScript returns a script of these rules.
func NewScript(rules ...Rule) *Script {
	return &Script{rules: rules, used: make([]int, len(rules))}
}

// LoadScript reads a script from a file with a JSON array of rules. An unknown field is
// an error, so that a misspelt one is noticed.
func LoadScript(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read demo script: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var rules []Rule
	if err := decoder.Decode(&rules); err != nil {
		return nil, fmt.Errorf("demo script %s: %w (want a JSON array of rules)", path, err)
	}
	for i, rule := range rules {
		if err := rule.validate(); err != nil {
			return nil, fmt.Errorf("demo script %s: rule %d: %w", path, i+1, err)
		}
	}
	return NewScript(rules...), nil
}

func (r Rule) validate() error {
	if r.Times < 0 {
		return fmt.Errorf("times is %d; want 0 (always) or more", r.Times)
	}
	if r.Delay < 0 || r.Pace < 0 {
		return fmt.Errorf("delay is %d, pace is %d; want milliseconds, 0 or more", r.Delay, r.Pace)
	}
	for _, of := range []*DemoPlan{r.Plan, r.PlanUsedUp} {
		if err := of.validate(); err != nil {
			return err
		}
	}
	if r.Failure != nil && r.Failure.Kind == "" {
		return fmt.Errorf("failure has no kind; want one of api, unknown_session, interrupted, crashed, silent, timeout, missing, budget, other")
	}
	return nil
}

// Add appends a rule.
func (s *Script) Add(rule Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule)
	s.used = append(s.used, 0)
}

// next returns the rule that answers prompt and counts its use.
func (s *Script) next(prompt string) (Rule, bool) {
	if s == nil {
		return Rule{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, rule := range s.rules {
		if rule.Times > 0 && s.used[i] >= rule.Times {
			continue
		}
		if strings.Contains(prompt, rule.Match) {
			s.used[i]++
			return rule, true
		}
	}
	return Rule{}, false
}
