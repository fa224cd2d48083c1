package gateway

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"sync"

	"github.com/gorilla/websocket"
)

// The operations of the gateway.
// Source: topics/opcodes-and-status-codes#gateway-gateway-opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatACK   = 11
)

// received is a payload of Discord's.
// Source: events/gateway-events#payload-structure.
type received struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"` // from 1 on; null but for dispatches
	Type string          `json:"t"` // null but for dispatches
}

// send is a payload of ours, of at most 4096 bytes.
type send struct {
	Op   int `json:"op"`
	Data any `json:"d"`
}

// Source: events/gateway-events#identify.
type identify struct {
	Token      string `json:"token"`
	Intents    int    `json:"intents"`
	Compress   bool   `json:"compress"`
	Properties struct {
		OS      string `json:"os"`
		Browser string `json:"browser"`
		Device  string `json:"device"`
	} `json:"properties"`
}

func newIdentify(token string, intents int) identify {
	i := identify{Token: token, Intents: intents, Compress: true}
	i.Properties.OS, i.Properties.Browser, i.Properties.Device = runtime.GOOS, "harness", "harness"
	return i
}

// Source: events/gateway-events#resume.
type resume struct {
	Token     string `json:"token"`
	SessionID string `json:"session_id"`
	Seq       int64  `json:"seq"`
}

// endpoint is the address of a gateway with what each connection says of itself. The token
// is sent there: what others could read on the way is an error.
// Source: events/gateway#connecting-gateway-url-query-string-params.
func endpoint(address string) (string, error) {
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == "" {
		return "", errors.New("the address of Discord's gateway cannot be read")
	}
	ip := net.ParseIP(at.Hostname())
	here := at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if at.Scheme != "wss" && (at.Scheme != "ws" || !here) {
		return "", fmt.Errorf("the address of Discord's gateway must begin with wss://, not %s://; ws:// is for this machine only", at.Scheme)
	}
	if at.Path == "" {
		at.Path = "/"
	}
	query := at.Query()
	query.Set("v", "10")
	query.Set("encoding", "json")
	at.RawQuery = query.Encode()
	return at.String(), nil
}

const (
	maxPayload = 64 << 20 // bytes, before and after decompression
	keptBuffer = 64 << 10 // bytes of the largest buffer that is kept
)

// errPayload is what a payload is that cannot be read. The connection goes on.
var errPayload = errors.New("a payload that cannot be read")

// payloads reads one after the other. Compression is by payload, not of the whole stream:
// small ones, all that comes in quiet hours, come as they are, and what decompresses the
// large ones is lent from a pool, from which the memory goes back when nothing is large.
// Of a stream it would be kept for each connection's whole life, and asked for each ACK.
// Source: events/gateway#payload-compression.
type payloads struct {
	buffer bytes.Buffer
	pool   sync.Pool // of zlib readers
}

// read waits for the next payload.
func (p *payloads) read(conn *websocket.Conn) (payload received, err error) {
	kind, from, err := conn.NextReader()
	if err != nil {
		return payload, err
	}
	p.buffer.Reset()
	if kind == websocket.BinaryMessage {
		err = p.inflate(from)
	} else {
		_, err = p.buffer.ReadFrom(from)
	}
	if err == nil {
		err = json.Unmarshal(p.buffer.Bytes(), &payload)
	}
	if p.buffer.Cap() > keptBuffer {
		p.buffer = bytes.Buffer{}
	}
	if err != nil {
		// What broke is broken for the next read as well, if it is the connection.
		return received{}, fmt.Errorf("%w: %w", errPayload, err)
	}
	return payload, nil
}

// inflate fills the buffer with what is compressed.
func (p *payloads) inflate(from io.Reader) error {
	reader, ok := p.pool.Get().(io.ReadCloser)
	var err error
	if ok {
		err = reader.(zlib.Resetter).Reset(from, nil)
	} else {
		reader, err = zlib.NewReader(from)
	}
	if err != nil {
		return err
	}
	n, err := p.buffer.ReadFrom(io.LimitReader(reader, maxPayload+1))
	if err == nil && n > maxPayload {
		err = errors.New("it is too large")
	}
	p.pool.Put(reader)
	return err
}
