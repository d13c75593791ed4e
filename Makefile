# One command for each task. What they install goes to folders that git ignores.

.DEFAULT_GOAL := help
.PHONY: help setup demo test bench fmt lint fixtures cases interop fuzz coverage docs dist clean
BENCH_ARGS ?=

help: ## shows this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## installs what is missing, or says what to install
	@scripts/setup

demo: ## shows the project at work with servers and a client that others wrote
	@scripts/setup
	@demo/run

test: ## runs every test, as continuous integration does
	@scripts/setup
	@scripts/test

bench: ## measures us beside rmcp and minimal programs (BENCH_ARGS=--quick for less)
	@scripts/setup rust python
	cargo bench --locked -p mcp-native --bench engine
	tests/bench/run.py rust $(BENCH_ARGS)

fmt: ## formats the sources
	cargo fmt --all

lint: ## formatting, clippy, ruff, mypy
	@scripts/setup
	@scripts/test format lint

fixtures: ## builds the fixture programs that the cases and the interop tests drive
	@scripts/setup rust
	@scripts/test fixtures

cases: ## runs the field cases on the fixtures
	@scripts/setup rust python
	@scripts/test fixtures cases

interop: ## runs other SDKs against ours, both ways
	@scripts/setup
	@scripts/test fixtures interop

fuzz: ## fuzzes each target for half a minute
	@scripts/setup rust
	@scripts/test fuzz

coverage: ## says which requirements are proven, and which are not
	@scripts/setup python
	@scripts/test coverage

docs: ## builds the documentation
	@scripts/setup rust
	@scripts/test docs

dist: ## builds the crate's package into .build/dist
	@scripts/setup rust
	cargo package --locked -p mcp-native --target-dir .build/dist

clean: ## removes what was built and installed
	cargo clean
	rm -rf .build demo/node_modules tests/interop/peers/ts1/node_modules
	find tests -type d -name target -prune -exec rm -rf {} +
