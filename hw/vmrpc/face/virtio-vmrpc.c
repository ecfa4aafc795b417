/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: sockets of the guest, executed on the host
 *
 * Theory of operation
 * ===================
 *
 * The files of this folder connect the socket server (server.c) to QEMU.
 * vmmnet/vmrpc.h explains the wire format, server.c the server.
 *
 *   virtio-vmrpc.c              the device: features, realize, reset
 *   virtio-vmrpc-queues.c       virtqueues, vCPUs and the IOThread
 *   virtio-vmrpc-memory.c       the guest's memory
 *   virtio-vmrpc-properties.c   the properties of the command line
 *   virtio-vmrpc-claim.c        address6 belongs to one VM of the host
 *   virtio-vmrpc-audit.c        lines of the audit log, on their way out
 *   virtio-vmrpc-migration.c    the migration stream
 *   virtio-vmrpc-report.c       reports of the server: trace, log, QMP events
 *   virtio-vmrpc-monitor.c      commands of QMP and HMP
 *   virtio-vmrpc-pci.c          the PCI transport; virtio-mmio needs no file
 *   virtio-vmrpc-device.c       the state that all of them use
 *
 * Requests.  The thread of the vCPU that notifies a queue executes its
 * requests, as a system call runs on the CPU of its caller.  So a request and
 * its answer wake no other thread, and the vCPU that asked is charged for the
 * time.  The vCPU enters with the BQL and drops it at once: a vCPU that sends
 * a megabyte delays neither other vCPUs nor the monitor.  Another device can
 * notify a queue, too, by DMA or by an interrupt message, while a vCPU is in
 * that device's handler.  That handler relies on the BQL, so the main loop
 * executes these requests.
 *
 * Events.  An IOThread sends them.  While the guest's driver runs (ioeventfd
 * is started), the IOThread follows the host sockets.  The server's descriptor
 * wakes it; so does a kick of the event queue, when an event had to wait for a
 * buffer.
 *
 * vIOMMU.  Behind one, any access to a ring or to a buffer may fault.  A fault
 * raises an interrupt, for which QEMU needs the BQL.  So everything runs under
 * the BQL there: requests do not drop it, and the main loop sends events.
 *
 * Start and stop.  At any other time (realize, reset, migration, unplug)
 * ioeventfd is stopped, and the server and the rings belong to the main thread
 * under the BQL.  To stop is to wait, with the BQL held, for the requests that
 * are running: so a request must never take the BQL.  It would have to only if
 * its memory were another device's registers; such requests are refused
 * (virtio-vmrpc-memory.c).  No request is running while vCPUs are stopped, so
 * a migration carries only the server's tables.
 */
#include "qemu/osdep.h"

#include "hw/core/cpu.h"
#include "hw/qdev-properties-system.h"
#include "hw/virtio/virtio-bus.h"
#include "hw/virtio/virtio-mmio.h"
#include "hw/vmrpc/face/virtio-vmrpc-address.h"
#include "hw/vmrpc/face/virtio-vmrpc-audit.h"
#include "hw/vmrpc/face/virtio-vmrpc-claim.h"
#include "hw/vmrpc/face/virtio-vmrpc-device.h"
#include "hw/vmrpc/face/virtio-vmrpc-memory.h"
#include "hw/vmrpc/face/virtio-vmrpc-migration.h"
#include "hw/vmrpc/face/virtio-vmrpc-properties.h"
#include "hw/vmrpc/face/virtio-vmrpc-queues.h"
#include "hw/vmrpc/face/virtio-vmrpc-report.h"
#include "qapi/error.h"
#include "qemu/guest-random.h"
#include "qemu/module.h"
#include "vmmnet/qemu-compat.h"
#include "hw/vmrpc/trace.h"

/* Bytes; programs in the guest read it as the MTU of the interface. */
#define GUEST_MTU               65535

/* --- virtio ------------------------------------------------------------- */

