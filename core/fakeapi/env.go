package fakeapi

import (
	"slices"
	"strings"
)

// Env is the environment with which the CLI talks to the server at url and to
// nothing else, as KEY=VALUE. home should be an empty directory of the test's:
// what the CLI keeps goes there, and nobody's settings are read.
func Env(url, home string) []string {
	return []string{
		"ANTHROPIC_BASE_URL=" + url,
		"ANTHROPIC_API_KEY=sk-test",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"HOME=" + home,
		"NO_PROXY=127.0.0.1,localhost",
		"no_proxy=127.0.0.1,localhost",
	}
}

// EnvLogin is Env for a CLI that has a login instead of an API key: only then it reads the
// windows of a plan.
func EnvLogin(url, home string) []string {
	return append(slices.DeleteFunc(Env(url, home), func(entry string) bool {
		return strings.HasPrefix(entry, "ANTHROPIC_API_KEY=")
	}), "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-test")
}
