package wire

import (
	"strconv"
	"time"
)

// epoch is the first second of 2015, from which Discord counts.
const epoch = 1420070400000

// Later reports whether the snowflake a was made after b. What is no snowflake is before
// all of them.
// Source: reference#snowflakes.
func Later(a, b string) bool { return number(a) > number(b) }

// TimeOf is when a snowflake was made; zero for what is none.
func TimeOf(id string) time.Time {
	n := number(id)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + epoch)
}

// IDAt is the first snowflake of a moment: messages after it are those that were written
// then or later.
// Source: reference#snowflake-ids-in-pagination.
func IDAt(t time.Time) string {
	since := t.UnixMilli() - epoch
	if since < 0 {
		return "0"
	}
	return strconv.FormatUint(uint64(since)<<22, 10)
}

// Before is the snowflake before another one: what comes after it begins with that one.
func Before(id string) string { return strconv.FormatUint(max(number(id), 1)-1, 10) }

// Snowflake reports whether the text can be an id of Discord's.
func Snowflake(text string) bool { return number(text) != 0 }

func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
