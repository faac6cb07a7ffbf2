package store

import (
	"context"
	"fmt"
	"io/fs"
	"time"
)

// ReadOnly returns s with everything refused that would change it.
func ReadOnly(s Store) Store { return readOnly{s} }

type readOnly struct{ Store }

func refuse(op, name string) error {
	return fmt.Errorf("%s: %s: read-only: %w", op, name, fs.ErrPermission)
}

func (readOnly) Create(_ context.Context, name string, _ CreateOptions) (Writer, error) {
	return nil, refuse("create", name)
}
func (readOnly) Mkdir(_ context.Context, name string) error { return refuse("mkdir", name) }

func (readOnly) Remove(_ context.Context, name string) error { return refuse("remove", name) }

func (readOnly) Rmdir(_ context.Context, name string) error { return refuse("rmdir", name) }

func (readOnly) Rename(_ context.Context, from, _ string) error { return refuse("rename", from) }

func (readOnly) Chmod(_ context.Context, name string, _ fs.FileMode) error {
	return refuse("chmod", name)
}

func (readOnly) Chtimes(_ context.Context, name string, _ time.Time) error {
	return refuse("chtimes", name)
}
