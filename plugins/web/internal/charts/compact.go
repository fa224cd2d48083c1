package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	lib "github.com/go-analyze/charts"
)

// compact writes what the library has drawn anew, a fifth as large: paths in relative
// coordinates, neighbours of one colour as one path, and attributes in the place of
// styles, which strict policies refuse. Only paths, circles and texts get through; that
// the library draws anything else is an error.
func compact(drawn io.Reader, title, text string, width, height int) ([]byte, error) {
	out := new(writer)
	fmt.Fprintf(&out.svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui,sans-serif" font-size="%d" fill="%s">`,
		width, height, width*scale, height*scale, fontSize*scale, text)
	if title != "" {
		out.element("title", title)
	}
	decoder := xml.NewDecoder(drawn)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			out.flush()
			out.svg.WriteString("</svg>")
			return out.svg.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read what the library of charts has drawn: %w", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local != "svg" {
			if err := out.draw(decoder, start); err != nil {
				return nil, fmt.Errorf("the library of charts has drawn %v: %w", start, err)
			}
		}
	}
}

// writer collects paths until one comes that looks different.
type writer struct {
	svg   bytes.Buffer
	paint string // the attributes of the path that is open
	path  strings.Builder
}

func (w *writer) flush() {
	if w.path.Len() > 0 {
		w.svg.WriteString(`<path` + w.paint + ` d="` + w.path.String() + `"/>`)
	}
	w.path.Reset()
}

func (w *writer) element(name, content string) {
	w.svg.WriteString("<" + name + ">")
	_ = xml.EscapeText(&w.svg, []byte(content)) // a buffer takes everything
	w.svg.WriteString("</" + strings.Fields(name)[0] + ">")
}

// draw writes an element and reads its end.
func (w *writer) draw(decoder *xml.Decoder, start xml.StartElement) error {
	has := map[string]string{}
	for _, attribute := range start.Attr {
		has[attribute.Name.Local] = attribute.Value
	}
	var content struct {
		Text string `xml:",chardata"`
	}
	if err := decoder.DecodeElement(&content, &start); err != nil {
		return err
	}
	if start.Name.Local == "text" {
		at, err := whole(has["x"], has["y"])
		if err != nil {
			return err
		}
		w.flush()
		w.element(fmt.Sprintf(`text x="%d" y="%d"`, at[0], at[1]), content.Text)
		return nil
	}
	if start.Name.Local != "path" && start.Name.Local != "circle" {
		return errors.New("only paths, circles and texts are expected")
	}
	paint, err := attributes(has["style"])
	if err != nil || paint == "" {
		return err
	}
	if start.Name.Local == "circle" {
		at, err := whole(has["cx"], has["cy"])
		if err != nil {
			return err
		}
		w.flush()
		// The library's dots are too small to be found.
		fmt.Fprintf(&w.svg, `<circle%s cx="%d" cy="%d" r="%d"/>`, paint, at[0], at[1], 3*scale)
		return nil
	}
	path, err := relative(has["d"])
	if err != nil {
		return err
	}
	if paint != w.paint {
		w.flush()
	}
	w.paint = paint
	w.path.WriteString(path)
	return nil
}

// attributes are the colours of a style, as attributes with a space before each; none
// when nothing is painted.
func attributes(style string) (string, error) {
	has := map[string]string{"fill": "none", "stroke": "none", "stroke-width": "1"}
	for _, part := range strings.Split(style, ";") {
		name, value, _ := strings.Cut(part, ":")
		has[name] = value
	}
	fill, alpha, err := colour(has["fill"])
	if err != nil {
		return "", err
	}
	stroke, _, err := colour(has["stroke"])
	if err != nil {
		return "", err
	}
	if fill == "none" && stroke == "none" {
		return "", nil
	}
	paint := ` fill="` + fill + `"`
	if alpha != "" {
		paint += ` fill-opacity="` + alpha + `"`
	}
	if stroke != "none" {
		if _, err := strconv.ParseFloat(has["stroke-width"], 64); err != nil {
			return "", err
		}
		paint += ` stroke="` + stroke + `" stroke-width="` + has["stroke-width"] + `"`
	}
	return paint, nil
}

// colour is a colour of a style as #rrggbb, with its opacity unless that is full.
func colour(css string) (hex, alpha string, err error) {
	if css == "none" {
		return css, "", nil
	}
	c := lib.ParseColor(css)
	if c.String() != css { // it takes much for a colour, but writes each in one way
		return "", "", fmt.Errorf("%q is no colour that is known", css)
	}
	if c.A < 255 {
		alpha = strconv.FormatFloat(float64(c.A)/255, 'f', 2, 64)
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), alpha, nil
}

// relative is a path of straight lines in relative coordinates.
func relative(d string) (string, error) {
	fields := strings.Fields(d)
	var path strings.Builder
	var x, y int
	for i := 0; i < len(fields); i += 3 {
		if len(fields) < i+3 {
			return "", fmt.Errorf("the path %q ends in the middle", d)
		}
		to, err := whole(fields[i+1], fields[i+2])
		if err != nil {
			return "", err
		}
		dx, dy := to[0]-x, to[1]-y
		switch {
		case fields[i] == "M":
			fmt.Fprintf(&path, "M%d %d", to[0], to[1])
		case fields[i] != "L":
			return "", fmt.Errorf("the path %q has more than straight lines", d)
		case dy == 0 && dx != 0:
			fmt.Fprintf(&path, "h%d", dx)
		case dx == 0 && dy != 0:
			fmt.Fprintf(&path, "v%d", dy)
		case dx != 0:
			fmt.Fprintf(&path, "l%d %d", dx, dy)
		}
		x, y = to[0], to[1]
	}
	return path.String(), nil
}

func whole(texts ...string) ([]int, error) {
	numbers := make([]int, len(texts))
	for i, text := range texts {
		number, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		numbers[i] = number
	}
	return numbers, nil
}
