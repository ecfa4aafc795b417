/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: sockets of the guest, executed on the host
 *
 * Theory of operation
 * ===================
 *
 * These files connect the socket server (server.c) to QEMU: virtqueues and an
 * IOThread here, properties, migration and the monitor in files of their own.
 * The wire format is explained in vmmnet/vmrpc.h, the server in server.c.
 *
 * Requests run in the thread of the vCPU that notifies the queue, as a system
 * call runs on the CPU of its caller: nobody has to be woken up, neither for
 * the request nor for its answer, and the time goes to the account of who
 * asked.  The vCPU comes with the BQL and lets go of it at once, so one that
 * sends a megabyte delays neither the others nor the monitor.  A notification
 * that another device has made, by DMA or an interrupt message while a vCPU is
 * in its handler, is left to the main loop: that device relies on the BQL.
 *
 * Events come from an IOThread.  While the guest's driver runs (ioeventfd
 * started) it follows the host sockets: the server's own descriptor, and, when
 * an event had to wait for a buffer, a kick of the event queue, wake it.
 *
 * Behind a vIOMMU any access to a ring or a buffer may fault, and the fault is
 * an interrupt, which QEMU raises under the BQL only.  So there everything
 * runs under the BQL: requests do not let go of it, and events come from the
 * main loop.
 *
 * At any other time (realize, reset, migration, unplug) ioeventfd is stopped
 * and the server and the rings belong to the main thread under the BQL.
 * Stopping waits for the requests under way, with the BQL held: so they must
 * never want it.  All that could make them want it is memory of a request
 * that is not RAM but another device's registers; such requests are refused
 * (virtio_vmrpc_plugged).  There is never a request in flight when vCPUs are
 * stopped, so migration has only the server's tables to carry.
 */
#include "qemu/osdep.h"

#include "block/aio-wait.h"
#include "exec/address-spaces.h"
#include "hw/core/cpu.h"
#include "hw/qdev-properties.h"
#include "hw/virtio/virtio-bus.h"
#include "hw/vmrpc/face/virtio-vmrpc.h"
#include "migration/vmstate.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "system/runstate.h"
#include "hw/vmrpc/trace.h"

/* Requests executed for one notification; the main loop goes on with more. */
#define REQUEST_BATCH           64

/* What programs that ask the guest's interface are told. */
#define GUEST_MTU               65535

QEMU_BUILD_BUG_ON(VIRTQUEUE_MAX_SIZE > IOV_MAX);

/* --- requests: in the vCPUs' threads, without the BQL ------------------- */

static VirtQueueElement *pop_request(VirtIOVmrpc *s, VirtQueue *vq, bool *empty)
{
    VirtQueueElement *elem;

    qemu_mutex_lock(&s->ring_lock[virtio_get_queue_index(vq)]);
    elem = virtqueue_pop(vq, sizeof(*elem));
    /* Other vCPUs may use this queue while we are busy: let them kick. */
    virtio_queue_set_notification(vq, 1);
    *empty = !elem && virtio_queue_empty(vq);
    qemu_mutex_unlock(&s->ring_lock[virtio_get_queue_index(vq)]);
    return elem;
}

/* @len: bytes written, or negative if it was no request at all */
static void push_request(VirtIOVmrpc *s, VirtQueue *vq, VirtQueueElement *elem,
                         ssize_t len)
{
    qemu_mutex_lock(&s->ring_lock[virtio_get_queue_index(vq)]);
    if (len >= 0) {
        virtqueue_push(vq, elem, len);
    } else {
        virtio_error(VIRTIO_DEVICE(s), "virtio-vmrpc: request without room "
                     "for header and response");
        virtqueue_detach_element(vq, elem, 0);
    }
    qemu_mutex_unlock(&s->ring_lock[virtio_get_queue_index(vq)]);
}

