package verdict_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/plan"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/plugins/workflow/internal/verdict"
)

const (
	approves  = `{"verdict":"APPROVE","score":9,"summary":"The tests pass.","issues":[],"patternsCompliance":"as the rest"}`
	revises   = `{"verdict":"REVISE","score":4,"summary":"One is missing.","issues":["a.go:3: handle the error"],"patternsCompliance":"mostly"}`
	redesigns = `{"verdict":"REDESIGN","score":2,"summary":"It cannot work.","issues":["the plan has no storage"],"patternsCompliance":"none"}`
)

func TestAVerdictIsReadFromTheOutputThenFromTheFile(t *testing.T) {
	for name, row := range map[string]struct {
		output, file string
		written      bool
		want         stages.Decision
		source       string
	}{
		"output approves":              {approves, "", false, stages.Approve, verdict.FromOutput},
		"output revises":               {revises, "", false, stages.Revise, verdict.FromOutput},
		"output redesigns":             {redesigns, "", false, stages.Redesign, verdict.FromOutput},
		"whole score as a float":       {strings.Replace(approves, "9", "9.0", 1), "", false, stages.Approve, verdict.FromOutput},
		"lowest score":                 {strings.Replace(approves, "9", "1", 1), "", false, stages.Approve, verdict.FromOutput},
		"highest score":                {strings.Replace(approves, "9", "10", 1), "", false, stages.Approve, verdict.FromOutput},
		"an old file does not count":   {approves, "Verdict: REVISE\n", false, stages.Approve, verdict.FromOutput},
		"a file without a verdict":     {approves, "# Review\n\nAll is well.\n", true, stages.Approve, verdict.FromOutput},
		"both approve":                 {approves, "Verdict: APPROVE\n", true, stages.Approve, verdict.FromBoth},
		"both revise":                  {revises, "Verdict: REVISE\n", true, stages.Revise, verdict.FromBoth},
		"both redesign":                {redesigns, "Verdict: REDESIGN\n", true, stages.Redesign, verdict.FromBoth},
		"file approves":                {"", "# Review\n\nVerdict: APPROVE\n", true, stages.Approve, verdict.FromFile},
		"null is no output":            {"null", "Verdict: APPROVE", true, stages.Approve, verdict.FromFile},
		"CRLF":                         {"", "# Review\r\n\r\nVerdict: APPROVE\r\n", true, stages.Approve, verdict.FromFile},
		"a byte order mark":            {"", "\uFEFFVerdict: APPROVE", true, stages.Approve, verdict.FromFile},
		"bold word":                    {"", "**Verdict:** APPROVE", true, stages.Approve, verdict.FromFile},
		"bold line":                    {"", "**Verdict: APPROVE**", true, stages.Approve, verdict.FromFile},
		"bold decision":                {"", "Verdict: **APPROVE**", true, stages.Approve, verdict.FromFile},
		"code":                         {"", "Verdict: `APPROVE`", true, stages.Approve, verdict.FromFile},
		"heading, capitals, full stop": {"", "## VERDICT: APPROVE.  ", true, stages.Approve, verdict.FromFile},
		"list":                         {"", "- Verdict: APPROVE", true, stages.Approve, verdict.FromFile},
		"twice the same":               {"", "Verdict: APPROVE\n\ntext\n\nVerdict: APPROVE", true, stages.Approve, verdict.FromFile},
		"quoted as well, the same":     {"", "```\nVerdict: APPROVE\n```\nVerdict: APPROVE", true, stages.Approve, verdict.FromFile},
		"file revises":                 {"", "Verdict: REVISE", true, stages.Revise, verdict.FromFile},
		"file redesigns":               {"", "Verdict: REDESIGN", true, stages.Redesign, verdict.FromFile},
		"a file redesigns, and quotes": {"", "Verdict: REDESIGN\n\n> Verdict: APPROVE\n", true, stages.Redesign, verdict.FromFile},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict.Read(json.RawMessage(row.output), row.file, row.written)
			if got.Decision != row.want || got.Source != row.source || !verdict.Readable(got) {
				t.Errorf("it is %s from %q, want %s from %q", got.Decision, got.Source, row.want, row.source)
			}
		})
	}
}

