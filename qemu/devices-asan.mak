# SPDX-License-Identifier: GPL-2.0-or-later
#
# Devices of the QEMU with sanitizers (./configure --sanitize, which takes no
# defaults): what the qtests put into a machine.

CONFIG_I440FX=y
CONFIG_MICROVM=y
CONFIG_Q35=y

CONFIG_E1000_PCI=y
CONFIG_EEPRO100_PCI=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_PCI=y
CONFIG_VTD=y

CONFIG_CVSW=y
CONFIG_VMRPC=y