/* Executes at most REQUEST_BATCH requests; returns how many. */
static unsigned process_queue(VirtIOVmrpc *s, VirtQueue *vq, bool may_wait)
{
    unsigned done = 0;

    while (done < REQUEST_BATCH && !VIRTIO_DEVICE(s)->broken) {
        g_autofree VirtQueueElement *elem = NULL;
        bool empty;
        ssize_t len;

        elem = pop_request(s, vq, &empty);
        if (empty) {
            break;
        }
        if (!elem) {
            continue;           /* it has just come, or the device broke */
        }
        len = vmrpc_server_call(s->server, elem->out_sg, elem->out_num,
                                elem->in_sg, elem->in_num, may_wait);
        push_request(s, vq, elem, len);
        done++;
    }
    return done;
}

/* Without the BQL, which a vCPU that waits for a peer must not keep. */
static unsigned process_in_vcpu(VirtIOVmrpc *s, VirtQueue *vq)
{
    unsigned done;

    qatomic_inc(&s->calls);
    bql_unlock();
    done = process_queue(s, vq, true);
    if (qatomic_fetch_dec(&s->calls) == 1) {
        qemu_event_set(&s->calls_done);
    }
    bql_lock();
    return done;
}

/*
 * Other threads keep the BQL, as nothing is to happen behind their back, and do
 * not wait for peers.
 */
static void run_queue(VirtIOVmrpc *s, VirtQueue *vq)
{
    unsigned done = current_cpu && !s->behind_iommu
                    ? process_in_vcpu(s, vq)
                    : process_queue(s, vq, false);

    if (done && s->ioeventfd_started) {
        virtio_notify(VIRTIO_DEVICE(s), vq);
    }
    if (done == REQUEST_BATCH && s->ioeventfd_started) {
        qemu_bh_schedule(s->more_bh);
    }
}

/* No call can begin, as we have the BQL: waits for the end of the last. */
static void wait_calls(VirtIOVmrpc *s)
{
    while (qatomic_read(&s->calls)) {
        qemu_event_reset(&s->calls_done);
        if (qatomic_read(&s->calls)) {
            qemu_event_wait(&s->calls_done);
        }
    }
}

/*
 * Take the rest of one notification, a batch of each queue at a time.  In the
 * main loop only: a vCPU that waits for the IOThread, as it stops us, runs
 * other bottom halves.
 */
static void process_more(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    for (unsigned i = 0; i < s->num_queues && s->ioeventfd_started; i++) {
        run_queue(s, virtio_get_queue(VIRTIO_DEVICE(s),
                                      VMRPC_QUEUE_REQUEST + i));
    }
}

static void handle_request(VirtIODevice *vdev, VirtQueue *vq)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);

    /* Starting looks into every queue. */
    if (!vdev->vm_running) {
        return;
    }
    /* Some guests kick before DRIVER_OK. */
    if (!s->ioeventfd_started && virtio_device_start_ioeventfd(vdev) < 0) {
        return;
    }
    if (!s->ioeventfd_started) {
        return;
    }
    /* Another device, or our own interrupt: it goes on first, with the BQL. */
    if (memory_region_access_is_nested()) {
        qemu_bh_schedule(s->more_bh);
        return;
    }
    run_queue(s, vq);
}

/* --- events: in the IOThread -------------------------------------------- */

static void trace_event(VirtIOVmrpc *s, const struct vmrpc_event *ev)
{
    uint32_t error = le32_to_cpu(ev->so_error);

    trace_virtio_vmrpc_event(s, le32_to_cpu(ev->sock), le32_to_cpu(ev->ready),
                             le32_to_cpu(ev->ready_seq),
                             error & ((1u << VMRPC_ERROR_AGE) - 1),
                             error >> VMRPC_ERROR_AGE);
}

static void push_event(VirtIOVmrpc *s, const struct vmrpc_event *ev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    VirtQueueElement *elem = virtqueue_pop(s->event_vq, sizeof(*elem));

    if (!elem) {
        return;                 /* the queue is broken and says so itself */
    }
    if (iov_from_buf(elem->in_sg, elem->in_num, 0, ev, sizeof(*ev)) !=
        sizeof(*ev)) {
        virtio_error(vdev, "virtio-vmrpc: event buffer of less than %zu bytes",
                     sizeof(*ev));
        virtqueue_detach_element(s->event_vq, elem, 0);
    } else {
        trace_event(s, ev);
        virtqueue_push(s->event_vq, elem, sizeof(*ev));
    }
    g_free(elem);
}

