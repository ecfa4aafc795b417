/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-net with a switch in it
 *
 * It is a subclass of virtio-net with all of its properties and features; the
 * guest sees a virtio-net.  Without control-secret the switch could not be
 * programmed, so the device has no switch then.
 */
#include "qemu/osdep.h"

#include "hw/net/cvsw/virtio-net-cvsw.h"
#include "hw/virtio/virtio.h"
#include "qapi/error.h"
#include "vmmnet/qemu-compat.h"

/* Limits for memory, and for the time of a look-up. */
#define FLOWS_MAX       65536
#define MASKS_MAX       256
/* Minimum MTU of IPv6 (RFC 8200 section 5). */
#define LINK_MTU_MIN    1280

static bool cvsw_check_number(const char *name, const char *property,
                              uint32_t value, uint32_t min, uint32_t max,
                              Error **errp)
{
    if (value < min || value > max) {
        error_setg(errp, "%s: %s=%" PRIu32 " is not %" PRIu32 "..%" PRIu32,
                   name, property, value, min, max);
        return false;
    }
    return true;
}

static bool cvsw_check(VirtIONetCvsw *c, const char *name, Error **errp)
{
    if (c->miss && strcmp(c->miss, "normal") && strcmp(c->miss, "drop")) {
        error_setg(errp, "%s: miss=%s is neither normal nor drop", name,
                   c->miss);
        return false;
    }
    if (c->link_mtu && !cvsw_check_number(name, "link-mtu", c->link_mtu,
                                          LINK_MTU_MIN, UINT16_MAX, errp)) {
        return false;
    }
    return cvsw_check_number(name, "flows", c->flows_max, 1, FLOWS_MAX,
                             errp) &&
           cvsw_check_number(name, "masks", c->masks_max, 1, MASKS_MAX, errp);
}

/*
 * According to virtio 1.2 section 5.1.4.1, a device must not change the MTU
 * while a driver uses it.  So most drivers read it only once: Linux reads it
 * when it binds to the device, and checks only the link state at later
 * interrupts.  The next driver reads the new value, and a driver that checks
 * for changes gets it at once.
 */
static void cvsw_tell_mtu(void *device, uint16_t mtu)
{
    VirtIONet *n = device;
    VirtIODevice *vdev = VIRTIO_DEVICE(n);

    mtu = mtu ? mtu : VIRTIO_NET_CVSW(n)->host_mtu;
    if (n->net_conf.mtu == mtu ||
        !virtio_host_has_feature(vdev, VIRTIO_NET_F_MTU)) {
        return;
    }
    n->net_conf.mtu = mtu;
    if (virtio_vdev_has_feature(vdev, VIRTIO_NET_F_MTU)) {
        virtio_notify_config(vdev);
    }
}

/* Creates the switch, if a controller can program it. */
static bool cvsw_make_nic(VirtIONetCvsw *c, const char *name, Error **errp)
{
    VirtIONet *n = VIRTIO_NET(c);
    CvswNicConfig config = {
        .secret = c->control_secret,
        .drop_misses = c->miss && !strcmp(c->miss, "drop"),
        .flows_max = c->flows_max,
        .masks_max = c->masks_max,
        .link_mtu = c->link_mtu,
        .tunnel_gso = c->tunnel_gso,
        .tell_mtu = cvsw_tell_mtu,
        .device = n,
    };

    if (!c->control_secret) {
        if (config.drop_misses) {
            error_setg(errp, "%s: miss=drop needs control-secret=ID: without "
                       "a controller no frame would ever pass", name);
            return false;
        }
        return true;
    }
    if (!n->nic_conf.peers.ncs[0]) {
        error_setg(errp, "%s: control-secret=%s needs netdev=ID: the "
                   "controller cannot reach it without a network", name,
                   c->control_secret);
        return false;
    }
    qemu_macaddr_default_if_unset(&n->nic_conf.macaddr);
    config.mac = n->nic_conf.macaddr;
    c->host_mtu = n->net_conf.mtu;
    c->nic = cvsw_nic_new(name, &config, &n->nic_conf.peers, errp);
    return c->nic;
}

