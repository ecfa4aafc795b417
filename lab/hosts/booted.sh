# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a system, with more files, the root of a systemd (booted.py), which becomes process 1 of
# namespaces of its own. Changes vanish.
#   $1 folder with "system", "files", which are copied over it, and "build", which is /run/build
#      there; $2 host name
set -e
mount -t tmpfs top "$1/top"
mkdir "$1/top/upper" "$1/top/work" "$1/top/root"
root=$1/top/root
mount -t overlay overlay -o "lowerdir=$1/system,upperdir=$1/top/upper,workdir=$1/top/work" "$root"
rm -rf "$root/etc/systemd/system" "$root/etc/systemd/network" "$root/etc/vmmnet"
# Here services start as their packages say.
rm -f "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/etc/systemd/system"
: >"$root/etc/fstab"
: >"$root/etc/machine-id"
cp -a "$1/files/." "$root/"
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udev-settle.service \
    systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-modules-load.service \
    systemd-sysctl.service systemd-binfmt.service systemd-random-seed.service \
    systemd-logind.service systemd-networkd.service systemd-resolved.service \
    systemd-timesyncd.service dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount \
    sys-kernel-tracing.mount proc-sys-fs-binfmt_misc.automount; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t bpf bpf "$root/sys/fs/bpf"
mount -t tmpfs -o mode=755 run "$root/run"
mkdir "$root/run/build"
mount --bind -o ro "$1/build" "$root/run/build"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty fd stdin stdout stderr net; do
    cp -a "/dev/$node" "$root/dev/"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
hostname "$2"
cd "$root"
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
unset NOTIFY_SOCKET
export container=lxc
exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=no
