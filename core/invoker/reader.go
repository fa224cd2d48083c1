package invoker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line that the CLI writes. Tool results of some megabytes are
// ordinary; past this something is wrong, and memory is worth more.
const maxLine = 64 << 20

var errLineTooLong = errors.New("the agent wrote a line that is too long")

// readLines calls each with every line of r, without its end, until r ends. The
// slice is each's to keep. A last line without an end counts when it is not
// empty. It returns nil at the end of r.
func readLines(r io.Reader, limit int, each func([]byte)) error {
	reader := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(reader, limit)
		if len(line) > 0 {
			each(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(reader *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, fmt.Errorf("%w: more than %d bytes", errLineTooLong, limit)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}
