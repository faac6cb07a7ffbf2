#!/bin/sh
# Brings the foreign programs that tests judge us against: as root on Debian by
# apt, elsewhere it names what is missing and fails.
set -eu

# program:package
want="ip:iproute2 tc:iproute2 tcpdump:tcpdump tshark:tshark iperf3:iperf3 curl:curl lftp:lftp vsftpd:vsftpd tnftp:tnftp nft:nftables ethtool:ethtool python3:python3-minimal busybox:busybox-static openssl:openssl"

missing=
for w in $want; do
	PATH=$PATH:/usr/sbin:/sbin command -v "${w%%:*}" >/dev/null 2>&1 || missing="$missing ${w#*:}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "tests need these packages:$missing" >&2
	echo "install them, or run 'make test' as root on Debian" >&2
	exit 1
fi
apt-get update -q
# shellcheck disable=SC2086 # a list of package names
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
