#!/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# First process of a test guest: assemble the root file system, then become
# the agent.  /modules lists module files in the order to load them; /overlay
# holds what this one boot adds to the image.
/busybox mount -t devtmpfs dev /dev
while read -r module; do
    /busybox insmod "$module" || echo "init: cannot load $module"
done < /modules

/busybox mkdir -p /image /upper /new
# Drivers may probe asynchronously: a disk comes when it comes.
mount_disk() {
    tries=0
    while ! /busybox mount -t squashfs -o ro "$1" "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 5000 ] || { echo "init: cannot mount $1"; exit 1; }
        /busybox usleep 20000
    done
}
mount_disk /dev/vda /image
/busybox mount -t tmpfs tmpfs /upper
/busybox mkdir /upper/data /upper/work
/busybox mount -t overlay overlay \
    -o lowerdir=/image,upperdir=/upper/data,workdir=/upper/work /new
/busybox mkdir -p /new/usr/lib/modules
mount_disk /dev/vdb /new/usr/lib/modules

/busybox mount --move /dev /new/dev
/busybox mount -t proc proc /new/proc
/busybox mount -t sysfs sysfs /new/sys
/busybox mount -t tmpfs tmpfs /new/run
/busybox mount -t tmpfs tmpfs /new/tmp
/busybox mkdir -p /new/dev/pts /new/dev/shm /new/run/lock
/busybox mount -t devpts devpts /new/dev/pts
/busybox mount -t tmpfs tmpfs /new/dev/shm
# There is no udev to make these.
/busybox ln -s /proc/self/fd /new/dev/fd
/busybox ln -s /proc/self/fd/0 /new/dev/stdin
/busybox ln -s /proc/self/fd/1 /new/dev/stdout
/busybox ln -s /proc/self/fd/2 /new/dev/stderr
/busybox cp -a /overlay/. /new/
/busybox ip link set lo up
/busybox hostname -F /new/etc/hostname
exec /busybox switch_root /new /sbin/vmmnet-agent
