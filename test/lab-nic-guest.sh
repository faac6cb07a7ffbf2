#!/bin/busybox sh
# Runs in the guest of lab-nic.sh: sets the card $1, and asks ethtool(8) each time.
set -u
if=$1
driver=$(basename "$(readlink "/sys/class/net/$if/device/driver")")
state="--state /tmp/state-$if"
ip link set "$if" up
sleep 1

ring() { ethtool -g "$if" | sed -n '/Current/,$p' | sed -n 's/^RX:[[:space:]]*//p'; }
usecs() { ethtool -c "$if" | sed -n 's/^rx-usecs:[[:space:]]*//p'; }
all() { ethtool -g "$if"; ethtool -c "$if"; }
die() { echo "lab: $driver: $*"; exit 1; }
want() { [ "$(ring) $(usecs)" = "$2 $3" ] || die "$1: ring $(ring), rx-usecs $(usecs); want $2, $3"; echo "lab: $driver: $1: ring $2, rx-usecs $3"; }

found=$(all); ring0=$(ring); usecs0=$(usecs)
[ -n "$ring0" ] && [ -n "$usecs0" ] || die "ethtool tells nothing"
echo "lab: $driver: as found: ring $ring0, rx-usecs $usecs0"
same() { [ "$(all)" = "$found" ] || die "$1: not as found: ring $(ring), rx-usecs $(usecs)"; echo "lab: $driver: $1: as found"; }

linerate tune apply $state "ethtool.rings.rx@$if=1024" "ethtool.coalesce.rx-usecs@$if=100" || die "apply failed"
want applied 1024 100
linerate tune rollback $state || die "rollback failed"
same "rolled back"

linerate tune apply $state --confirm-within 3s "ethtool.rings.rx@$if=2048" "ethtool.coalesce.rx-usecs@$if=250" || die "apply failed"
want applied 2048 250
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do [ "$(all)" = "$found" ] && break; sleep 1; done
same "not confirmed in time"

linerate tune apply $state "ethtool.rings.rx@$if=512" "ethtool.coalesce.rx-usecs@$if=50" || die "apply failed"
linerate tune confirm $state || die "confirm failed"
want confirmed 512 50
linerate tune rollback $state || die "rollback of what was confirmed failed"
same "confirmed, then rolled back"

# Every process dies in the middle; the journal alone must do.
linerate tune apply $state "ethtool.rings.rx@$if=4096" "ethtool.coalesce.rx-usecs@$if=500" & apply=$!
for i in $(seq 200); do [ "$(ring)" = 4096 ] && break; done
kill -9 $apply 2>/dev/null
for p in $(pidof linerate); do kill -9 "$p"; done
[ "$(all)" != "$found" ] || die "killed before anything was set"
linerate tune rollback $state || die "rollback after kill -9 failed"
same "killed, then rolled back"

# What the driver refuses changes nothing.
if linerate tune apply $state "ethtool.rings.rx@$if=9999999"; then die "a ring of 9999999 was taken"; fi
linerate tune rollback $state >/dev/null 2>&1
same "refused"
