package model

import (
	"io"

	"github.com/goccy/go-yaml"
)

// Encode writes a profile as Decode reads it.
func Encode(w io.Writer, b Board) error { return yaml.NewEncoder(w, yaml.Indent(2)).Encode(b) }
