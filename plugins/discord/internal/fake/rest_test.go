package fake_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
)

func (s *setup) post(body object) answer {
	s.t.Helper()
	return s.do("POST", "/channels/"+s.channel+"/messages", body)
}

func TestANonceMakesOneMessageForSomeMinutes(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	send := func(nonce any, text string, enforce bool) any {
		return s.post(object{"content": text, "nonce": nonce, "enforce_nonce": enforce}).at("id")
	}
	first := send("a", "one", true)
	if again := send("a", "another text", true); again != first {
		t.Errorf("the same nonce made another message")
	}
	if other := send("b", "one", true); other == first {
		t.Errorf("another nonce made the same message")
	}
	if loose := send("a", "one", false); loose == first {
		t.Errorf("a nonce that is not enforced was")
	}
	s.Advance(4 * time.Minute)
	if late := send("a", "one", true); late == first {
		t.Errorf("a nonce was remembered for more than a few minutes")
	}
	if got := len(s.Messages(s.channel)); got != 4 {
		t.Errorf("there are %d messages, not 4", got)
	}
	if a := s.post(object{"content": "x", "nonce": strings.Repeat("n", 26)}); a.status != 400 || !slices.Equal(s.rules(), []string{fake.RuleNonce}) {
		t.Errorf("a nonce of 26 characters: %v %v", a, s.rules())
	}
}

func TestMessagesThatAreRefused(t *testing.T) {
	button := func(id, label string) object {
		return object{"type": 2, "style": 1, "custom_id": id, "label": label}
	}
	row := func(buttons ...object) object { return object{"type": 1, "components": buttons} }
	for name, test := range map[string]struct {
		body object
		rule string // "" is taken
		code float64
	}{
		"2000 characters":           {object{"content": strings.Repeat("é", 2000)}, "", 0},
		"1000 of two units":         {object{"content": strings.Repeat("😀", 1000)}, "", 0},
		"1001 of two units":         {object{"content": strings.Repeat("😀", 1001)}, fake.RuleContentLength, 50035},
		"nothing":                   {object{}, fake.RuleEmptyMessage, 50006},
		"white space":               {object{"content": " \n "}, fake.RuleEmptyMessage, 50006},
		"an unknown field":          {object{"content": "x", "mentions": []string{"1"}}, fake.RuleUnknownField, 0},
		"null":                      {object{"content": "x", "embeds": nil, "components": nil}, "", 0},
		"an ephemeral message":      {object{"content": "x", "flags": 64}, fake.RuleFlags, 0},
		"suppressed embeds":         {object{"content": "x", "flags": 4}, "", 0},
		"mentions parsed and named": {object{"content": "x", "allowed_mentions": object{"parse": []string{"users"}, "users": []string{"1"}}}, fake.RuleAllowedMentions, 50035},
		"mentions of a wrong kind":  {object{"content": "x", "allowed_mentions": object{"parse": []string{"here"}}}, fake.RuleAllowedMentions, 50035},
		"two ids that are the same": {object{"content": "x", "components": []object{row(button("a", "A"), button("a", "B"))}}, fake.RuleCustomID, 50035},
		"six buttons": {object{"content": "x", "components": []object{row(button("a", "A"), button("b", "B"), button("c", "C"),
			button("d", "D"), button("e", "E"), button("f", "F"))}}, fake.RuleComponents, 50035},
		"a long label":          {object{"content": "x", "components": []object{row(button("a", strings.Repeat("l", 81)))}}, fake.RuleComponents, 50035},
		"a button without row":  {object{"content": "x", "components": []object{button("a", "A")}}, fake.RuleComponents, 50035},
		"a row with one button": {object{"content": "x", "components": []object{row(button("a", "A"))}}, "", 0},
		"a long embed":          {object{"embeds": []object{{"description": strings.Repeat("d", 4097)}}}, fake.RuleEmbeds, 50035},
		"embeds of 6001": {object{"embeds": []object{{"description": strings.Repeat("d", 4000)}, {"description": strings.Repeat("d", 2001)}}},
			fake.RuleEmbeds, 50035},
		"a reply to nothing":    {object{"content": "x", "message_reference": object{"message_id": "17"}}, "", 50035},
		"a reply that may fail": {object{"content": "x", "message_reference": object{"message_id": "17", "fail_if_not_exists": false}}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, fake.Config{})
			a := s.post(test.body)
			code, _ := a.at("code").(float64)
			if code != test.code || (a.status == 200) != (test.code == 0) {
				t.Errorf("the answer is %v", a)
			}
			if rules := s.rules(); test.rule == "" && rules != nil || test.rule != "" && !slices.Equal(rules, []string{test.rule}) {
				t.Errorf("the breaches are %v", s.Breaches())
			}
		})
	}
}

func TestWhomAMessageNotifies(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	role := s.AddRole(fake.NewRole{Guild: s.guild, Name: "all"})
	id := s.Say(fake.Said{Channel: s.channel, By: s.anna, Text: "hi"})
	text := fmt.Sprintf("<@%s> <@&%s> @here", s.anna, role)
	for name, test := range map[string]struct {
		allowed any
		want    string
	}{
		"nothing said": {nil, fmt.Sprintf("{true [%s] [%s] %s}", s.anna, role, s.anna)},
		"nobody":       {object{"parse": []string{}}, "{false [] [] }"},
		"empty":        {object{}, "{false [] [] }"},
		"one user":     {object{"users": []string{s.anna}}, fmt.Sprintf("{false [%s] [] }", s.anna)},
		"the replied":  {object{"replied_user": true}, fmt.Sprintf("{false [] [] %s}", s.anna)},
		"roles":        {object{"parse": []string{"roles"}}, fmt.Sprintf("{false [] [%s] }", role)},
	} {
		body := object{"content": text, "message_reference": object{"message_id": id}}
		if test.allowed != nil {
			body["allowed_mentions"] = test.allowed
		}
		s.post(body)
		said := s.Messages(s.channel)
		if got := fmt.Sprint(said[len(said)-1].Pinged); got != test.want {
			t.Errorf("%s: notified are %s, not %s", name, got, test.want)
		}
	}
}

