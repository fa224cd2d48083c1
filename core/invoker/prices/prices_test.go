package prices

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func day(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func parse(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// one is a table with one price.
func one(fields string) string {
	return "{\n\"models\": [\n{\"model\": \"opus\", \"prices\": [\n{" + fields + "}]}]}"
}

func TestTheShippedTableSaysWhereItsPricesAreFrom(t *testing.T) {
	if Shipped().Checked.IsZero() || len(Shipped().Entries) == 0 {
		t.Fatal("the table is empty, or does not say when it was checked")
	}
	for _, entry := range Shipped().Entries {
		for _, price := range entry.Prices {
			if price.Source == "" || price.From.IsZero() || price.Input <= 0 || price.Output <= 0 || price.CacheRead <= 0 {
				t.Errorf("%s: %+v", entry.Model, price)
			}
		}
	}
}

// What an operator gets wrong is said with its line and field, and nothing of the file holds.
func TestAFileThatIsWrongIsRefusedWithItsLineAndField(t *testing.T) {
	const good = `"from": "2026-01-01", "input": 1, "output": 2, "source": "s"`
	for text, want := range map[string]string{
		"":                                  "line 1: the file is not JSON",
		"{\n\"models\": [\n}":               "line 3: the file is not JSON",
		"[]":                                "line 1: must be an object, got a list",
		`{"checked": "2026-01-01"}`:         "models is missing",
		"{\n\"model\": []}":                 "line 2: model: there is no such field; there are checked, models",
		`{"models": [], "checked": "soon"}`: `checked: must be a day such as 2006-01-31, got "soon"`,
		one(`"from": "2026-01-01", "input": NaN, "output": 2, "source": "s"`):   "line 4: the file is not JSON",
		one(`"from": "2026-01-01", "input": -1, "output": 2, "source": "s"`):    "line 4: models[0].prices[0].input: must be a number from 0 to 100000, got -1",
		one(`"from": "2026-01-01", "input": 1e999, "output": 2, "source": "s"`): "prices[0].input: must be a number",
		one(`"from": "2026-01-01", "input": "1", "output": 2, "source": "s"`):   `prices[0].input: must be a number from 0 to 100000, got "1"`,
		one(`"from": "2026-01-01", "input": 1, "input": 2, "output": 2`):        "prices[0].input: is there twice",
		one(`"from": "2026-01-01", "input": 1, "output": 2`):                    "models[0].prices[0]: source is missing",
		one(`"from": "2026-02-30", "input": 1, "output": 2, "source": "s"`):     `from: must be a day such as 2006-01-31, got "2026-02-30"`,
		one(good + `, "long": {"above": 1, "input": 1}`):                        "long: output is missing",
		one(good + "},\n{" + good):                                              "line 5: models[0].prices[1].from: two prices of one model hold from 2026-01-01 on",
		`{"models": [{"model": "a", "prices": []}]}`:                            "models[0].prices: has no price",
		`{"models": [{"model": " ", "prices": [{` + good + `}]}]}`:              "models[0].model: must be a text",
		`{"models": [{"model":"a","prices":[{` + good + `}]},{"model":"a"}]}`:   `models[1].model: "a" is there twice`,
		`{"models": null}`:                     "models: must be a list, got null",
		`{"models": ` + strings.Repeat("[", 9): "not JSON",
		`{"models": ` + strings.Repeat("[", 9) + strings.Repeat("]", 9) + "}": "deeper than 8",
		strings.Repeat("x", maxSize+1):                                        "more than 1024 KiB",
		strings.Repeat("{", maxSize):                                          "not JSON",
	} {
		table, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.100q: %v, want %q", text, err, want)
		}
		if table != nil {
			t.Errorf("%.100q: there is a table", text)
		}
	}
}

func TestAPriceHoldsFromItsDayOn(t *testing.T) {
	table := parse(t, `{"models": [
		{"model": "opus", "prices": [{"from": "2026-06-01", "input": 2, "output": 2, "source": "s"}, {"from": "2026-01-01", "input": 1, "output": 1, "source": "s"}]},
		{"model": "opus-9", "prices": [{"from": "2026-03-01", "input": 3, "output": 3, "source": "s"}]}]}`)
	for _, c := range []struct {
		model, at string
		want      float64
	}{
		{"claude-opus-1", "2020-01-01", 1}, {"claude-opus-1", "2026-05-31", 1}, {"claude-opus-1", "2026-06-01", 2}, {"claude-opus-1", "2027-01-01", 2},
		{"claude-opus-9", "2026-02-28", 1}, // the price of this version does not hold yet
		{"claude-opus-9", "2026-03-01", 3}, {"claude-opus-9", "2026-07-01", 3},
		{"claude-opus-9", "2020-01-01", 3}, // none holds yet: the first of the one that is meant
	} {
		if price, _, known := table.Of(c.model, day(t, c.at)); !known || price.Input != c.want {
			t.Errorf("%s on %s: %v (%t), want %v", c.model, c.at, price.Input, known, c.want)
		}
	}
	if _, _, known := table.Of("claude-sonnet", day(t, "2026-07-01")); known {
		t.Error("a model that is not in the table has a price")
	}
	if dearest, entry := table.Dearest(day(t, "2026-02-01")); entry.Model != "opus" || dearest.Input != 1 {
		t.Errorf("the dearest on a day is %s at %v, which does not hold yet", entry.Model, dearest.Input)
	}
}

// From the first day on that an operator has a price of a model, only the operator's hold, and all
// other models keep theirs.
func TestAnOperatorsPricesAreOverTheShippedOnes(t *testing.T) {
	base := parse(t, `{"checked": "2026-01-01", "models": [
		{"model": "opus", "prices": [{"from": "2026-01-01", "input": 1, "output": 1, "source": "s"}, {"from": "2026-06-01", "input": 2, "output": 2, "source": "s"}]},
		{"model": "haiku", "prices": [{"from": "2026-01-01", "input": 5, "output": 5, "source": "s"}]}]}`)
	table := base.over(parse(t, `{"models": [
		{"model": "opus", "prices": [{"from": "2026-03-01", "input": 9, "output": 9, "source": "own"}]},
		{"model": "mine", "prices": [{"from": "2026-03-01", "input": 7, "output": 7, "source": "own"}]}]}`))
	for _, c := range []struct {
		model, at string
		want      float64
	}{{"opus-1", "2026-02-01", 1}, {"opus-1", "2026-03-01", 9}, {"opus-1", "2026-12-01", 9}, {"haiku-1", "2026-12-01", 5}, {"mine-1", "2026-12-01", 7}} {
		if price, _, _ := table.Of(c.model, day(t, c.at)); price.Input != c.want {
			t.Errorf("%s on %s: %v, want %v", c.model, c.at, price.Input, c.want)
		}
	}
	if len(base.Entries) != 2 || len(base.Entries[0].Prices) != 2 || !table.Checked.Equal(base.Checked) {
		t.Errorf("the table below has changed: %+v", base)
	}
}

// A file is read when it has changed. One that cannot be read leaves the last good prices, and is
// said in the log once, not at each turn.
func TestABookFollowsItsFile(t *testing.T) {
	path, said := filepath.Join(t.TempDir(), FileName), &bytes.Buffer{}
	book := Open(path, slog.New(slog.NewTextHandler(said, nil)))
	input := func() float64 {
		price, _, _ := book.Table().Of("claude-opus-9", time.Now())
		return price.Input
	}
	if got := input(); got != 5 {
		t.Fatalf("without a file: %v", got)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one(`"from": "2026-01-01", "input": 8, "output": 9, "source": "own"`))
	if got := input(); got != 8 {
		t.Fatalf("after it was written: %v", got)
	}
	for name, spoil := range map[string]func(){
		"rubbish": func() { write(strings.Repeat("rubbish ", 1<<17)) },
		"a loop": func() {
			if err := os.Symlink(path, path); err != nil {
				t.Fatal(err)
			}
		},
		"a directory": func() {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		spoil()
		said.Reset()
		for range 3 {
			if got := input(); got != 8 {
				t.Errorf("%s: %v, want the last good price", name, got)
			}
		}
		if got := strings.Count(said.String(), "the operator's prices are not used"); got != 1 {
			t.Errorf("%s: said %d times:\n%s", name, got, said)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := input(); got != 5 {
		t.Errorf("after the file was taken away: %v", got)
	}
}
