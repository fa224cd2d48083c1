package text

import "strings"

// writer writes one part.
type writer struct {
	rows  []row
	limit int
	first int // the part's first row
	b     strings.Builder
	units int
	kept  int // the length of what there is before a rule
}

func (w *writer) write(s string) {
	w.b.WriteString(s)
	w.units += Units(s)
}

// begin writes what stands before the text of row i from offset at: what ends the row
// before, the boxes around it, its marks, and a fence where code begins or goes on.
func (w *writer) begin(i, at int) {
	r := &w.rows[i]
	if i > w.first {
		a := &w.rows[i-1]
		if a.code != nil && a.code != r.code {
			w.write(w.tail(a, nil))
		}
		if r.rule {
			w.kept = w.b.Len()
		}
		w.write("\n")
		if r.gap {
			w.write(quotes(r.in[:common(a, r)]) + "\n")
		}
	}
	if r.code != nil {
		lead := quotes(r.in)
		if i == w.first || w.rows[i-1].code != r.code {
			w.write(lead + "```" + r.code.lang + "\n")
			w.again(r, i, lead)
		}
		w.write(lead)
		return
	}
	if i == w.first {
		w.write(w.mended(i, at))
	} else {
		w.write(lead(r, i))
	}
	w.write(r.mark)
	open, _ := r.open(at)
	w.write(strings.Join(open, ""))
}

// again writes a table's first lines where it goes on in a part.
func (w *writer) again(r *row, i int, lead string) {
	if i != w.first || i == 0 || len(r.code.head) == 0 || w.rows[i-1].code != r.code {
		return
	}
	head := lead + strings.Join(r.code.head, "\n"+lead) + "\n"
	if Units(head) <= w.limit/4 && r.text != r.code.head[1] {
		w.write(head)
	}
}

// lead is what the boxes around row i put before it.
func lead(r *row, i int) string {
	var b strings.Builder
	for k, x := range r.in {
		switch {
		case x.marker == "":
			b.WriteString("> ")
		case x.first == i:
			b.WriteString(x.marker)
		case quotes(r.in[k:]) != "": // a quote in an item stands at the left edge, as code does
		default:
			b.WriteString(strings.Repeat(" ", len(x.marker)))
		}
	}
	return b.String()
}

// mended is lead for a part's first row. Items that began in an earlier part begin again,
// with "…", as a message may not begin with spaces and numbers go on.
func (w *writer) mended(i, at int) string {
	r := &w.rows[i]
	var b strings.Builder
	line := ""
	for k, x := range r.in {
		switch {
		case x.marker == "":
			line += "> "
		case x.first == i && at == 0:
			line += x.marker
		case quotes(r.in[k:]) != "":
		default:
			inner := false
			for _, y := range r.in[k+1:] {
				inner = inner || y.marker != ""
			}
			b.WriteString(line + x.marker + "…")
			if inner {
				b.WriteString("\n")
				line += strings.Repeat(" ", len(x.marker))
			} else {
				b.WriteString(" ")
				line = ""
			}
		}
	}
	if s := b.String() + line; Units(s) <= w.limit/2 {
		return s
	}
	return quotes(r.in)
}

// quotes is what the quotes among boxes put before a line.
func quotes(in []*box) string {
	var b strings.Builder
	for _, x := range in {
		if x.marker == "" {
			b.WriteString("> ")
		}
	}
	return b.String()
}

// tail is what closes a part behind row r: the marks that are open, or the fence.
func (w *writer) tail(r *row, open []string) string {
	if r.code != nil {
		return "\n" + quotes(r.in) + "```"
	}
	var b strings.Builder
	for k := len(open) - 1; k >= 0; k-- {
		b.WriteString(open[k])
	}
	return b.String()
}

// end is the end of a part before row i, if it may end there.
func (w *writer) end(i int) (place, bool) {
	a := &w.rows[i-1]
	q := place{kept: w.b.Len(), i: i}
	if i < len(w.rows) && a.para != nil && a.para == w.rows[i].para {
		r := &w.rows[i]
		open, whole := r.para.at(r.at - 1)
		if _, behind := r.para.at(r.at); whole || behind {
			return q, false
		}
		q.said = w.tail(a, open)
		return q, true
	}
	if a.rule {
		q.kept = w.kept
	}
	q.said = w.tail(a, nil)
	return q, true
}

// part is the part that ends at a place.
func (w *writer) part(q place) string {
	return strings.TrimRight(w.b.String()[:q.kept]+q.said, " \t\n")
}
