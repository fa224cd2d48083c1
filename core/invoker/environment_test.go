package invoker

import (
	"slices"
	"strings"
	"testing"
)

func TestTheEnvironmentOfASurroundingSessionIsWithheld(t *testing.T) {
	built := buildEnvironment([]string{
		"HOME=/home/agent", "PATH=/bin", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/tmp", "HTTPS_PROXY=http://proxy", "no_proxy=x",
		"ANTHROPIC_API_KEY=key", "CLAUDE_CODE_OAUTH_TOKEN=token", "DISABLE_TELEMETRY=1", "CLAUDE_CONFIG_DIR=/c",
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CODE_SSE_PORT=1",
		"DATABASE_URL=postgres://secret", "DISCORD_TOKEN=secret", "AWS_SECRET_ACCESS_KEY=secret", "NODE_OPTIONS=--inspect",
	}, []string{"HARNESS_OWNER=me", "HOME=/other"})
	for _, want := range []string{
		"HOME=/other", "PATH=/bin", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/tmp", "HTTPS_PROXY=http://proxy", "no_proxy=x",
		"ANTHROPIC_API_KEY=key", "CLAUDE_CODE_OAUTH_TOKEN=token", "DISABLE_TELEMETRY=1", "CLAUDE_CONFIG_DIR=/c",
		"HARNESS_OWNER=me", "CLAUDE_CODE_EAGER_FLUSH=1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	} {
		if !slices.Contains(built, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, entry := range built {
		for _, name := range []string{"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT",
			"DATABASE_URL", "DISCORD_TOKEN", "AWS_SECRET_ACCESS_KEY", "NODE_OPTIONS"} {
			if strings.HasPrefix(entry, name+"=") {
				t.Errorf("%s reaches the CLI", name)
			}
		}
	}
}

func TestCloudCredentialsReachTheCLIThatNeedsThem(t *testing.T) {
	environ := []string{"CLAUDE_CODE_USE_BEDROCK=1", "AWS_REGION=eu-west-1", "GOOGLE_APPLICATION_CREDENTIALS=/x"}
	built := buildEnvironment(environ, nil)
	if !slices.Contains(built, "AWS_REGION=eu-west-1") {
		t.Error("the cloud's credentials are missing")
	}
	if slices.Contains(built, "GOOGLE_APPLICATION_CREDENTIALS=/x") {
		t.Error("another cloud's credentials reach the CLI")
	}
}

func TestTheOperatorOverridesWhatIsPreset(t *testing.T) {
	built := buildEnvironment([]string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0"}, []string{"CLAUDE_CODE_EAGER_FLUSH=0"})
	if !slices.Contains(built, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0") || !slices.Contains(built, "CLAUDE_CODE_EAGER_FLUSH=0") {
		t.Errorf("built %v", built)
	}
}

// What one account authenticates with, another must not have: work and private life are apart.
func TestAnAccountHasNothingOfTheEnvironmentsCredentials(t *testing.T) {
	of := Account{Name: "private", Env: []string{"ANTHROPIC_API_KEY=private"}}
	env, _, err := of.over([]string{
		"ANTHROPIC_API_KEY=work", "ANTHROPIC_AUTH_TOKEN=work", "ANTHROPIC_CUSTOM_HEADERS=Authorization: work", "ANTHROPIC_PROFILE=work", "ANTHROPIC_FEDERATION_RULE_ID=work",
		"ANTHROPIC_FOUNDRY_API_KEY=work", "CLAUDE_CODE_OAUTH_TOKEN=work", "CLAUDE_CODE_CLIENT_KEY=work", "CLAUDE_CODE_USE_BEDROCK=work", "CLAUDE_CODE_SKIP_BEDROCK_AUTH=work",
		"AWS_SECRET_ACCESS_KEY=work", "AWS_BEARER_TOKEN_BEDROCK=work", "GOOGLE_APPLICATION_CREDENTIALS=work", "AZURE_CLIENT_SECRET=work",
		"ANTHROPIC_BASE_URL=for all", "ANTHROPIC_DEFAULT_HAIKU_MODEL=for all", "HOME=for all", "CLAUDE_CODE_EAGER_FLUSH=for all",
	}, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range env {
		if strings.Contains(entry, "work") {
			t.Errorf("%s is left", entry)
		}
	}
	if want := 5; len(env) != want {
		t.Errorf("%d variables, want %d: %q", len(env), want, env)
	}
	if lookup(env, "ANTHROPIC_API_KEY") != "private" {
		t.Error("the account's own key is missing")
	}
}
