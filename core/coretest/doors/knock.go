package doors

import "encoding/json"

// Knock is one try, of one of the kinds.
type Knock struct {
	// Method and URL are a request's, with its headers; Body is also the request of Host.
	Method string            `json:"method,omitempty"`
	URL    string            `json:"url,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   json.RawMessage   `json:"body,omitempty"`
	// Command is a program with its arguments.
	Command []string `json:"command,omitempty"`
	// Host is a method of the plugin's host, such as Tokens.Create; Person in whose name it is
	// called; Tool says that it is called from inside of the next call of the plugin's tool.
	Host   string `json:"host,omitempty"`
	Person string `json:"person,omitempty"`
	Tool   bool   `json:"tool,omitempty"`
	// End ends the process.
	End bool `json:"end,omitempty"`
}

// Answer is what came of a Knock.
type Answer struct {
	OK   bool   `json:"ok"`
	Code string `json:"code"` // a status, an exit code, the code of an error
	Text string `json:"text"`
}
