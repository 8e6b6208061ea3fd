//go:build tools

// Package tools names the one program that this module exists to build, so that
// `go mod tidy` keeps everything that the program needs in go.mod and go.sum.
package tools

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
