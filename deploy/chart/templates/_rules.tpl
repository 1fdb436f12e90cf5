{{/* The groups of files/rules.yaml, in which each threshold is the text ${name} and the label of the cluster ${cluster_label}, as values change them. */}}
{{- define "kafka-warden.rules" -}}
{{- $values := .Values.rules -}}
{{- $file := include "kafka-warden.thresholds" . | fromYaml -}}
{{- $groups := $file.groups -}}
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
{{- range $name, $text := $values.alertLabels -}}
{{- include "kafka-warden.label" (list "rules.alertLabels" $name (append $file.labels $.Values.clusterLabel)) -}}
{{- if regexMatch "^\\s*$|[$][{][^{}]*[}]|[{][{][^{}]*[}][}]" $text -}}
{{- fail (printf "set `rules.alertLabels.%s` to the text of the label, not %q: nothing is replaced in it" $name $text) -}}
{{- end -}}
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
{{- $_ := set $group "interval" (include "kafka-warden.interval" (list "rules.interval" .)) -}}
{{- end -}}
{{- end -}}
{{- dict "groups" $groups | toYaml -}}
{{- end -}}

{{/* The text of files/rules.yaml with numbers, links and the label of the cluster. */}}
{{- define "kafka-warden.thresholds" -}}
{{- $mine := .Values.rules.thresholds -}}
{{- $text := include "kafka-warden.spec" (dict "context" . "file" "files/rules.yaml") | replace "${cluster_label}" (include "kafka-warden.clusterLabel" .) -}}
{{- range $name, $_ := $mine -}}
{{- if not (contains (printf "${%s}" $name) $text) -}}
{{- fail (printf "remove %s from `rules.thresholds`: no rule has it. files/thresholds.yml of the chart has the names" $name) -}}
{{- end -}}
{{- end -}}
{{- $numbers := dict -}}
{{- $thresholds := .Files.Get "files/thresholds.yml" | fromYamlArray -}}
{{- range $thresholds -}}
{{- $path := printf "rules.thresholds.%s" .name -}}
{{- $value := ternary (get $mine .name) .value (hasKey $mine .name) -}}
{{- $number := 0.0 -}}
{{- if .sum_of -}}
{{- if hasKey $mine .name -}}
{{- fail (printf "remove `%s`: it is computed; set %s" $path (join " or " .sum_of)) -}}
{{- end -}}
{{- range .sum_of -}}
{{- $number = addf $number (get $numbers .) -}}
{{- end -}}
{{- $value = $number -}}
{{- else if eq .unit "duration" -}}
{{- $number = divf (include "kafka-warden.milliseconds" (list $path $value .value)) 1000 -}}
{{- else -}}
{{- $share := and (eq .unit "ratio") (lt (float64 .value) 1.0) -}}
{{- $number = float64 $value -}}
{{- if or (kindIs "string" $value) (le $number 0.0) (and $share (gt $number 1.0)) -}}
{{- fail (printf "set `%s` to a %s, such as %s, not %v" $path (ternary "share above 0 and up to 1" "number above 0" $share) (toJson .value) $value) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $numbers .name $number -}}
{{- $text = $text | replace (printf "${%s}" .name) ($value | toJson | trimAll "\"") -}}
{{- end -}}
{{- range $thresholds -}}
{{- if .below -}}
{{- if ge (get $numbers .name) (get $numbers .below) -}}
{{- fail (printf "set `rules.thresholds.%s` to less than `%s`, or raise that" .name .below) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $text -}}
{{- end -}}
