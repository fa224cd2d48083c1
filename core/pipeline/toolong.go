package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// namedPlugins is how many plugins the failure of a prompt that is too long names.
const namedPlugins = 5

// wrote notes that a plugin has made the prompt longer by n bytes.
func (t *trip) wrote(plugin string, n int) {
	if plugin == "" || n <= 0 {
		return
	}
	if t.written == nil {
		t.written = make(map[string]int)
	}
	t.written[plugin] += n
}

// tooLong reports whether the model has refused a turn for the length of its prompt.
func tooLong(failure *pluginsdk.Failure) bool {
	if failure == nil || failure.Kind != pluginsdk.FailureAPI {
		return false
	}
	words := strings.ToLower(failure.Message)
	return strings.Contains(words, "prompt is too long") || strings.Contains(words, "exceed context limit") || strings.Contains(words, "context window")
}

// whoWrote says of a prompt that was too long which plugins have made it so, and what to do.
func (t *trip) whoWrote() string {
	text := fmt.Sprintf(" The prompt of this turn has %d bytes", len(t.prompt))
	names := slices.SortedFunc(maps.Keys(t.written), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.written[b], t.written[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return text + ", none of them from a plugin. To begin the conversation anew: /new"
	}
	parts := make([]string, 0, namedPlugins)
	for _, name := range names[:min(len(names), namedPlugins)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, t.written[name]))
	}
	return fmt.Sprintf("%s; from plugins: %s. `harness plugin disable %s` does without the first. If it is too long after that, the conversation itself is: /new begins another",
		text, strings.Join(parts, ", "), names[0])
}
