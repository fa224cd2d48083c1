package conform

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// WriteJUnit writes the report as JUnit XML, in the form that CI systems read
// (https://github.com/testmoapp/junitxml).
func (r Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: "conformance of " + r.Plugin, Tests: len(r.Results), Failures: r.Count(Fail), Skipped: r.Count(Skip),
		Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05"),
	}
	var total time.Duration
	for _, result := range r.Results {
		total += result.Duration
		suite.Cases = append(suite.Cases, result.junit(r.Plugin))
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r Result) junit(plugin string) junitCase {
	c := junitCase{Class: "conformance." + plugin, Name: r.Name, Time: seconds(r.Duration)}
	switch r.Status {
	case Fail:
		c.Failure = &junitText{Message: r.Detail, Text: r.Title + ": " + r.Detail + "\nWhat to do: " + r.Advice}
	case Skip:
		c.Skipped = &junitText{Message: r.Detail}
	case Pass:
		c.Output = r.Detail
	}
	return c
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}
