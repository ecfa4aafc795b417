# SPDX-License-Identifier: GPL-2.0-or-later
#
# Devices of the small QEMU for arm64 (./configure --lean --arch=arm64, which
# takes no defaults): the board virt and what guests of ours have on it. The
# other boards would take half of its build.

CONFIG_ARM_VIRT=y

CONFIG_PCIE_PORT=y

CONFIG_E1000E_PCI_EXPRESS=y
CONFIG_E1000_PCI=y
CONFIG_VHOST_VSOCK=y
CONFIG_VIRTIO_BALLOON=y
CONFIG_VIRTIO_BLK=y
CONFIG_VIRTIO_MMIO=y
CONFIG_VIRTIO_NET=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_RNG=y
CONFIG_VIRTIO_SCSI=y
CONFIG_VIRTIO_SERIAL=y

CONFIG_CVSW=y
CONFIG_VMRPC=y
