package fake

import (
	"slices"
	"strconv"
)

// page reads before, after, around and limit.
// Source: resources/message#get-channel-messages-query-string-params.
func (c *call) page(messages []*message) ([]*message, *refusal) {
	query := c.request.URL.Query()
	for key := range query {
		if !slices.Contains([]string{"before", "after", "around", "limit"}, key) {
			c.note(RuleUnknownField, "the parameter %q is not documented", key)
		}
	}
	limit := 50
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			c.fail("limit", RulePaging, "NUMBER_TYPE_RANGE", "int value should be between 1 and 100. (It is %s.)", text)
			return nil, c.refusal()
		}
		limit = n
	}
	given := 0
	at := make(map[string]uint64)
	for _, key := range []string{"before", "after", "around"} {
		if text := query.Get(key); query.Has(key) {
			given++
			at[key] = parseID(text)
			if at[key] == 0 && text != "0" {
				c.fail(key, RulePaging, "NUMBER_TYPE_COERCE", "Value %q is not snowflake.", text)
			}
		}
	}
	if given > 1 {
		c.note(RulePaging, "before, after and around are mutually exclusive")
	}
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	return pageOf(messages, at, limit), nil
}

// pageOf is the page of the messages, which are the oldest first, as Discord gives it: the
// newest first, and with "after" those that came soonest after it.
func pageOf(messages []*message, at map[string]uint64, limit int) []*message {
	var page []*message
	if pivot, ok := at["around"]; ok {
		middle := slices.IndexFunc(messages, func(m *message) bool { return parseID(m.id) >= pivot })
		if middle < 0 {
			middle = len(messages)
		}
		from := max(0, middle-limit/2)
		page = slices.Clone(messages[from:min(len(messages), from+limit)])
	} else if pivot, ok := at["after"]; ok {
		for _, m := range messages {
			if parseID(m.id) > pivot && len(page) < limit {
				page = append(page, m)
			}
		}
	} else {
		pivot, ok := at["before"]
		for _, m := range messages {
			if !ok || parseID(m.id) < pivot {
				page = append(page, m)
			}
		}
		page = page[max(0, len(page)-limit):]
	}
	slices.Reverse(page)
	return page
}
