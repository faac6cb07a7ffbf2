#!/bin/sh
# Measures our FTP server beside public ones and the kernel's limit. It takes
# some minutes and needs root on Debian; nothing else should run meanwhile.
set -eu
exec go test -run '^$' -bench . -benchtime 1x -timeout 60m "$@" ./test/bench
