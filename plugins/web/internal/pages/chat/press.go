package chat

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// press types the command of a button below a plugin's row, as if who presses had typed it: once
// for each time that the button was shown.
func (c *chat) press(r *http.Request) (site.Done, error) {
	thread, form := r.PathValue("thread"), r.PostForm
	row, err := c.message(r, form.Get("message"))
	if err != nil {
		return site.Done{}, err
	}
	command, key := form.Get("command"), form.Get("key")
	n := slices.IndexFunc(row.Actions(), func(a pluginsdk.RowAction) bool { return a.Command == command })
	if n < 0 {
		return site.Done{}, &site.Problem{Status: http.StatusConflict, Detail: "nothing was done: the message does not offer that command"}
	}
	if err := c.stillHas(r, row.Plugin, command); err != nil {
		return site.Done{}, err
	}
	if key == "" {
		key = newKey()
	}
	return site.Done{To: path(thread) + "#end"}, c.send(r, thread, compose{Key: fmt.Sprintf("%s/%d", key, n), Text: command})
}

// stillHas refuses a command that is not the plugin's any more, which another may have or nobody.
func (c *chat) stillHas(r *http.Request, plugin, command string) error {
	var found struct {
		Commands []pluginsdk.Command `json:"commands"`
	}
	if err := c.Get(r.Context(), "/api/commands", nil, &found); err != nil {
		return err
	}
	name, _, _ := pluginsdk.ParseCommand(command)
	i := slices.IndexFunc(found.Commands, func(c pluginsdk.Command) bool { return c.Name == name })
	if i >= 0 && found.Commands[i].Plugin == plugin {
		return nil
	}
	return &site.Problem{
		Status: http.StatusConflict,
		Detail: fmt.Sprintf("nothing was done: the plugin %s, which has written this, does not have the command /%s at the moment", plugin, name),
	}
}
