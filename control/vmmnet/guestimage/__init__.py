# SPDX-License-Identifier: GPL-2.0-or-later
"""``vmmnet guest-image``: a Debian whose IPv4 sockets run on the host.

    command  the command line
    recipe   what is asked for, and what it takes: packages, mirrors, mmdebstrap's words
    overlay  the files that make a Debian a guest of vmmnet
    module   the sources of the guest's module, as DKMS has them
    disk     the layout of the disk, and what starts it
    make     the steps, from packages to an image
    domain   a domain of libvirt that runs it

mmdebstrap makes the system, DKMS the module within it, ``mke2fs -d`` the file system
without anything being mounted.  GRUB's image of itself, which grub-mkimage makes inside,
is copied into the gap before the first partition: it knows the file system by its UUID.
"""
