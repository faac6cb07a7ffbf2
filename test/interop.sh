#!/bin/sh
# Runs rclone's suite for FTP against our server, on disk, in memory and over
# TLS, and the client library of jlaffaye. LINERATE may name the binary to test.
set -eu
exec go test -C "$(dirname "$0")/interop" -count 1 -timeout 10m "$@" .