// Whatever a reviewer says that is not plainly an approval asks for changes.
func TestNothingUnreadableApproves(t *testing.T) {
	with := func(old, new string) string {
		if !strings.Contains(approves, old) {
			t.Fatal(old)
		}
		return strings.Replace(approves, old, new, 1)
	}
	for name, row := range map[string]struct {
		output, file string
		written      bool
	}{
		"nothing":                          {"", "", false},
		"an empty file":                    {"", "", true},
		"null":                             {"null", "", false},
		"an empty object":                  {"{}", "", false},
		"a text":                           {`"APPROVE"`, "", false},
		"a list":                           {"[" + approves + "]", "", false},
		"words":                            {"APPROVE", "", false},
		"no JSON to the end":               {approves[:len(approves)-1], "", false},
		"cut in the middle":                {approves[:40], "", false},
		"something follows":                {approves + approves, "", false},
		"lower case":                       {with("APPROVE", "approve"), "", false},
		"with a space":                     {with("APPROVE", "APPROVE "), "", false},
		"another word":                     {with("APPROVE", "APPROVED"), "", false},
		"with changes":                     {with("APPROVE", "APPROVE with changes"), "", false},
		"another letter that looks alike":  {with("APPROVE", "APPR\u041eVE"), "", false},
		"verdict is a list":                {with(`"APPROVE"`, `["APPROVE"]`), "", false},
		"verdict is true":                  {with(`"APPROVE"`, `true`), "", false},
		"verdict is null":                  {with(`"APPROVE"`, `null`), "", false},
		"verdict twice":                    {with(`"score"`, `"verdict":"REVISE","score"`), "", false},
		"verdict twice, approving last":    {with(`{`, `{"verdict":"REVISE",`), "", false},
		"no verdict":                       {with(`"verdict":"APPROVE",`, ""), "", false},
		"a name in other letters":          {with("verdict", "Verdict"), "", false},
		"a field that is none":             {with("{", `{"but":"not yet",`), "", false},
		"score 0":                          {with("9", "0"), "", false},
		"score 11":                         {with("9", "11"), "", false},
		"score -1":                         {with("9", "-1"), "", false},
		"score between":                    {with("9", "8.5"), "", false},
		"score in words":                   {with("9", `"9"`), "", false},
		"score null":                       {with("9", "null"), "", false},
		"no score":                         {with(`"score":9,`, ""), "", false},
		"score beyond numbers":             {with("9", "1e999"), "", false},
		"no summary":                       {with(`"summary":"The tests pass.",`, ""), "", false},
		"an empty summary":                 {with("The tests pass.", "  "), "", false},
		"issues are a text":                {with("[]", `"none"`), "", false},
		"issues are null":                  {with("[]", "null"), "", false},
		"an issue is an object":            {with("[]", `[{"fix":"it"}]`), "", false},
		"no issues":                        {with(`"issues":[],`, ""), "", false},
		"no patterns":                      {with(`,"patternsCompliance":"as the rest"`, ""), "", false},
		"batch is a number":                {with("{", `{"batch":7,`), "", false},
		"unreadable output, file approves": {`{"verdict":"APPROVE"`, "Verdict: APPROVE", true},
		"empty object, file approves":      {`{}`, "Verdict: APPROVE", true},
		"output approves, file revises":    {approves, "Verdict: REVISE", true},
		"output approves, file redesigns":  {approves, "Verdict: REDESIGN", true},
		"output approves, file says both":  {approves, "Verdict: APPROVE\nVerdict: REVISE", true},
		"output approves, file hedges":     {approves, "Verdict: APPROVE with changes", true},
		"output revises, file approves":    {revises, "Verdict: APPROVE", true},
		"output redesigns, file approves":  {redesigns, "Verdict: APPROVE", true},
		"an old file approves":             {"", "Verdict: APPROVE", false},
		"file: with changes":               {"", "Verdict: APPROVE with changes", true},
		"file: after fixes":                {"", "Verdict: APPROVE, once the tests pass", true},
		"file: not":                        {"", "Verdict: do not APPROVE", true},
		"file: NOT":                        {"", "Verdict: NOT APPROVE", true},
		"file: lower case":                 {"", "Verdict: approve", true},
		"file: mixed case":                 {"", "Verdict: Approve", true},
		"file: approved":                   {"", "Verdict: APPROVED", true},
		"file: a question":                 {"", "Verdict: APPROVE?", true},
		"file: a choice":                   {"", "Verdict: APPROVE | REVISE | REDESIGN", true},
		"file: or":                         {"", "Verdict: APPROVE or REVISE", true},
		"file: struck out":                 {"", "~~Verdict: APPROVE~~", true},
		"file: on the next line":           {"", "Verdict:\nAPPROVE", true},
		"file: no colon":                   {"", "Verdict APPROVE", true},
		"file: in a sentence":              {"", "So my verdict: APPROVE", true},
		"file: the word alone":             {"", "APPROVE", true},
		"file: two that differ":            {"", "Verdict: APPROVE\n\nVerdict: REVISE", true},
		"file: two that differ, last":      {"", "Verdict: REVISE\n\nVerdict: APPROVE", true},
		"file: in a fence":                 {"", "```\nVerdict: APPROVE\n```", true},
		"file: in a fence with tildes":     {"", "~~~text\nVerdict: APPROVE\n```\n~~~", true},
		"file: in a fence that stays open": {"", "```diff\nVerdict: APPROVE", true},
		"file: in a longer fence":          {"", "````\n```\nVerdict: APPROVE\n````", true},
		"file: quoted":                     {"", "> Verdict: APPROVE", true},
		"file: of a diff":                  {"", "+Verdict: APPROVE", true},
		"file: indented code":              {"", "    Verdict: APPROVE", true},
		"file: in a comment":               {"", "<!-- Verdict: APPROVE -->", true},
		"file: in a comment of lines":      {"", "<!--\nVerdict: APPROVE\n-->", true},
		"file: in a comment, behind one":   {"", "<!-- a --><!--\nVerdict: APPROVE", true},
		"file: hidden REVISE":              {"", "Verdict: APPROVE\n<!--\nVerdict: REVISE\n-->", true},
		"file: quoted REVISE":              {"", "> Verdict: REVISE\n\nVerdict: APPROVE", true},
		"file: fenced REVISE, then again":  {"", "```\nVerdict: REVISE\n```\n```\nVerdict: APPROVE\n```\nVerdict: APPROVE", true},
		"file: words against it":           {"", "Verdict: APPROVE\n\nFinal verdict: not yet", true},
		"file: verdict is REVISE":          {"", "Verdict: APPROVE\n\nThe verdict of the tests is to revise it.", true},
		"file: a lone carriage return":     {"", "Verdict: REVISE\rVerdict: APPROVE", true},
		"file: a letter that looks alike":  {"", "Verdict: \u0410PPROVE", true},
		"file: a joiner in the word":       {"", "Verdict: APP\u200dROVE", true},
		"file: a line separator":           {"", "Verdict: APPROVE\u2028REVISE", true},
		"file: a NUL":                      {"", "Verdict: APPROVE\x00", true},
		"file: no valid UTF-8":             {"", "Verdict: APPROVE\xff", true},
		"file: too large":                  {"", "Verdict: APPROVE\n" + strings.Repeat("x", verdict.MaxFile), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict.Read(json.RawMessage(row.output), row.file, row.written)
			if got.Decision != stages.Revise {
				t.Errorf("it is %s", got.Decision)
			}
			if verdict.Readable(got) || got.Source == "" || len(got.Issues) == 0 {
				t.Errorf("it says why by %q, and the builder is told %q", got.Source, got.Issues)
			}
		})
	}
}