/* Hands out events as long as there are buffers for them. */
static void flush_events(VirtIOVmrpc *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    struct vmrpc_event ev;
    bool pushed = false;

    while (vmrpc_server_has_event(s->server)) {
        if (virtio_queue_empty(s->event_vq)) {
            /* Ask for a kick, then look again: it may just have come. */
            virtio_queue_set_notification(s->event_vq, 1);
            if (virtio_queue_empty(s->event_vq)) {
                trace_virtio_vmrpc_event_starved(s);
                s->event_starved = true;
                break;
            }
            virtio_queue_set_notification(s->event_vq, 0);
        }
        if (vmrpc_server_next_event(s->server, &ev)) {
            push_event(s, &ev);
            pushed = true;
        }
        if (vdev->broken) {
            return;
        }
    }
    if (pushed) {
        virtio_notify_irqfd(vdev, s->event_vq);
    }
}

static void handle_event(VirtIODevice *vdev, VirtQueue *vq)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);

    if (s->ioeventfd_started) {
        if (s->event_starved) {
            s->event_starved = false;
            virtio_queue_set_notification(vq, 0);
        }
        flush_events(s);
    }
}

static void server_read(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    vmrpc_server_process(s->server);
    flush_events(s);
}

static bool server_poll(void *opaque)
{
    VirtIOVmrpc *s = opaque;
    GPollFD pfd = { .fd = vmrpc_server_fd(s->server), .events = G_IO_IN };

    return g_poll(&pfd, 1, 0) > 0;
}

/* The event queue is normally full of buffers: that is no work to poll for. */
static bool event_vq_poll(void *opaque)
{
    return false;
}

/* --- start and stop: under the BQL -------------------------------------- */

static unsigned queue_count(const VirtIOVmrpc *s)
{
    return VMRPC_QUEUE_REQUEST + s->num_queues;
}

static void attach_bh(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    virtio_queue_set_notification(s->event_vq, 0);
    aio_set_event_notifier(s->ctx, virtio_queue_get_host_notifier(s->event_vq),
                           virtio_queue_host_notifier_read, event_vq_poll,
                           virtio_queue_host_notifier_read);
    aio_set_fd_handler(s->ctx, vmrpc_server_fd(s->server), server_read, NULL,
                       server_poll, server_read, s);
    /* What happened while stopped, also on the source of a migration. */
    server_read(s);
}

static void detach_bh(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    aio_set_fd_handler(s->ctx, vmrpc_server_fd(s->server), NULL, NULL, NULL,
                       NULL, NULL);
    virtio_queue_aio_detach_host_notifier(s->event_vq, s->ctx);
    /* A kick that came in between. */
    virtio_queue_host_notifier_read(
        virtio_queue_get_host_notifier(s->event_vq));
}

/* Decides who does the work; a vIOMMU may have come after us. */
static void choose_context(VirtIOVmrpc *s)
{
    s->behind_iommu = !s->has_ram_as &&
                      virtio_bus_device_iommu_enabled(VIRTIO_DEVICE(s));
    if (!s->behind_iommu) {
        s->ctx = iothread_get_aio_context(s->iothread ?: s->own_iothread);
        return;
    }
    s->ctx = qemu_get_aio_context();
    if (s->iothread) {
        g_autofree char *id = iothread_get_id(s->iothread);

        warn_report_once("virtio-vmrpc: iothread=%s is not used behind an "
                         "IOMMU, where the main loop does its work", id);
    }
}

