# Images of kafka-warden. `docker build --target exporter .` is the one to run; it is also the default. `exporter-slim` is
# smaller: it has no files of history, no login to Amazon MSK with IAM, and not the screen of `top`. `pipeline` has the jobs on the history.
# All run as a user without rights, write only to /var/lib/kafka-warden, and hold no compiler and no pip.
ARG PYTHON=python:3.11-slim-bookworm
ARG JDK=eclipse-temurin:17-jdk-jammy
ARG MAVEN=maven:3.9-eclipse-temurin-17

# A Java runtime of the modules that the JMX child needs (jdk.crypto.ec for TLS) and no more: 36 MB instead of some 200.
FROM ${JDK} AS java
RUN jlink --output /opt/jre --strip-java-debug-attributes --no-man-pages --no-header-files --compress=2 \
      --add-modules java.management.rmi,jdk.crypto.ec

# The command in a virtual environment of exactly the files whose hashes are in the requirements.
FROM ${PYTHON} AS packages
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY pyproject.toml constraints.txt requirements.txt requirements-extras.txt README.md LICENSE ./
RUN python -m venv /opt/kafka-warden \
 && /opt/kafka-warden/bin/pip install --require-hashes --requirement requirements.txt
COPY exporter exporter
COPY alerts/runbooks alerts/runbooks
RUN /opt/kafka-warden/bin/pip install --no-deps --no-build-isolation .
# Nothing here uses the tests.
RUN cd /opt/kafka-warden/lib/python3.*/site-packages && rm -rf numpy/tests numpy/*/tests

# Nothing installs at run time.
FROM packages AS build-slim
RUN /opt/kafka-warden/bin/pip uninstall --yes setuptools pip

# The extras, without Arrow's tests, headers and protocol between machines: 70 MB.
FROM packages AS build
RUN /opt/kafka-warden/bin/pip install --require-hashes --requirement requirements-extras.txt \
 && cd /opt/kafka-warden/lib/python3.*/site-packages && rm -rf pyarrow/tests pyarrow/include pyarrow/*flight* \
 && /opt/kafka-warden/bin/pip uninstall --yes setuptools pip

# The extra for the pipeline beside the command, in an environment of its own.
FROM packages AS build-pipeline
RUN python -m venv /opt/pipeline \
 && /opt/pipeline/bin/pip install --constraint constraints.txt setuptools \
 && /opt/pipeline/bin/pip install --constraint constraints.txt --no-build-isolation '.[spark]' \
 && /opt/pipeline/bin/pip uninstall --yes setuptools pip

# The jars of tables, topic and S3 with their licences and notices, each with the SHA-256 of pipeline/jars.txt.
FROM ${MAVEN} AS maven
FROM build-pipeline AS jars
COPY --from=java /opt/java/openjdk /opt/java/openjdk
COPY --from=maven /usr/share/maven /usr/share/maven
RUN JAVA_HOME=/opt/java/openjdk PATH=/usr/share/maven/bin:/opt/java/openjdk/bin:$PATH \
      /opt/pipeline/bin/kafka-warden pipeline jars --s3 --to /opt/jars

# `docker run IMAGE pipeline ingest,rollup --input ... --store ...`, and `--entrypoint spark-submit` with the file that
# docs/pipeline.md names. Python, Spark and a whole JDK 17, which Spark needs more modules of than one would list.
FROM ${PYTHON} AS pipeline
COPY --from=java /opt/java/openjdk /opt/java/openjdk
COPY --from=build-pipeline /opt/pipeline /opt/pipeline
COPY --from=jars /opt/jars /opt/jars
ENV JAVA_HOME=/opt/java/openjdk KAFKA_WARDEN_JARS=/opt/jars PATH=/opt/pipeline/bin:$PATH PYTHONDONTWRITEBYTECODE=1
# Spark needs a user with a name and a home: Hadoop reads the name, Ivy puts its cache into the home.
RUN mkdir -p /var/lib/kafka-warden && chown 10073:10073 /var/lib/kafka-warden \
 && echo 'kafka-warden:x:10073:10073::/var/lib/kafka-warden:/usr/sbin/nologin' >> /etc/passwd
WORKDIR /var/lib/kafka-warden
USER 10073:10073
ENTRYPOINT ["/opt/pipeline/bin/kafka-warden"]
CMD ["--help"]

FROM ${PYTHON} AS runtime
LABEL org.opencontainers.image.title="kafka-warden" \
      org.opencontainers.image.description="Prometheus exporter with alerts for Apache Kafka" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=java /opt/jre /opt/jre
ENV JAVA_HOME=/opt/jre PATH=/opt/kafka-warden/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# The state file is written to the working directory unless state.path says otherwise; all else may be read-only.
# A platform may choose another user, of group 0.
RUN mkdir -p /var/lib/kafka-warden && chown 10073:0 /var/lib/kafka-warden && chmod 0770 /var/lib/kafka-warden
WORKDIR /var/lib/kafka-warden
USER 10073:10073
EXPOSE 10073
STOPSIGNAL SIGTERM
# For web.listen on port 10073 without TLS and authentication; with these, switch it off (--no-healthcheck) or replace it.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["/opt/kafka-warden/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:10073/-/healthy', timeout=4)"]
ENTRYPOINT ["/opt/kafka-warden/bin/kafka-warden"]
CMD ["run", "--config", "/etc/kafka-warden/warden.yml"]

FROM runtime AS exporter-slim
COPY --from=build-slim /opt/kafka-warden /opt/kafka-warden

FROM runtime AS exporter
COPY --from=build /opt/kafka-warden /opt/kafka-warden