static void virtio_vmrpc_get_config(VirtIODevice *vdev, uint8_t *data)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    struct vmrpc_config config = {
        .num_queues = cpu_to_le16(s->num_queues),
        .mtu = cpu_to_le16(GUEST_MTU),
    };

    vmrpc_server_fill_config(s->server, &config);
    memcpy(data, &config, sizeof(config));
}

static uint64_t virtio_vmrpc_get_features(VirtIODevice *vdev,
                                          uint64_t features, Error **errp)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);

    if (s->translate) {
        virtio_add_feature(&features, VMRPC_F_TRANSLATE);
    }
    if (s->guest_clock) {
        virtio_add_feature(&features, VMRPC_F_MOMENTS);
    }
    if (s->long_values) {
        virtio_add_feature(&features, VMRPC_F_LONG_VALUES);
    }
    if (s->ipv6 && s->translate) {
        virtio_add_feature(&features, VMRPC_F_INET6);
    }
    /* The IOThread cannot give up a single queue. */
    virtio_clear_feature(&features, VIRTIO_F_RING_RESET);
    return features;
}

/*
 * Behind an IOMMU a mapping is valid during its request only: the guest may
 * unmap it without a notice to the device.
 */
static void virtio_vmrpc_set_features(VirtIODevice *vdev, uint64_t features)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    VmrpcMemoryOps ops = virtio_vmrpc_memory_ops(s);
    bool direct = s->has_ram_as &&
                  !virtio_has_feature(features, VIRTIO_F_IOMMU_PLATFORM);

    virtio_vmrpc_wait_calls(s);
    vmrpc_server_set_memory(s->server, direct ? &ops : NULL);
    vmrpc_server_set_features(s->server, features);
}

static void virtio_vmrpc_reset(VirtIODevice *vdev)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);

    assert(!s->ioeventfd_started);
    s->event_starved = false;
    trace_virtio_vmrpc_reset(s, vmrpc_server_sockets(s->server));
    vmrpc_server_reset(s->server);
}

/* --- life --------------------------------------------------------------- */

/* May the vCPU of this thread wait?  Not with an interrupt or exit pending. */
static bool vcpu_is_free(void)
{
    CPUState *cpu = current_cpu;

    return !qatomic_read(&cpu->exit_request) &&
           !qatomic_read(&cpu->interrupt_request);
}

static bool make_server(VirtIOVmrpc *s, Error **errp)
{
    g_auto(GStrv) dns = s->dns ? g_strsplit(s->dns, "+", -1) : NULL;
    g_auto(GStrv) zones = s->zone ? g_strsplit(s->zone, "+", -1) : NULL;
    VmrpcTracer tracer = virtio_vmrpc_tracer(s);
    VmrpcServerConfig config = { };
    GError *err = NULL;

    if (!virtio_vmrpc_parse_properties(s, &config, errp) ||
        qemu_guest_getrandom(&config.reach.pool4_start,
                             sizeof(config.reach.pool4_start), errp) < 0) {
        return false;
    }
    config.dns = (const char *const *)dns;
    config.zones = (const char *const *)zones;
    config.audit = s->audit;
    s->server = vmrpc_server_new(&config, runstate_check(RUN_STATE_INMIGRATE),
                                 &err);
    if (!s->server) {
        error_setg(errp, "%s", err->message);
        g_error_free(err);
        return false;
    }
    vmrpc_server_set_tracer(s->server, &tracer);
    vmrpc_server_set_may_go_on(s->server, vcpu_is_free);
    s->identity = (VirtIOVmrpcIdentity) {
        .translate = config.reach.translate,
        .guest4 = config.reach.guest4.s_addr,
        .resolver4 = config.reach.resolver4.s_addr,
        .pool4 = config.reach.pool4.s_addr,
        .pool4_prefix = config.reach.pool4_prefix,
        .max_sockets = config.max_sockets,
    };
    return true;
}

