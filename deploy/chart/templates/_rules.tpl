{{/* The groups of files/rules.yaml, in which each threshold is the text ${name} and the label of the cluster ${cluster_label}, as values change them. */}}
{{- define "kafka-warden.rules" -}}
{{- $values := .Values.rules -}}
{{- $groups := (include "kafka-warden.thresholds" . | fromYaml).groups -}}
{{- $names := list -}}
{{- range $groups -}}
{{- range .rules -}}
{{- if .alert -}}
{{- $names = concat $names (list .alert (printf "%s/%s" .alert .labels.severity)) | uniq -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range concat $values.disabled (keys $values.severity) -}}
{{- if not (has . $names) -}}
{{- fail (printf "remove %s from `rules.disabled` and `rules.severity`: there is no such alert, only %s" . (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- range $alert, $_ := $values.severity -}}
{{- $tiers := list -}}
{{- range $names -}}
{{- if hasPrefix (printf "%s/" $alert) . -}}
{{- $tiers = append $tiers . -}}
{{- end -}}
{{- end -}}
{{- if gt (len $tiers) 1 -}}
{{- fail (printf "remove %s from `rules.severity`: its severities have different limits. `rules.disabled` takes %s" $alert (join " or " $tiers)) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $values.alertLabels .Values.clusterLabel -}}
{{- fail (printf "rename %s in `rules.alertLabels`: `clusterLabel` has this name" .Values.clusterLabel) -}}
{{- end -}}
{{- range $group := $groups -}}
{{- $kept := list -}}
{{- range .rules -}}
{{- if not .alert -}}
{{- $kept = append $kept . -}}
{{- else if not (or (has .alert $values.disabled) (has (printf "%s/%s" .alert .labels.severity) $values.disabled)) -}}
{{- $severity := get $values.severity .alert | default .labels.severity -}}
{{- $kept = append $kept (set . "labels" (merge (dict "severity" $severity) .labels $values.alertLabels)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $group "rules" $kept -}}
{{- with $values.interval -}}
{{- $_ := set $group "interval" . -}}
{{- end -}}
{{- end -}}
{{- dict "groups" $groups | toYaml -}}
{{- end -}}

{{/* The text of files/rules.yaml with numbers, links and the label of the cluster. */}}
{{- define "kafka-warden.thresholds" -}}
{{- $mine := .Values.rules.thresholds -}}
{{- $text := include "kafka-warden.spec" (dict "context" . "file" "files/rules.yaml") | replace "${cluster_label}" .Values.clusterLabel -}}
{{- range $name, $_ := $mine -}}
{{- if not (contains (printf "${%s}" $name) $text) -}}
{{- fail (printf "remove %s from `rules.thresholds`: no rule has it. files/thresholds.yml of the chart has the names" $name) -}}
{{- end -}}
{{- end -}}
{{- range .Files.Get "files/thresholds.yml" | fromYamlArray -}}
{{- $value := ternary (get $mine .name) .value (hasKey $mine .name) -}}
{{- $duration := eq .unit "duration" -}}
{{- if ne $duration (kindIs "string" $value) -}}
{{- fail (printf "set `rules.thresholds.%s` to a %s, such as %v" .name (ternary "duration" "number" $duration) .value) -}}
{{- end -}}
{{- $text = $text | replace (printf "${%s}" .name) ($value | toJson | trimAll "\"") -}}
{{- end -}}
{{- $text -}}
{{- end -}}