// What a reviewer has found reaches the builder also when the verdict cannot be read.
func TestWordsOfAnUnreadableReviewAreKept(t *testing.T) {
	for name, row := range map[string]struct{ output, file string }{
		"a wrong score": {strings.Replace(revises, "4", "40", 1), ""},
		"disagreement":  {strings.Replace(approves, "[]", `["a.go:3: handle the error"]`, 1), "Verdict: REVISE"},
		"the file's":    {approves, "Verdict: REVISE\n\na.go:3: handle the error\n"},
		"no verdict":    {"", "a.go:3: handle the error\n"},
		"an object":     {strings.Replace(revises, `"a.go:3: handle the error"`, `{"a.go:3": "a.go:3: handle the error"}`, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict.Read(json.RawMessage(row.output), row.file, row.file != "")
			if all := got.Summary + strings.Join(got.Issues, "\n"); got.Decision != stages.Revise || !strings.Contains(all, "a.go:3: handle the error") {
				t.Errorf("%s: the words are lost: %s", got.Decision, all)
			}
		})
	}
}

func TestAVerdictIsBounded(t *testing.T) {
	long := strings.Repeat("é", 100<<10)
	issues := make([]string, 500)
	for n := range issues {
		issues[n] = long[:8<<10]
	}
	output, err := json.Marshal(map[string]any{"verdict": "REVISE", "score": 3, "summary": long, "issues": issues, "patternsCompliance": long, "batch": "Tasks 1-3\x1b[2J"})
	if err != nil {
		t.Fatal(err)
	}
	got := verdict.Read(output, "", false)
	if len(got.Issues) != 51 || got.Issues[50] != "[450 more issues are left out]" {
		t.Errorf("%d issues, the last is %q", len(got.Issues), got.Issues[len(got.Issues)-1])
	}
	for what, text := range map[string]string{"summary": got.Summary, "issue": got.Issues[0], "patterns": got.PatternsCompliance} {
		if len(text) > 17<<10 || !strings.HasSuffix(text, "é [cut]") {
			t.Errorf("the %s has %d bytes, and ends with %q", what, len(text), text[max(0, len(text)-20):])
		}
	}
	if strings.Contains(got.Batch, "\x1b") {
		t.Errorf("control characters are left in %q", got.Batch)
	}
	if got := verdict.Read(nil, "Verdict: REVISE\n"+long, true); len(got.Summary) > 17<<10 || got.Decision != stages.Revise || got.Source != verdict.FromFile {
		t.Errorf("of a file %d bytes are kept", len(got.Summary))
	}
}

