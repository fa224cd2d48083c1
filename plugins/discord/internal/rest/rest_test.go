package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	botToken = "a.bot.token"
	secret   = "an-interaction-token"
)

// asked is a request that came.
type asked struct {
	line   string // method and path
	header http.Header
	body   string
	at     time.Time
}

// discord plays Discord: it answers each request with the next of what it was given, and
// the last again and again.
type discord struct {
	mu      sync.Mutex
	answers []answer
	asked   []asked
	log     strings.Builder
}

type answer struct {
	status int // 0: the connection breaks
	header string
	body   string
	block  chan struct{}
}

func (d *discord) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		data, _ := io.ReadAll(r.Body)
		body = string(data)
	}
	d.mu.Lock()
	d.asked = append(d.asked, asked{r.Method + " " + r.URL.RequestURI(), r.Header, body, time.Now()})
	next := d.answers[0]
	if len(d.answers) > 1 {
		d.answers = d.answers[1:]
	}
	d.mu.Unlock()
	if next.block != nil {
		select {
		case <-next.block:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if next.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	response := &http.Response{StatusCode: next.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(next.body)), Request: r}
	for _, field := range strings.Fields(next.header) {
		name, value, _ := strings.Cut(field, "=")
		response.Header.Set(name, value)
	}
	return response, nil
}

func (d *discord) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

// lines are the requests so far.
func (d *discord) lines() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.asked {
		lines = append(lines, a.line)
	}
	return lines
}

// last is the body of the last request.
func (d *discord) last() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[len(d.asked)-1].body
}

// client asks one that answers so.
func client(t *testing.T, answers ...answer) (*Client, *discord) {
	t.Helper()
	d := &discord{answers: answers}
	c, err := New(Config{Token: botToken, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(d, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c.session.Client.Transport.(*transport).next = d
	t.Cleanup(func() {
		for _, word := range []string{botToken, secret} {
			if strings.Contains(d.log.String(), word) {
				t.Errorf("%s is in the log: %s", word, d.log.String())
			}
		}
	})
	return c, d
}

const window = "X-RateLimit-Limit=2 X-RateLimit-Bucket=abc X-RateLimit-Reset-After=5.5 "

func TestAnExhaustedBucketIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := client(t,
			answer{200, window + "X-RateLimit-Remaining=1", "{}", nil},
			answer{200, window + "X-RateLimit-Remaining=0", "{}", nil})
		ctx, start := t.Context(), time.Now()
		for i, after := range []time.Duration{0, 0, 5500 * time.Millisecond} {
			if _, err := c.Send(ctx, "1", Message{}); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != after {
				t.Errorf("request %d was made after %s, want %s", i+1, got, after)
			}
		}
		// Another channel has its own.
		if _, err := c.Send(ctx, "2", Message{}); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 5500*time.Millisecond || len(d.lines()) != 4 {
			t.Errorf("another channel's waited: %s, %v", got, d.lines())
		}
	})
}

func TestEndpointsShareABucketIfDiscordSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t,
			answer{204, window + "X-RateLimit-Remaining=1", "", nil},
			answer{204, window + "X-RateLimit-Remaining=0", "", nil})
		start := time.Now()
		for _, ask := range []func(context.Context, string, string, string) error{c.React, c.Unreact} {
			if err := ask(t.Context(), "1", "2", "x"); err != nil || time.Since(start) > 0 {
				t.Fatalf("after %s: %v", time.Since(start), err)
			}
		}
		if err := c.React(t.Context(), "1", "2", "x"); err != nil || time.Since(start) != 5500*time.Millisecond {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

func TestWhatDiscordHasNotCountedYetIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const three = "X-RateLimit-Limit=3 X-RateLimit-Bucket=abc X-RateLimit-Reset-After=5 "
		slow := make(chan struct{})
		c, d := client(t,
			answer{200, three + "X-RateLimit-Remaining=2", "{}", nil},
			answer{200, three + "X-RateLimit-Remaining=0", "{}", slow},
			answer{200, three + "X-RateLimit-Remaining=1", "{}", nil}) // overtakes
		if _, err := c.Send(t.Context(), "1", Message{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			go func() { _, _ = c.Send(t.Context(), "1", Message{}) }()
			synctest.Wait()
		}
		if got := len(d.lines()); got != 3 {
			t.Errorf("%d requests were made where 3 are allowed", got)
		}
		close(slow)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock: until all have had their turn
	})
}

func TestWhatIsUnderWayIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, d := client(t,
			answer{200, window + "X-RateLimit-Remaining=1", "{}", nil},
			answer{200, window + "X-RateLimit-Remaining=0", "{}", release})
		if _, err := c.Send(t.Context(), "1", Message{}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			go func() { _, _ = c.Send(t.Context(), "1", Message{}) }()
		}
		synctest.Wait()
		if got := len(d.lines()); got != 2 {
			t.Errorf("%d requests were made where 2 are allowed", got)
		}
		// Who waits keeps nobody else from asking, nor do they when they give up.
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() { _, err := c.Send(ctx, "1", Message{}); gaveUp <- err }()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) || Code(err) != pluginsdk.CodeUnavailable {
			t.Errorf("giving up is %v", err)
		}
		go func() { _ = c.Typing(t.Context(), "1") }()
		synctest.Wait()
		if got := d.lines(); len(got) != 3 {
			t.Errorf("another endpoint waited: %v", got)
		}
		close(release)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock: until all have had their turn
		if got := len(d.lines()); got != 5 {
			t.Errorf("%d requests were made in all, want 5", got)
		}
	})
}

func Test429IsWaitedOutAndTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		refusal answer
		wait    time.Duration
		others  bool // wait as well
	}{
		"body":              {answer{429, "Retry-After=3 X-RateLimit-Scope=user", `{"message":"slow","retry_after":2.5,"global":false}`, nil}, 2500 * time.Millisecond, false},
		"header":            {answer{429, "Retry-After=3 X-RateLimit-Scope=shared", `{"message":"slow"}`, nil}, 3 * time.Second, false},
		"global, body":      {answer{429, "Retry-After=3", `{"retry_after":2.5,"global":true}`, nil}, 2500 * time.Millisecond, true},
		"global, header":    {answer{429, "Retry-After=3 X-RateLimit-Global=true", `{}`, nil}, 3 * time.Second, true},
		"global, scope":     {answer{429, "Retry-After=3 X-RateLimit-Scope=global", `{}`, nil}, 3 * time.Second, true},
		"the address's ban": {answer{429, "Retry-After=60", "<html>", nil}, time.Minute, true},
		"no word of when":   {answer{429, "X-RateLimit-Scope=user", `{}`, nil}, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d := client(t, test.refusal, answer{200, "", "{}", nil})
				start := time.Now()
				done := make(chan error)
				go func() { _, err := c.Send(t.Context(), "1", Message{}); done <- err }()
				synctest.Wait()
				// Interactions are not bound to the global limit.
				if err := c.Respond(t.Context(), "9", secret, Nothing()); err != nil || time.Since(start) > 0 {
					t.Errorf("an interaction waited %s, %v", time.Since(start), err)
				}
				if _, err := c.Me(t.Context()); err != nil {
					t.Error(err)
				}
				if waited := time.Since(start) > 0; waited != test.others {
					t.Errorf("others waited: %v, want %v", waited, test.others)
				}
				if err := <-done; err != nil || time.Since(start) != test.wait {
					t.Errorf("sent after %s, %v; want %s", time.Since(start), err, test.wait)
				}
				if n := len(d.lines()); n != 4 {
					t.Errorf("%d requests were made", n)
				}
			})
		})
	}
}

func TestWhoCannotWaitIsToldAtOnceForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := client(t, answer{429, "Retry-After=60 X-RateLimit-Scope=user", `{"message":"slow down","retry_after":60}`, nil})
		start := time.Now()
		for range 2 { // the second is not asked at all
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			_, err := c.Send(ctx, "1", Message{})
			cancel()
			var failed *Error
			if !errors.As(err, &failed) || failed.Status != 429 || failed.RetryAfter != time.Minute || !Passing(err) || Code(err) != pluginsdk.CodeExhausted {
				t.Errorf("got %v", err)
			}
		}
		if time.Since(start) > 0 || len(d.lines()) != 1 {
			t.Errorf("it took %s and %d requests", time.Since(start), len(d.lines()))
		}
		// Without an end, there is one.
		if _, err := c.Send(t.Context(), "1", Message{}); !Passing(err) || len(d.lines()) != 1+maxRefusals {
			t.Errorf("%d requests, %v", len(d.lines()), err)
		}
	})
}

