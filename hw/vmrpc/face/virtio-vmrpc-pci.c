/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: PCI transport
 */
#include "qemu/osdep.h"

#include "hw/virtio/virtio-pci.h"
#include "hw/vmrpc/face/virtio-vmrpc-device.h"
#include "qemu/module.h"
#include "vmmnet/qemu-compat.h"

#define TYPE_VIRTIO_VMRPC_PCI "virtio-vmrpc-pci-base"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIOVmrpcPCI, VIRTIO_VMRPC_PCI)

struct VirtIOVmrpcPCI {
    VirtIOPCIProxy parent_obj;
    VirtIOVmrpc vdev;
};

static const Property virtio_vmrpc_pci_properties[] = {
    DEFINE_PROP_BIT("ioeventfd", VirtIOPCIProxy, flags,
                    VIRTIO_PCI_FLAG_USE_IOEVENTFD_BIT, true),
    DEFINE_PROP_UINT32("vectors", VirtIOPCIProxy, nvectors,
                       DEV_NVECTORS_UNSPECIFIED),
};

static void virtio_vmrpc_pci_realize(VirtIOPCIProxy *vpci_dev, Error **errp)
{
    VirtIOVmrpcPCI *dev = VIRTIO_VMRPC_PCI(vpci_dev);

    if (dev->vdev.num_queues == VIRTIO_VMRPC_AUTO_NUM_QUEUES) {
        dev->vdev.num_queues = MIN(virtio_pci_optimal_num_queues(1),
                                   VMRPC_QUEUES_MAX);
    }
    if (vpci_dev->nvectors == DEV_NVECTORS_UNSPECIFIED) {
        /* configuration changes, events, and one a request queue */
        vpci_dev->nvectors = dev->vdev.num_queues + 2;
    }
    /* Transitional devices have no id that large. */
    virtio_pci_force_virtio_1(vpci_dev);
    if (!qdev_realize(DEVICE(&dev->vdev), BUS(&vpci_dev->bus), errp)) {
        return;
    }
    /*
     * A vCPU executes requests within its access to this region, without the
     * BQL.  An access of another vCPU meanwhile is not re-entrant.
     */
    vpci_dev->notify.mr.disable_reentrancy_guard = true;
    vpci_dev->notify_pio.mr.disable_reentrancy_guard = true;
}

static void virtio_vmrpc_pci_class_init(ObjectClass *klass, QomClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioPCIClass *k = VIRTIO_PCI_CLASS(klass);
    PCIDeviceClass *pcidev_k = PCI_DEVICE_CLASS(klass);

    k->realize = virtio_vmrpc_pci_realize;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    dc->desc = "Sockets of the guest, executed on the host";
    pcidev_k->vendor_id = PCI_VENDOR_ID_REDHAT_QUMRANET;
    pcidev_k->revision = VIRTIO_PCI_ABI_VERSION;
    pcidev_k->class_id = PCI_CLASS_OTHERS;
    device_class_set_props(dc, virtio_vmrpc_pci_properties);
}

static void virtio_vmrpc_pci_instance_init(Object *obj)
{
    VirtIOVmrpcPCI *dev = VIRTIO_VMRPC_PCI(obj);

    virtio_instance_init_common(obj, &dev->vdev, sizeof(dev->vdev),
                                TYPE_VIRTIO_VMRPC);
}

static const VirtioPCIDeviceTypeInfo virtio_vmrpc_pci_info = {
    .base_name = TYPE_VIRTIO_VMRPC_PCI,
    .generic_name = "virtio-vmrpc-pci",
    .instance_size = sizeof(VirtIOVmrpcPCI),
    .instance_init = virtio_vmrpc_pci_instance_init,
    .class_init = virtio_vmrpc_pci_class_init,
};

static void virtio_vmrpc_pci_register(void)
{
    virtio_pci_types_register(&virtio_vmrpc_pci_info);
}

type_init(virtio_vmrpc_pci_register)