static int virtio_vmrpc_start_ioeventfd(VirtIODevice *vdev)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);
    int ret;

    if (s->ioeventfd_started || s->ioeventfd_starting) {
        return 0;
    }
    s->ioeventfd_starting = true;
    choose_context(s);

    ret = k->set_guest_notifiers(qbus->parent, queue_count(s), true);
    if (ret < 0) {
        goto err;
    }
    ret = virtio_bus_set_host_notifier(VIRTIO_BUS(qbus), VMRPC_QUEUE_EVENT,
                                       true);
    if (ret < 0) {
        goto err_guest_notifiers;
    }
    s->ioeventfd_starting = false;
    s->ioeventfd_started = true;
    trace_virtio_vmrpc_start(s, s->num_queues);
    aio_wait_bh_oneshot(s->ctx, attach_bh, s);
    /* Requests whose notification came too early. */
    qemu_bh_schedule(s->more_bh);
    return 0;

err_guest_notifiers:
    k->set_guest_notifiers(qbus->parent, queue_count(s), false);
err:
    s->ioeventfd_starting = false;
    /*
     * Without notifiers nobody would tell the guest of readiness: it has to
     * know that the device does not work.  It may reset it and try again.
     */
    virtio_error(vdev, "virtio-vmrpc: cannot start, no notifiers: %s",
                 strerror(-ret));
    return ret;
}

static void virtio_vmrpc_stop_ioeventfd(VirtIODevice *vdev)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);

    if (!s->ioeventfd_started || s->ioeventfd_stopping) {
        return;
    }
    s->ioeventfd_stopping = true;
    wait_calls(s);
    aio_wait_bh_oneshot(s->ctx, detach_bh, s);
    virtio_bus_set_host_notifier(VIRTIO_BUS(qbus), VMRPC_QUEUE_EVENT, false);
    virtio_bus_cleanup_host_notifier(VIRTIO_BUS(qbus), VMRPC_QUEUE_EVENT);
    k->set_guest_notifiers(qbus->parent, queue_count(s), false);
    s->ioeventfd_started = false;
    s->ioeventfd_stopping = false;
    trace_virtio_vmrpc_stop(s);
}

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
    /* A single queue cannot be taken away from the IOThread. */
    virtio_clear_feature(&features, VIRTIO_F_RING_RESET);
    return features;
}

/* --- buffers: the guest's memory, from any thread ------------------------ */

static void memory_hold(void *opaque, const struct iovec *iov, unsigned num)
{
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        /* Mapped by the request, which is still there: it is RAM. */
        memory_region_ref(memory_region_from_host(iov[i].iov_base, &offset));
    }
}

static void unref_bh(void *opaque)
{
    memory_region_unref(opaque);
}

/* If it was unplugged meanwhile it goes with this reference: under the BQL. */
static void memory_release(void *opaque, const struct iovec *iov, unsigned num)
{
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        MemoryRegion *mr = memory_region_from_host(iov[i].iov_base, &offset);

        if (bql_locked()) {
            memory_region_unref(mr);
        } else {
            aio_bh_schedule_oneshot(qemu_get_aio_context(), unref_bh, mr);
        }
    }
}

/* For migration, and for code that the guest may have there. */
static void memory_written(void *opaque, const struct iovec *iov, unsigned num)
{
    VirtIOVmrpc *s = opaque;
    ram_addr_t offset;

    for (unsigned i = 0; i < num; i++) {
        /* Unmapping gives a reference back. */
        memory_region_ref(memory_region_from_host(iov[i].iov_base, &offset));
        address_space_unmap(&s->ram_as, iov[i].iov_base, iov[i].iov_len, true,
                            iov[i].iov_len);
    }
}

/*
 * Behind an IOMMU a mapping lasts as long as its request: the guest may take
 * it away without telling us.
 */
static void virtio_vmrpc_set_features(VirtIODevice *vdev, uint64_t features)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    VmrpcMemoryOps ops = {
        .hold = memory_hold,
        .release = memory_release,
        .written = memory_written,
        .opaque = s,
    };
    bool direct = s->has_ram_as &&
                  !virtio_has_feature(features, VIRTIO_F_IOMMU_PLATFORM);

    wait_calls(s);
    vmrpc_server_set_memory(s->server, direct ? &ops : NULL);
    vmrpc_server_set_moments(s->server,
                             virtio_has_feature(features, VMRPC_F_MOMENTS));
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

