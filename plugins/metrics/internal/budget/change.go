package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// change is what `set` says: what it leaves out stays as it is, or is as usual.
type change struct {
	name   string
	usd    float64 // 0: it is not said; so are the next two
	tokens float64
	share  float64
	window Window
	scope  Scope
	soft   *bool
}

// parseChange reads NAME AMOUNT [tokens] [day|week|month|ever] [SCOPE] [soft|hard]. The amount is dollars, tokens (2M
// tokens, or --tokens 2M) or a share of a plan's windows (50%, or --window-share 50%).
func parseChange(text string) (change, error) {
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "--tokens":
			words[i], words[i+1] = words[i+1], "tokens"
		case "--window-share":
			words[i] = strings.TrimSuffix(words[i+1], "%") + "%"
			words = slices.Delete(words, i+1, i+2)
		}
	}
	if len(words) < 2 {
		return change{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "say it so: budget %s, as in: budget set daily 40 day", setUsage)
	}
	c := change{name: words[0]}
	if !budgetName.MatchString(c.name) {
		return c, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%.100q is no name of a budget: it has 1 to 40 characters, a to z, 0 to 9 and -, such as daily", c.name)
	}
	said := make(map[string]string) // what was said of each thing: nothing can be said twice
	for words = words[1:]; len(words) > 0; {
		word, next := words[0], ""
		if words = words[1:]; len(words) > 0 {
			next = words[0]
		}
		if next == "tokens" {
			word, words = word+" tokens", words[1:]
		}
		what, err := c.take(word)
		if err == nil && said[what] != "" {
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q and %q: a budget has one %s", said[what], word, what)
		}
		if err != nil {
			return c, err
		}
		said[what] = word
	}
	return c, nil
}

// take takes one word of what was said, or an amount of tokens, and returns what it is.
func (c *change) take(word string) (what string, err error) {
	count, isTokens := strings.CutSuffix(word, " tokens")
	switch {
	case isTokens:
		c.tokens, err = tokenCount(count)
		return "amount", err
	case word == "tokens":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "say how many tokens, as in: budget set %s 2M tokens", c.name)
	case strings.HasSuffix(word, "%"):
		c.share, err = percent(word)
		return "amount", err
	case word == "soft" || word == "hard":
		soft := word == "soft"
		c.soft = &soft
		return "word on what happens when it is used up", nil
	case slices.Contains(windows, Window(word)):
		c.window = Window(word)
		return "window", nil
	case strings.HasPrefix(word, "$") || word[0] >= '0' && word[0] <= '9' || word[0] == '-' || word[0] == '.':
		if c.usd, err = amount(word); err != nil {
			if _, known := tokenCount(word); known == nil && strings.ContainsAny(word, "kKmMG") {
				err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no amount in dollars; for tokens say: budget set %s %s tokens", word, c.name, word)
			}
		}
		return "amount", err
	}
	if kind, _, named := strings.Cut(word, "="); !named && !slices.Contains(scopeKinds, ScopeKind(kind)) {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%.100q is not understood. Behind NAME and AMOUNT there can be the unit tokens, a window (day, week, month, ever), "+
			"what it counts (all, billed, thread=ID, task=ID, cron=NAME, plugin=NAME, account=NAME), and soft or hard: budget %s", word, setUsage)
	}
	c.scope, err = parseScope(word)
	return "scope", err
}

// amount reads $25 or 25.50.
func amount(word string) (float64, error) {
	usd, err := strconv.ParseFloat(strings.TrimPrefix(word, "$"), 64)
	if err != nil || math.IsNaN(usd) || usd < 0.01 || usd > 1e6 {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no amount of a budget: it is in US dollars, from $0.01 to $1000000, such as 25", word)
	}
	return usd, nil
}

// percent reads 50%.
func percent(word string) (float64, error) {
	share, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
	if err != nil || !(share >= 1 && share <= 100) {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no share of a plan's window: it is from 1%% to 100%%, such as 50%%", word)
	}
	return share, nil
}

// tokenCount reads 2M, 500k or 250000.
func tokenCount(word string) (float64, error) {
	digits, factor := word, 1.0
	for suffix, times := range map[string]float64{"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "G": 1e9} {
		if rest, is := strings.CutSuffix(word, suffix); is {
			digits, factor = rest, times
		}
	}
	count, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(count*factor >= 1000 && count*factor <= 1e12) {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no number of tokens for a budget: it is from 1k to 1000G, such as 500k or 2M", word)
	}
	return math.Round(count * factor), nil
}

// put returns the budgets with the change.
func (c change) put(all []Budget, by string, now time.Time) ([]Budget, Budget, error) {
	all = slices.Clone(all)
	i := slices.IndexFunc(all, func(b Budget) bool { return b.Name == c.name })
	if i < 0 {
		switch {
		case c.usd+c.tokens+c.share == 0:
			return nil, Budget{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "there is no budget %q yet: say its amount, as in: budget set %s 25 day", c.name, c.name)
		case len(all) >= most:
			return nil, Budget{}, pluginsdk.Errorf(pluginsdk.CodeExhausted, "there are %d budgets, and can be no more: remove one with budget rm NAME", most)
		}
		all = append(all, Budget{Name: c.name, Window: Day, Scope: Scope{Kind: All}})
		i = len(all) - 1
	}
	one := &all[i]
	if c.usd+c.tokens+c.share > 0 {
		one.USD, one.Tokens, one.Share = c.usd, c.tokens, c.share
	}
	if c.window != "" {
		one.Window = c.window
	}
	if c.scope.Kind != "" {
		one.Scope = c.scope
	}
	if c.soft != nil {
		one.Soft = *c.soft
	}
	switch {
	case one.USD > 0 && one.Tokens > 0 || one.USD+one.Tokens > 0 && one.Share > 0:
		return nil, Budget{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "a budget has one amount: dollars, tokens, or a share of the plan's windows")
	case one.Share > 0 && c.window != "":
		return nil, Budget{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q: a share is of each of the plan's own windows, and takes none; leave that word out", c.window)
	case one.Share > 0 && one.Soft:
		return nil, Budget{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "a share of the plan's windows is never soft: people are told at 75 and 90 %% of a window anyway")
	}
	one.By, one.At = by, now.UTC()
	return all, *one, nil
}
