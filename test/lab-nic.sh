#!/bin/sh
# Rings and interrupt coalescing, which no virtual device of this host has, on a
# network card that QEMU models (e1000e; igb from QEMU 8 on): ethtool(8) must see
# what 'linerate tune apply' set, and what rollback, a timer that ran out and a
# kill -9 put back. Needs what test/lab.sh needs, and ethtool; the kernel's package
# (70 MB) is fetched once, and what is used of it kept in bin/lab. LINERATE=path spares the build.
set -eu
cd "$(dirname "$0")/.."
for need in apt-get dpkg-deb qemu-system-x86_64 busybox ethtool; do
	command -v "$need" >/dev/null || { echo "lab-nic: $need is missing: apt-get install qemu-system-x86 busybox-static ethtool"; exit 1; }
done
lab=$PWD/bin/lab
mkdir -p "$lab"
if [ ! -d "$lab/nic" ]; then
	package=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
	rm -rf "$lab/nic.new"
	mkdir "$lab/nic.new"
	(cd "$lab" && apt-get download "$package" && dpkg-deb --fsys-tarfile "$package"_*.deb | tar -C nic.new -xf - --wildcards './boot/vmlinuz*' \
		'*/net/ethernet/intel/e1000e/*' '*/net/ethernet/intel/igb/*' '*/drivers/ptp/*' '*/drivers/pps/*' '*/drivers/dca/*' '*/drivers/i2c/algos/*' &&
		mv nic.new nic && rm "$package"_*.deb)
fi

root=$lab/nic-root
rm -rf "$root"
mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
if [ -n "${LINERATE:-}" ]; then # built before, statically
	cp "$LINERATE" "$root/bin/linerate"
else
	CGO_ENABLED=0 GOARCH=amd64 go build -o "$root/bin/linerate" ./cmd/linerate
fi
cp "$(command -v ethtool)" "$root/bin/"
for so in $(ldd "$(command -v ethtool)" | grep -o '/[^ ]*'); do # where its loader looks for them
	mkdir -p "$root$(dirname "$so")"
	cp -L "$so" "$root$so"
done
models=e1000e
qemu-system-x86_64 -device help 2>&1 | grep -q '"igb"' && models="$models igb"
load=
for m in pps/pps_core ptp/ptp dca/dca i2c/algos/i2c-algo-bit net/ethernet/intel/e1000e/e1000e net/ethernet/intel/igb/igb; do
	file=$(echo "$lab"/nic/lib/modules/*/kernel/drivers/"$m".ko)
	[ -e "$file" ] || continue # built in
	cp "$file" "$root/modules/"
	load="$load ${m##*/}"
done
cp test/lab-nic-guest.sh "$root/guest.sh"
cat >"$root/init" <<EOF
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
ip link set lo up
for m in $load; do insmod /modules/\$m.ko || echo "lab: module \$m failed"; done
for d in /sys/class/net/*/device; do
	if=\${d%/device}; sh /guest.sh \${if##*/} || { echo "lab: failed on \${if##*/}"; poweroff -f; }
done
echo "lab: passed"
poweroff -f
EOF
chmod +x "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$lab/nic-initrd"
nics=
for m in $models; do nics="$nics -netdev user,id=$m,restrict=on -device $m,netdev=$m"; done
# shellcheck disable=SC2086 # words are meant
timeout 300 qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 512 -nographic -no-reboot $nics \
	-kernel "$lab"/nic/boot/vmlinuz-* -initrd "$lab/nic-initrd" -append "console=ttyS0 panic=-1 quiet" </dev/null | tee "$lab/nic-log"
grep -q '^lab: passed' "$lab/nic-log"
