# SPDX-License-Identifier: GPL-2.0-or-later
# First process of a machine with a Debian of its own (machine.py), in namespaces of its own.
#   $1 folder with base, upper, work, root, run; $2 host name
# It ends with its standard input, and all that runs inside ends with it.
set -e
root=$1/root
mount -t overlay overlay \
    -o "lowerdir=$1/base,upperdir=$1/upper,workdir=$1/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 dev "$root/dev"
for node in null zero full random urandom tty ptmx fd stdin stdout stderr net; do
    cp -a "/dev/$node" "$root/dev/"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount --bind /dev/pts "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
# Sockets in an overlay are for those inside only.
mount --bind "$1/run" "$root/run"
ln -s /run/log "$root/dev/log"
hostname "$2"
# Not by chroot: libvirt goes by /proc/mounts to give each QEMU a /dev of its own.
cd "$root"
pivot_root . mnt
# The new system may have no umount.
chroot mnt umount -l /
exec sh -c '
cd /
echo ready
exec 3<&0
cat <&3 >/dev/null &
wait $!'