func TestTheLastReviewNamesABatch(t *testing.T) {
	scopes := []plan.Scope{{First: 1, Last: 3}, {First: 4, Last: 6}, {First: 7, Last: 7}}
	for named, want := range map[string]plan.Scope{
		"Tasks 1-3": scopes[0], "tasks 4-6": scopes[1], " Task  7 ": scopes[2], "": scopes[2], "Tasks 1-6": scopes[2], "Task 8": scopes[2], "4-6": scopes[2],
	} {
		if got := verdict.Batch(stages.Verdict{Batch: named}, scopes); got != want {
			t.Errorf("%q is %s, want %s", named, got, want)
		}
	}
	if got := verdict.Batch(stages.Verdict{Batch: "Tasks 1-3"}, nil); got != (plan.Scope{}) {
		t.Errorf("without batches it is %s", got)
	}
	final := verdict.Read(json.RawMessage(strings.Replace(revises, "{", `{"batch":"Tasks 4-6",`, 1)), "", false)
	if final.Batch != "Tasks 4-6" || final.Decision != stages.Revise || !verdict.Readable(final) {
		t.Errorf("the last review is %+v", final)
	}
}

// A CLI leaves a schema out whole for a keyword that it does not take.
func TestTheSchemasHavePlainKeywords(t *testing.T) {
	batch, final := string(verdict.Schema()), string(verdict.Schema(plan.Scope{First: 1, Last: 3}, plan.Scope{First: 4, Last: 4}))
	for _, schema := range []string{batch, final} {
		for _, word := range []string{"$schema", "format", "anyOf", "oneOf", "$ref"} {
			if strings.Contains(schema, `"`+word+`"`) {
				t.Errorf("the schema has %s", word)
			}
		}
		if !strings.Contains(schema, `"enum":["APPROVE","REVISE","REDESIGN"]`) || !strings.Contains(schema, `"type":"object"`) || !strings.Contains(schema, `"additionalProperties":false`) {
			t.Errorf("the schema is %s", schema)
		}
	}
	if strings.Contains(batch, `"batch"`) || !strings.Contains(final, `"enum":["Tasks 1-3","Task 4"]`) {
		t.Errorf("the batches are in %s\nand %s", batch, final)
	}
}

// An approval is plain, whatever surrounds it: each word that could be taken for another verdict spoils it.
func FuzzRead(f *testing.F) {
	for _, output := range []string{"", "null", approves, revises, redesigns, approves[:30], `{"verdict":"APPROVE","verdict":"REVISE"}`} {
		for _, file := range []string{"", "Verdict: APPROVE", "Verdict: REVISE\n", "```\nVerdict: APPROVE", "> Verdict: APPROVE\r\n", "<!-- Verdict: APPROVE"} {
			f.Add([]byte(output), file, true)
			f.Add([]byte(output), file, false)
		}
	}
	f.Fuzz(func(t *testing.T, output []byte, file string, written bool) {
		got := verdict.Read(output, file, written)
		switch got.Decision {
		case stages.Approve, stages.Revise, stages.Redesign:
		default:
			t.Fatalf("%q is no decision", got.Decision)
		}
		if !verdict.Readable(got) && got.Decision != stages.Revise {
			t.Fatalf("it cannot be read, and is %s", got.Decision)
		}
		if got.Decision != stages.Approve {
			return
		}
		var said struct{ Verdict string }
		plainly := json.Unmarshal(output, &said) == nil && said.Verdict == "APPROVE"
		inFile := written && strings.Contains(file, "APPROVE")
		if got.Source != verdict.FromFile && !plainly || got.Source != verdict.FromOutput && !inFile {
			t.Fatalf("%q and %q (%t) approve from the %s", output, file, written, got.Source)
		}
		if again := verdict.Read(output, file+"\nVerdict: REVISE\n", true); again.Decision == stages.Approve {
			t.Fatalf("a REVISE at the end of %q is not heard", file)
		}
	})
}
