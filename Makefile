# Every target sets up what it needs in .venv and .cache; nothing is installed outside this directory.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv/bin
PYTHON ?=
INSTALLED := .venv/.installed
RELEASE := .venv-release/bin
SITE := .venv-site/bin
# The tests of a file run in one process, since they share fixtures.
PYTEST := $(VENV)/python -m pytest -n 2 --dist loadfile
CORE := not (full_kafka or full_versions or full_pipeline or full_alerts or full_faults or full_logins or full_deploy or test_images)

.PHONY: help setup run lint test quick unit cluster spark wheel static slow full-kafka full-versions full-pipeline full-alerts full-faults full-logins full-deploy images test-images mutants lock dist release audit demo demo-look pictures pipeline-demo sandbox bench soak eta flood law scale stuck verdict rollup-bench nights-bench fuzz docs site dashboards rules manifests tools clean distclean fleet

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(INSTALLED) ## make .venv with the command .venv/bin/kafka-warden

$(INSTALLED): pyproject.toml constraints.txt scripts/setup
	PYTHON='$(PYTHON)' scripts/setup
	@touch $@

.venv-run/.installed: pyproject.toml requirements.txt scripts/setup
	PYTHON='$(PYTHON)' scripts/setup .venv-run
	@touch $@

run: .venv-run/.installed ## serve the metrics of your cluster: make run BOOTSTRAP=host:port [ARGS="--jmx-port 9999"]
	@test -n '$(BOOTSTRAP)' || { echo 'usage: make run BOOTSTRAP=host:port [ARGS="--jmx-port 9999"]' >&2; exit 2; }
	exec .venv-run/bin/kafka-warden run --bootstrap-servers '$(BOOTSTRAP)' $(ARGS)

lint: setup ## style, types, words, and whether generated documents are current
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(VENV)/mypy
	$(VENV)/python -m scripts.words
	$(VENV)/python -m docs.generate --check
	$(VENV)/zizmor --offline --strict-collection --no-progress --quiet .github

quick: setup ## the tests of pure functions, without any process: a minute. Property tests have fewer examples
	@HYPOTHESIS_PROFILE=quick $(PYTEST) --quick $(ARGS)

unit: setup ## the tests without Kafka and Spark; many of them wait
	$(PYTEST) -n 4 --no-loadscope-reorder -m '$(CORE) and not cluster and not spark' $(ARGS)

cluster: tools setup ## the core of the tests on real Kafka clusters
	$(PYTEST) -m '$(CORE) and cluster' $(ARGS)

spark: setup ## the core of the tests that start Spark
	nice $(PYTEST) -m '$(CORE) and spark and not cluster' $(ARGS)

static: setup ## lint, site and wheel at once
	+$(MAKE) --jobs=3 --output-sync lint site wheel

slow: tools setup ## cluster and spark at once: clusters mostly wait, and Spark computes
	+$(MAKE) --jobs=2 --output-sync cluster spark

wheel: setup ## install the wheel as the README says, with each supported Python on this machine, and run it
	scripts/try-wheel

$(RELEASE): pyproject.toml constraints.txt | setup
	$(VENV)/python -m venv --clear .venv-release
	$(RELEASE)/pip install --quiet --disable-pip-version-check --constraint constraints.txt cyclonedx-bom pip-audit twine uv wheel
	@touch $@

COMPILE = $(RELEASE)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-annotate --custom-compile-command 'make lock' --constraint constraints.txt

lock: $(RELEASE) ## requirements.txt, and what the extras need beside it: the versions of constraints.txt with the hashes of their files
	echo setuptools | $(COMPILE) --output-file requirements.txt pyproject.toml -
	$(COMPILE) --extra history --extra mcp --extra msk --extra top --output-file requirements-extras.txt \
		$$(sed -n 's/^\([a-z0-9.-]*\)==.*/--no-emit-package \1/p' requirements.txt) pyproject.toml

