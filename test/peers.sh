#!/bin/sh
# Brings the foreign programs that tests judge us against, and the compiler of
# our eBPF programs: as root on Debian by apt, elsewhere it names what is
# missing and fails.
set -eu
PATH=$PATH:/usr/sbin:/sbin

# program or file:package
want="ip:iproute2 tc:iproute2 tcpdump:tcpdump tshark:tshark tcptrace:tcptrace iperf3:iperf3 curl:curl lftp:lftp vsftpd:vsftpd tnftp:tnftp
	nft:nftables ethtool:ethtool python3:python3 busybox:busybox-static openssl:openssl
	clang:clang llvm-strip:llvm /usr/include/bpf/bpf_helpers.h:libbpf-dev"

missing=
for w in $want; do
	have=${w%%:*}
	[ -e "$have" ] || command -v "$have" >/dev/null 2>&1 || missing="$missing ${w#*:}"
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	[ -n "$missing" ] || exit 0
	echo "tests need these packages:$missing" >&2
	echo "install them, or run 'make test' as root on Debian" >&2
	exit 1
fi
# Servers that conflict when installed are downloaded by the tests themselves,
# which needs package lists too.
if [ -n "$missing" ] || ! apt-cache show proftpd-core >/dev/null 2>&1; then
	apt-get update -q
fi
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086 # a list of package names
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
