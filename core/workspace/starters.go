package workspace

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// shipped has, for each file, the SHA-256 of the texts that it was shipped with, the newest last. A change of a file adds a line.
var shipped = map[string][]string{
	"CLAUDE.md": {
		"29dbda511651e50f6323406aa92f173ab0727e5b91d1a05aac1711400d5c5cee",
		"89bd7881b65df3da4e1a6e8a750b3f620de06251886a969da7fb2bbcabcffdd0",
		"e8a3dda3bf0547c4d5f08d3f7560e6c0fdabe7fe86f1a9f0a7f2f844aec40522",
		"e15a738de43a5c7ab4e22dc57d714c6db5d12e727200b50764bd630c295235e6",
		"fdbb5a39413bc0c8c93143d90deabf486cda508cf8aa29d86a0b8fe7177dffae",
		"7f4b2beb6c6b6041b1f00ec93a1c45824dc7b00e8f87d57e57084ba057d31be5",
		"e5996c074db1a97f849b6835f8d46f54eabeb092ee753ced56624fc2c2fe63bf",
		"ee26ce744b6323df1dd96d7c722f969592e94a5883f167db0cf6095c0679c186",
	},
	"system.md": {
		"6e04251b45577ce7d4e6d1a0da17abc766173159194c22bea6e901e4ffa9ca04",
		"5f77ecd8e2cb36d0a50048369f7435655f252b22dcd1523ab42c195ba0ac70e8",
		"0bec130675dab85749114207cb3e43f9023f3c562f7a65bf585dbc51b92b5434",
	},
	"inbox.md":            {"6d40b6f091d1d89e8eb644854f359a30d6eb5d2ceb5ca487a5e368c17e6543d8"},
	"memory.md":           {"48dabecc862766d325577f5687d09b790209f7b3a7bed8ef38202e34c67ca639"},
	"thread-summaries.md": {"16fcb27fd90fc8d3214f2144b104b1d3b8d1768608c103e5ef27081b5907b32a"},
	"world-state.md":      {"768dc8ba3b8df776a573033723bfb9454527215d75e3f354422b38f1ee2a49b4"},
}

// manuals are the files that tell the agent how to work. What stands in the others is the agent's own: they begin as forms.
var manuals = []string{"CLAUDE.md", "system.md"}

// Starter is a file that a new workspace begins with, as it is shipped now.
type Starter struct {
	Path    string // in the workspace, with slashes
	Text    string
	Version string // the SHA-256 of the text, as of the context files

	name string
}

// Starters are the starter files, by path. from has them all at its root.
func Starters(from fs.FS) ([]Starter, error) {
	names, err := fs.Glob(from, "*"+suffix)
	if err != nil {
		return nil, err
	}
	all := make([]Starter, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		one := Starter{Path: name, Text: string(text), Version: versionOf(text), name: name}
		if name != topFile {
			one.Path = path.Join(topDir, name)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b Starter) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// Known reports whether the starter is the last of those that are known by their checksums.
func (s Starter) Known() bool {
	known := shipped[s.name]
	return len(known) > 0 && known[len(known)-1] == s.Version
}

// Standing says how a file of a workspace stands to its starter.
type Standing string

// The standings.
const (
	Same      Standing = "same"      // it is the newest starter, or was made from that and changed
	Untouched Standing = "untouched" // it is an older starter, as it was shipped
	Changed   Standing = "changed"   // it was made from an older starter, and changed since
	Unknown   Standing = "unknown"   // it is not known from which starter it was made
)

// Plain is a text with line feeds alone at the ends of its lines. An editor that writes CR LF has changed nothing.
func Plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// Stand says how a file with a text stands to the starter. had are the versions that the file has had, newest first; it is asked
// only if the text says too little. base is the starter's version that the file was made from; empty: it is not known.
func (s Starter) Stand(text string, had func() ([]string, error)) (standing Standing, base string, err error) {
	switch version := versionOf([]byte(Plain(text))); {
	case version == s.Version:
		return Same, version, nil
	case slices.Contains(shipped[s.name], version):
		return Untouched, version, nil
	}
	versions, err := had()
	if err != nil {
		return "", "", err
	}
	// A text that was restored is made from the starter that was behind it the first time, and not from one that was taken
	// meanwhile.
	version := versionOf([]byte(text))
	for i, one := range slices.Backward(versions) {
		if one == version {
			versions = versions[i:]
			break
		}
	}
	for _, one := range versions {
		if one == s.Version {
			return Same, one, nil
		}
		if slices.Contains(shipped[s.name], one) {
			return Changed, one, nil
		}
	}
	return Unknown, "", nil
}

// Offered reports whether a file that stands so is worth a word: there may be something new for it. What the agent has
// written into a form is never to be replaced by a newer form.
func (s Starter) Offered(standing Standing) bool {
	return standing == Untouched || standing != Same && slices.Contains(manuals, s.name)
}
