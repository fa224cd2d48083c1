package operate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// show prints what a package says about itself, and what is known of it. All of
// it is a stranger's words.
func (o *Operator) show(p *registry.Package) error {
	m := p.Manifest
	schema, err := settings.Compile(m.SettingsSchema)
	if err != nil {
		return fmt.Errorf("settingsSchema of %s: %w", m.Name, err)
	}
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "plugin\t%s %s\n", m.Name, plain(m.Version, shortText))
	fmt.Fprintf(table, "\t%s\n", cmp.Or(plain(m.Description, longText), "-"))
	fmt.Fprintf(table, "publisher\t%s\n", publisher(p.Signature))
	fmt.Fprintf(table, "package\t%s, %s; runs %s\n", files(p.Files), humanize.IBytes(uint64(max(p.Bytes, 0))), plain(p.Executable, longText)) //nolint:gosec // not negative
	fmt.Fprintf(table, "sha256\t%s\n", p.SHA256)
	showManifest(table, m)
	for n, property := range schema.Properties() {
		fmt.Fprintf(table, "%s\t%s%s%s\n", only(n == 0, "settings"), plain(property.Name, shortText), marks(property), reason(property.Description))
	}
	return table.Flush()
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

func publisher(s registry.Signature) string {
	switch {
	case s.Trusted:
		return fmt.Sprintf("%s, trusted (%s)", s.KeyID, cmp.Or(plain(s.Comment, shortText), "-"))
	case s.Signed:
		return fmt.Sprintf("signed by unknown key %s: that proves nothing", s.KeyID)
	}
	return "not signed"
}

func marks(property settings.Property) string {
	switch {
	case property.Secret && property.Required:
		return " (secret, required)"
	case property.Secret:
		return " (secret)"
	case property.Required:
		return " (required)"
	}
	return ""
}

// only is the heading of the first of several lines.
func only(first bool, heading string) string {
	if first {
		return heading
	}
	return ""
}

func reason(text string) string {
	if text = plain(text, longText); text != "" {
		return ": " + text
	}
	return ""
}

// showManifest prints what a manifest declares and wants.
func showManifest(out io.Writer, m pluginsdk.Manifest) {
	hooks := make([]string, len(m.Hooks))
	for n, hook := range m.Hooks {
		hooks[n] = plain(string(hook), shortText)
		if !slices.Contains(pluginsdk.AllHooks(), hook) {
			hooks[n] += " (unknown to this version)"
		}
		if mode, ok := m.OnFailure[hook]; ok {
			hooks[n] += fmt.Sprintf(" (fails %s)", plain(string(mode), shortText))
		}
	}
	fmt.Fprintf(out, "hooks\t%s\n", list(hooks))
	if len(m.Sources) > 0 {
		fmt.Fprintf(out, "sources\t%s (it is handed what is answered in conversations from there)\n", list(m.Sources))
	}
	if len(m.Events) > 0 {
		fmt.Fprintf(out, "events\t%s\n", list(m.Events))
	}
	for n, rule := range m.EventRules {
		fmt.Fprintf(out, "%s\t%s\n", only(n == 0, "of these only"), ruleWords(rule))
	}
	if m.PromptPrefix {
		fmt.Fprintln(out, "prompt\tit puts text in front of prompts, and does not see them")
	}
	if m.Exclusive {
		fmt.Fprintln(out, "exclusive\tonly one version of it runs at a time: it is down while it is upgraded")
	}
	for n, command := range m.Commands {
		fmt.Fprintf(out, "%s\t/%s%s\n", only(n == 0, "commands"), plain(command.Name, shortText), reason(command.Description))
	}
	for n, tool := range m.Tools {
		fmt.Fprintf(out, "%s\t%s__%s%s\n", only(n == 0, "tools"), m.Name, plain(tool.Name, shortText), reason(tool.Description))
	}
	for n, wanted := range m.Requests() {
		fmt.Fprintf(out, "%s\t%s%s%s\n", only(n == 0, "wants"), plain(string(wanted.Capability), shortText), meaning(wanted.Capability), reason(wanted.Reason))
	}
	for n, wanted := range m.Environment {
		fmt.Fprintf(out, "%s\t%s%s%s\n", only(n == 0, "environment"), plain(wanted.Name, shortText), never(wanted.Name), reason(wanted.Reason))
	}
}

// meaning says in brackets what the capability lets a plugin do.
func meaning(capability pluginsdk.Capability) string {
	return " (" + cmp.Or(capability.Meaning(), "unknown to this version") + ")"
}

func never(variable string) string {
	if pluginhost.Withheld(variable) {
		return " (the daemon's own, never given)"
	}
	return ""
}
