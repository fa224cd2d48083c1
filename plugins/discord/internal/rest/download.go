package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrTooLarge is what reading a download ends with that has more bytes than were allowed.
var ErrTooLarge = errors.New("the file is larger than is allowed")

// The hosts of Discord's files.
// Source: reference#image-formatting.
var fileHosts = []string{"cdn.discordapp.com", "media.discordapp.net"}

// Download opens an attachment at one of Discord's own hosts, or that of Base, or, when Base
// is this machine, at any of its ports; the token is not sent there. The size is -1 when it is not told. More than limit bytes are ErrTooLarge,
// here or from Read. The caller closes what it gets, and ctx ends it.
func (c *Client) Download(ctx context.Context, address string, limit int64) (content io.ReadCloser, size int64, err error) {
	const name = "GET attachment"
	from, err := url.Parse(address)
	if err != nil {
		return nil, 0, &Error{Status: http.StatusBadRequest, Message: "its address cannot be read", route: name}
	}
	if err := c.mayLoad(from); err != nil {
		return nil, 0, &Error{Status: http.StatusBadRequest, Message: err.Error(), route: name}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, 0, &Error{Status: http.StatusBadRequest, Message: "its address cannot be read", route: name}
	}
	request.Header.Set("User-Agent", c.session.UserAgent)
	request.Header.Set("Accept-Encoding", "identity") // so that the size is the file's
	client := http.Client{Transport: c.plain, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if len(via) > 3 || c.mayLoad(to.URL) != nil {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	response, err := client.Do(request)
	if err != nil {
		failed := &Error{Message: "Discord did not answer: " + harmless(err), route: name}
		if ctx.Err() != nil {
			failed.cause = context.Cause(ctx)
		}
		return nil, 0, failed
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, 0, &Error{Status: response.StatusCode, Message: http.StatusText(response.StatusCode), route: name}
	}
	if response.ContentLength > limit {
		response.Body.Close()
		return nil, 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, response.ContentLength, limit)
	}
	return &bounded{response.Body, limit}, response.ContentLength, nil
}

// mayLoad says why files are not loaded from an address, if so.
func (c *Client) mayLoad(from *url.URL) error {
	if from.Scheme == c.base.Scheme && from.Host == c.base.Host {
		return nil
	}
	if loopback(c.base.Hostname()) && loopback(from.Hostname()) {
		return nil
	}
	for _, host := range fileHosts {
		if from.Scheme == "https" && from.Host == host {
			return nil
		}
	}
	return fmt.Errorf("files are loaded from Discord's own hosts only, not from %s://%s", from.Scheme, from.Host)
}

// bounded reads so many bytes, and says so when there are more.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if int64(len(into)) > b.left+1 {
		into = into[:b.left+1]
	}
	n, err := b.ReadCloser.Read(into)
	if int64(n) > b.left {
		n, err = int(b.left), ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}
