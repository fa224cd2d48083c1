package browser

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// place is where an element can be clicked, or why it cannot.
type place struct {
	Why  string
	X, Y float64
}

// Click clicks in the middle of the element once it is visible, enabled, at rest and not
// covered by another.
func (p *Page) Click(selector string) {
	p.t.Helper()
	var at place
	p.until("a click on "+selector, func(ctx context.Context) (string, error) {
		var err error
		at, err = evaluate[place](ctx, p, call("reach", selector))
		return at.Why, err
	})
	p.do("click on "+selector, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.MouseClickXY(at.X, at.Y)) })
}

// Type clicks into a field and types behind what is in it. A line break is the key Enter.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.Click(selector)
	p.waitFor(selector+" to have the focus", call("caret", selector))
	p.do("type into "+selector, func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.KeyEvent(text)) })
}

// keys are those with a name.
var keys = map[string]string{
	"Enter": kb.Enter, "Tab": kb.Tab, "Escape": kb.Escape, "Space": " ", "Backspace": kb.Backspace, "Delete": kb.Delete,
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"Home": kb.Home, "End": kb.End, "PageUp": kb.PageUp, "PageDown": kb.PageDown,
}

var modifiers = map[string]chromedp.Modifier{
	"Control": chromedp.ModifierCtrl, "Shift": chromedp.ModifierShift, "Alt": chromedp.ModifierAlt, "Meta": chromedp.ModifierMeta,
}

// Press presses keys, one after the other, where the focus is: characters, or names as in
// KeyboardEvent.key, with what is held down before them, as in Control+k or Shift+Tab.
func (p *Page) Press(combinations ...string) {
	p.t.Helper()
	for _, combination := range combinations {
		key := combination
		var held []chromedp.Modifier
		for {
			name, rest, found := strings.Cut(key, "+")
			if modifier, known := modifiers[name]; found && known {
				held, key = append(held, modifier), rest
				continue
			}
			break
		}
		if named, known := keys[key]; known {
			key = named
		} else if len([]rune(key)) != 1 {
			p.t.Fatalf("press %q: there is no key %q here", combination, key)
		}
		p.do("press "+combination, func(ctx context.Context) error {
			return chromedp.Do(ctx, chromedp.KeyEvent(key, chromedp.KeyModifiers(held...)))
		})
	}
}

// Upload chooses files, by their paths, in an input for them, which need not be visible.
func (p *Page) Upload(selector string, paths ...string) {
	p.t.Helper()
	p.do("upload into "+selector, func(ctx context.Context) error {
		return chromedp.Do(ctx, chromedp.SetUploadFiles(chromedp.CSS(selector), paths))
	})
}

// File is what is pasted or dropped.
type File struct {
	Name, Type string // Type such as image/png
	Content    []byte
}

// Paste tells the element that files were pasted.
func (p *Page) Paste(selector string, files ...File) {
	p.t.Helper()
	p.bring("paste", selector, files)
}

// Drop tells the element that files were dragged onto it and let go.
func (p *Page) Drop(selector string, files ...File) {
	p.t.Helper()
	p.bring("drop", selector, files)
}

func (p *Page) bring(how, selector string, files []File) {
	p.t.Helper()
	type brought struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Content string `json:"content"` // base64
	}
	var all []brought
	for _, f := range files {
		all = append(all, brought{f.Name, f.Type, base64.StdEncoding.EncodeToString(f.Content)})
	}
	p.waitFor(how+" on "+selector, call(how, selector, all))
}
