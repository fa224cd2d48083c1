//go:build !race

package launch_test

const raced = false
