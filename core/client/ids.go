package client

import (
	"fmt"
	"strings"
)

const (
	// wholeID is how many characters an id has.
	wholeID = 36
	// leastOfID is how many of them, the first or the last ones, name a thing.
	leastOfID = 6
)

// wholeOr reports whether a text is a whole id, and refuses what is too short to be a part
// of one.
func wholeOr(part, noun string) (whole bool, err error) {
	if len(part) < leastOfID {
		return false, fmt.Errorf("%q names no %s: an id is given whole, or by %d or more of its first or last characters", part, noun, leastOfID)
	}
	return len(part) >= wholeID, nil
}

// theOne returns the one of the ids that begins or ends with a part; empty: none does. It is
// an error when more than one does.
func theOne(part string, ids []string) (string, error) {
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, part) || strings.HasSuffix(id, part) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%q is part of more than one id: %s", part, strings.Join(found, ", "))
}

// noneOf says that a part is of no id.
func noneOf(part, noun string) error {
	return fmt.Errorf("there is no %s with the id %q, nor one that begins or ends with it", noun, part)
}

// OneOf returns the id that a part of it names, among those that there are.
func OneOf(part, noun string, ids []string) (string, error) {
	whole, err := wholeOr(part, noun)
	if whole || err != nil {
		return part, err
	}
	id, err := theOne(part, ids)
	if err == nil && id == "" {
		err = noneOf(part, noun)
	}
	return id, err
}
