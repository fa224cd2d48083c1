package fake

import "strings"

// embeds judges the embeds of a body.
// Source: resources/message#embed-object-embed-limits.
func (c *check) embeds(o object, path string) []any {
	list := c.list(o, path, "embeds", 10, RuleEmbeds)
	total := 0
	text := func(o object, path, key string, most int) {
		total += units(strings.TrimSpace(c.text(o, path, key, 0, most, RuleEmbeds)))
	}
	c.each(list, join(path, "embeds"), RuleEmbeds, func(e object, path string) {
		c.known(path, e, "title", "type", "description", "url", "timestamp", "color", "footer", "image", "thumbnail", "author", "fields", "video", "provider")
		text(e, path, "title", 256)
		text(e, path, "description", 4096)
		c.number(e, path, "color", 0, 0xffffff, RuleEmbeds)
		if footer := c.object(e, path, "footer", RuleEmbeds); footer != nil {
			text(footer, join(path, "footer"), "text", 2048)
		}
		if author := c.object(e, path, "author", RuleEmbeds); author != nil {
			text(author, join(path, "author"), "name", 256)
		}
		c.each(c.list(e, path, "fields", 25, RuleEmbeds), join(path, "fields"), RuleEmbeds, func(f object, path string) {
			c.known(path, f, "name", "value", "inline")
			c.text(f, path, "name", 1, 256, RuleEmbeds)
			c.text(f, path, "value", 1, 1024, RuleEmbeds)
			name, _ := f["name"].(string)
			value, _ := f["value"].(string)
			total += units(name) + units(value)
		})
	})
	if total > 6000 {
		c.fail(join(path, "embeds"), RuleEmbeds, "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000. (It is %d.)", total)
	}
	return list
}
