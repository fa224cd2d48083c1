//go:build !race

package conform_test

const raced = false
