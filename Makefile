# Everything here works on a machine with Python 3.11+, make and a package index; it stays inside .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# On a machine that nobody watches (CI is set) a failed test has a second try, and the last line counts these;
# tests/conftest.py fails a run with more than a few. CONTRIBUTING.md
AGAIN := $(if $(CI),--reruns 1)

.PHONY: demo test test-hosts check compose-check format bench mutants eval fuzz kills faults docs clean

demo: $(READY)
	@rm -f demo.sqlite demo.sqlite.* demo.sqlite-*
	$(BIN)/om replay --step --store demo.sqlite examples/orders-service.jsonl

test: $(READY)
	$(BIN)/python -m pytest -n auto $(AGAIN)

# The real Claude Code, Codex and Pi, installed into .hosts, against scripted model servers; CONTRIBUTING.md
test-hosts: $(READY)
	@$(BIN)/python -m tests.real.programs install
	MINUTEBOOK_HOSTS=1 $(BIN)/python -m pytest -n 2 $(AGAIN) tests/real tests/hosts/test_pi_migrations.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/meta

# The team box without a container engine: its files, its image, its services, a session through it. Linux, as root
compose-check: $(READY)
	@$(BIN)/python -m tests.compose

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks

# make mutants ROWS="4 112" for some rows of the behaviour specification; CONTRIBUTING.md
mutants: $(READY)
	$(BIN)/python -m tests.meta.mutants $(ROWS)

# make eval MODEL=provider/id [BASE_URL=…] [PROMPTS=folder] [LEAST=90] [CASES="trust work"]; evals/README.md
eval: $(READY)
	@$(BIN)/python -m evals $(if $(MODEL),--model '$(MODEL)') $(if $(BASE_URL),--base-url '$(BASE_URL)') \
	  $(if $(PROMPTS),--prompts '$(PROMPTS)') $(if $(LEAST),--least $(LEAST)) $(CASES)

# make fuzz SEEDS=2000 [FROM=0] [JOBS=2] [STORE=redis]; docs/reliability.md, "Interleavings"
fuzz: $(READY)
	@$(BIN)/python -m tests.fuzz --seeds $(or $(SEEDS),200) --from $(or $(FROM),0) --jobs $(or $(JOBS),1) \
	  --store $(or $(STORE),sqlite)

# make kills ROUNDS=600 SEEDS=500 [STORE=redis]; docs/reliability.md, "Killed processes"
kills: $(READY)
	@MINUTEBOOK_KILL_STORES='$(or $(STORE),sqlite redis)' MINUTEBOOK_KILL_ROUNDS=$(or $(ROUNDS),100) MINUTEBOOK_PROCESS_SEEDS=$(or $(SEEDS),50) \
	  $(BIN)/python -m pytest -q tests/killing

# make faults ROUNDS=200 [SEED=0] [POWER=1]: the team box with its parts killed; docs/reliability.md
faults: $(READY)
	@$(BIN)/python -m tests.environment.box_rounds --rounds $(or $(ROUNDS),20) --seed $(or $(SEED),0) $(if $(POWER),--power)

docs: $(READY)
	$(BIN)/python docs/refresh.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Minutebook needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev --editable .
	@touch $(READY)
