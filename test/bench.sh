#!/bin/sh
# Measures our FTP server beside public ones and the kernel's limit, and our
# stream bench beside iperf3 and netperf, IPsec beside strongSwan, what inspection costs, and
# analyze beside tcptrace and tshark. It takes a long while and needs root on
# Debian; nothing else should run meanwhile.
set -eu
exec go test -run '^$' -bench . -benchtime 1x -timeout 90m "$@" ./test/bench/... ./internal/serve/netstack/...
