package digest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const file = `# Thread summaries

People's own words.

## Trip (thread t1, 2026-11-01)
- they fly on Friday
- the hotel is open

A note by hand, behind a section.

## My list
- one

## House (thread t2, 2026-11-03)
- the roof`

// What is not a section of the plugin's is in the file afterwards as it was.
func TestOthersWordsStay(t *testing.T) {
	f := Parse(file)
	if f.String() != file {
		t.Fatalf("read and written again it is\n%s", f)
	}
	f.Put(Section{ThreadID: "t1", Name: "Trip", Day: "2026-11-28", Lines: []string{"they are back"}})
	f.Put(Section{ThreadID: "t3", Name: "New\nname", Day: "2026-11-28", Lines: []string{"- # a heading?\n## no", ""}})
	f.Drop(func(s Section) bool { return s.ThreadID == "t2" })
	const want = `# Thread summaries

People's own words.

## New name (thread t3, 2026-11-28)
- a heading? ## no

## Trip (thread t1, 2026-11-28)
- they are back

A note by hand, behind a section.

## My list
- one

`
	if f.String() != want {
		t.Errorf("got\n%s\nwant\n%s", f, want)
	}
	if got := Parse(f.String()).Sections(); len(got) != 2 || got[0].ThreadID != "t3" || got[0].Name != "New name" {
		t.Errorf("sections %+v", got)
	}
}

func TestTheFirstSection(t *testing.T) {
	for _, before := range []string{"", "# Thread summaries\n", "# Thread summaries", "# Thread summaries\n\n"} {
		f := Parse(before)
		f.Put(Section{ThreadID: "t", Name: "N", Day: "2026-11-28", Lines: []string{"x"}})
		want := "## N (thread t, 2026-11-28)\n- x\n"
		if before != "" {
			want = "# Thread summaries\n\n" + want
		}
		if f.String() != want {
			t.Errorf("%q becomes %q, want %q", before, f, want)
		}
	}
}

// The oldest sections make room; others' words do not, however long they are.
func TestFit(t *testing.T) {
	f := Parse(file)
	dropped := f.Fit(len(file) - 1)
	if len(dropped) != 1 || dropped[0].ThreadID != "t1" || len(dropped[0].Lines) != 2 {
		t.Errorf("dropped %+v", dropped)
	}
	if dropped = f.Fit(1); len(dropped) != 1 || !strings.Contains(f.String(), "A note by hand") || !strings.Contains(f.String(), "## My list\n- one") {
		t.Errorf("dropped %+v, left\n%s", dropped, f)
	}
}

// TestAnyEdits puts, drops and fits at random between lines that others write: none of these is ever lost.
func TestAnyEdits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text, others := "", []string{}
	for n := range 2000 {
		f := Parse(text)
		switch random.IntN(4) {
		case 0:
			line := fmt.Sprintf("words %d", n)
			others = append(others, line)
			text = f.String() + "\n" + line + "\n\n"
			continue
		case 1:
			gone := fmt.Sprintf("t%d", random.IntN(20))
			f.Drop(func(s Section) bool { return s.ThreadID == gone })
		case 2:
			if random.IntN(20) == 0 {
				f.Fit(len(f.String()) * 2 / 3)
			}
		default:
			id := fmt.Sprintf("t%d", random.IntN(20))
			f.Put(Section{ThreadID: id, Name: id, Day: fmt.Sprintf("2026-11-%02d", 1+random.IntN(28)), Lines: []string{strings.Repeat("x", random.IntN(30))}})
			if found := Parse(f.String()).Sections(); len(found) != len(f.Sections()) {
				t.Fatalf("%d sections are read again of %d:\n%s", len(found), len(f.Sections()), f)
			}
		}
		text = f.String()
	}
	for _, line := range others {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%q is lost", line)
		}
	}
}