static void trace_call(void *opaque, unsigned op, uint32_t handle, int error,
                       uint32_t value)
{
    trace_virtio_vmrpc_call(opaque, op, handle, error, value);
}

static void trace_refused(void *opaque, const VmrpcRefusal *refusal)
{
    trace_virtio_vmrpc_refused(opaque, refusal->dest ?: "-", refusal->port,
                               refusal->name ?: "-", refusal->reason,
                               refusal->line);
}

static void trace_raced(void *opaque, uint32_t handle, const char *dest)
{
    trace_virtio_vmrpc_raced(opaque, handle, dest);
}

/* From the thread that follows the file. */
static void trace_policy(void *opaque, const char *error)
{
    trace_virtio_vmrpc_policy(opaque, error ?: "read again");
    if (error) {
        error_report("virtio-vmrpc: %s", error);
    }
}

static void trace_zone(void *opaque, const char *name, const char *error)
{
    trace_virtio_vmrpc_zone(opaque, name, error ?: "read again");
    if (error) {
        error_report("virtio-vmrpc: %s", error);
    }
}

/*
 * The log has the first bogus name: one is news, and a guest can ask for as
 * many as it likes.
 */
static void report_bogus(VirtIOVmrpc *s, const char *name,
                         const DnsValidated *found)
{
    if (s->has_told_bogus) {
        return;
    }
    s->has_told_bogus = true;
    warn_report("virtio-vmrpc: dnssec=%s: the answer for %s (type %u) is "
                "bogus: %s (EDE %d); more of them are counted in "
                "upstream-bogus", s->dnssec, name, found->question->type,
                found->reason, found->ede);
}

/* From whatever thread uses the server, and under its lock. */
static void trace_validated(void *opaque, const DnsValidated *found)
{
    static const char *const words[] = {
        [VMMNET_DNS_INDETERMINATE] = "indeterminate",
        [VMMNET_DNS_INSECURE] = "insecure",
        [VMMNET_DNS_SECURE] = "secure",
        [VMMNET_DNS_BOGUS_DATA] = "bogus",
    };
    char name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&found->question->name, name);
    trace_virtio_vmrpc_validated(opaque, name, found->question->type,
                                 words[found->security], found->ede,
                                 found->reason);
    if (found->security == VMMNET_DNS_BOGUS_DATA) {
        report_bogus(opaque, name, found);
    }
}

/* From whatever thread uses the server, and under its lock. */
static void report_arrival(void *opaque, const VmrpcArrival *arrival)
{
    trace_virtio_vmrpc_arrival(opaque, arrival->sockets,
                               arrival->address ?: "-", arrival->port,
                               arrival->error);
    virtio_vmrpc_report_arrival(opaque, arrival);
}

/* Is there nothing that the vCPU we run on has to attend to? */
static bool vcpu_is_free(void)
{
    CPUState *cpu = current_cpu;

    return !qatomic_read(&cpu->exit_request) &&
           !qatomic_read(&cpu->interrupt_request);
}

const char *virtio_vmrpc_id(VirtIOVmrpc *s)
{
    BusState *bus = qdev_get_parent_bus(DEVICE(s));

    /* Users name the PCI device that we are the inside of. */
    return DEVICE(s)->id ?: bus && bus->parent ? bus->parent->id : NULL;
}

