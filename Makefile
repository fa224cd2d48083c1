# Every tool is pinned in .ci/tools.mod or .ci/lint.mod and built by go itself
# when first used: nothing is installed by hand, and go.mod stays the product's.
SHELL := /bin/bash
TOOL  := go tool -modfile=.ci/tools.mod
LINT  := go tool -modfile=.ci/lint.mod golangci-lint

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
DATE    ?= $(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
PLUGINS  = $(filter-out harness-plugins,$(patsubst plugins/cmd/%/main.go,%,$(wildcard plugins/cmd/*/main.go)))

# The version is stamped below. Go's own stamping would refuse a checkout that
# belongs to another user, which is what CI containers often have. Everything is
# built with the same flags, so that nothing is compiled once for each of them.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -buildvcs=false -trimpath)
export CGO_ENABLED := 0

.DEFAULT_GOAL := help
.PHONY: help build plugins run test test-race agent-check agent-raise generate check lint generated proto tidy conformance bench lighthouse chaos release release-check clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/harness, bin/harness-plugins and the links to it, bin/plugins/*
	go build -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)' -o bin/ ./core/cmd/...
	go build -ldflags '-s -w' -o bin/ ./plugins/cmd/harness-plugins
	mkdir -p bin/plugins
	for name in $(PLUGINS); do ln -sfn ../harness-plugins "bin/plugins/$$name" || exit; done

# What go build finds under a name it writes into, also through a link.
plugins: ## build each shipped plugin by itself into bin/plugins (make build: links again)
	rm -f $(PLUGINS:%=bin/plugins/%)
	go build -ldflags '-s -w' -o bin/plugins/ $(PLUGINS:%=./plugins/cmd/%)

run: build ## build, then start the daemon with its data in ./data
	exec bin/harness up --data ./data

# Many tests wait more than they work, so there are two at once for each processor, but not more than
# eight: each takes memory. The packages that take longest begin first: the last would leave the other cores with nothing
# to do. What is linked, once for each package, is so without what only a debugger reads.
# make check runs the checks of go vet, so make test does not. go test prints (cached) for a package whose
# code has not changed, nor the files and the environment that its tests read, nor, with all packages, the programs
# that they start, and does not test it again; ARGS=-count=1 tests all of them, and so does RACE=1, as in CI.
AT_ONCE := $(shell n=$$(getconf _NPROCESSORS_ONLN); [ $${n:-2} -lt 4 ] && echo $$(($${n:-2} * 2)) || echo 8)
LONGEST := ./core/coretest/walk ./core/daemon ./core/invoker ./core/store ./plugins/validation/internal/validation ./plugins/discord/internal/discord ./core/search ./plugins/web/internal/web ./core/agentcheck ./core/tasks ./plugins/worktree/internal/worktree ./pluginsdk/launch ./core/cmd/harness ./pluginsdk/plugintest/conform ./core/pluginhost

# RACE=1, as CI has it, looks for races too. The race detector needs cgo, which what the
# tests build does not. It does not look at packages that compute and share nothing, where it
# would spend most of its time: SQLite, whose C in Go brings its own locks, the arithmetic of
# cryptography, compression, calendars, and regular expressions (these without inlining: a sync.Once that
# is inlined there would look like a race). With protobuf or encoding/json left out as well, it
# reports races that are none. Nor does it check pointer arithmetic (there is one line of it, in
# proc.Adopt), or wait for a second at the end of each process.
RACE_ENV   := env CGO_ENABLED=1 GORACE=atexit_sleep_ms=0
RACE_FLAGS := -race -shuffle=on -gcflags=all=-d=checkptr=0 $(foreach pure,modernc.org crypto/internal/fips140 compress github.com/netresearch github.com/seed-706843ae/harness/plugins/cron/internal/calendar github.com/seed-706843ae/harness/plugins/cron/brute,-gcflags=$(pure)/...=-race=false) \
	-gcflags='regexp/...=-race=false -l' -exec 'env CGO_ENABLED=0'

test: ## run all tests (ARGS='-run Name', PKG=./core/store/..., RACE=1)
	$(if $(RACE)$(PKG),,HARNESS_TEST_REMEMBER=1) .ci/test-env $(if $(RACE),$(RACE_ENV)) go test -vet=off $(if $(RACE),$(RACE_FLAGS)) -ldflags='-s -w' -p $(AT_ONCE) -parallel $(AT_ONCE) -timeout 45m \
		$(ARGS) $(or $(PKG),$(LONGEST) ./...)

test-race: ## the same, with the race detector
	$(MAKE) test RACE=1

agent-check: ## does a Claude CLI do what Harness relies on? (CLAUDE=path; default the one on PATH)
	@go run ./core/cmd/harness agent check $(if $(CLAUDE),--claude '$(CLAUDE)') $(ARGS)

agent-raise: ## pin the newest Claude CLI, and print what changed (VERSION=2.1.330)
	.ci/claude/raise $(if $(filter command line environment,$(origin VERSION)),'$(VERSION)')

generate: ## write the generated code of ent/, proto/ and the pages anew
	go generate ./ent/...
	$(TOOL) buf generate
	$(TOOL) templ generate -path plugins -include-version=false -log-level error

check: lint generated proto tidy ## lint; generated code current; proto compatible; go.mod tidy

lint:
	$(LINT) run

generated:
	.ci/generated-current

# The contract that plugins were built against must go on working. Its image is
# in the repository, so the answer does not depend on which commits CI fetched. A
# release writes it anew: go tool -modfile=.ci/tools.mod buf build -o proto/baseline.binpb
proto:
	$(TOOL) buf lint
	$(TOOL) buf breaking --against proto/baseline.binpb

tidy:
	go mod tidy -diff

conformance: build ## examine every plugin and example from the outside (JUnit files in bin/conformance)
	.ci/conformance

bench: build ## measure boot, memory, turns (ARGS=-quick)
	HARNESS_TEST_FSYNC=on .ci/test-env go run ./core/coretest/bench $(ARGS)

lighthouse: ## measure pages of a daemon that is up (URL='http://127.0.0.1:3001/login ...')
	.ci/lighthouse/run $(URL)

release: ## make the archives of a release in dist/ (VERSION=v1.2.3)
	.ci/release $(if $(filter command line environment,$(origin VERSION)),'$(VERSION)')

release-check: ## build a release twice, and compare
	.ci/release check

chaos: build ## kill everything at random, lose nothing (KILLS=500 SEED=1 DB=both THREADS=12)
	.ci/test-env go run ./core/coretest/chaos -kept bin/chaos $(if $(KILLS),-kills $(KILLS)) $(if $(SEED),-seed $(SEED)) \
		$(if $(DB),-db $(DB)) $(if $(THREADS),-threads $(THREADS)) $(ARGS)

clean: ## remove what build, test and release left (never ./data)
	rm -rf bin dist .cache