static bool make_iothread(VirtIOVmrpc *s, Error **errp)
{
    static unsigned counter;
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);

    if (!k->set_guest_notifiers || !k->ioeventfd_assign ||
        !virtio_device_ioeventfd_enabled(VIRTIO_DEVICE(s))) {
        error_setg(errp, "virtio-vmrpc needs ioeventfd=on");
        return false;
    }
    if (s->iothread) {
        object_ref(OBJECT(s->iothread));
    } else {
        g_autofree char *id = g_strdup_printf("vmrpc-iothread%u", counter++);

        s->own_iothread = iothread_create(id, errp);
        if (!s->own_iothread) {
            return false;
        }
    }
    return true;
}

static void drop_iothread(VirtIOVmrpc *s)
{
    if (s->iothread) {
        object_unref(OBJECT(s->iothread));
    } else {
        iothread_destroy(s->own_iothread);
        s->own_iothread = NULL;
    }
}

static void virtio_vmrpc_device_realize(DeviceState *dev, Error **errp)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOVmrpc *s = VIRTIO_VMRPC(dev);

    if (s->num_queues == VIRTIO_VMRPC_AUTO_NUM_QUEUES) {
        s->num_queues = MIN(current_machine->smp.cpus, VMRPC_QUEUES_MAX);
    }
    if (!virtio_vmrpc_audit_realize(s, errp)) {
        return;
    }
    if (!make_server(s, errp)) {
        goto err_audit;
    }
    if (!virtio_vmrpc_claim_realize(s, errp)) {
        goto err_server;
    }
    if (!virtio_vmrpc_address_realize(s, errp)) {
        goto err_claim;
    }
    if (!make_iothread(s, errp)) {
        goto err_address;
    }
    virtio_init(vdev, VIRTIO_ID_VMRPC, sizeof(struct vmrpc_config));
    virtio_vmrpc_queues_realize(s);
    virtio_vmrpc_audit_start(s);
    return;

err_address:
    virtio_vmrpc_address_unrealize(s);
err_claim:
    virtio_vmrpc_claim_unrealize(s);
err_server:
    vmrpc_server_free(s->server);
    s->server = NULL;
err_audit:
    virtio_vmrpc_audit_unrealize(s);
}

/*
 * The whole device, after virtio_vmrpc_device_realize(): it is on its bus, and
 * has an address space.
 */
static void virtio_vmrpc_realize(DeviceState *dev, Error **errp)
{
    ERRP_GUARD();
    Object *proxy = OBJECT(qdev_get_parent_bus(dev)->parent);
    VirtIOMMIOProxy *mmio = (VirtIOMMIOProxy *)
        object_dynamic_cast(proxy, TYPE_VIRTIO_MMIO);

    if (mmio && mmio->legacy) {
        /* A legacy device has no id that large. */
        error_setg(errp, "virtio-vmrpc needs virtio 1, and virtio-mmio is set "
                   "to force-legacy=true: add "
                   "-global virtio-mmio.force-legacy=false");
        return;
    }
    VIRTIO_VMRPC_GET_CLASS(dev)->parent_realize(dev, errp);
    if (*errp) {
        return;
    }
    virtio_vmrpc_memory_limit(VIRTIO_VMRPC(dev));
    if (mmio) {
        /*
         * A vCPU executes requests within its access to this region, without
         * the BQL.  An access of another vCPU meanwhile is not re-entrant.
         */
        mmio->iomem.disable_reentrancy_guard = true;
    }
}

static void virtio_vmrpc_device_unrealize(DeviceState *dev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOVmrpc *s = VIRTIO_VMRPC(dev);

    virtio_vmrpc_queues_unrealize(s);
    virtio_cleanup(vdev);
    virtio_vmrpc_memory_cleanup(s);
    drop_iothread(s);
    virtio_vmrpc_address_unrealize(s);
    virtio_vmrpc_claim_unrealize(s);
    vmrpc_server_free(s->server);
    s->server = NULL;
    virtio_vmrpc_audit_unrealize(s);
    virtio_vmrpc_drop_saved(s);
}