func TestAnAnswerThatIsLostIsAskedForAgainWhereThatDoesNothingTwice(t *testing.T) {
	for name, test := range map[string]struct {
		ask  func(context.Context, *Client) error
		want int
	}{
		"GET":    {func(ctx context.Context, c *Client) error { _, err := c.Me(ctx); return err }, 3},
		"PUT":    {func(ctx context.Context, c *Client) error { return c.React(ctx, "1", "2", "👍") }, 3},
		"DELETE": {func(ctx context.Context, c *Client) error { return c.Delete(ctx, "1", "2") }, 3},
		"PATCH": {func(ctx context.Context, c *Client) error {
			_, err := c.Edit(ctx, "1", "2", Message{Content: "x"})
			return err
		}, 3},
		"POST": {func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, "1", Message{}); return err }, 1},
	} {
		for _, status := range []int{0, 502} {
			synctest.Test(t, func(t *testing.T) {
				c, d := client(t, answer{status: status, body: "<html>"})
				err := test.ask(t.Context(), c)
				if !Passing(err) || Gone(err) || Forbidden(err) || Code(err) != pluginsdk.CodeUnavailable {
					t.Errorf("%s, %d: got %v", name, status, err)
				}
				if got := len(d.lines()); got != test.want {
					t.Errorf("%s, %d: asked %d times, want %d", name, status, got, test.want)
				}
				if d.asked[0].body != d.last() {
					t.Errorf("%s: first with %q, then with %q", name, d.asked[0].body, d.last())
				}
			})
		}
	}
}

func TestATokenThatIsRefusedIsNotTriedAgain(t *testing.T) {
	c, d := client(t,
		answer{401, "", `{"message":"Invalid Webhook Token","code":50027}`, nil},
		answer{401, "", `{"message":"401: Unauthorized","code":0}`, nil},
		answer{200, "", `{}`, nil})
	// An interaction's that is over is not the bot's.
	if _, err := c.EditResponse(t.Context(), "1", secret, Message{}); !Gone(err) || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	_, first := c.Me(t.Context())
	_, second := c.Send(t.Context(), "1", Message{})
	third := c.Respond(t.Context(), "1", secret, Nothing())
	var failed *Error
	if !errors.As(first, &failed) || failed.Status != 401 || Passing(first) {
		t.Errorf("got %v", first)
	}
	if !errors.Is(second, first) || !errors.Is(third, first) || len(d.lines()) != 2 {
		t.Errorf("asked %v; got %v, %v", d.lines(), second, third)
	}
}

func TestErrorsSayWhatWasWrongAndNoSecret(t *testing.T) {
	invalid := `{"code":50035,"message":"Invalid Form Body","errors":{"embeds":{"0":{"title":{"_errors":[{"code":"X","message":"Must be short."}]}}},"content":{"_errors":[{"message":"Too long."}]}}}`
	for _, test := range []struct {
		answer answer
		code   pluginsdk.Code
		words  string
	}{
		{answer{status: 400, body: invalid}, pluginsdk.CodeInvalid, "Discord answered 400: Invalid Form Body: content: Too long.; embeds.0.title: Must be short. (50035)"},
		{answer{status: 403, body: `{"code":50013,"message":"Missing Permissions"}`}, pluginsdk.CodeDenied, "Discord answered 403: Missing Permissions (50013)"},
		{answer{status: 404, body: `{"code":10003,"message":"Unknown Channel"}`}, pluginsdk.CodeNotFound, "Discord answered 404: Unknown Channel (10003)"},
		{answer{status: 413, body: `<html>`}, pluginsdk.CodeInvalid, "Discord answered 413: Request Entity Too Large"},
		{answer{status: 302, body: ``}, pluginsdk.CodeInvalid, "Discord answered 302: Found"},
		{answer{status: 503, body: `{"message":"` + botToken + `"}`}, pluginsdk.CodeUnavailable, "Discord answered 503: TOKEN"},
		{answer{status: 0}, pluginsdk.CodeUnavailable, "Discord did not answer: connection reset by peer"},
		{answer{status: 200, body: `[]`}, pluginsdk.CodeUnavailable, "Discord answered 200: the answer cannot be read: json: cannot unmarshal array into Go value of type wire.Message"},
	} {
		c, _ := client(t, test.answer)
		_, err := c.Followup(t.Context(), "1", secret, Message{})
		if want := "POST /webhooks/{application}/{token}: " + test.words; err == nil || err.Error() != want || Code(err) != test.code {
			t.Errorf("got %v, %s\nwant %s, %s", err, Code(err), want, test.code)
		}
		if Gone(err) != (test.code == pluginsdk.CodeNotFound) || Forbidden(err) != (test.code == pluginsdk.CodeDenied) {
			t.Errorf("%v: gone %v, forbidden %v", err, Gone(err), Forbidden(err))
		}
		if _, err := c.Message(t.Context(), "1", ""); err == nil || !strings.Contains(err.Error(), "{message} is empty") {
			t.Errorf("an id that is empty is %v", err)
		}
	}
}

