// Command pulumi-resource-kubernetes is Pulumi's Kubernetes provider. The module's own main package embeds generated
// files that the module does not hold; this one gives it the least that an engine asks of a schema.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

// version is set by the linker: the version of the Python SDK that the program is written against.
var version string

func main() {
	schema := []byte(`{"name":"kubernetes","version":"` + version + `"}`)
	provider.Serve("kubernetes", version, schema, []byte("{}"))
}
