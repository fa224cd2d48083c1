package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// object is a JSON object, as it is received and sent.
type object = map[string]any

// check judges a body. What it finds are breaches; those that Discord refuses are
// collected into one answer with a path to each.
type check struct {
	note   func(rule, format string, args ...any)
	errors object
}

// fail refuses what is at the path, whose steps are separated by points.
func (c *check) fail(path, rule, code, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.note(rule, "%s: %s", path, text)
	if c.errors == nil {
		c.errors = object{}
	}
	at := c.errors
	for step := range strings.SplitSeq(path, ".") {
		if step == "" {
			continue
		}
		next, ok := at[step].(object)
		if !ok {
			next = object{}
			at[step] = next
		}
		at = next
	}
	list, _ := at["_errors"].([]any)
	at["_errors"] = append(list, object{"code": code, "message": text})
}

// refusal is the answer to what was found; nil when nothing is refused.
func (c *check) refusal() *refusal {
	if c.errors == nil {
		return nil
	}
	return &refusal{status: 400, code: 50035, text: "Invalid Form Body", errors: c.errors}
}

// known notes fields that the documentation does not list, unless nothing is in them.
// Discord ignores them.
func (c *check) known(path string, o object, fields ...string) {
	for field, value := range o {
		nothing := value == nil || value == "" || value == false || value == json.Number("0")
		if list, ok := value.([]any); ok {
			nothing = len(list) == 0
		}
		if !nothing && !slices.Contains(fields, field) {
			c.note(RuleUnknownField, "%s: the field %q is not documented there", path, field)
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// units counts text as Discord does.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// text is a text field with its limits; null and absent are the empty text, which is only
// refused when least is above 0.
func (c *check) text(o object, path, key string, least, most int, rule string) string {
	value, present := o[key]
	if !present || value == nil {
		if least > 0 {
			c.fail(join(path, key), rule, "BASE_TYPE_REQUIRED", "This field is required")
		}
		return ""
	}
	text, ok := value.(string)
	if !ok {
		c.fail(join(path, key), rule, "STRING_TYPE_CONVERT", "Could not interpret %v as string.", value)
		return ""
	}
	if n := units(text); n < least || n > most {
		if least == 0 {
			c.fail(join(path, key), rule, "BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length. (It has %d.)", most, n)
		} else {
			c.fail(join(path, key), rule, "BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length. (It has %d.)", least, most, n)
		}
	}
	return text
}

// number is a whole number with its limits, and whether it was there.
func (c *check) number(o object, path, key string, least, most int, rule string) (int, bool) {
	value, present := o[key]
	if !present || value == nil {
		return 0, false
	}
	number, ok := value.(json.Number)
	if !ok {
		c.fail(join(path, key), rule, "NUMBER_TYPE_COERCE", "Value %v is not int.", value)
		return 0, false
	}
	n, err := strconv.Atoi(number.String())
	if err != nil {
		c.fail(join(path, key), rule, "NUMBER_TYPE_COERCE", "Value %v is not int.", value)
		return 0, false
	}
	if n < least || n > most {
		c.fail(join(path, key), rule, "NUMBER_TYPE_RANGE", "int value should be between %d and %d. (It is %d.)", least, most, n)
	}
	return n, true
}

// flag is a boolean; null and absent are false.
func (c *check) flag(o object, path, key, rule string) bool {
	value, present := o[key]
	if !present || value == nil {
		return false
	}
	flag, ok := value.(bool)
	if !ok {
		c.fail(join(path, key), rule, "BOOLEAN_TYPE_CONVERT", "Must be either true or false.")
	}
	return flag
}

// list is an array with its greatest length; null and absent are the empty one.
func (c *check) list(o object, path, key string, most int, rule string) []any {
	value, present := o[key]
	if !present || value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		c.fail(join(path, key), rule, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
		return nil
	}
	if len(list) > most {
		c.fail(join(path, key), rule, "BASE_TYPE_BAD_LENGTH", "Must be %d or fewer in length. (It has %d.)", most, len(list))
	}
	return list
}

// each calls do with the objects of a list and their paths.
func (c *check) each(list []any, path, rule string, do func(o object, path string)) {
	for i, value := range list {
		at := join(path, strconv.Itoa(i))
		o, ok := value.(object)
		if !ok {
			c.fail(at, rule, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
			continue
		}
		do(o, at)
	}
}

// object is a nested object; nil when null or absent.
func (c *check) object(o object, path, key, rule string) object {
	value, present := o[key]
	if !present || value == nil {
		return nil
	}
	nested, ok := value.(object)
	if !ok {
		c.fail(join(path, key), rule, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	return nested
}

// snowflakes is a list of ids.
func (c *check) snowflakes(o object, path, key string, most int, rule string) []string {
	var ids []string
	for i, value := range c.list(o, path, key, most, rule) {
		id, ok := value.(string)
		if !ok || parseID(id) == 0 {
			c.fail(join(join(path, key), strconv.Itoa(i)), rule, "NUMBER_TYPE_COERCE", "Value %v is not snowflake.", value)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func parseID(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func snowflake(n uint64) string { return strconv.FormatUint(n, 10) }

// numberOf reads a number that JSON brought, or the control gave.
func numberOf(value any) int {
	switch value := value.(type) {
	case json.Number:
		n, _ := value.Int64()
		return int(n)
	case int:
		return value
	case float64:
		return int(value)
	}
	return 0
}