func TestMessagesPingNobodyAndAreSentOnce(t *testing.T) {
	const quiet = `"allowed_mentions":{"parse":[],"replied_user":false}`
	embed := &discordgo.MessageEmbed{Title: "t"}
	for name, test := range map[string]struct {
		ask  func(context.Context, *Client) error
		line string
		want string
	}{
		"send": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Send(ctx, "1", Message{Content: "@everyone", Nonce: "n", ReplyTo: "5"})
				return err
			},
			"POST /api/v10/channels/1/messages",
			`{"content":"@everyone","flags":4,"nonce":"n","enforce_nonce":true,` + quiet + `,"message_reference":{"message_id":"5","fail_if_not_exists":false}}`,
		},
		"send embeds": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Send(ctx, "1", Message{Embeds: []*discordgo.MessageEmbed{embed}})
				return err
			},
			"POST /api/v10/channels/1/messages",
			`{"content":"","flags":0,` + quiet + `,"embeds":[{"title":"t"}]}`,
		},
		"edit, no more buttons": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Edit(ctx, "1", "2", Message{Content: "x", Components: []discordgo.MessageComponent{}})
				return err
			},
			"PATCH /api/v10/channels/1/messages/2",
			`{"content":"x","flags":4,` + quiet + `,"components":[]}`,
		},
		"edit, the rest stays": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Edit(ctx, "1", "2", Message{Content: "x", Nonce: "n", ReplyTo: "5", Ephemeral: true})
				return err
			},
			"PATCH /api/v10/channels/1/messages/2",
			`{"content":"x","flags":4,` + quiet + `}`,
		},
		"edit, no more files": {
			func(ctx context.Context, c *Client) error {
				_, err := c.EditResponse(ctx, "1", secret, Message{Files: []*discordgo.File{}})
				return err
			},
			"PATCH /api/v10/webhooks/1/" + secret + "/messages/@original",
			`{"content":"","flags":4,` + quiet + `,"attachments":[]}`,
		},
		"followup": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Followup(ctx, "1", secret, Message{Content: "x", Ephemeral: true})
				return err
			},
			"POST /api/v10/webhooks/1/" + secret,
			`{"content":"x","flags":68,` + quiet + `}`,
		},
		"respond": {
			func(ctx context.Context, c *Client) error {
				return c.Respond(ctx, "1", secret, Whisper("x"))
			},
			"POST /api/v10/interactions/1/" + secret + "/callback",
			`{"type":4,"data":{"content":"x","flags":68,` + quiet + `}}`,
		},
		"respond, deferred": {
			func(ctx context.Context, c *Client) error {
				return c.Respond(ctx, "1", secret, Later(true))
			},
			"POST /api/v10/interactions/1/" + secret + "/callback", `{"type":5,"data":{"flags":64}}`,
		},
		"respond, deferred update": {
			func(ctx context.Context, c *Client) error {
				return c.Respond(ctx, "1", secret, Nothing())
			},
			"POST /api/v10/interactions/1/" + secret + "/callback", `{"type":6}`,
		},
		"autocomplete, nothing": {
			func(ctx context.Context, c *Client) error {
				return c.Respond(ctx, "1", secret, Offer(nil))
			},
			"POST /api/v10/interactions/1/" + secret + "/callback", `{"type":8,"data":{"choices":[]}}`,
		},
		"commands": {
			func(ctx context.Context, c *Client) error {
				return c.SetCommands(ctx, "1", "2", []*discordgo.ApplicationCommand{{Name: "ask", Options: []*discordgo.ApplicationCommandOption{{Type: 3, Name: "q"}}}, {Name: "m", Type: 3}})
			},
			"PUT /api/v10/applications/1/guilds/2/commands",
			`[{"name":"ask","options":[{"autocomplete":false,"name":"q","required":false,"type":3}]},{"name":"m","type":3}]`,
		},
		"no commands": {
			func(ctx context.Context, c *Client) error { return c.SetCommands(ctx, "1", "", nil) },
			"PUT /api/v10/applications/1/commands", `[]`,
		},
		"reaction": {
			func(ctx context.Context, c *Client) error { return c.Unreact(ctx, "1", "2", "👀") },
			"DELETE /api/v10/channels/1/messages/2/reactions/%F0%9F%91%80/@me", ``,
		},
		"thread": {
			func(ctx context.Context, c *Client) error {
				_, err := c.StartThread(ctx, "1", "2", "a name")
				return err
			},
			"POST /api/v10/channels/1/messages/2/threads", `{"name":"a name"}`,
		},
	} {
		c, d := client(t, answer{200, "", "{}", nil})
		if err := test.ask(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := d.lines(); !slices.Equal(got, []string{test.line}) {
			t.Errorf("%s asked %v", name, got)
		}
		if got := d.last(); got != test.want {
			t.Errorf("%s sent %s\nwant %s", name, got, test.want)
		}
		header := d.asked[0].header
		if header.Get("Authorization") != "Bot "+botToken || header.Get("User-Agent") != "DiscordBot (https://github.com/seed-706843ae/harness, 1.2.3)" {
			t.Errorf("%s had the header %v", name, header)
		}
		if got := header.Get("Content-Type"); (got == "application/json") != (test.want != "") {
			t.Errorf("%s was sent as %q", name, got)
		}
	}
}

func TestFilesAreSentWithTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := client(t, answer{status: 503}, answer{200, "", "{}", nil})
		message := Message{Content: "here", Files: []*discordgo.File{{Name: "a.txt", Reader: strings.NewReader("contents")}}}
		if _, err := c.Edit(t.Context(), "1", "2", message); err != nil {
			t.Fatal(err)
		}
		_, params, err := mime.ParseMediaType(d.asked[1].header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		form, err := multipart.NewReader(strings.NewReader(d.last()), params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if got := form.Value["payload_json"][0]; !strings.Contains(got, `"attachments":[{"id":0,"filename":"a.txt"}]`) {
			t.Errorf("the payload is %s", got)
		}
		file := form.File["files[0]"][0]
		content, _ := file.Open()
		if data, _ := io.ReadAll(content); file.Filename != "a.txt" || string(data) != "contents" {
			t.Errorf("the file is %s with %q", file.Filename, data)
		}
	})
}

func TestMessagesComeOldestFirst(t *testing.T) {
	page := answer{200, "", `[{"id":"100"},{"id":"99"},{"id":"9"}]`, nil}
	c, d := client(t, page)
	for _, ask := range []func() error{
		func() error {
			got, err := c.Messages(t.Context(), "1", "", 500)
			if len(got) != 3 || got[0].ID != "9" || got[1].ID != "99" || got[2].ID != "100" {
				t.Errorf("got %v", got)
			}
			return err
		},
		func() error { _, err := c.Messages(t.Context(), "1", "7", 0); return err },
		func() error { _, err := c.MessagesBefore(t.Context(), "1", "200", 50); return err },
		func() error { _, err := c.MessagesBefore(t.Context(), "1", "", 50); return err },
	} {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	const path = "GET /api/v10/channels/1/messages?"
	if got := d.lines(); !slices.Equal(got, []string{path + "after=0&limit=100", path + "after=7&limit=1", path + "before=200&limit=50", path + "limit=50"}) {
		t.Errorf("asked %v", got)
	}
}

func TestTheTokenIsSentToNoStranger(t *testing.T) {
	for base, good := range map[string]bool{
		"":                             true,
		"https://discord.com/api/v10/": true,
		"http://127.0.0.1:8080/api":    true,
		"http://[::1]:8080":            true,
		"http://localhost":             true,
		"http://discord.com/api/v10":   false,
		"http://localhost.example.org": false,
		"discord.com/api":              false,
		"/api":                         false,
		"ftp://discord.com":            false,
		"https://":                     false,
		"https://a:b@discord.com":      false,
		"https://discord.com/?x=y":     false,
		"https://discord.com/#x":       false,
	} {
		if _, err := New(Config{Base: base}); (err == nil) != good {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestFilesAreLoadedFromDiscordOnlyAndWithoutTheToken(t *testing.T) {
	const elsewhere = "http://192.0.2.1" // nobody's, RFC 5737
	another := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "contents") }))
	defer another.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent")
		}
		switch r.URL.Path {
		case "/file":
			fmt.Fprint(w, "contents")
		case "/unknown-size":
			fmt.Fprint(w, "cont")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "ents")
		case "/here":
			http.Redirect(w, r, "/file", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	c, err := New(Config{Token: botToken, Base: server.URL + "/api"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		url   string
		limit int64
		size  int64
		want  string // of the error
	}{
		{server.URL + "/file?ex=1&hm=2", 8, 8, ""},
		{server.URL + "/unknown-size", 8, -1, ""},
		{server.URL + "/here", 8, 8, ""},
		{server.URL + "/file", 7, 0, "larger"},
		{server.URL + "/unknown-size", 7, -1, "larger"},
		{server.URL + "/away", 8, 0, "302"},
		{server.URL + "/gone?hm=" + secret, 8, 0, "404"},
		{another.URL + "/file", 8, 8, ""},
		{elsewhere + "/file?hm=" + secret, 8, 0, "Discord's own hosts"},
		{"http://cdn.discordapp.com/file", 8, 0, "Discord's own hosts"},
		{"https://cdn.discordapp.com.example.org/", 8, 0, "Discord's own hosts"},
		{"https://u:p@cdn.discordapp.com:444/", 8, 0, "Discord's own hosts"},
		{"file:///etc/passwd", 8, 0, "Discord's own hosts"},
		{"\x00" + secret, 8, 0, "cannot be read"},
	} {
		content, size, err := c.Download(t.Context(), test.url, test.limit)
		if err == nil && test.size == 0 {
			t.Errorf("%s was begun to be read", test.url)
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(content)
			content.Close()
		}
		switch {
		case test.want == "":
			if err != nil || string(data) != "contents" || size != test.size {
				t.Errorf("%s gave %q, %d, %v", test.url, data, size, err)
			}
		case err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret):
			t.Errorf("%s gave %v, want %q", test.url, err, test.want)
		}
	}
	server.Close()
	if _, _, err := c.Download(t.Context(), server.URL+"/file?hm="+secret, 8); !Passing(err) || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	for _, url := range []string{"https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", "https://media.discordapp.net/stickers/1.gif"} {
		if request, _ := http.NewRequest("GET", url, nil); c.mayLoad(request.URL) != nil {
			t.Errorf("%s is not loaded", url)
		}
	}
}

