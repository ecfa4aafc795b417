#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The first process of a host with KVM (kvmhost.py).
#   ROOT     the tree that is tested; its build/logs are kept
#   MODULES  the modules of this kernel
#   KVM      parameters of kvm_amd
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8 TERM=dumb
. /run/host/command
mkdir -p /dev/pts /dev/shm /dev/hugepages
mount -t devpts -o mode=620,ptmxmode=666,gid=5 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /lib/modules "$ROOT/build/logs"
mount --bind "$MODULES" /lib/modules
mount --bind /run/out "$ROOT/build/logs"
modprobe kvm_amd $KVM
for module in tun vhost_net; do
    modprobe "$module"
done
# udev would.
chmod 666 /dev/kvm /dev/net/tun /dev/vhost-net
hostname kvm-host
ip link set lo up
ulimit -n 65536
cd "$ROOT"
stty -F /dev/hvc0 raw -echo
touch /run/out/up
run </dev/null >/dev/hvc0 2>&1
echo $? >/run/out/status
sync
echo o >/proc/sysrq-trigger
while :; do sleep 60; done
