# The commands of README.md, and nothing clever.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STACK ?= dev

.PHONY: help setup engine engine-kubernetes up down plan test test-slow setup-gpunet test-gpunet serve setup-ml-pipeline test-ml-pipeline lint format bench golden docs constraints clean

help:  ## Show the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 19

setup: $(VENV)/.installed  ## Make the environment; leaves .venv/bin/eksai

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is older than 3.11. Name a newer one: make setup PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

engine: setup  ## Find the Pulumi engine, or build it from Go modules (minutes, once)
	@$(BIN)/eksai engine build

engine-kubernetes: engine  ## Also build what `eksai up STACK --local --kubernetes` needs (half an hour, once)
	@$(BIN)/eksai engine build --kubernetes

up: engine  ## Bring STACK (dev) up on the local cloud, policies on
	$(BIN)/eksai up $(STACK) --local

down: engine  ## Destroy STACK on the local cloud
	$(BIN)/eksai destroy $(STACK) --local --yes

plan: setup  ## Show what STACK would make, without an engine
	$(BIN)/eksai plan $(STACK)

test: setup  ## Run the tests; those that need the engine are skipped where there is none
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: setup  ## Run the slow tests: round trips through the engine, every order of the local cloud
	$(BIN)/python -m pytest -n 2 -m slow

GPUNET := services/gpunet
PORT ?= 8080
GPUNET_BIN := $(GPUNET)/.venv/bin

setup-gpunet: $(GPUNET)/.venv/.installed  ## Make the environment of the GPUNet service

$(GPUNET)/.venv/.installed: $(GPUNET)/pyproject.toml $(GPUNET)/constraints.txt
	$(PYTHON) -m venv $(GPUNET)/.venv
	$(GPUNET_BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(GPUNET)/constraints.txt --editable '$(GPUNET)[cpu,dev]'
	@touch $@

test-gpunet: setup-gpunet  ## Test the GPUNet service, format and types included
	cd $(GPUNET) && PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright
	$(GPUNET_BIN)/python -m pytest $(GPUNET) -n 2

serve: setup-gpunet  ## Try the GPUNet service here, on the CPU and with random weights, on PORT (8080)
	@echo "The weights are random: the labels mean nothing. The real ones cannot be fetched without an account at NVIDIA."
	@echo "Open http://127.0.0.1:$(PORT), or run $(GPUNET_BIN)/gpunet classify FILE_OR_URL. Ctrl-C ends it."
	@GPUNET_HOST=127.0.0.1 GPUNET_LISTEN_PORT=$(PORT) GPUNET_DEVICE=cpu $(GPUNET_BIN)/gpunet serve --random-weights

ML_PIPELINE := services/ml-pipeline
ML_PIPELINE_BIN := $(ML_PIPELINE)/.venv/bin

setup-ml-pipeline: $(ML_PIPELINE)/.venv/.installed  ## Make the environment of the training pipeline's steps

$(ML_PIPELINE)/.venv/.installed: $(ML_PIPELINE)/pyproject.toml $(ML_PIPELINE)/constraints.txt
	$(PYTHON) -m venv $(ML_PIPELINE)/.venv
	$(ML_PIPELINE_BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(ML_PIPELINE)/constraints.txt --editable '$(ML_PIPELINE)[dev]'
	@touch $@

test-ml-pipeline: setup-ml-pipeline  ## Test the training pipeline's steps with a real Ray, types included
	cd $(ML_PIPELINE) && PYRIGHT_PYTHON_IGNORE_WARNINGS=1 .venv/bin/pyright
	$(ML_PIPELINE_BIN)/python -m pytest $(ML_PIPELINE)

lint: setup  ## Check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

format: setup  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## Measure `eksai plan` against its floor
	$(BIN)/python bench/plan.py

golden: engine  ## Renew the golden files after a change that is meant
	$(BIN)/python -m tools.golden

docs: setup  ## Renew the generated pages
	$(BIN)/python -m tools.reference

constraints: setup  ## Renew constraints.txt from the environment
	@{ head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | tr 'A-Z_' 'a-z-' | sort; } > constraints.new
	@mv constraints.new constraints.txt

clean:  ## Remove the environment and all local state
	rm -rf $(VENV) .local *.egg-info