func TestPagesOfMessages(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	var ids []string
	for i := range 7 {
		ids = append(ids, s.Say(fake.Said{Channel: s.channel, Text: fmt.Sprint(i)}))
	}
	for query, want := range map[string]string{
		"":                               "6543210",
		"?limit=3":                       "654",
		"?limit=2&before=" + ids[3]:      "21",
		"?limit=2&after=" + ids[3]:       "54", // the soonest after it, the newest first
		"?after=0&limit=2":               "10",
		"?around=" + ids[3] + "&limit=3": "432",
		"?after=" + ids[6]:               "",
	} {
		a := s.do("GET", "/channels/"+s.channel+"/messages"+query, nil)
		got := ""
		for _, m := range a.body.([]any) {
			got += m.(object)["content"].(string)
		}
		if got != want {
			t.Errorf("%q gave %q, not %q", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?after=x"} {
		if a := s.do("GET", "/channels/"+s.channel+"/messages"+query, nil); a.status != 400 {
			t.Errorf("%q was taken", query)
		}
	}
}

// upload posts a message with a file and returns the status of the answer.
func (s *setup) upload(data []byte) int {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("payload_json", `{"content":"see","attachments":[{"id":0,"description":"a table"}]}`)
	part, err := form.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="files[0]"; filename="a.csv"`}, "Content-Type": {"text/csv"}})
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = part.Write(data)
	_ = form.Close()
	r, err := http.NewRequest("POST", s.base+"/api/v10/channels/"+s.channel+"/messages", &body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"User-Agent": {"DiscordBot (https://example.org, 1)"}, "Authorization": {"Bot token"}, "Content-Type": {form.FormDataContentType()}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestFilesComeAndGo(t *testing.T) {
	s := start(t, fake.Config{})
	if status := s.upload([]byte("1,2")); status != 200 {
		t.Fatalf("the answer is %d", status)
	}
	said := s.Messages(s.channel)
	if len(said) != 1 || len(said[0].Files) != 1 || string(said[0].Files[0].Data) != "1,2" || s.rules() != nil {
		t.Fatalf("people see %+v, and the breaches are %v", said, s.Breaches())
	}
	a := s.do("GET", "/channels/"+s.channel+"/messages/"+said[0].ID, nil)
	file := a.at("attachments").([]any)[0].(object)
	url := file["url"].(string)
	if got := get(t, url); got != "200 1,2" || file["description"] != "a table" {
		t.Errorf("the file is %q %v", got, file)
	}
	if got := get(t, url[:strings.Index(url, "?")]); !strings.HasPrefix(got, "404") {
		t.Errorf("without its signature the file is %q", got)
	}
	if got := get(t, strings.Replace(url, "hm=", "hm=0", 1)); !strings.HasPrefix(got, "404") {
		t.Errorf("with another signature the file is %q", got)
	}
	s.do("PATCH", "/channels/"+s.channel+"/messages/"+said[0].ID, object{"attachments": []any{}})
	if said := s.Messages(s.channel); len(said[0].Files) != 0 {
		t.Errorf("the file stayed")
	}
	if status := s.upload(make([]byte, 10<<20+1)); status != 413 || !slices.Equal(s.rules(), []string{fake.RuleFiles}) {
		t.Errorf("more than 10 MiB: %d %v", status, s.rules())
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(data))
}

func TestWhatTheBotMayNot(t *testing.T) {
	s := start(t, fake.Config{NoLimits: true})
	foreign := s.Say(fake.Said{Channel: s.channel, Text: "x"})
	dm := s.do("POST", "/users/@me/channels", object{"recipient_id": s.anna}).at("id").(string)
	expect := func(name, method, path string, body any, status int, code float64) {
		t.Helper()
		if a := s.do(method, path, body); a.status != status || a.at("code") != code {
			t.Errorf("%s: %v", name, a)
		}
	}
	message := object{"content": "x"}
	expect("an unknown channel", "POST", "/channels/17/messages", message, 404, 10003)
	expect("an unknown message", "PATCH", "/channels/"+s.channel+"/messages/17", message, 404, 10008)
	expect("somebody's message", "PATCH", "/channels/"+s.channel+"/messages/"+foreign, message, 403, 50005)
	expect("to take it away", "DELETE", "/channels/"+s.channel+"/messages/"+foreign, nil, 403, 50013)
	s.Deny(s.channel, fake.MaySend)
	expect("to write", "POST", "/channels/"+s.channel+"/messages", message, 403, 50013)
	s.Deny(s.channel, fake.MayView)
	expect("to read", "GET", "/channels/"+s.channel+"/messages", nil, 403, 50001)
	if a := s.do("POST", "/channels/"+dm+"/messages", message); a.status != 200 {
		t.Errorf("a direct message: %v", a)
	}
	s.CloseDM(s.anna, true)
	expect("who takes no messages", "POST", "/channels/"+dm+"/messages", message, 403, 50007)
	s.SetToken("other")
	expect("another token", "GET", "/users/@me", nil, 401, 0)
}
