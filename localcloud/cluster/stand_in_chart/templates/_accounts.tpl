{{- /* Collects the service accounts that values name under a key `serviceAccount`, however deep. */ -}}
{{- define "stand-in.collect-accounts" -}}
{{- $names := .names -}}
{{- if kindIs "map" .value -}}
{{- range $key, $item := .value -}}
{{- if and (eq $key "serviceAccount") (kindIs "map" $item) -}}
{{- if and (get $item "name") (ne (toString (get $item "create")) "false") -}}
{{- $_ := set $names (get $item "name") true -}}
{{- end -}}
{{- end -}}
{{- include "stand-in.collect-accounts" (dict "value" $item "names" $names) -}}
{{- end -}}
{{- else if kindIs "slice" .value -}}
{{- range .value -}}
{{- include "stand-in.collect-accounts" (dict "value" . "names" $names) -}}
{{- end -}}
{{- end -}}
{{- end -}}
