{{- /* Fails for a value that looks like a secret in plain text, however deep.
       Names of Secrets, of keys in them, and addresses are none. */ -}}
{{- define "stand-in.refuse-secrets" -}}
{{- $chart := .chart -}}
{{- $path := .path -}}
{{- if kindIs "map" .value -}}
{{- range $key, $item := .value -}}
{{- $at := printf "%s.%s" $path $key -}}
{{- if and (kindIs "string" $item) (ne (toString $item) "") (include "stand-in.is-secret" $key) -}}
{{- fail (printf "chart %s: %s looks like a secret in plain text. Helm keeps values readable in the cluster: name a Secret instead" $chart $at) -}}
{{- end -}}
{{- include "stand-in.refuse-secrets" (dict "value" $item "path" $at "chart" $chart) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range $index, $item := .value -}}
{{- include "stand-in.refuse-secrets" (dict "value" $item "path" (printf "%s[%d]" $path $index) "chart" $chart) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "stand-in.is-secret" -}}
{{- $named := regexMatch "(?i)password|passwd|token|secret" . -}}
{{- $refers := regexMatch "(?i)(name|ref|key|existingsecret|url)$" . -}}
{{- $isKey := regexMatch "(?i)^secret(access)?_?key$" . -}}
{{- if or $isKey (and $named (not $refers)) -}}yes{{- end -}}
{{- end -}}