dist release: export IMAGE := $(IMAGE)
dist release: export REPOSITORY := $(REPOSITORY)
dist: $(RELEASE) ## wheel with its SBOM, sdist, chart, dashboards and checksums in dist/, installed with Python 3.11, 3.12 and 3.13
	scripts/make-dist

release: $(RELEASE) ## set the version, close the changelog, build dist/ and tag: make release VERSION=1.2.0 (docs/publishing.md)
	@test -n '$(VERSION)' || { echo 'usage: make release VERSION=1.2.0' >&2; exit 2; }
	$(VENV)/python -m scripts.release '$(VERSION)'

images: $(RELEASE) ## the images of the Dockerfile by buildah, with an SBOM of each in dist/; as root or in buildah unshare
	$(VENV)/python -m scripts.images $(ARGS)

audit: $(RELEASE) ## known vulnerabilities of everything in constraints.txt. Needs a registry that serves them
	$(RELEASE)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

test: export FLAKY := $(CURDIR)/.flaky
test: tools setup ## style, types, the core of all tests, the wheel: 30 minutes on two cores
	@rm -f $(FLAKY)
	@scripts/step make static
	@scripts/step make unit
	@scripts/step make slow

# What `make test` leaves out, in shards of at most an hour. Property tests take other examples each time there.
full-kafka: tools setup ## all other tests of the exporter and the sandbox, on Kafka 3.9, 4.1 and 4.4
	@HYPOTHESIS_PROFILE=fresh scripts/step $(PYTEST) -m 'hypothesis and $(CORE)' $(ARGS)
	@HYPOTHESIS_PROFILE=fresh scripts/step $(PYTEST) -m full_kafka $(ARGS)

full-versions: tools setup ## the core on each version of Kafka in docs/versions.md, and an upgrade; 12 minutes. VERSIONS_TABLE=write writes the table down
	@scripts/step $(VENV)/python -m pytest -m full_versions $(ARGS)

full-pipeline: tools setup ## all other tests of the pipeline: kills, a generated day, topics, the demo
	@HYPOTHESIS_PROFILE=fresh scripts/step $(PYTEST) -m full_pipeline $(ARGS)

full-alerts: tools setup ## every alert and every panel, by a real fault. ALERT_MATRIX=write writes down the result
	@scripts/step $(VENV)/python -m pytest -m full_alerts $(ARGS)

full-faults: tools setup ## faults of brokers, JMX, logins, clients and disks on a secured cluster, and five minutes of the soak
	@scripts/step $(VENV)/python -m pytest -m full_faults $(ARGS)

full-logins: tools setup ## logins with tokens, Kerberos and client certificates, which end or are replaced during the test; 15 minutes
	@scripts/step $(VENV)/python -m pytest -m full_logins $(ARGS)

full-deploy: setup ## the chart by helm 3 and 4: lint, every example, the types of the Prometheus operator (fetched once; needs Go)
	@scripts/step $(VENV)/python -m pytest -m full_deploy $(ARGS)

test-images: $(RELEASE) tools ## the images: built on base images of Debian's packages, run by podman and runc; as root
	@scripts/step $(VENV)/python -m pytest -m test_images $(ARGS)

mutants: tools setup ## change the code in 400 places of each of four rooms: do tests fail? ARGS=derive takes one
	@scripts/step $(VENV)/python -m scripts.mutants $(ARGS)

demo: tools setup ## a cluster, a throttled move that gets stuck, its page and its end; on a terminal it stays until Ctrl-C
	$(VENV)/python -m sandbox.demo $(ARGS)

demo-look: setup ## the last demo again, in Prometheus and Grafana; Ctrl-C ends it
	$(VENV)/python -m sandbox.demo_look $(ARGS)

pictures: setup ## make docs/pictures from the last demo and check all dashboards (ARGS=--check: only that); needs Node.js and chromium-headless-shell
	$(VENV)/python -m sandbox.demo_pictures $(ARGS)

pipeline-demo: setup ## from the recorded history of a cluster to the report and a plan, by Spark; fetches jars once, then no network
	scripts/pipeline-demo $(ARGS)

sandbox: tools setup ## a Kafka cluster on loopback to play with; Ctrl-C ends it
	$(VENV)/python -m sandbox $(ARGS)

