package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawing is an image that was read again.
type drawing struct {
	root    map[string]string
	titles  []string
	texts   []label
	paths   []path
	circles int
}

type label struct {
	x, y    int
	content string
}

type path struct{ fill, d string }

// allowed are the elements and their attributes that an image may have.
var allowed = map[string][]string{
	"svg":    {"xmlns", "width", "height", "viewBox", "font-family", "font-size", "fill"},
	"title":  {},
	"text":   {"x", "y"},
	"path":   {"fill", "fill-opacity", "stroke", "stroke-width", "d"},
	"circle": {"fill", "fill-opacity", "stroke", "stroke-width", "cx", "cy", "r"},
}

// harmless is what attributes other than the root's may have.
var harmless = regexp.MustCompile(`^(none|#[0-9a-f]{6}|[-0-9.]+|[-0-9MhvlLZ ]+)$`)

// read fails on an image that is not well-formed, or has anything but what is allowed.
func read(t *testing.T, svg []byte) *drawing {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	d := new(drawing)
	var open []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			if len(open) != 0 || d.root == nil {
				t.Fatalf("the image ends within %v", open)
			}
			return d
		}
		if err != nil {
			t.Fatalf("the image is not well-formed: %v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name, has := token.Name.Local, map[string]string{}
			if depth := len(open); depth > 1 || (name == "svg") != (depth == 0) {
				t.Fatalf("%s is within %v", name, open)
			}
			for _, attribute := range token.Attr {
				if !slices.Contains(allowed[name], attribute.Name.Local) || attribute.Name.Space != "" {
					t.Errorf("%s has the attribute %v", name, attribute)
				}
				if name != "svg" && !harmless.MatchString(attribute.Value) {
					t.Errorf("%s has the attribute %v", name, attribute)
				}
				has[attribute.Name.Local] = attribute.Value
			}
			switch name {
			case "svg":
				d.root = has
			case "title":
			case "text":
				d.texts = append(d.texts, label{x: number(t, has["x"]), y: number(t, has["y"])})
			case "path":
				d.paths = append(d.paths, path{has["fill"], has["d"]})
			case "circle":
				d.circles++
			default:
				t.Errorf("the image has the element %v", token)
			}
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			switch open[len(open)-1] {
			case "title":
				d.titles = append(d.titles, string(token))
			case "text":
				d.texts[len(d.texts)-1].content += string(token)
			default:
				t.Errorf("%v has the text %q", open, token)
			}
		default:
			t.Errorf("the image has %T", token)
		}
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// check fails when something is outside of the frame, or one text runs into the next.
func (d *drawing) check(t *testing.T, width, height int) {
	t.Helper()
	if d.root["width"] != strconv.Itoa(width) || d.root["height"] != strconv.Itoa(height) {
		t.Errorf("the image is of %s x %s, want %d x %d", d.root["width"], d.root["height"], width, height)
	}
	const em = fontSize * scale
	end := map[int]int{} // of the last text of each line
	for _, text := range d.texts {
		if strings.TrimSpace(text.content) == "" {
			continue
		}
		used := 0.0
		for _, r := range strings.TrimRight(text.content, "\u2003") {
			used += 0.5 * float64(columns(r)) * em
		}
		right := text.x + int(used)
		if text.x < 0 || text.y < em*3/4 || right > width*scale+em/2 || text.y > height*scale-em/5 {
			t.Errorf("%+v is outside of %d x %d", text, width*scale, height*scale)
		}
		if before, ok := end[text.y]; ok && text.x < before {
			t.Errorf("%+v begins before the text left of it ends, at %d", text, before)
		}
		end[text.y] = right
	}
	for _, path := range d.paths {
		points(t, path.d, func(x, y int) {
			if x < 0 || y < 0 || x > width*scale || y > height*scale {
				t.Fatalf("%d,%d of %v is outside of %d x %d", x, y, path, width*scale, height*scale)
			}
		})
	}
}

var command = regexp.MustCompile(`([Mlhv])(-?\d+)(?: (-?\d+))?`)

// points calls see with each point of the path.
func points(t *testing.T, d string, see func(x, y int)) {
	t.Helper()
	x, y := 0, 0
	for _, part := range command.FindAllStringSubmatch(d, -1) {
		first := number(t, part[2])
		switch part[1] {
		case "h":
			x += first
		case "v":
			y += first
		case "l":
			x, y = x+first, y+number(t, part[3])
		case "M":
			x, y = first, number(t, part[3])
		}
		see(x, y)
	}
}

// bars are the heights of the rectangles of a colour.
func (d *drawing) bars(t *testing.T, fill string) (heights []float64) {
	t.Helper()
	for _, path := range d.paths {
		if path.fill != fill {
			continue
		}
		for _, one := range strings.Split(path.d, "M")[1:] {
			low, high := 1<<30, 0
			points(t, "M"+one, func(_, y int) { low, high = min(low, y), max(high, y) })
			heights = append(heights, float64(high-low))
		}
	}
	return heights
}

// Whoever names a model, a plugin or a user runs nothing in the browser of who looks at it.
func TestNamesDoNothing(t *testing.T) {
	for _, name := range []string{
		`<script>alert(1)</script>`,
		`</text></svg><script>alert(1)</script>`,
		`"><img src=x onerror=alert(1)>`,
		`' onload='alert(1)`,
		`<foreignObject><iframe srcdoc="<script>alert(1)</script>"/></foreignObject>`,
		`<a xlink:href="javascript:alert(1)">x</a>`,
		`<use href="https://example.org/x.svg#a"/>`,
		`<style>@import url(https://example.org)</style>`,
		`<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>&x;`,
		`]]><script>alert(1)</script><![CDATA[`,
		`<!-- --><?xml-stylesheet href="https://example.org"?>`,
		"\x00\x01\x1b[31m\u202ered\u2066\ufffe\xff\xfe\u0085",
		`&#60;script&#62;`,
		`<set attributeName="onmouseover" to="alert(1)"/>`,
	} {
		for _, kind := range []Kind{Bars, Stacked, Lines} {
			c := Chart{Title: name, Kind: kind, Unit: USD, Labels: []string{name, "b", name}, Series: []Series{{name, []float64{1, 2, 3}}, {"b", []float64{1, 2, 3}}, {name, []float64{1, 2, 3}}}}
			svg, err := c.Render(Dark(), 720, 240)
			if err != nil {
				t.Fatal(err)
			}
			drawn := read(t, svg)
			if len(drawn.titles) == 1 && drawn.titles[0] != plain(name, 100) {
				t.Errorf("the title %q became %q", name, drawn.titles)
			}
			shown := strings.TrimRight(written(name, nameLimit), "\u2003")
			if !slices.ContainsFunc(drawn.texts, func(text label) bool { return strings.Trim(text.content, "\u00a0\u2003") == shown }) {
				t.Errorf("the name %q is not among %v", shown, drawn.texts)
			}
		}
	}
}

// A name stays in its line and does not turn what stands around it.
func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"0123456789":          "0123456789",
		"01234567890":         "012345678…",
		"a\tb\n\r c ":         "a b c",
		"\u202egnp.exe\u202c": "gnp.exe",
		"\x00\x7f\u0085a\xff": "a",
		"中文名称的":               "中文名称的",
		"中文名称的x":              "中文名称…",
		"می\u200cخواهم":       "می\u200cخواهم",
		"":                    "",
	} {
		if got := plain(name, 10); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// What the library draws beyond shapes and texts is not passed on.
func TestOnlyShapesAndTextsGetThrough(t *testing.T) {
	for name, inside := range map[string]string{
		"script":       `<script>alert(1)</script>`,
		"style":        `<style>*{fill:url(x)}</style>`,
		"image":        `<image href="x" style="fill:rgb(1,2,3)"/>`,
		"reference":    `<path d="M 0 0" style="fill:url(#x)"/>`,
		"curve":        `<path d="Q1,2 3,4" style="fill:rgb(1,2,3)"/>`,
		"path":         `<path d="M 0 0&quot;/>" style="fill:rgb(1,2,3)"/>`,
		"width":        `<path d="M 0 0" style="stroke:rgb(1,2,3);stroke-width:x"/>`,
		"place":        `<text x="a" y="1">x</text>`,
		"circle":       `<circle cx="a" cy="1" style="fill:rgb(1,2,3)"/>`,
		"inside text":  `<text x="1" y="1"><script>alert(1)</script>`,
		"end of input": `<path d="M 0 0" style="fill:rgb(1,2,3)">`,
	} {
		if out, err := compact(strings.NewReader("<svg>"+inside+"</svg>"), "", "#000000", 10, 10); err == nil {
			t.Errorf("%s gets through: %s", name, out)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a", "<b>", "c", 1.0)
	f.Add("\u202e", "中", "\xff", 1e300)
	f.Fuzz(func(t *testing.T, title, label, series string, value float64) {
		c := Chart{Title: title, Kind: Stacked, Unit: USD, Labels: []string{label, "b"}, Series: []Series{{series, []float64{value, 1}}, {"b", []float64{1, 1}}}}
		svg, err := c.Render(Light(), 360, 220)
		if (err == nil) != (checkValue(value) == nil) {
			t.Fatalf("the error is %v for %v", err, value)
		}
		if err == nil {
			read(t, svg)
		}
		_, _ = c.Table()
		_ = c.Alt()
	})
}
