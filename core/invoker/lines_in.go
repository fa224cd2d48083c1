package invoker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxLine bounds a line that the CLI writes, in bytes. Tool results of some megabytes are
// ordinary; a longer line than this is a fault, and not worth the memory.
const maxLine = 64 << 20

var errLineTooLong = errors.New("the agent wrote a line that is too long")

// readLines calls each with every line of r, without its line break, until r ends. each
// may keep the slice. It skips empty lines; a last line needs no line break. It returns
// nil at the end of r.
func readLines(r io.Reader, limit int, each func([]byte)) error {
	reader := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(reader, limit)
		if len(line) > 0 {
			each(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(reader *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("%w: more than %d bytes", errLineTooLong, limit)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// The lines that the CLI writes, with the fields that are used here. Other fields are
// ignored, and so are unknown types and subtypes: every release has new ones.

// head has the fields that tell the kinds of lines apart.
type head struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	// ParentToolUseID is set on lines of a sub-agent.
	ParentToolUseID string `json:"parent_tool_use_id"`
	// IsReplay marks the echo of a line that was sent to the CLI; UUID is that
	// line's.
	IsReplay bool   `json:"isReplay"`
	UUID     string `json:"uuid"`
}

type initLine struct {
	Model   string   `json:"model"`
	Version string   `json:"claude_code_version"`
	Tools   []string `json:"tools"`
	Servers []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
}

type retryLine struct {
	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  int     `json:"error_status"`
	Error        string  `json:"error"`
}

type streamLine struct {
	Event struct {
		Type    string `json:"type"`
		Message struct {
			Model string `json:"model"`
			Usage usage  `json:"usage"`
		} `json:"message"`
		Usage usage `json:"usage"`
		Delta struct {
			Type       string `json:"type"`
			Text       string `json:"text"`
			Thinking   string `json:"thinking"`
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
	} `json:"event"`
}

type messageLine struct {
	Message struct {
		ID      string  `json:"id"`
		Model   string  `json:"model"`
		Usage   usage   `json:"usage"`
		Content content `json:"content"`
	} `json:"message"`
	// Error names the API error that a synthetic message stands for.
	Error string `json:"error"`
}

// block is one block of a message's content.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
}

// content is a list of blocks. On the wire it may also be a string, which becomes one
// block of text. Anything else becomes no content.
type content []block

// UnmarshalJSON accepts both forms.
func (c *content) UnmarshalJSON(data []byte) error {
	*c = nil
	switch data[0] {
	case '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*c = content{{Type: "text", Text: text}}
	case '[':
		var blocks []block
		if err := json.Unmarshal(data, &blocks); err != nil {
			return err
		}
		*c = blocks
	}
	return nil
}

// text joins the texts of the blocks; a block of another type is shown as its type.
func (c content) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}

type controlRequest struct {
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype   string          `json:"subtype"`
		ToolName  string          `json:"tool_name"`
		ToolUseID string          `json:"tool_use_id"`
		Input     json.RawMessage `json:"input"`
		// Description is the agent's own of the call; it may be empty.
		Description string `json:"description"`
		// DecisionReasonType says in a word why the CLI asks, DecisionReason in a
		// sentence; both may be empty.
		DecisionReasonType string `json:"decision_reason_type"`
		DecisionReason     string `json:"decision_reason"`
		// Server is the MCP server whose tool it is; nil: it is no such tool, or the CLI
		// (2.1.197) does not say.
		Server *askingServer `json:"mcp_server"`
	} `json:"request"`
}

// askingServer is the MCP server of a permission request.
type askingServer struct {
	Name   string `json:"name"`
	Source string `json:"source"` // who has configured it; configuredHere: Harness
}

type controlResponse struct {
	Response struct {
		RequestID string `json:"request_id"`
		Response  struct {
			Cancelled bool `json:"cancelled"`
		} `json:"response"`
	} `json:"response"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	// CacheCreation says how much of CacheWrite is kept for an hour.
	CacheCreation struct {
		OneHour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

type modelUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheCreationInputTokens"`

	CostUSD float64 `json:"costUSD"`
}

// modelUsages is by model.
type modelUsages map[string]modelUsage

// bill returns the usage as a bill, sorted by model. The CLI names a model with a longer context
// "NAME[1m]" here, and NAME elsewhere.
func (u modelUsages) bill() bill {
	var b bill
	for _, name := range slices.Sorted(maps.Keys(u)) {
		one := u[name]
		model, _, _ := strings.Cut(name, "[")
		b.add(pluginsdk.ModelUsage{Model: model, CostUSD: one.CostUSD, Usage: pluginsdk.Usage{
			InputTokens: one.Input, OutputTokens: one.Output, CacheReadTokens: one.CacheRead, CacheWriteTokens: one.CacheWrite,
		}})
	}
	return b
}

// resultLine ends a turn. IsError decides whether the turn failed, never Subtype.
type resultLine struct {
	Subtype      string      `json:"subtype"`
	IsError      bool        `json:"is_error"`
	APIStatus    int         `json:"api_error_status"`
	Result       string      `json:"result"`
	SessionID    string      `json:"session_id"`
	Turns        int         `json:"num_turns"`
	Usage        usage       `json:"usage"`
	ModelUsage   modelUsages `json:"modelUsage"`     // since the beginning of the process or the session
	TotalCostUSD float64     `json:"total_cost_usd"` // likewise
	// SinceLast is what has come since the result line before, in the same process; nil: the
	// CLI does not tell.
	SinceLast        modelUsages     `json:"model_usage_since_last_result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	Errors           []string        `json:"errors"`
}

// unknownSession reports whether the session to resume does not exist. SessionID on such
// a line is no session's.
func (r resultLine) unknownSession() bool {
	return r.IsError && strings.Contains(r.words(), saysUnknownSession)
}

// words returns what the result says about its error.
func (r resultLine) words() string {
	parts := r.Errors
	if r.Result != "" {
		parts = append([]string{r.Result}, parts...)
	}
	return strings.Join(parts, "; ")
}