bench: tools setup ## the benchmarks of bench/README.md; takes long
	$(VENV)/python -m bench $(ARGS)

soak: tools setup ## an hour of 50 scrapers while brokers hang and die: failed scrapes, memory, descriptors, threads
	$(VENV)/python -m bench.soak $(ARGS)

eta: tools setup ## the ETA of five real moves against what they took; a quarter of an hour
	$(VENV)/python -m bench.eta $(ARGS)

law: tools setup ## the law of throttled moves where it is least certain; a quarter of an hour
	$(VENV)/python -m bench.law $(ARGS)

stuck: tools setup ## time until /metrics shows a stuck move; 15 minutes
	$(VENV)/python -m bench.stuck $(ARGS)

verdict: tools setup ## the verdict by time against the brokers' ISR through pauses and a kill; 5 minutes
	$(VENV)/python -m bench.verdict $(ARGS)

fuzz: setup ## new replies, polls, configuration, web requests and history, until a finding or Ctrl-C: ROUNDS=10 ARGS="-k replies"
	@for ((round = 1; round <= $(or $(ROUNDS),round); round++)); do \
		export FUZZ_SEED=$$((RANDOM << 15 | RANDOM)); echo "round $$round: FUZZ_SEED=$$FUZZ_SEED"; \
		$(VENV)/python -m pytest -q tests/test_fuzz.py $(ARGS) || exit; done

scale: setup ## CPU of evaluation on generated clusters of up to 200,000 partitions, then whole polls of scripted brokers
	$(VENV)/python -m bench.scale $(ARGS)
	$(VENV)/python -m bench.scale --polls 5 $(ARGS)

flood: setup ## scrapes, status page and logins during a flood of hostile web clients; a minute
	$(VENV)/python -m bench.flood $(ARGS)

fleet: setup ## a generated week of history with the truth beside it, in fleet-week/ (docs/fleet.md)
	rm -rf fleet-week
	$(VENV)/python -m fleet --out fleet-week --preset week $(ARGS)

rollup-bench: setup ## the pipeline's roll-up of 10 to 100 million samples, with DuckDB beside it; an hour, 4 GB of memory, 10 GB of disk
	$(VENV)/python -m bench.rollup $(ARGS)

nights-bench: setup ## what a night of the pipeline costs when its store on S3 is 90 days old; an hour and a half
	$(VENV)/python -m bench.nights $(ARGS)

docs: setup ## make docs/metrics.md and the other generated documents
	$(VENV)/python -m docs.generate

$(SITE): pyproject.toml constraints.txt | setup
	$(VENV)/python -m venv --clear .venv-site
	$(SITE)/pip install --quiet --disable-pip-version-check --constraint constraints.txt mkdocs-material
	@touch $@

site: $(SITE) ## the documents as a site, in build/site/html; a broken link, or a page outside the navigation, fails
	$(VENV)/python -m docs.build_site prepare
	NO_MKDOCS_2_WARNING=1 $(SITE)/mkdocs build --strict --config-file build/site/mkdocs.yml
	$(VENV)/python -m docs.build_site check

dashboards: setup ## make grafana/dashboards/*.json from grafana/boards; RUNBOOKS is the address before alerts/runbooks/
	$(VENV)/python -m grafana.build $(RUNBOOKS)

rules: setup ## make the alert rules and manifests from exporter/kafka_warden/rules and alerts/
	$(VENV)/python -m alerts.render

manifests: setup ## make deploy/*.yaml from deploy/chart, by helm (fetched once)
	$(VENV)/python -m scripts.manifests

tools:
	@scripts/need-java

clean: ## remove .venv, what was built and the last demo, but not .cache
	rm -rf .venv .venv-run .venv-release .venv-site build dist demo .demo-* fleet-week pipeline-demo *.egg-info .pytest_cache .ruff_cache .mypy_cache .mutants .hypothesis .flaky
	find . -path ./.cache -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove the jars and programs in .cache, too
	rm -rf .cache
