package invoker

import (
	"encoding/json"
	"strings"
)

// The lines that are written to the CLI.

type userLine struct {
	Type    string      `json:"type"`
	Message userMessage `json:"message"`
	// UUID names the line in the CLI's echo of it, and in a request to drop it.
	UUID string `json:"uuid,omitempty"`
}

type userMessage struct {
	Role string `json:"role"`
	// Content is a text, or a list of contentBlock.
	Content any `json:"content"`
}

// contentBlock is one block of a message that has more than text.
type contentBlock struct {
	Type   string       `json:"type"` // image, document or text
	Title  string       `json:"title,omitempty"`
	Text   string       `json:"text,omitempty"`
	Source *blockSource `json:"source,omitempty"`
}

type blockSource struct {
	Type      string `json:"type"` // base64
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // JSON has bytes in base64
}

// words returns a text so that it is no command to the CLI, which takes a line that begins
// with a slash for one of its own ("/clear"), but not one that begins with a line break.
// Verified with 2.1.197 and 2.1.330, also behind images.
func words(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "/") {
		return "\n" + text
	}
	return text
}

// promptLine is the prompt, after the files that are shown with it.
func promptLine(prompt string, files []contentBlock) []byte {
	prompt = words(prompt)
	var content any = prompt
	if len(files) > 0 {
		content = append(files, contentBlock{Type: "text", Text: prompt})
	}
	return encode(userLine{Type: "user", Message: userMessage{Role: "user", Content: content}})
}

// steerLine is a further message for the running turn.
func steerLine(id, text string) []byte {
	return encode(userLine{Type: "user", Message: userMessage{Role: "user", Content: words(text)}, UUID: id})
}

type outRequest struct {
	Type      string     `json:"type"`
	RequestID string     `json:"request_id"`
	Request   outSubtype `json:"request"`
}

type outSubtype struct {
	Subtype     string `json:"subtype"`
	MessageUUID string `json:"message_uuid,omitempty"`
}

func interruptLine(requestID string) []byte {
	return encode(outRequest{Type: "control_request", RequestID: requestID, Request: outSubtype{Subtype: "interrupt"}})
}

// withdrawLine takes back a user line that the CLI has not begun to work on.
func withdrawLine(requestID, id string) []byte {
	return encode(outRequest{
		Type: "control_request", RequestID: requestID, Request: outSubtype{Subtype: "cancel_async_message", MessageUUID: id},
	})
}

type outResponse struct {
	Type     string      `json:"type"`
	Response outAnswered `json:"response"`
}

type outAnswered struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Response  any    `json:"response,omitempty"`
	Error     string `json:"error,omitempty"`
}

type answer struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
}

func allowLine(requestID string, input json.RawMessage) []byte {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return responseLine(outAnswered{
		Subtype: "success", RequestID: requestID, Response: &answer{Behavior: "allow", UpdatedInput: input},
	})
}

func denyLine(requestID, message string) []byte {
	return responseLine(outAnswered{
		Subtype: "success", RequestID: requestID, Response: &answer{Behavior: "deny", Message: message},
	})
}

// refuseLine answers a control request that is not supported, so that the CLI does not
// wait for ever.
func refuseLine(requestID, subtype string) []byte {
	return responseLine(outAnswered{
		Subtype: "error", RequestID: requestID, Error: "control request " + subtype + " is not supported",
	})
}

func responseLine(answered outAnswered) []byte {
	return encode(outResponse{Type: "control_response", Response: answered})
}

// encode cannot fail: the structs above hold strings and JSON that was parsed.
func encode(line any) []byte {
	data, err := json.Marshal(line)
	if err != nil {
		panic("invoker: encode a line: " + err.Error())
	}
	return append(data, '\n')
}
