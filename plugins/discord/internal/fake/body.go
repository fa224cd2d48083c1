package fake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
)

// upload is a file of a multipart body.
type upload struct {
	n, name, kind string // n of files[n]
	data          []byte
}

// bodyOf is a request's body, decoded.
type bodyOf struct {
	text      string // JSON
	value     any
	uploads   []upload
	multipart bool
	other     string // a Content-Type that is not taken
}

// Source: resources/message#create-message-limitations.
const mostBytes = 25 << 20

// Source: reference#uploading-files.
const mostFile = 10 << 20

var fileField = regexp.MustCompile(`^files\[(\d+)\]$`)

// readBody reads and decodes a body. A refusal says why it cannot be.
func readBody(w http.ResponseWriter, r *http.Request) (bodyOf, *refusal) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return bodyOf{}, tooLarge
		}
		return bodyOf{}, invalidJSON
	}
	if len(data) == 0 {
		return bodyOf{}, nil
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		return decode(bodyOf{text: string(data)})
	case err == nil && kind == "multipart/form-data":
		return readParts(data, params["boundary"])
	}
	return bodyOf{text: string(data), other: "other"}, nil
}

func decode(body bodyOf) (bodyOf, *refusal) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(body.text)))
	decoder.UseNumber()
	if err := decoder.Decode(&body.value); err != nil {
		return body, invalidJSON
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return body, invalidJSON
	}
	return body, nil
}

// readParts reads payload_json and files[n].
// Source: reference#uploading-files.
func readParts(data []byte, boundary string) (bodyOf, *refusal) {
	body := bodyOf{multipart: true}
	reader := multipart.NewReader(bytes.NewReader(data), boundary)
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return body, invalidJSON
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return body, invalidJSON
		}
		field := fileField.FindStringSubmatch(part.FormName())
		switch {
		case part.FormName() == "payload_json":
			body.text = string(content)
		case field != nil && part.FileName() != "":
			kind := part.Header.Get("Content-Type")
			body.uploads = append(body.uploads, upload{n: field[1], name: part.FileName(), kind: kind, data: content})
		default:
			return body, refuse(400, 50035, "Invalid Form Body: the part "+part.FormName()+" is neither payload_json nor files[n] with a filename")
		}
	}
	if body.text == "" {
		body.value = object{}
		return body, nil
	}
	return decode(body)
}