static void virtio_vmrpc_instance_init(Object *obj)
{
    virtio_vmrpc_queues_init(VIRTIO_VMRPC(obj));
}

static void virtio_vmrpc_instance_finalize(Object *obj)
{
    virtio_vmrpc_queues_finalize(VIRTIO_VMRPC(obj));
}

static const Property virtio_vmrpc_properties[] = {
    DEFINE_PROP_LINK("iothread", VirtIOVmrpc, iothread, TYPE_IOTHREAD,
                     IOThread *),
    DEFINE_PROP_UINT16("num-queues", VirtIOVmrpc, num_queues,
                       VIRTIO_VMRPC_AUTO_NUM_QUEUES),
    DEFINE_PROP_UINT32("max-sockets", VirtIOVmrpc, max_sockets, 16384),
    DEFINE_PROP_BOOL("translate", VirtIOVmrpc, translate, true),
    DEFINE_PROP_STRING("address6", VirtIOVmrpc, address6),
    DEFINE_PROP_STRING("guest4", VirtIOVmrpc, guest4),
    DEFINE_PROP_STRING("pool4", VirtIOVmrpc, pool4),
    DEFINE_PROP_STRING("resolver4", VirtIOVmrpc, resolver4),
    DEFINE_PROP_STRING("dns", VirtIOVmrpc, dns),
    DEFINE_PROP_STRING("zone", VirtIOVmrpc, zone),
    DEFINE_PROP_STRING("dnssec", VirtIOVmrpc, dnssec),
    DEFINE_PROP_STRING("validator", VirtIOVmrpc, validator),
    DEFINE_PROP_STRING("nat64-prefix", VirtIOVmrpc, nat64_prefix),
    DEFINE_PROP_STRING("policy", VirtIOVmrpc, policy),
    DEFINE_PROP_CHR("audit", VirtIOVmrpc, audit_chr),
    DEFINE_PROP_STRING("audit-full", VirtIOVmrpc, audit_full),
    DEFINE_PROP_BOOL("alg", VirtIOVmrpc, alg, true),
    DEFINE_PROP_BOOL("happy-eyeballs", VirtIOVmrpc, happy_eyeballs, true),
    DEFINE_PROP_BOOL("guest-clock", VirtIOVmrpc, guest_clock, true),
    DEFINE_PROP_BOOL("long-values", VirtIOVmrpc, long_values, true),
    DEFINE_PROP_BOOL("ipv6", VirtIOVmrpc, ipv6, true),
};

static void virtio_vmrpc_class_init(ObjectClass *klass, QomClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(dc, virtio_vmrpc_properties);
    device_class_set_parent_realize(
        dc, virtio_vmrpc_realize,
        &VIRTIO_VMRPC_CLASS(klass)->parent_realize);
    dc->vmsd = &vmstate_virtio_vmrpc;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    vdc->realize = virtio_vmrpc_device_realize;
    vdc->unrealize = virtio_vmrpc_device_unrealize;
    vdc->get_config = virtio_vmrpc_get_config;
    vdc->get_features = virtio_vmrpc_get_features;
    vdc->set_features = virtio_vmrpc_set_features;
    vdc->reset = virtio_vmrpc_reset;
    vdc->start_ioeventfd = virtio_vmrpc_start_ioeventfd;
    vdc->stop_ioeventfd = virtio_vmrpc_stop_ioeventfd;
}

static const TypeInfo virtio_vmrpc_info = {
    .name = TYPE_VIRTIO_VMRPC,
    .parent = TYPE_VIRTIO_DEVICE,
    .instance_size = sizeof(VirtIOVmrpc),
    .instance_init = virtio_vmrpc_instance_init,
    .instance_finalize = virtio_vmrpc_instance_finalize,
    .class_size = sizeof(VirtIOVmrpcClass),
    .class_init = virtio_vmrpc_class_init,
};

static void virtio_vmrpc_register_types(void)
{
    type_register_static(&virtio_vmrpc_info);
}

type_init(virtio_vmrpc_register_types)