static void cvsw_realize(DeviceState *dev, Error **errp)
{
    ERRP_GUARD();
    VirtIONetCvsw *c = VIRTIO_NET_CVSW(dev);
    VirtIONet *n = VIRTIO_NET(dev);
    /* The id is the proxy's on PCI, and the device's on virtio-mmio. */
    const char *name = n->netclient_name ?: dev->id;

    name = name ?: n->netclient_type ?: object_get_typename(OBJECT(dev));
    if (!cvsw_check(c, name, errp) || !cvsw_make_nic(c, name, errp)) {
        return;
    }
    VIRTIO_NET_CVSW_GET_CLASS(dev)->parent_realize(dev, errp);
    if (*errp) {
        cvsw_nic_free(c->nic);
        c->nic = NULL;
    } else if (c->nic) {
        vmstate_register_any(VMSTATE_IF(dev), &cvsw_nic_vmstate, c->nic);
    }
}

static void cvsw_unrealize(DeviceState *dev)
{
    VirtIONetCvsw *c = VIRTIO_NET_CVSW(dev);

    if (c->nic) {
        vmstate_unregister(VMSTATE_IF(dev), &cvsw_nic_vmstate, c->nic);
    }
    VIRTIO_NET_CVSW_GET_CLASS(dev)->parent_unrealize(dev);
    cvsw_nic_free(c->nic);
    c->nic = NULL;
}

static const Property cvsw_properties[] = {
    DEFINE_PROP_STRING("control-secret", VirtIONetCvsw, control_secret),
    DEFINE_PROP_STRING("miss", VirtIONetCvsw, miss),
    DEFINE_PROP_UINT32("flows", VirtIONetCvsw, flows_max, 4096),
    DEFINE_PROP_UINT32("masks", VirtIONetCvsw, masks_max, 64),
    DEFINE_PROP_UINT32("link-mtu", VirtIONetCvsw, link_mtu, 0),
    DEFINE_PROP_ON_OFF_AUTO("tunnel-gso", VirtIONetCvsw, tunnel_gso,
                            ON_OFF_AUTO_AUTO),
};

/*
 * Machine types from 10.2 on turn virtio-net's tunnel offloads on.  They make
 * the guest's header longer, and a switch has no use for them: a frame in the
 * guest's tunnel would pass it as one large segment.  This device has the same
 * features in each machine type and series, with a control-secret or without.
 */
static void cvsw_instance_init(Object *obj)
{
    static const char *const tunnels[] = {
        "host_tunnel", "host_tunnel_csum", "guest_tunnel", "guest_tunnel_csum"
    };

    for (size_t i = 0; i < ARRAY_SIZE(tunnels); i++) {
        if (object_property_find(obj, tunnels[i])) {
            object_property_set_bool(obj, tunnels[i], false, &error_abort);
        }
    }
}

static void cvsw_class_init(ObjectClass *klass, QomClassData *data)
{
    VirtIONetCvswClass *c = VIRTIO_NET_CVSW_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(DEVICE_CLASS(klass), cvsw_properties);
    c->parent_realize = vdc->realize;
    c->parent_unrealize = vdc->unrealize;
    vdc->realize = cvsw_realize;
    vdc->unrealize = cvsw_unrealize;
}

static const TypeInfo cvsw_info = {
    .name = TYPE_VIRTIO_NET_CVSW,
    .parent = TYPE_VIRTIO_NET,
    .instance_size = sizeof(VirtIONetCvsw),
    .instance_init = cvsw_instance_init,
    .class_size = sizeof(VirtIONetCvswClass),
    .class_init = cvsw_class_init,
};

static void cvsw_register(void)
{
    type_register_static(&cvsw_info);
}

type_init(cvsw_register)