static bool make_server(VirtIOVmrpc *s, Error **errp)
{
    g_auto(GStrv) dns = s->dns ? g_strsplit(s->dns, "+", -1) : NULL;
    g_auto(GStrv) zones = s->zone ? g_strsplit(s->zone, "+", -1) : NULL;
    VmrpcTracer tracer = {
        .call = trace_call,
        .refused = trace_refused,
        .raced = trace_raced,
        .policy = trace_policy,
        .zone = trace_zone,
        .validated = trace_validated,
        .arrival = report_arrival,
        .opaque = s,
    };
    VmrpcServerConfig config = { };
    GError *err = NULL;

    if (!virtio_vmrpc_parse_properties(s, &config, errp)) {
        return false;
    }
    config.dns = (const char *const *)dns;
    config.zones = (const char *const *)zones;
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
        s->num_queues = 1;
    }
    if (!make_server(s, errp)) {
        return;
    }
    if (!virtio_vmrpc_claim_realize(s, errp)) {
        goto err_server;
    }
    if (!make_iothread(s, errp)) {
        goto err_claim;
    }
    s->more_bh = virtio_bh_io_new_guarded(dev, process_more, s);
    virtio_init(vdev, VIRTIO_ID_VMRPC, sizeof(struct vmrpc_config));
    /* QEMU 10.0 makes every queue this large, whatever it is told. */
    s->event_vq = virtio_add_queue(vdev, VIRTQUEUE_MAX_SIZE, handle_event);
    for (unsigned i = 0; i < s->num_queues; i++) {
        virtio_add_queue(vdev, VIRTQUEUE_MAX_SIZE, handle_request);
    }
    return;

err_claim:
    virtio_vmrpc_claim_unrealize(s);
err_server:
    vmrpc_server_free(s->server);
    s->server = NULL;
}

static void virtio_vmrpc_device_unrealize(DeviceState *dev)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(dev);
    VirtIOVmrpc *s = VIRTIO_VMRPC(dev);

    qemu_bh_delete(s->more_bh);
    for (unsigned i = 0; i < queue_count(s); i++) {
        virtio_del_queue(vdev, i);
    }
    virtio_cleanup(vdev);
    if (s->has_ram_as) {
        address_space_destroy(&s->ram_as);
        s->has_ram_as = false;
    }
    drop_iothread(s);
    virtio_vmrpc_claim_unrealize(s);
    vmrpc_server_free(s->server);
    s->server = NULL;
    virtio_vmrpc_drop_saved(s);     /* of a migration that failed half-way */
}

static void virtio_vmrpc_instance_init(Object *obj)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(obj);

    qemu_event_init(&s->calls_done, true);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->ring_lock); i++) {
        qemu_mutex_init(&s->ring_lock[i]);
    }
}

static void virtio_vmrpc_instance_finalize(Object *obj)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(obj);

    /* Not sooner: the last call may be on its way out of qemu_event_set(). */
    qemu_event_destroy(&s->calls_done);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->ring_lock); i++) {
        qemu_mutex_destroy(&s->ring_lock[i]);
    }
}

/*
 * To read the registers of another device QEMU takes the BQL, which whoever
 * stops us holds.  Without bounce buffers it refuses to map them.
 */
void virtio_vmrpc_plugged(VirtIOVmrpc *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    if (vdev->dma_as == &address_space_memory) {
        /* Everybody's; with an IOMMU the device has its own. */
        memory_listener_unregister(&vdev->listener);
        address_space_init(&s->ram_as, get_system_memory(), TYPE_VIRTIO_VMRPC);
        s->has_ram_as = true;
        vdev->dma_as = &s->ram_as;
        memory_listener_register(&vdev->listener, vdev->dma_as);
    }
    vdev->dma_as->max_bounce_buffer_size = 0;
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
    DEFINE_PROP_STRING("trust-anchor", VirtIOVmrpc, trust_anchor),
    DEFINE_PROP_STRING("nat64-prefix", VirtIOVmrpc, nat64_prefix),
    DEFINE_PROP_STRING("policy", VirtIOVmrpc, policy),
    DEFINE_PROP_BOOL("alg", VirtIOVmrpc, alg, true),
    DEFINE_PROP_BOOL("happy-eyeballs", VirtIOVmrpc, happy_eyeballs, true),
    DEFINE_PROP_BOOL("guest-clock", VirtIOVmrpc, guest_clock, true),
};

static void virtio_vmrpc_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    VirtioDeviceClass *vdc = VIRTIO_DEVICE_CLASS(klass);

    device_class_set_props(dc, virtio_vmrpc_properties);
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
    .class_init = virtio_vmrpc_class_init,
};

static void virtio_vmrpc_register_types(void)
{
    type_register_static(&virtio_vmrpc_info);
}

type_init(virtio_vmrpc_register_types)
