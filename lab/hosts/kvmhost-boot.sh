#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# /init in the initramfs of a host with KVM (kvmhost.py): mounts the root and goes there.  It is
# switch_root's, not chroot's: the kernel loads modules by the root of its own.
box() { /bin/busybox "$@"; }
box mkdir -p /dev /proc /sys /low /up /new
box mount -t devtmpfs dev /dev
box mount -t proc proc /proc
box mount -t sysfs sysfs /sys
for module in $(box cat /modules); do
    box insmod "$module" || echo "kvmhost: no $module"
done
over9p=trans=virtio,version=9p2000.L,msize=512000
box mount -t 9p -o "$over9p,cache=loose,ro" root /low
box mount -t tmpfs -o mode=755,size=100% up /up
box mkdir /up/upper /up/work
box mount -t overlay -o lowerdir=/low,upperdir=/up/upper,workdir=/up/work overlay /new
box mount -t tmpfs -o mode=755 run /new/run
box mkdir /new/run/lock /new/run/host /new/run/out
box cp /host/* /new/run/host/
box mount -t 9p -o "$over9p,cache=none" out /new/run/out
for folder in dev proc sys; do
    box mount -o move "/$folder" "/new/$folder"
done
exec /bin/busybox switch_root /new /run/host/init
