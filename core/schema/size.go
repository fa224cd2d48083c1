package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// valueSize is what each value in JSON counts for beside its bytes: looking at
// one takes as long as copying this many bytes of its text.
const valueSize = 25

// size is how large JSON is, in bytes and values.
func size(raw []byte) int {
	values, inText := 1, false
	for n := 0; n < len(raw); n++ {
		switch c := raw[n]; {
		case inText && c == '\\':
			n++
		case c == '"':
			inText = !inText
		case !inText && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	return len(raw) + valueSize*values
}

func checkSize(raw json.RawMessage, limits Limits) error {
	if len(raw) > limits.Bytes {
		return fmt.Errorf("at most %d bytes, this has %d", limits.Bytes, len(raw))
	}
	depth := 0
	for tokens := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > limits.Depth {
				return fmt.Errorf("nested more than %d deep", limits.Depth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}
