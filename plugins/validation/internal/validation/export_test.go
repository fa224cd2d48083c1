package validation

// For the tests of this package.
var (
	Costly  = costly
	Unbegun = unbegun
)
