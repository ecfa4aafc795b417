# SPDX-License-Identifier: GPL-2.0-or-later
# First process of a machine (island.py), in namespaces of its own.
#   $1 folder whose etc, run, usr (if any) and var become those of /; $2 host name
# It ends with its standard input, and all that runs inside ends with it.
set -e
mkdir "$1/dev"
mount -t tmpfs -o mode=755 dev "$1/dev"
for node in null zero full random urandom tty ptmx fd stdin stdout stderr net; do
    cp -a "/dev/$node" "$1/dev/"
done
mkdir "$1/dev/pts" "$1/dev/shm"
mount --bind /dev/pts "$1/dev/pts"
mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
ln -s /run/log "$1/dev/log"
for name in etc run usr var; do
    [ ! -e "$1/$name" ] || mount --bind "$1/$name" "/$name"
done
mount --rbind "$1/dev" /dev
hostname "$2"
echo ready
exec 3<&0
cat <&3 >/dev/null &
# While it waits, the shell takes leave of strangers' children too.
wait $!
