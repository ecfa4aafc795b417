/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-net-cvsw on PCI; the guest sees virtio-net-pci */
#include "qemu/osdep.h"

#include "hw/net/cvsw/virtio-net-cvsw.h"
#include "hw/virtio/virtio-pci.h"
#include "qapi/error.h"
#include "vmmnet/qemu-compat.h"

#define TYPE_VIRTIO_NET_CVSW_PCI "virtio-net-cvsw-pci-base"
OBJECT_DECLARE_SIMPLE_TYPE(VirtIONetCvswPCI, VIRTIO_NET_CVSW_PCI)

struct VirtIONetCvswPCI {
    VirtIOPCIProxy parent_obj;
    VirtIONetCvsw vdev;
};

static const Property cvsw_pci_properties[] = {
    DEFINE_PROP_BIT("ioeventfd", VirtIOPCIProxy, flags,
                    VIRTIO_PCI_FLAG_USE_IOEVENTFD_BIT, true),
    DEFINE_PROP_UINT32("vectors", VirtIOPCIProxy, nvectors,
                       DEV_NVECTORS_UNSPECIFIED),
};

static void cvsw_pci_realize(VirtIOPCIProxy *proxy, Error **errp)
{
    VirtIONetCvswPCI *dev = VIRTIO_NET_CVSW_PCI(proxy);
    VirtIONet *net = VIRTIO_NET(&dev->vdev);

    if (proxy->nvectors == DEV_NVECTORS_UNSPECIFIED) {
        /* One more for configuration changes, one for the control queue. */
        proxy->nvectors = 2 * MAX(net->nic_conf.peers.queues, 1) + 2;
    }
    virtio_net_set_netclient_name(net, DEVICE(proxy)->id,
                                  object_get_typename(OBJECT(proxy)));
    qdev_realize(DEVICE(&dev->vdev), BUS(&proxy->bus), errp);
}

static void cvsw_pci_class_init(ObjectClass *klass, QomClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    k->romfile = "efi-virtio.rom";
    k->vendor_id = PCI_VENDOR_ID_REDHAT_QUMRANET;
    k->device_id = PCI_DEVICE_ID_VIRTIO_NET;
    k->revision = VIRTIO_PCI_ABI_VERSION;
    k->class_id = PCI_CLASS_NETWORK_ETHERNET;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, cvsw_pci_properties);
    VIRTIO_PCI_CLASS(klass)->realize = cvsw_pci_realize;
}

static void cvsw_pci_init(Object *obj)
{
    VirtIONetCvswPCI *dev = VIRTIO_NET_CVSW_PCI(obj);

    virtio_instance_init_common(obj, &dev->vdev, sizeof(dev->vdev),
                                TYPE_VIRTIO_NET_CVSW);
    object_property_add_alias(obj, "bootindex", OBJECT(&dev->vdev),
                              "bootindex");
}

static const VirtioPCIDeviceTypeInfo cvsw_pci_info = {
    .base_name = TYPE_VIRTIO_NET_CVSW_PCI,
    .generic_name = "virtio-net-cvsw-pci",
    .transitional_name = "virtio-net-cvsw-pci-transitional",
    .non_transitional_name = "virtio-net-cvsw-pci-non-transitional",
    .instance_size = sizeof(VirtIONetCvswPCI),
    .instance_init = cvsw_pci_init,
    .class_init = cvsw_pci_class_init,
};

static void cvsw_pci_register(void)
{
    virtio_pci_types_register(&cvsw_pci_info);
}

type_init(cvsw_pci_register)
