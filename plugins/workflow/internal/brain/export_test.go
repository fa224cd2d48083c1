package brain

// Explain is explain, for what cannot be had on every machine, and Parse is parse, without a file for each text.
var (
	Explain = explain
	Parse   = parse
)
