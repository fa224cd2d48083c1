package fake

import (
	"encoding/json"
	"slices"
	"strconv"
)

// The kinds of component that the fake tells apart.
// Source: components/reference#component-object-component-types.
const (
	componentRow       = 1
	componentButton    = 2
	componentSelect    = 3
	componentTextInput = 4
	componentSection   = 9
	componentText      = 10
	componentContainer = 17
	componentLabel     = 18
)

func kindOf(o object) int {
	number, _ := o["type"].(json.Number)
	n, _ := strconv.Atoi(number.String())
	return n
}

// components judges the components of a message. Without the flag IS_COMPONENTS_V2 they
// are at most five rows.
// Source: components/reference#legacy-message-component-behavior.
func (c *check) components(o object, path string, second bool) []any {
	most := 5
	top := []int{componentRow}
	if second {
		most, top = 40, []int{componentRow, componentSection, componentText, 12, 13, 14, componentContainer}
	}
	list := c.list(o, path, "components", most, RuleComponents)
	ids := make(map[string]bool)
	count := 0
	c.each(list, join(path, "components"), RuleComponents, func(o object, path string) {
		if !slices.Contains(top, kindOf(o)) {
			c.fail(join(path, "type"), RuleComponents, "UNION_TYPE_CHOICES", "A component of the type %v cannot be at the top of this message.", o["type"])
			return
		}
		c.component(o, path, ids, &count)
	})
	if count > 40 {
		c.fail(join(path, "components"), RuleComponents, "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", "Must be 40 or fewer in length. (It has %d.)", count)
	}
	return list
}

