#!/bin/sh
# Copies the counters and settings of this Linux box into a tar that linerate
# reads: sh collect.sh > board.tar
# Needs cat, tar and sed or awk as busybox has them; ethtool where there is one.
# It reads only. Run it as root: some files are hidden from others.
set -u
umask 077
if [ -t 1 ]; then
	echo "collect.sh: redirect the tar into a file: sh $0 > board.tar" >&2
	exit 2
fi
dir=$(mktemp -d 2>/dev/null) || { dir=/tmp/linerate-collect.$$; mkdir "$dir" || exit 1; }
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
: > "$dir/gaps"

# keep FILE: copy standard input there, or note that it was empty.
keep() {
	[ -d "$dir/${1%/*}" ] || mkdir -p "$dir/${1%/*}"
	cat > "$dir/$1" 2>/dev/null
	[ -s "$dir/$1" ] && return
	rm -f "$dir/$1"
	echo "$1: nothing to read" >> "$dir/gaps"
}

# copy FILE: take a file of the kernel, or note that it cannot be read.
copy() {
	[ -d "$dir/${1%/*}" ] || mkdir -p "$dir/${1%/*}"
	cat "/$1" > "$dir/$1" 2>/dev/null && return
	rm -f "$dir/$1"
	echo "$1: cannot be read" >> "$dir/gaps"
}

for pattern in @PATTERNS@; do
	for f in /$pattern; do
		case $f in *_key) continue ;; esac # secrets
		[ -f "$f" ] && copy "${f#/}"
	done
done

for net in /sys/class/net/*; do
	if=${net##*/}
	[ -d "$net/statistics" ] || continue
	for s in @STATS@; do
		[ -r "$net/statistics/$s" ] && echo "$s $(cat "$net/statistics/$s")"
	done | keep "link/$if/stats64"
	for f in @LINKFILES@; do
		[ "$f" = stats64 ] || cat "$net/$f" 2>/dev/null | keep "link/$if/$f"
	done
	command -v ethtool > /dev/null 2>&1 || { echo "ethtool/$if: no ethtool on this box" >> "$dir/gaps"; continue; }

	# Settings that a driver lacks ("n/a") are left out.
	ethtool -c "$if" 2>/dev/null | sed -n \
		-e 's/^Adaptive RX: \([a-z/]*\) *TX: \([a-z/]*\).*/adaptive-rx: \1\nadaptive-tx: \2/p' \
		-e 's/^CQE mode RX: \([a-z/]*\) *TX: \([a-z/]*\).*/cqe-mode-rx: \1\ncqe-mode-tx: \2/p' \
		-e 's/^\([rt]x-frame\)-\(low\|high\):[ 	]*/\1s-\2: /p' \
		-e 's/^\([a-z-]*[a-z]\):[ 	]*\([0-9].*\)/\1: \2/p' | sed '/n\/a/d' | keep "ethtool/$if/coalesce"
	for what in rings:-g channels:-l; do
		ethtool "${what#*:}" "$if" 2>/dev/null | awk '
			/maximums/ { max = "-max"; next }
			/^Current/ { max = ""; next }
			/:[ \t]*[0-9a-z]/ && !/n\/a/ && !/^(Ring|Channel) parameters/ {
				split($0, kv, /:[ \t]*/)
				key = tolower(kv[1])
				sub(/push buff len/, "push-buf-len", key)
				gsub(/ /, "-", key)
				print key max ": " kv[2]
			}' | keep "ethtool/$if/${what%:*}"
	done
	ethtool -a "$if" 2>/dev/null | sed -n -e 's/^Autonegotiate:[ 	]*/autoneg: /p' -e 's/^RX:[ 	]*/rx: /p' -e 's/^TX:[ 	]*/tx: /p' | keep "ethtool/$if/pause"
	ethtool --show-eee "$if" 2>/dev/null | sed -n \
		-e 's/.*EEE status: enabled - active.*/eee: on\nactive: on/p' -e 's/.*EEE status: enabled - inactive.*/eee: on\nactive: off/p' \
		-e 's/.*EEE status: disabled.*/eee: off/p' -e 's/.*Tx LPI: \([0-9]*\) (us).*/tx-lpi: on\ntx-timer: \1/p' \
		-e 's/.*Tx LPI: disabled.*/tx-lpi: off/p' | keep "ethtool/$if/eee"
	ethtool -i "$if" 2>/dev/null | sed -n 's/^\(driver\|version\|firmware-version\|bus-info\): \(..*\)/\1: \2/p' | keep "ethtool/$if/driver"
	ethtool -S "$if" 2>/dev/null | sed -n 's/^ *\(.*[^ ]\): \([0-9][0-9]*\)$/\1: \2/p' | keep "ethtool/$if/stats"
	ethtool "$if" 2>/dev/null | sed -n \
		-e 's/^[ 	]*Speed: \([0-9]*\)Mb\/s.*/speed: \1/p' -e 's/^[ 	]*Speed: Unknown.*/speed: unknown/p' \
		-e 's/^[ 	]*Duplex: Full.*/duplex: full/p' -e 's/^[ 	]*Duplex: Half.*/duplex: half/p' -e 's/^[ 	]*Duplex: Unknown.*/duplex: unknown/p' \
		-e 's/^[ 	]*Auto-negotiation: \(o[nf]*\).*/autoneg: \1/p' -e 's/^[ 	]*Link detected: yes.*/link: on/p' \
		-e 's/^[ 	]*Link detected: no.*/link: off/p' -e 's/^[ 	]*Port: Twisted Pair.*/port: tp/p' -e 's/^[ 	]*Port: MII.*/port: mii/p' \
		-e 's/^[ 	]*Port: FIBRE.*/port: fibre/p' | keep "ethtool/$if/link"
	# ethtool -k gives some features names of its own, and sums up others, which
	# follow it indented: a sum is fixed where all of them are.
	ethtool -k "$if" 2>/dev/null | awk '
		function flush() {
			if (sum != "") print sum (loose ? "" : " [fixed]")
			sum = ""
		}
		BEGIN {
			n = split("rx-checksumming rx-checksum rx|tx-checksumming - tx|scatter-gather - sg|tcp-segmentation-offload - tso|" \
				"generic-segmentation-offload tx-generic-segmentation gso|generic-receive-offload rx-gro gro|large-receive-offload rx-lro lro|" \
				"rx-vlan-offload rx-vlan-hw-parse rxvlan|tx-vlan-offload tx-vlan-hw-insert txvlan|ntuple-filters rx-ntuple-filter ntuple|" \
				"receive-hashing rx-hashing rxhash", row, "|")
			for (i = 1; i <= n; i++) { split(row[i], c, " "); full[c[1]] = c[2]; short[c[1]] = c[3] }
		}
		NR > 1 && /: o/ {
			indented = sub(/^[ \t]+/, "")
			if (!indented) flush()
			else if (!/\[fixed\]/) loose = 1
			split($0, kv, ": ")
			if (!(kv[1] in short)) { print; next }
			if (full[kv[1]] == "-") { sum = short[kv[1]] ": " kv[2]; loose = 0; next }
			print short[kv[1]] ": " kv[2]
			print full[kv[1]] ": " kv[2]
		}
		END { flush() }' | keep "ethtool/$if/features"
done

cd "$dir" && tar -cf - *