// What answers come on real connections: the bodies, and the lists within objects.
func TestOverHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Reset", "nonsense")
		w.Header().Set("X-RateLimit-Reset-After", "nonsense")
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v10/gateway/bot":
			fmt.Fprint(w, `{"url":"wss://x","session_start_limit":{"total":1000,"remaining":7}}`)
		case "POST /api/v10/users/@me/channels":
			var body map[string]string
			_ = json.NewDecoder(r.Body).Decode(&body)
			fmt.Fprintf(w, `{"id":"%s"}`, body["recipient_id"])
		case "DELETE /api/v10/channels/1/messages/2", "POST /api/v10/channels/1/typing":
			w.WriteHeader(http.StatusNoContent)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	c, err := New(Config{Token: botToken, Base: server.URL + "/api/"})
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := c.Gateway(t.Context())
	if err != nil || gateway.URL != "wss://x" || gateway.Limit.Remaining != 7 {
		t.Errorf("the gateway is %+v, %v", gateway, err)
	}
	dm, err := c.DM(t.Context(), "42")
	if err != nil || dm.ID != "42" {
		t.Errorf("the DM is %+v, %v", dm, err)
	}
	if err := errors.Join(c.Delete(t.Context(), "1", "2"), c.Typing(t.Context(), "1")); err != nil {
		t.Error(err)
	}
	if _, err := c.Channel(t.Context(), "1"); Gone(err) || Passing(err) || Code(err) != pluginsdk.CodeNotFound {
		t.Errorf("a 404 that is not Discord's is %v, %s", err, Code(err))
	}
	server.Close()
	if _, err := c.DM(t.Context(), "42"); !Passing(err) || strings.Contains(err.Error(), botToken) {
		t.Errorf("got %v", err)
	}
}
