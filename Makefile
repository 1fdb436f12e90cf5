# Every target sets up what it needs in .venv and .cache; nothing is installed outside this directory.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv/bin
PYTHON ?=
INSTALLED := .venv/.installed

.PHONY: help setup run lint test unit test-long test-pipeline test-pipeline-long test-alerts demo demo-look pipeline-demo sandbox bench eta law scale stuck verdict rollup-bench docs dashboards rules tools clean distclean fleet

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(INSTALLED) ## make .venv with the command .venv/bin/kafka-warden

$(INSTALLED): pyproject.toml constraints.txt scripts/setup
	PYTHON='$(PYTHON)' scripts/setup
	@touch $@

run: setup ## serve the metrics of your cluster: make run BOOTSTRAP=host:port [ARGS="--jmx-port 9999"]
	@test -n '$(BOOTSTRAP)' || { echo 'usage: make run BOOTSTRAP=host:port [ARGS="--jmx-port 9999"]' >&2; exit 2; }
	exec $(VENV)/kafka-warden run --bootstrap-servers '$(BOOTSTRAP)' $(ARGS)

lint: setup ## style and types
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(VENV)/mypy

unit: setup ## the tests that need no Kafka
	$(VENV)/python -m pytest -m 'not cluster and not long and not spark' $(ARGS)

test: tools lint ## style, types and every test of less than minutes, on real Kafka clusters
	$(VENV)/python -m pytest -m 'not long and not matrix and not spark' $(ARGS)

test-long: tools setup ## the tests that take minutes: real moves against the law of docs/throttle-law.md
	$(VENV)/python -m pytest -m 'long and not spark and not recording' $(ARGS)

test-pipeline: setup ## the tests that start Spark, without those that take minutes
	$(VENV)/python -m pytest -m 'spark and not long and not cluster' $(ARGS)

test-pipeline-long: tools setup ## the others: real clusters, kills, a week, the demo; half an hour
	$(VENV)/python -m pytest -m 'spark and (long or cluster) or recording' $(ARGS)

test-alerts: tools setup ## every alert and every panel, by a real fault; a quarter of an hour. ALERT_MATRIX=write writes down what was seen
	$(VENV)/python -m pytest -m matrix $(ARGS)

demo: tools setup ## a cluster, a throttled move that gets stuck, its page and its end; DEMO_KEEP=1 stays
	$(VENV)/python -m sandbox.demo $(ARGS)

demo-look: setup ## the last demo again, in Prometheus and Grafana; Ctrl-C ends it
	$(VENV)/python -m sandbox.demo_look $(ARGS)

pipeline-demo: setup ## from the recorded history of a cluster to the report and a plan, by Spark; no Kafka, no network
	scripts/pipeline-demo $(ARGS)

sandbox: tools setup ## a Kafka cluster on loopback to play with; Ctrl-C ends it
	$(VENV)/python -m sandbox $(ARGS)

bench: tools setup ## the benchmarks of bench/README.md; takes long
	$(VENV)/python -m bench $(ARGS)

eta: tools setup ## the ETA of five real moves against what they took; a quarter of an hour
	$(VENV)/python -m bench.eta $(ARGS)

law: tools setup ## the law of throttled moves where it is least certain; a quarter of an hour
	$(VENV)/python -m bench.law $(ARGS)

stuck: tools setup ## how soon pages say that a move is stuck; 15 minutes
	$(VENV)/python -m bench.stuck $(ARGS)

verdict: tools setup ## the verdict by time against the brokers' ISR through pauses and a kill; 5 minutes
	$(VENV)/python -m bench.verdict $(ARGS)

scale: setup ## CPU of a poll on generated clusters of up to 200,000 partitions
	$(VENV)/python -m bench.scale $(ARGS)

fleet: setup ## a generated week of history with the truth beside it, in fleet-week/ (docs/fleet.md)
	rm -rf fleet-week
	$(VENV)/python -m fleet --out fleet-week --preset week $(ARGS)

rollup-bench: setup ## the pipeline's roll-up of 10 to 100 million samples, with DuckDB beside it; an hour, 4 GB of memory, 10 GB of disk
	$(VENV)/python -m bench.rollup $(ARGS)

docs: setup ## make docs/metrics.md from the catalogue
	$(VENV)/python -m docs.generate

dashboards: setup ## make grafana/dashboards/*.json from grafana/boards; RUNBOOKS=address before alerts/runbooks/
	$(VENV)/python -m grafana.build $(if $(RUNBOOKS),--runbooks '$(RUNBOOKS)')

rules: setup ## make the alert rules from alerts/templates and alerts/thresholds.yml
	$(VENV)/python -m alerts.render

tools:
	@scripts/need-java

clean: ## remove .venv, what was built and the last demo, but not .cache
	rm -rf .venv build dist demo .demo-* fleet-week pipeline-demo *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -path ./.cache -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove the jars and programs in .cache, too
	rm -rf .cache
