package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// buildSubject builds the plugin that is measured with, as the shipped ones are
// built, into dir.
func buildSubject(dir, name, version string) (path string, err error) {
	path = filepath.Join(dir, name)
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", path,
		"./core/coretest/bench/cmd/subject")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the subject: %w\n%s", err, output)
	}
	return path, nil
}

// packSubject builds a version of the subject with its plugin.json beside it,
// as an author hands it out.
func packSubject(dir, version string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if path, err = buildSubject(dir, subjectName, version); err != nil {
		return "", err
	}
	manifest, err := exec.Command(path, serve.DescribeFlag).Output()
	if err != nil {
		return "", fmt.Errorf("ask the subject for its manifest: %w", err)
	}
	if !json.Valid(manifest) {
		return "", fmt.Errorf("the subject's manifest is not JSON: %s", manifest)
	}
	return path, os.WriteFile(filepath.Join(dir, "plugin.json"), manifest, 0o600)
}

const subjectName = "subject"
