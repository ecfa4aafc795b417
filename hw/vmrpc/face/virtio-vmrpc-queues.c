/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virtio-vmrpc: the event queue and the request queues
 *
 * virtio-vmrpc.c explains which thread processes which queue.
 */
#include "qemu/osdep.h"

#include "hw/core/cpu.h"
#include "hw/virtio/virtio-bus.h"
#include "hw/vmrpc/face/virtio-vmrpc-queues.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/main-loop.h"
#include "vmmnet/qemu-compat.h"
#include "hw/vmrpc/trace.h"

/*
 * At most this many requests are executed for one notification; the main loop
 * executes the others.
 */
#define REQUEST_BATCH           64

QEMU_BUILD_BUG_ON(VIRTQUEUE_MAX_SIZE > IOV_MAX);

/* --- requests: in the vCPUs' threads, without the BQL ------------------- */

static VirtQueueElement *pop_request(VirtIOVmrpc *s, VirtQueue *vq, bool *empty)
{
    VirtQueueElement *elem;

    qemu_mutex_lock(&s->ring_lock[virtio_get_queue_index(vq)]);
    elem = virtqueue_pop(vq, sizeof(*elem));
    /* Other vCPUs may add requests meanwhile: their kicks must arrive. */
    virtio_queue_set_notification(vq, 1);
    *empty = !elem && virtio_queue_empty(vq);
    qemu_mutex_unlock(&s->ring_lock[virtio_get_queue_index(vq)]);
    return elem;
}

/* @len: bytes written; negative: the chain has no room for a request */
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
            continue;   /* it was added just now, or the device broke */
        }
        len = vmrpc_server_call(s->server, elem->out_sg, elem->out_num,
                                elem->in_sg, elem->in_num, may_wait);
        push_request(s, vq, elem, len);
        done++;
    }
    return done;
}

/* Without the BQL: a vCPU that waits for a peer must not hold it. */
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
 * A vCPU drops the BQL and may wait for peers.  Other threads keep the BQL,
 * as their callers rely on it, and do not wait.
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

/*
 * Under the BQL, so no call begins.  The acquire pairs with
 * qatomic_fetch_dec(): what the calls did to rings and server comes before
 * what the caller does next. The event's functions are full barriers, so no
 * last call is missed.
 */
void virtio_vmrpc_wait_calls(VirtIOVmrpc *s)
{
    while (qatomic_load_acquire(&s->calls)) {
        qemu_event_reset(&s->calls_done);
        if (qatomic_read(&s->calls)) {
            qemu_event_wait(&s->calls_done);
        }
    }
}

/*
 * Executes the rest of one notification, a batch of each queue at a time.
 * This bottom half belongs to the main loop alone: a vCPU that waits for the
 * IOThread in virtio_vmrpc_stop_ioeventfd() would run other bottom halves.
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

    /* The next start looks into every queue. */
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
    /* In the handler of another device, which relies on the BQL: later. */
    if (memory_region_access_is_nested()) {
        trace_virtio_vmrpc_nested(s, virtio_get_queue_index(vq));
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
        return;         /* the queue is broken; virtqueue_pop() reported it */
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

/* Pushes events as long as there are buffers for them. */
static void flush_events(VirtIOVmrpc *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);
    struct vmrpc_event ev;
    bool pushed = false;

    while (vmrpc_server_has_event(s->server)) {
        if (virtio_queue_empty(s->event_vq)) {
            /* Enable kicks, then look again: a buffer may have come before. */
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
        virtio_notify_anywhere(vdev, s->event_vq);
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

/* The event queue is normally full of buffers, so polling it is useless. */
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
    /* Events of the time while stopped, also on a migration's source. */
    server_read(s);
}

static void detach_bh(void *opaque)
{
    VirtIOVmrpc *s = opaque;

    aio_set_fd_handler(s->ctx, vmrpc_server_fd(s->server), NULL, NULL, NULL,
                       NULL, NULL);
    virtio_queue_aio_detach_host_notifier(s->event_vq, s->ctx);
    /* A kick may have come just before. */
    virtio_queue_host_notifier_read(
        virtio_queue_get_host_notifier(s->event_vq));
}

/* Chooses the thread for events; a vIOMMU may be realized after the device. */
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

int virtio_vmrpc_start_ioeventfd(VirtIODevice *vdev)
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
    /* Process requests whose notification came before the start. */
    qemu_bh_schedule(s->more_bh);
    return 0;

err_guest_notifiers:
    k->set_guest_notifiers(qbus->parent, queue_count(s), false);
err:
    s->ioeventfd_starting = false;
    /*
     * Without notifiers the guest would get no events, so it has to learn that
     * the device does not work.  It may reset the device and try again.
     */
    virtio_error(vdev, "virtio-vmrpc: cannot start, no notifiers: %s",
                 strerror(-ret));
    return ret;
}

void virtio_vmrpc_stop_ioeventfd(VirtIODevice *vdev)
{
    VirtIOVmrpc *s = VIRTIO_VMRPC(vdev);
    BusState *qbus = qdev_get_parent_bus(DEVICE(s));
    VirtioBusClass *k = VIRTIO_BUS_GET_CLASS(qbus);

    if (!s->ioeventfd_started || s->ioeventfd_stopping) {
        return;
    }
    s->ioeventfd_stopping = true;
    virtio_vmrpc_wait_calls(s);
    aio_wait_bh_oneshot(s->ctx, detach_bh, s);
    virtio_bus_set_host_notifier(VIRTIO_BUS(qbus), VMRPC_QUEUE_EVENT, false);
    virtio_bus_cleanup_host_notifier(VIRTIO_BUS(qbus), VMRPC_QUEUE_EVENT);
    k->set_guest_notifiers(qbus->parent, queue_count(s), false);
    s->ioeventfd_started = false;
    s->ioeventfd_stopping = false;
    trace_virtio_vmrpc_stop(s);
}

/* --- life ---------------------------------------------------------------- */

void virtio_vmrpc_queues_realize(VirtIOVmrpc *s)
{
    VirtIODevice *vdev = VIRTIO_DEVICE(s);

    s->more_bh = virtio_bh_io_new_guarded(DEVICE(s), process_more, s);
    /* QEMU 10.0 gives every queue this size, whatever the device asks for. */
    s->event_vq = virtio_add_queue(vdev, VIRTQUEUE_MAX_SIZE, handle_event);
    for (unsigned i = 0; i < s->num_queues; i++) {
        virtio_add_queue(vdev, VIRTQUEUE_MAX_SIZE, handle_request);
    }
}

void virtio_vmrpc_queues_unrealize(VirtIOVmrpc *s)
{
    qemu_bh_delete(s->more_bh);
    for (unsigned i = 0; i < queue_count(s); i++) {
        virtio_del_queue(VIRTIO_DEVICE(s), i);
    }
}

void virtio_vmrpc_queues_init(VirtIOVmrpc *s)
{
    qemu_event_init(&s->calls_done, true);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->ring_lock); i++) {
        qemu_mutex_init(&s->ring_lock[i]);
    }
}

void virtio_vmrpc_queues_finalize(VirtIOVmrpc *s)
{
    qemu_event_destroy(&s->calls_done);
    for (unsigned i = 0; i < G_N_ELEMENTS(s->ring_lock); i++) {
        qemu_mutex_destroy(&s->ring_lock[i]);
    }
}
