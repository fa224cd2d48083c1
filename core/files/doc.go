// Package files keeps the bytes of files that people send and the agent makes: once, by
// their SHA-256, in a directory of the data directory, as DIR/ab/abcdef... Rows of the
// database are names for them. Bytes come to their place before their row does, and go
// after it, so that whatever dies in between leaves bytes without a row, which a sweep
// removes, and never a row without bytes.
//
// Nothing is ever unpacked, and nobody is believed about what a file is.
package files
