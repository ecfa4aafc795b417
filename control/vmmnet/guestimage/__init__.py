# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: a Debian whose IPv4 sockets run on the host.

    command  the command line
    recipe   the requested image: packages, mirrors, mmdebstrap's arguments
    overlay  the files that make a Debian a guest of vmmnet
    module   the sources of the guest's module, as DKMS has them
    disk     the layout of the disk, and its boot loader
    make     the steps, from packages to an image
    domain   a domain of libvirt that runs it

mmdebstrap makes the system, DKMS the module within it, ``mke2fs -d`` the file system without
a mount.  grub-mkimage runs inside; its core image is copied into the gap before the first
partition, and finds the file system by its UUID.
"""
