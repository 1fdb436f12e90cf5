{{- define "kafka-warden.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-kafka-warden" .Release.Name) (contains "kafka-warden" .Release.Name) -}}
{{- /* The name of a Service begins with a letter. */ -}}
{{- $name = regexReplaceAll "^[0-9].*" $name (printf "kafka-warden-%s" .Release.Name) -}}
{{- .Values.fullnameOverride | default $name | replace "." "-" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The label by which the rules know the job, and the release. Both select; nothing else does. */}}
{{- define "kafka-warden.selector" -}}
app.kubernetes.io/name: kafka-warden
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* The labels of an object: (list context more). The chart's own win. */}}
{{- define "kafka-warden.labels" -}}
{{- $context := first . -}}
{{- $own := include "kafka-warden.selector" $context | fromYaml -}}
{{- $_ := set $own "helm.sh/chart" (printf "kafka-warden-%s" $context.Chart.Version | replace "+" "_") -}}
{{- $_ := set $own "app.kubernetes.io/version" $context.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $context.Release.Service -}}
{{- merge $own (last . | default dict) ($context.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}

{{/* Name and labels of an object: (list context more-labels). */}}
{{- define "kafka-warden.metadata" -}}
name: {{ include "kafka-warden.fullname" (first .) }}
labels:
  {{- include "kafka-warden.labels" . | nindent 2 }}
{{- end -}}

{{- define "kafka-warden.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "kafka-warden.fullname" .) -}}
{{- end -}}

{{- define "kafka-warden.cluster" -}}
{{- required "set `cluster` to the name of this Kafka cluster in Prometheus: all series and alerts get it as the label `cluster`" .Values.cluster -}}
{{- end -}}

{{/* Refuses a name that no label can have, or that is in use: (list value name names-in-use). */}}
{{- define "kafka-warden.label" -}}
{{- $value := index . 0 -}}
{{- $name := index . 1 -}}
{{- if or (not (regexMatch "^[a-zA-Z_][a-zA-Z0-9_]*$" $name)) (hasPrefix "__" $name) -}}
{{- fail (printf "rename %s in `%s` to the name of a label, such as team" $name $value) -}}
{{- end -}}
{{- if has $name (index . 2) -}}
{{- fail (printf "rename %s in `%s`: the rules or Prometheus use this label" $name $value) -}}
{{- end -}}
{{- end -}}

{{- define "kafka-warden.clusterLabel" -}}
{{- $name := .Values.clusterLabel -}}
{{- if ne $name "cluster" -}}
{{- include "kafka-warden.label" (list "clusterLabel" $name (.Files.Get "files/rules.yaml" | fromYaml).labels) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/* The milliseconds of a duration as Prometheus writes it: (list value duration example). */}}
{{- define "kafka-warden.milliseconds" -}}
{{- $duration := toString (index . 1) -}}
{{- $total := 0 -}}
{{- if regexMatch "^([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$" $duration -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000 "y" 31536000000 -}}
{{- range regexFindAll "[0-9]+[a-z]+" $duration -1 -}}
{{- /* Without zeros in front, which would make it octal. */ -}}
{{- $total = add $total (mul (regexFind "[1-9][0-9]*" .) (get $units (regexFind "[a-z]+" .))) -}}
{{- end -}}
{{- end -}}
{{- if not $total -}}
{{- fail (printf "set `%s` to a duration above 0 in whole numbers with units, such as %v, not %s" (index . 0) (index . 2) $duration) -}}
{{- end -}}
{{- $total -}}
{{- end -}}

{{/* The time between two scrapes or evaluations, if the rules can work with it: (list value duration). */}}
{{- define "kafka-warden.interval" -}}
{{- if gt (include "kafka-warden.milliseconds" (append . "15s") | int) 60000 -}}
{{- fail (printf "set `%s` to 1m or less: the rules count on a scrape and an evaluation a minute" (index . 0)) -}}
{{- end -}}
{{- index . 1 -}}
{{- end -}}

{{/* The port of web.listen, which other pods must be able to reach. */}}
{{- define "kafka-warden.port" -}}
{{- $listen := toString .Values.config.web.listen -}}
{{- if regexMatch "^(127\\.|localhost|\\[::1\\])" $listen -}}
{{- fail (printf "set `config.web.listen` to an address that other pods reach, such as \":10073\", not %s" $listen) -}}
{{- end -}}
{{- regexFind "[0-9]+$" $listen -}}
{{- end -}}

{{/* Options that need a restart: FIXED in exporter/kafka_warden/reload.py. The exporter reads all others again by itself. */}}
{{- define "kafka-warden.restart" -}}
{{- $config := .Values.config -}}
{{- $kafka := pick $config.kafka "bootstrap.servers" "metadata.broker.list" -}}
{{- $history := pick ($config.history | default dict) "kafka" "parquet" -}}
{{- dict "kafka" $kafka "history" $history "state" $config.state "web" $config.web | toJson | sha256sum -}}
{{- end -}}

{{/* Whether it serves and needs no restart. */}}
{{- define "kafka-warden.probe" -}}
{{- if .Values.webFile.login }}
tcpSocket:
  port: http
{{- else }}
httpGet:
  path: /-/healthy
  port: http
  {{- if .Values.webFile.tls }}
  scheme: HTTPS
  {{- end }}
{{- end }}
{{- end -}}

{{/* What ServiceMonitor and PodMonitor have in common: one endpoint. */}}
{{- define "kafka-warden.endpoint" -}}
{{- $timeout := include "kafka-warden.milliseconds" (list "monitor.scrapeTimeout" .Values.monitor.scrapeTimeout "10s") | int -}}
{{- $interval := include "kafka-warden.interval" (list "monitor.interval" .Values.monitor.interval) -}}
{{- if gt $timeout (include "kafka-warden.milliseconds" (list "monitor.interval" $interval "15s") | int) -}}
{{- fail "set `monitor.scrapeTimeout` to `monitor.interval` at most: the Prometheus operator ignores a monitor with a longer one" -}}
{{- end -}}
- port: http
  path: /metrics
  interval: {{ $interval }}
  scrapeTimeout: {{ .Values.monitor.scrapeTimeout }}
  {{- if .Values.webFile.tls }}
  scheme: https
  {{- end }}
  {{- with .Values.monitor.tlsConfig }}
  tlsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.monitor.basicAuth }}
  basicAuth:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  relabelings:
    # One value for each Kafka cluster, the same for all of its exporters.
    - action: replace
      targetLabel: {{ include "kafka-warden.clusterLabel" . }}
      replacement: {{ include "kafka-warden.cluster" . | quote }}
    {{- with .Values.monitor.relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The text of a file, or after `spec:` of a manifest that `make rules` made, with addresses in front of its links. */}}
{{- define "kafka-warden.spec" -}}
{{- $text := regexSplit "(?m)^spec:\n" (.context.Files.Get .file) 2 | last -}}
{{- with .context.Values.links.runbooks -}}
{{- $text = $text | replace "runbook_url: alerts/" (printf "runbook_url: %s/alerts/" (trimSuffix "/" .)) -}}
{{- end -}}
{{- with .context.Values.links.grafana -}}
{{- $text = $text | replace "dashboard_url: /d/" (printf "dashboard_url: %s/d/" (trimSuffix "/" .)) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/* Refuses a second copy of the rules. Only a cluster has a first one: `helm template` finds none. */}}
{{- define "kafka-warden.once" -}}
{{- range (lookup "monitoring.coreos.com/v1" "PrometheusRule" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $owner := .metadata.annotations | default dict -}}
{{- $same := and (eq $.Release.Name (get $owner "meta.helm.sh/release-name")) (eq $.Release.Namespace (get $owner "meta.helm.sh/release-namespace")) -}}
{{- if and (eq "kafka-warden" (get $labels "app.kubernetes.io/name")) (not $same) -}}
{{- fail (printf "set `rules.enabled` to false: the rules for all clusters are already in the PrometheusRule %s of the namespace %s. `rules.once: false` allows another copy, for another Prometheus" .metadata.name .metadata.namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Values that only the templates can compare. */}}
{{- define "kafka-warden.check" -}}
{{- $config := .Values.config -}}
{{- $brokers := or (index $config.kafka "bootstrap.servers") (index $config.kafka "metadata.broker.list") -}}
{{- if not (or $brokers $config.kafka.properties_file .Values.extraEnv .Values.extraEnvFrom) -}}
{{- fail "set `bootstrap.servers` in `config.kafka` to the address of a broker, or `properties_file` to a file that has it" -}}
{{- end -}}
{{- $demands := or .Values.webFile.tls .Values.webFile.login -}}
{{- if and $config.web.config_file (not $demands) -}}
{{- fail "set `webFile.tls` or `webFile.login` to true: probes and Prometheus must know what the file of `config.web.config_file` asks for" -}}
{{- end -}}
{{- if and $demands (not $config.web.config_file) -}}
{{- fail "set `config.web.config_file`, which has TLS and logins, or leave `webFile.tls` and `webFile.login` false" -}}
{{- end -}}
{{- if and .Values.stateClaim (gt (int .Values.replicas) 1) -}}
{{- fail "set `replicas` to 1: two exporters cannot use the one state file of `stateClaim`" -}}
{{- end -}}
{{- if and .Values.strimzi.cluster (ne (index $config.kafka "sasl.username" | default .Values.strimzi.user) .Values.strimzi.user) -}}
{{- fail "set `strimzi.user` and `sasl.username` in `config.kafka` to the same name" -}}
{{- end -}}
{{- end -}}
