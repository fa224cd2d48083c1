package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What caps and budgets go by can be read, with the day of each price, before it holds too.
func TestUsagePricesShowsTheTableInForce(t *testing.T) {
	data := isolate(t)
	got := harness(t, "", "usage", "prices")
	if got.code != 0 || !strings.Contains(got.out, "Only the shipped prices: there is no "+filepath.Join(data, "prices.json")) || !strings.Contains(got.out, "of prompts above 100000 tokens") {
		t.Errorf("without a file: %+v", got)
	}
	tomorrow := time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(data, "prices.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"models": [{"model": "sonnet-5", "prices": [{"from": "` + tomorrow + `", "input": 33, "output": 44, "source": "contract\u001b[31m"}]}]}`)
	got = harness(t, "", "usage", "prices")
	if got.code != 0 || !strings.Contains(got.out, tomorrow+" (not yet)  33 ") || strings.Contains(got.out, "\x1b") || !strings.Contains(got.out, "With the prices in ") {
		t.Errorf("with a file: %+v", got)
	}
	write(`{"models": 1}`)
	if got := harness(t, "", "usage", "prices"); got.code != exitFailed || !strings.Contains(got.err, "line 1: models: must be a list, got 1") {
		t.Errorf("with a wrong file: %+v", got)
	}
	if got := harness(t, "", "usage", "prices", "--server", "https://harness.example.org"); got.code != exitUsage {
		t.Errorf("elsewhere: %+v", got)
	}
}
