package charts

import (
	"fmt"
	"slices"
)

// Table has the values of the chart in words, for who cannot see it or wants them exactly:
// a row for each label, a column for each series, and the sums where there is something
// to add up. Rows is empty when the chart is. The chart is one that Render takes.
func (c Chart) Table() (head []string, rows [][]string) {
	head = []string{""}
	for _, series := range c.Series {
		head = append(head, series.Name)
	}
	sums := c.Kind != Lines && len(c.Series) > 1
	if sums {
		head = append(head, "Total")
	}
	if c.check() != nil {
		return head, nil
	}
	for i, label := range c.Labels {
		row := []string{label}
		for _, series := range c.Series {
			row = append(row, c.Unit.Format(series.Values[i]))
		}
		if sums {
			row = append(row, c.Unit.Format(c.total(i)))
		}
		rows = append(rows, row)
	}
	return head, rows
}

// Alt is the chart in a sentence, for the image's alternative text. Bars add up to
// something; lines lie between two values.
func (c Chart) Alt() string {
	title := plain(c.Title, 100)
	if c.check() != nil {
		return title + ": no data."
	}
	first, last := plain(c.Labels[0], 40), plain(c.Labels[len(c.Labels)-1], 40)
	if c.Kind == Lines {
		var low, high float64
		var at int
		for s, series := range c.Series {
			i := slices.Index(series.Values, slices.Max(series.Values))
			if s == 0 || series.Values[i] > high {
				high, at = series.Values[i], i
			}
			if least := slices.Min(series.Values); s == 0 || least < low {
				low = least
			}
		}
		switch {
		case low == high:
			return fmt.Sprintf("%s: %s.", c.span(title, first, last), c.Unit.Format(high))
		case len(c.Labels) == 1:
			return fmt.Sprintf("%s: from %s to %s.", c.span(title, first, last), c.Unit.Format(low), c.Unit.Format(high))
		}
		return fmt.Sprintf("%s: from %s to %s, most on %s.", c.span(title, first, last),
			c.Unit.Format(low), c.Unit.Format(high), plain(c.Labels[at], 40))
	}
	var sum float64
	at := 0
	for i := range c.Labels {
		if sum += c.total(i); c.total(i) > c.total(at) {
			at = i
		}
	}
	if len(c.Labels) == 1 || sum == 0 {
		return fmt.Sprintf("%s: %s.", c.span(title, first, last), c.Unit.Format(sum))
	}
	return fmt.Sprintf("%s: %s in all, most on %s: %s.", c.span(title, first, last),
		c.Unit.Format(sum), plain(c.Labels[at], 40), c.Unit.Format(c.total(at)))
}

// span is the title with the labels that the chart reaches over.
func (c Chart) span(title, first, last string) string {
	if len(c.Labels) == 1 {
		return title + ", " + first
	}
	return title + ", " + first + " to " + last
}
