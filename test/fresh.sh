#!/bin/sh
# Fails if generating again changes a committed file.
set -eu
state() { git status --porcelain; git diff | git hash-object --stdin; }
before=$(state)
go generate ./...
if [ "$before" != "$(state)" ]; then
	git status --porcelain >&2
	git --no-pager diff --stat >&2
	echo "generated files are stale: commit what 'make generate' gives" >&2
	exit 1
fi
