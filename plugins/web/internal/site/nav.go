package site

// entry is a page of the navigation.
type entry struct {
	Path, Name, Icon string
	Key              string // pressed after g, goes there
	Phone            bool   // has a place in the bar of a phone
}

// entries are the pages that every page leads to, in the order in which they are shown.
var entries = []entry{
	{"/", "Overview", "gauge", "o", true},
	{"/chat", "Chat", "messages-square", "c", true},
	{"/tasks", "Tasks", "square-check-big", "t", true},
	{"/workflows", "Workflows", "layers", "w", false},
	{"/runs", "Runs", "activity", "r", false},
	{"/search", "Search", "search", "s", true},
	{"/memory", "Memory", "notebook-text", "m", false},
	{"/crons", "Schedules", "calendar-clock", "d", false},
	{"/plan", "Plan", "clock", "l", false},
	{"/usage", "Usage", "chart-column", "u", false},
	{"/plugins", "Plugins", "blocks", "p", false},
	{"/system", "System", "settings", "y", false},
}

// Key is a key that leads to a page, when it is pressed after g.
type Key struct{ Key, Name, Path string }

// Keys are the keys of the pages in the navigation.
func Keys() []Key {
	keys := make([]Key, len(entries))
	for n, e := range entries {
		keys[n] = Key{e.Key, e.Name, e.Path}
	}
	return keys
}
