# The commands of this repository. `make help` lists them.
#
# The work is done by CMake presets (CMakePresets.json) and by the programs in scripts/; a target here
# only names the common uses.

.DEFAULT_GOAL := help
.PHONY: help bootstrap build up down test bench sim fuzz lint format check-all clean install uninstall images publish deploy undeploy

JOBS ?= $(shell nproc)
SEEDS ?= 5000
FUZZ_SECONDS ?= 120
FABRIC ?= vxlan

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap: ## Install the Debian packages that are missing (quiet when none is)
	@scripts/bootstrap

build: bootstrap ## The release binary, as build/fairlead
	@scripts/build release
	@ln -sfn release/src/program/fairlead build/fairlead

up: build ## Build and run the demonstration: make up [FABRIC=ovs]
	@scripts/up --fabric $(FABRIC)

down: ## Stop what `make up` started
	@scripts/up --stop

test: ## Everything a change must pass: unit, simulation, fuzz, end to end (about forty minutes on two cores)
	@scripts/test

bench: build ## Measure; tables as in docs/benchmarks.md
	@scripts/build release store_bench
	@bench/run

sim: bootstrap ## The virtual world over many seeds: make sim SEEDS=100000
	@scripts/build release sim_test
	@scripts/sim --seeds $(SEEDS)

fuzz: bootstrap ## Every fuzz target for a while: make fuzz FUZZ_SECONDS=3600
	@scripts/build fuzz
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

lint: bootstrap ## Format, layers, self-contained headers, shell scripts, clang-tidy
	@scripts/lint

format: bootstrap ## Rewrite the sources as .clang-format has them
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

check-all: ## make test, then ThreadSanitizer, clang-tidy, more seeds, longer fuzzing, a fresh Debian
	@scripts/test
	@scripts/check-all

install: build ## Program and systemd units below PREFIX (/usr/local): make install DESTDIR=…
	@scripts/install

uninstall: ## Remove them again; data and configuration stay
	@scripts/install --remove

images: build ## Container images as OCI layouts in build/images, without Docker
	@scripts/images fairlead fairlead-tools fairlead-etcd fairlead-prometheus

publish: images ## Push them to a registry: make publish REGISTRY=registry.example/net [TAG=…]
	@scripts/publish

deploy: ## Apply deploy/kubernetes: make deploy IMAGE=registry/fairlead:tag [OVERLAYS='ha hooks'] KUBECONFIG=…
	@scripts/deploy

undeploy: ## Delete it from the cluster, networks and data included
	@scripts/deploy --remove

clean: ## Remove build/
	@rm -rf build