func (c *check) component(o object, path string, ids map[string]bool, count *int) {
	*count++
	switch kind := kindOf(o); {
	case kind == componentRow:
		c.known(path, o, "type", "id", "components")
		list := c.list(o, path, "components", 5, RuleComponents)
		if len(list) == 0 {
			c.fail(join(path, "components"), RuleComponents, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
		}
		buttons := true
		c.each(list, join(path, "components"), RuleComponents, func(o object, path string) {
			kind := kindOf(o)
			buttons = buttons && kind == componentButton
			if kind != componentButton && (kind != componentSelect && (kind < 5 || kind > 8) || len(list) > 1) {
				c.fail(path, RuleComponents, "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "A row has up to five buttons or one select menu; this is of the type %v.", o["type"])
			}
			c.component(o, path, ids, count)
		})
	case kind == componentButton:
		c.button(o, path, ids)
	case kind == componentSelect || kind >= 5 && kind <= 8:
		c.selectMenu(o, path, ids)
	case kind == componentText:
		c.known(path, o, "type", "id", "content")
		c.text(o, path, "content", 1, 4000, RuleComponents)
	case kind == componentSection || kind == componentContainer:
		c.each(c.list(o, path, "components", 40, RuleComponents), join(path, "components"), RuleComponents, func(o object, path string) { c.component(o, path, ids, count) })
		if accessory := c.object(o, path, "accessory", RuleComponents); accessory != nil {
			c.component(accessory, join(path, "accessory"), ids, count)
		}
	}
}

// Source: components/reference#button-button-structure.
func (c *check) button(o object, path string, ids map[string]bool) {
	c.known(path, o, "type", "id", "style", "label", "emoji", "custom_id", "sku_id", "url", "disabled")
	c.text(o, path, "label", 0, 80, RuleComponents)
	style, ok := c.number(o, path, "style", 1, 6, RuleComponents)
	if !ok {
		c.fail(join(path, "style"), RuleComponents, "BASE_TYPE_REQUIRED", "This field is required")
	}
	label, _ := o["label"].(string)
	if label == "" && o["emoji"] == nil && style != 6 {
		c.fail(path, RuleComponents, "BUTTON_COMPONENT_MISSING_LABEL_OR_EMOJI", "A button needs a label or an emoji.")
	}
	url, _ := o["url"].(string)
	id, _ := o["custom_id"].(string)
	switch {
	case style <= 4 && url != "", style == 5 && (id != "" || url == ""), units(url) > 512:
		c.fail(path, RuleComponents, "BUTTON_COMPONENT_INVALID_URL", "A link button has a url of up to 512 characters and no custom_id; the others have a custom_id and no url.")
	}
	if style <= 4 {
		c.customID(o, path, ids)
	}
}

// Source: components/reference#string-select-string-select-structure.
func (c *check) selectMenu(o object, path string, ids map[string]bool) {
	c.known(path, o, "type", "id", "custom_id", "options", "placeholder", "min_values", "max_values", "required", "disabled", "default_values", "channel_types")
	c.customID(o, path, ids)
	c.text(o, path, "placeholder", 0, 150, RuleComponents)
	c.number(o, path, "min_values", 0, 25, RuleComponents)
	c.number(o, path, "max_values", 1, 25, RuleComponents)
	options := c.list(o, path, "options", 25, RuleComponents)
	if kindOf(o) == componentSelect && len(options) == 0 {
		c.fail(join(path, "options"), RuleComponents, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.")
	}
	values := make(map[string]bool)
	c.each(options, join(path, "options"), RuleComponents, func(o object, path string) {
		c.known(path, o, "label", "value", "description", "emoji", "default")
		c.text(o, path, "label", 1, 100, RuleComponents)
		c.text(o, path, "description", 0, 100, RuleComponents)
		value := c.text(o, path, "value", 1, 100, RuleComponents)
		if values[value] {
			c.fail(join(path, "value"), RuleComponents, "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used")
		}
		values[value] = true
	})
}

// Source: components/reference#anatomy-of-a-component-custom-id.
func (c *check) customID(o object, path string, ids map[string]bool) {
	id := c.text(o, path, "custom_id", 1, 100, RuleCustomID)
	if id != "" && ids[id] {
		c.fail(join(path, "custom_id"), RuleCustomID, "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
	}
	ids[id] = true
}

// modal judges a modal.
// Source: interactions/receiving-and-responding#interaction-response-object-modal,
// components/reference#label and #text-input.
func (c *check) modal(o object, path string) {
	c.known(path, o, "custom_id", "title", "components")
	c.text(o, path, "custom_id", 1, 100, RuleModal)
	c.text(o, path, "title", 1, 45, RuleModal)
	list := c.list(o, path, "components", 5, RuleModal)
	if len(list) == 0 {
		c.fail(join(path, "components"), RuleModal, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
	}
	ids := make(map[string]bool)
	c.each(list, join(path, "components"), RuleModal, func(o object, path string) {
		switch kindOf(o) {
		case componentText:
			c.text(o, path, "content", 1, 4000, RuleModal)
		case componentLabel:
			c.known(path, o, "type", "id", "label", "description", "component")
			c.text(o, path, "label", 1, 45, RuleModal)
			c.text(o, path, "description", 0, 100, RuleModal)
			inside := c.object(o, path, "component", RuleModal)
			if inside == nil {
				c.fail(join(path, "component"), RuleModal, "BASE_TYPE_REQUIRED", "This field is required")
				return
			}
			if label, _ := inside["label"].(string); label != "" {
				c.fail(join(path, "component.label"), RuleModal, "BASE_TYPE_BAD", "Inside a label, a text input has no label of its own.")
			}
			c.input(inside, join(path, "component"), ids)
		case componentRow:
			c.known(path, o, "type", "id", "components")
			row := c.list(o, path, "components", 1, RuleModal)
			if len(row) != 1 {
				c.fail(join(path, "components"), RuleModal, "BASE_TYPE_BAD_LENGTH", "A row of a modal has one text input.")
			}
			c.each(row, join(path, "components"), RuleModal, func(o object, path string) {
				c.text(o, path, "label", 1, 45, RuleModal)
				c.input(o, path, ids)
			})
		default:
			c.fail(join(path, "type"), RuleModal, "UNION_TYPE_CHOICES", "A component of the type %v cannot be at the top of a modal.", o["type"])
		}
	})
}

func (c *check) input(o object, path string, ids map[string]bool) {
	switch kind := kindOf(o); {
	case kind == componentTextInput:
		c.known(path, o, "type", "id", "custom_id", "style", "label", "min_length", "max_length", "required", "value", "placeholder")
		c.customID(o, path, ids)
		if _, ok := c.number(o, path, "style", 1, 2, RuleModal); !ok {
			c.fail(join(path, "style"), RuleModal, "BASE_TYPE_REQUIRED", "This field is required")
		}
		c.number(o, path, "min_length", 0, 4000, RuleModal)
		c.number(o, path, "max_length", 1, 4000, RuleModal)
		c.text(o, path, "value", 0, 4000, RuleModal)
		c.text(o, path, "placeholder", 0, 100, RuleModal)
	case kind == componentSelect || kind >= 5 && kind <= 8:
		c.selectMenu(o, path, ids)
	case kind >= 19 && kind <= 23:
		c.customID(o, path, ids)
	default:
		c.fail(join(path, "type"), RuleModal, "UNION_TYPE_CHOICES", "A component of the type %v cannot be in a modal.", o["type"])
	}
}

// walk calls do with every component below the list.
func walk(list []any, do func(object)) {
	for _, value := range list {
		o, ok := value.(object)
		if !ok {
			continue
		}
		do(o)
		below, _ := o["components"].([]any)
		walk(below, do)
		for _, key := range []string{"component", "accessory"} {
			if inside, ok := o[key].(object); ok {
				walk([]any{inside}, do)
			}
		}
	}
}
