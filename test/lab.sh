#!/bin/sh
# What this host's kernel lacks, tried in a QEMU guest (emulated, no KVM) with
# Debian's cloud kernel: kernel TLS under FTP's data path, and the kernel's ESP
# and AH as peers of ours. Needs apt-get with
# Debian 12 sources, dpkg, cpio, qemu-system-x86 and busybox-static; the kernel
# (27 MB) is kept in bin/lab.
set -eu
cd "$(dirname "$0")/.."
for need in apt-get dpkg cpio qemu-system-x86_64 busybox; do
	command -v "$need" >/dev/null || { echo "lab: $need is missing: apt-get install qemu-system-x86 busybox-static cpio"; exit 1; }
done
lab=$PWD/bin/lab
mkdir -p "$lab"
if [ ! -d "$lab/kernel" ]; then
	package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p')
	(cd "$lab" && apt-get download "$package" && dpkg -x "$package"_*.deb kernel.new && mv kernel.new kernel && rm "$package"_*.deb)
fi

root=$lab/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/modules" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
CGO_ENABLED=0 GOARCH=amd64 go test -c -tags lab -o "$root/bin/data.test" ./internal/serve/ftp/data
CGO_ENABLED=0 GOARCH=amd64 go test -c -tags lab -o "$root/bin/ipsec.test" ./internal/serve/fastpath/ipsec/gateway
# In the order of their dependencies.
modules="crypto/cryptd crypto/crypto_simd crypto/gf128mul crypto/ghash-generic crypto/ctr crypto/gcm arch/x86/crypto/aesni-intel
	arch/x86/crypto/ghash-clmulni-intel lib/crypto/libchacha crypto/chacha_generic lib/crypto/libpoly1305 crypto/poly1305_generic
	crypto/chacha20poly1305 net/tls/tls crypto/sha512_generic crypto/drbg crypto/jitterentropy_rng crypto/seqiv crypto/echainiv crypto/authenc crypto/authencesn net/xfrm/xfrm_algo net/xfrm/xfrm_user
	net/ipv4/udp_tunnel net/ipv6/ip6_udp_tunnel net/ipv4/esp4 net/ipv6/esp6 net/ipv4/ah4 net/ipv6/ah6 drivers/net/veth drivers/net/tun"
load=
for m in $modules; do
	file=$(echo "$lab"/kernel/lib/modules/*/kernel/"$m".ko)
	[ -e "$file" ] || continue # built in
	cp "$file" "$root/modules/"
	load="$load ${m##*/}"
done
cat >"$root/init" <<EOF
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
ip link set lo up
for m in $load; do insmod /modules/\$m.ko || echo "lab: module \$m failed"; done
data.test -test.v -test.timeout 5m ${LAB_ARGS:--test.run 'Kernel|TLS|Ways|Secret|Close|PeerReset|Cancel|Stall'} &&
ipsec.test -test.v -test.timeout 5m ${LAB_IPSEC_ARGS:--test.run AgainstTheKernel} && echo "lab: passed"
poweroff -f
EOF
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$lab/initrd"
timeout 600 qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 1024 -nographic -no-reboot -nic none \
	-kernel "$lab"/kernel/boot/vmlinuz-* -initrd "$lab/initrd" -append "console=ttyS0 panic=-1 quiet" </dev/null | tee "$lab/log"
grep -q '^lab: passed' "$lab/log"
