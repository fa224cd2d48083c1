package proc

import (
	"os"
	"strconv"
	"testing"
)

// A process that has got the number of one which is remembered may be anybody's.
func TestAHolderIsKnownByMoreThanItsNumber(t *testing.T) {
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	defer writes.Close()
	descriptor := strconv.Itoa(int(reads.Fd()))
	link, err := os.Readlink("/proc/self/fd/" + descriptor)
	if err != nil {
		t.Fatal(err)
	}
	me, ok := Of(os.Getpid())
	if !ok {
		t.Fatal("this process is not seen")
	}
	for name, row := range map[string]struct {
		holder
		want bool
	}{
		"by its descriptor":          {holder{me, descriptor}, true},
		"by another descriptor":      {holder{me, "0"}, true},
		"a later one of the number":  {holder{ID{me.PID, me.Start - 1}, descriptor}, false},
		"such a one, to be searched": {holder{ID{me.PID, me.Start - 1}, "0"}, false},
	} {
		var r Reader
		p := Peers{holders: []holder{row.holder}}
		if got := p.remembered(&r, socket{link: link}); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
