/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver of virtio-vmrpc for qtests
 *
 * Theory of operation
 * ===================
 *
 * Rings.  Descriptors are used round and round, which is right as long as
 * less than a ring of them is on its way; both formats then need no list of
 * free ones.  Kicks honour the device's suppression exactly, since a device
 * that asks too late for a kick shall be found out.
 *
 * Events.  Buffer number i of the event queue belongs to descriptor i, so an
 * event's address follows from its id.
 *
 * Readiness.  Responses and events both report it, and the report with the
 * larger sequence number counts, as the guest module has it.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_mmio.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "vmrpc-driver.h"

#define DESC_SIZE               sizeof(struct vring_desc)
#define RING_ALIGN              4096
#define MSIX_DATA               0x12345678

/* virtio-mmio of a microvm with two interrupt controllers */
#define MMIO_BASE               0xfeb00000
#define MMIO_SIZE               0x200
#define MMIO_TRANSPORTS         24

#define PACKED_AVAIL            (1 << VRING_PACKED_DESC_F_AVAIL)
#define PACKED_USED             (1 << VRING_PACKED_DESC_F_USED)

/* --- machine -------------------------------------------------------------- */

VmrpcGuest *vmrpc_guest_new(QTestState *qts, bool pci)
{
    VmrpcGuest *guest = g_new0(VmrpcGuest, 1);

    guest->qts = qts;
    pc_alloc_init(&guest->alloc, qts, ALLOC_NO_FLAGS);
    guest->bus = pci ? qpci_new_pc(qts, &guest->alloc) : NULL;
    return guest;
}

void vmrpc_guest_free(VmrpcGuest *guest)
{
    if (guest->bus) {
        qpci_free_pc(guest->bus);
    }
    alloc_destroy(&guest->alloc);
    g_free(guest);
}

/* --- rings ---------------------------------------------------------------- */

static QVirtQueue *vq_of(VmrpcRing *ring)
{
    return &ring->pci.vq;
}

static void write16(VmrpcRing *ring, uint64_t addr, uint16_t value)
{
    qtest_writew(ring->guest->qts, addr, value);
}

static uint16_t read16(VmrpcRing *ring, uint64_t addr)
{
    return qtest_readw(ring->guest->qts, addr);
}

/* Puts one descriptor of a table in place, except for its flags. */
static void write_desc(VmrpcRing *ring, uint64_t addr,
                       const VmrpcSegment *seg, uint16_t id_or_next,
                       uint16_t flags)
{
    uint8_t desc[DESC_SIZE];

    stq_le_p(desc, seg->addr);
    stl_le_p(desc + 8, seg->len);
    if (ring->packed) {
        stw_le_p(desc + 12, id_or_next);
        stw_le_p(desc + 14, flags);
    } else {
        stw_le_p(desc + 12, flags);
        stw_le_p(desc + 14, id_or_next);
    }
    qtest_memwrite(ring->guest->qts, addr, desc, sizeof(desc));
}

static VmrpcSegment make_indirect(VmrpcRing *ring, const VmrpcSegment *seg,
                                  unsigned num)
{
    uint64_t table = guest_alloc(&ring->guest->alloc, num * DESC_SIZE);

    for (unsigned i = 0; i < num; i++) {
        uint16_t flags = seg[i].write ? VRING_DESC_F_WRITE : 0;

        /* A packed table has no order but its own and no NEXT. */
        if (!ring->packed && i + 1 < num) {
            flags |= VRING_DESC_F_NEXT;
        }
        write_desc(ring, table + i * DESC_SIZE, &seg[i],
                   ring->packed ? 0 : i + 1, flags);
    }
    return (VmrpcSegment) { .addr = table, .len = num * DESC_SIZE };
}

static uint16_t add_split(VmrpcRing *ring, const VmrpcSegment *seg,
                          unsigned num, uint16_t extra)
{
    QVirtQueue *vq = vq_of(ring);
    uint16_t head = ring->next;

    for (unsigned i = 0; i < num; i++) {
        uint16_t index = ring->next;
        uint16_t flags = extra | (seg[i].write ? VRING_DESC_F_WRITE : 0) |
                         (i + 1 < num ? VRING_DESC_F_NEXT : 0);

        ring->next = (ring->next + 1) % vq->size;
        write_desc(ring, vq->desc + index * DESC_SIZE, &seg[i], ring->next,
                   flags);
    }
    write16(ring, vq->avail + 4 + 2 * (ring->avail_idx % vq->size), head);
    ring->avail_idx++;
    ring->added++;
    write16(ring, vq->avail + 2, ring->avail_idx);
    return head;
}

static uint16_t add_packed(VmrpcRing *ring, const VmrpcSegment *seg,
                           unsigned num, uint16_t extra)
{
    QVirtQueue *vq = vq_of(ring);
    uint16_t head = ring->next;
    uint16_t head_flags = 0;

    for (unsigned i = 0; i < num; i++) {
        uint16_t flags = extra | (seg[i].write ? VRING_DESC_F_WRITE : 0) |
                         (i + 1 < num ? VRING_DESC_F_NEXT : 0) |
                         (ring->avail_wrap ? PACKED_AVAIL : PACKED_USED);

        if (i == 0) {
            head_flags = flags;
            /* Not available yet. */
            flags ^= PACKED_AVAIL | PACKED_USED;
        }
        write_desc(ring, vq->desc + ring->next * DESC_SIZE, &seg[i], head,
                   flags);
        if (++ring->next == vq->size) {
            ring->next = 0;
            ring->avail_wrap = !ring->avail_wrap;
        }
    }
    ring->chain_len[head] = num;
    ring->added += num;
    write16(ring, vq->desc + head * DESC_SIZE + 14, head_flags);
    return head;
}

uint16_t vmrpc_ring_add(VmrpcRing *ring, const VmrpcSegment *seg, unsigned num,
                        bool indirect)
{
    VmrpcSegment table;
    uint16_t extra = 0;

    if (indirect) {
        table = make_indirect(ring, seg, num);
        seg = &table;
        num = 1;
        extra = VRING_DESC_F_INDIRECT;
    }
    return ring->packed ? add_packed(ring, seg, num, extra)
                        : add_split(ring, seg, num, extra);
}

static bool split_wants_kick(VmrpcRing *ring)
{
    QVirtQueue *vq = vq_of(ring);
    uint16_t event = read16(ring, vq->used + 4 + 8 * vq->size);

    if (ring->event_idx) {
        return vring_need_event(event, ring->avail_idx,
                                ring->avail_idx - ring->added);
    }
    return !(read16(ring, vq->used) & VRING_USED_F_NO_NOTIFY);
}

static bool packed_wants_kick(VmrpcRing *ring)
{
    QVirtQueue *vq = vq_of(ring);
    uint16_t off_wrap = read16(ring, vq->used);
    uint16_t flags = read16(ring, vq->used + 2);
    uint16_t event = off_wrap & 0x7fff;

    if (flags != VRING_PACKED_EVENT_FLAG_DESC) {
        return flags != VRING_PACKED_EVENT_FLAG_DISABLE;
    }
    if (off_wrap >> 15 != ring->avail_wrap) {
        event -= vq->size;
    }
    return vring_need_event(event, ring->next, ring->next - ring->added);
}

void vmrpc_ring_kick(VmrpcRing *ring)
{
    QVirtQueue *vq = vq_of(ring);

    if (ring->packed ? packed_wants_kick(ring) : split_wants_kick(ring)) {
        vq->vdev->bus->virtqueue_kick(vq->vdev, vq);
    }
    ring->added = 0;
}

static bool get_split(VmrpcRing *ring, uint16_t *id, uint32_t *len)
{
    QVirtQueue *vq = vq_of(ring);
    uint64_t elem = vq->used + 4 + 8 * (ring->used_next % vq->size);

    if (read16(ring, vq->used + 2) == ring->used_next) {
        return false;
    }
    *id = qtest_readl(ring->guest->qts, elem);
    *len = qtest_readl(ring->guest->qts, elem + 4);
    ring->used_next++;
    return true;
}

static bool get_packed(VmrpcRing *ring, uint16_t *id, uint32_t *len)
{
    QVirtQueue *vq = vq_of(ring);
    uint64_t desc = vq->desc + ring->used_next * DESC_SIZE;
    uint16_t flags = read16(ring, desc + 14);

    if (!!(flags & PACKED_AVAIL) != ring->used_wrap ||
        !!(flags & PACKED_USED) != ring->used_wrap) {
        return false;
    }
    *id = read16(ring, desc + 12);
    g_assert_cmpuint(*id, <, vq->size);
    *len = qtest_readl(ring->guest->qts, desc + 8);
    ring->used_next += ring->chain_len[*id];
    if (ring->used_next >= vq->size) {
        ring->used_next -= vq->size;
        ring->used_wrap = !ring->used_wrap;
    }
    return true;
}

bool vmrpc_ring_get(VmrpcRing *ring, uint16_t *id, uint32_t *len)
{
    return ring->packed ? get_packed(ring, id, len)
                        : get_split(ring, id, len);
}

void vmrpc_ring_wait(VmrpcRing *ring, uint16_t *id, uint32_t *len)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    while (!vmrpc_ring_get(ring, id, len)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

/* --- device --------------------------------------------------------------- */

static uint64_t common_cfg(VmrpcDriver *d, size_t offset)
{
    return d->dev->common_cfg_offset + offset;
}

static uint16_t read_common16(VmrpcDriver *d, size_t offset)
{
    return qpci_io_readw(d->dev->pdev, d->dev->bar, common_cfg(d, offset));
}

/* Gives the device the ring of the selected queue. */
static void ring_enable_pci(VmrpcDriver *d, VmrpcRing *ring)
{
    QPCIDevice *pdev = d->dev->pdev;

    qpci_io_writew(pdev, d->dev->bar,
                   common_cfg(d, offsetof(struct virtio_pci_common_cfg,
                                          queue_size)), vq_of(ring)->size);
    d->vdev->bus->set_queue_address(d->vdev, vq_of(ring));
    ring->pci.notify_offset = d->dev->notify_cfg_offset +
        read_common16(d, offsetof(struct virtio_pci_common_cfg,
                                  queue_notify_off)) *
        d->dev->notify_off_multiplier;
    qpci_io_writew(pdev, d->dev->bar,
                   common_cfg(d, offsetof(struct virtio_pci_common_cfg,
                                          queue_enable)), 1);
}

static void write_mmio(VmrpcDriver *d, unsigned reg, uint32_t value)
{
    qtest_writel(d->guest->qts, d->mmio.addr + reg, value);
}

static void write_mmio_address(VmrpcDriver *d, unsigned low, uint64_t value)
{
    write_mmio(d, low, value);
    write_mmio(d, low + 4, value >> 32);
}

/* The same; libqos knows the registers of legacy devices only. */
static void ring_enable_mmio(VmrpcDriver *d, VmrpcRing *ring)
{
    QVirtQueue *vq = vq_of(ring);

    write_mmio(d, VIRTIO_MMIO_QUEUE_NUM, vq->size);
    write_mmio_address(d, VIRTIO_MMIO_QUEUE_DESC_LOW, vq->desc);
    write_mmio_address(d, VIRTIO_MMIO_QUEUE_AVAIL_LOW, vq->avail);
    write_mmio_address(d, VIRTIO_MMIO_QUEUE_USED_LOW, vq->used);
    write_mmio(d, VIRTIO_MMIO_QUEUE_READY, 1);
}

static void ring_setup(VmrpcDriver *d, uint16_t index)
{
    VmrpcRing *ring = &d->ring[index];
    QVirtQueue *vq = vq_of(ring);
    size_t bytes;

    d->vdev->bus->queue_select(d->vdev, index);
    g_free(ring->chain_len);
    *ring = (VmrpcRing) {
        .pci = {
            .vq = {
                .vdev = d->vdev,
                .index = index,
                .size = d->vdev->bus->get_queue_size(d->vdev),
                .align = RING_ALIGN,
            },
            .msix_entry = -1,
            .msix_data = MSIX_DATA,
        },
        .guest = d->guest,
        .packed = d->features & (1ull << VIRTIO_F_RING_PACKED),
        .event_idx = d->features & (1ull << VIRTIO_RING_F_EVENT_IDX),
        .avail_wrap = true,
        .used_wrap = true,
    };
    g_assert_cmpuint(vq->size, !=, 0);
    if (d->ring_size) {
        vq->size = d->ring_size;
    }
    bytes = qvring_size(vq->size, vq->align);
    ring->chain_len = g_new0(uint16_t, vq->size);
    vq->desc = guest_alloc(&d->guest->alloc, bytes);
    vq->avail = vq->desc + vq->size * DESC_SIZE;
    vq->used = QEMU_ALIGN_UP(vq->avail + 2 * (3 + vq->size), vq->align);
    qtest_memset(d->guest->qts, vq->desc, 0, bytes);
    if (d->dev) {
        ring_enable_pci(d, ring);
    } else {
        ring_enable_mmio(d, ring);
    }
}

static void find_on_pci(VmrpcDriver *d, unsigned slot)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(slot, 0) };

    d->dev = virtio_pci_new(d->guest->bus, &addr);
    g_assert_nonnull(d->dev);
    d->vdev = &d->dev->vdev;
}

static void find_on_mmio(VmrpcDriver *d, unsigned number)
{
    /* QEMU puts a device on the last transport that is free. */
    for (int i = MMIO_TRANSPORTS - 1; i >= 0; i--) {
        qvirtio_mmio_init_device(&d->mmio, d->guest->qts,
                                 MMIO_BASE + i * MMIO_SIZE, RING_ALIGN);
        if (d->mmio.vdev.device_type == VIRTIO_ID_VMRPC && !number--) {
            d->vdev = &d->mmio.vdev;
            return;
        }
    }
    g_assert_not_reached();
}

VmrpcDriver *vmrpc_driver_new(VmrpcGuest *guest, unsigned slot)
{
    VmrpcDriver *d = g_new0(VmrpcDriver, 1);

    d->guest = guest;
    d->gen = 0x5eed0001;
    d->event_len = sizeof(struct vmrpc_event);
    if (guest->bus) {
        find_on_pci(d, slot);
    } else {
        find_on_mmio(d, slot);
    }
    g_assert_cmpuint(d->vdev->device_type, ==, VIRTIO_ID_VMRPC);
    vmrpc_driver_remap(d);
    return d;
}

static void free_rings(VmrpcDriver *d)
{
    for (unsigned i = 0; d->ring && i <= d->num_queues; i++) {
        g_free(d->ring[i].chain_len);
    }
    g_clear_pointer(&d->ring, g_free);
}

void vmrpc_driver_free(VmrpcDriver *d)
{
    free_rings(d);
    if (d->dev) {
        qvirtio_pci_device_disable(d->dev);
        g_free(d->dev->pdev);
        g_free(d->dev);
    }
    g_free(d);
}

void vmrpc_driver_moved(VmrpcDriver *d, QTestState *qts)
{
    d->guest->qts = qts;
    d->mmio.qts = qts;
    if (d->guest->bus) {
        d->guest->bus->qts = qts;
    }
}

void vmrpc_driver_setup(VmrpcDriver *d, uint64_t unwanted)
{
    QVirtioDevice *vdev = d->vdev;

    qvirtio_start_device(vdev);
    d->features = qvirtio_get_features(vdev) &
                  ~(unwanted | QVIRTIO_F_BAD_FEATURE);
    qvirtio_set_features(vdev, d->features);
    d->indirect = d->features & (1ull << VIRTIO_RING_F_INDIRECT_DESC);
    memset(d->sock, 0, sizeof(d->sock));
    d->events_seen = 0;

    free_rings(d);
    d->num_queues = qvirtio_config_readw(vdev, offsetof(struct vmrpc_config,
                                                        num_queues));
    d->ring = g_new0(VmrpcRing, 1 + d->num_queues);
    for (unsigned i = 0; i <= d->num_queues; i++) {
        ring_setup(d, i);
    }
    d->event_buf = guest_alloc(&d->guest->alloc, d->ring[0].pci.vq.size *
                               sizeof(struct vmrpc_event));
}

void vmrpc_driver_go(VmrpcDriver *d)
{
    qvirtio_set_driver_ok(d->vdev);
}

void vmrpc_driver_start(VmrpcDriver *d, uint64_t unwanted, unsigned events)
{
    vmrpc_driver_setup(d, unwanted);
    vmrpc_driver_go(d);
    vmrpc_post_events(d, events);
}

void vmrpc_driver_remap(VmrpcDriver *d)
{
    if (d->dev) {
        qvirtio_pci_device_enable(d->dev);
    }
}

uint64_t vmrpc_driver_registers(VmrpcDriver *d)
{
    return d->dev ? d->dev->bar.addr : d->mmio.addr;
}

uint8_t vmrpc_driver_status(VmrpcDriver *d)
{
    return d->vdev->bus->get_status(d->vdev);
}

void vmrpc_driver_wait_broken(VmrpcDriver *d)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    while (!(vmrpc_driver_status(d) & VIRTIO_CONFIG_S_NEEDS_RESET)) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

/* --- readiness ------------------------------------------------------------ */

/* The handle is used for a new socket. */
static void forget(VmrpcDriver *d, uint32_t sock)
{
    if (sock < VMRPC_TEST_HANDLES) {
        d->sock[sock] = (VmrpcSockState) { };
    }
}

static void learn(VmrpcDriver *d, uint32_t sock, uint32_t ready, uint32_t seq,
                  uint32_t so_error)
{
    VmrpcSockState *state;

    if (sock >= VMRPC_TEST_HANDLES) {
        return;
    }
    state = &d->sock[sock];
    if ((int32_t)(seq - state->ready_seq) > 0) {
        state->ready = ready;
        state->ready_seq = seq;
    }
    /* Here no report overtakes another: repeated bits must be known. */
    if (!(so_error >> VMRPC_ERROR_AGE)) {
        state->so_error = so_error ?: state->so_error;
    }
}

static void post_event(VmrpcDriver *d)
{
    VmrpcRing *ring = &d->ring[VMRPC_QUEUE_EVENT];
    VmrpcSegment seg = {
        .addr = d->event_buf + ring->next * sizeof(struct vmrpc_event),
        .len = d->event_len,
        .write = true,
    };

    vmrpc_ring_add(ring, &seg, 1, false);
}

void vmrpc_post_events(VmrpcDriver *d, unsigned num)
{
    for (unsigned i = 0; i < num; i++) {
        post_event(d);
    }
    if (num) {
        vmrpc_ring_kick(&d->ring[VMRPC_QUEUE_EVENT]);
    }
}

bool vmrpc_take_event(VmrpcDriver *d, struct vmrpc_event *event)
{
    VmrpcRing *ring = &d->ring[VMRPC_QUEUE_EVENT];
    uint32_t len;
    uint16_t id;

    if (!vmrpc_ring_get(ring, &id, &len)) {
        return false;
    }
    g_assert_cmpuint(len, ==, sizeof(*event));
    qtest_memread(d->guest->qts, d->event_buf + id * sizeof(*event), event,
                  sizeof(*event));
    vmrpc_post_events(d, 1);

    event->sock = le32_to_cpu(event->sock);
    event->gen = le32_to_cpu(event->gen);
    event->ready = le32_to_cpu(event->ready);
    event->ready_seq = le32_to_cpu(event->ready_seq);
    event->so_error = le32_to_cpu(event->so_error);
    g_assert_cmphex(event->gen, ==, d->gen);
    g_assert_cmpuint(event->reserved, ==, 0);
    g_assert_cmphex(event->ready & ~VMRPC_READY_ALL, ==, 0);
    learn(d, event->sock, event->ready, event->ready_seq, event->so_error);
    d->events_seen++;
    return true;
}

void vmrpc_wait_ready(VmrpcDriver *d, uint32_t sock, uint32_t mask)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;
    struct vmrpc_event event;

    while (!(d->sock[sock].ready & mask)) {
        vmrpc_take_event(d, &event);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

uint32_t vmrpc_wait_error(VmrpcDriver *d, uint32_t sock)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;
    struct vmrpc_event event;
    uint32_t err;

    while (!d->sock[sock].so_error) {
        vmrpc_take_event(d, &event);
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
    err = d->sock[sock].so_error;
    d->sock[sock].so_error = 0;
    return err;
}

/* --- requests ------------------------------------------------------------- */

VmrpcRing *vmrpc_request_ring(VmrpcDriver *d, unsigned queue)
{
    return &d->ring[queue ?: VMRPC_QUEUE_REQUEST];
}

void vmrpc_fill_header(const VmrpcDriver *d, const VmrpcArgs *args,
                       struct vmrpc_req *req)
{
    memset(req, 0, sizeof(*req));
    req->op = cpu_to_le16(args->op);
    req->flags = cpu_to_le16(args->flags);
    req->sock = cpu_to_le32(args->sock);
    req->gen = cpu_to_le32(d->gen);
    req->control_len = cpu_to_le32(args->control_len);
    if (args->addr) {
        req->addr.family = cpu_to_le16(VMRPC_AF_INET);
        req->addr.port = args->addr->sin_port;
        req->addr.addr = args->addr->sin_addr.s_addr;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(args->arg); i++) {
        req->u.raw[i] = cpu_to_le32(args->arg[i]);
    }
}

void vmrpc_submit(VmrpcDriver *d, const VmrpcArgs *args, VmrpcPending *pending)
{
    size_t out_len = sizeof(struct vmrpc_req) + args->out_len;
    uint64_t out = guest_alloc(&d->guest->alloc, out_len);
    VmrpcSegment seg[4];
    unsigned num = 0;
    struct vmrpc_req req;

    if (args->op == VMRPC_SOCKET) {
        forget(d, args->sock);
    }
    pending->in = guest_alloc(&d->guest->alloc, sizeof(struct vmrpc_resp) +
                              args->in_len);
    vmrpc_fill_header(d, args, &req);
    qtest_memwrite(d->guest->qts, out, &req, sizeof(req));
    seg[num++] = (VmrpcSegment) { out, sizeof(req), false };
    if (args->out_len) {
        qtest_memwrite(d->guest->qts, out + sizeof(req), args->out,
                       args->out_len);
        seg[num++] = (VmrpcSegment) { out + sizeof(req), args->out_len,
                                      false };
    }
    seg[num++] = (VmrpcSegment) { pending->in, sizeof(struct vmrpc_resp),
                                  true };
    if (args->in_len) {
        seg[num++] = (VmrpcSegment) {
            pending->in + sizeof(struct vmrpc_resp), args->in_len, true
        };
    }
    pending->id = vmrpc_ring_add(vmrpc_request_ring(d, args->queue), seg, num,
                                 d->indirect);
}

VmrpcReply vmrpc_finish(VmrpcDriver *d, const VmrpcArgs *args,
                        const VmrpcPending *pending)
{
    struct vmrpc_resp resp;
    VmrpcReply reply = { };
    uint16_t id;

    vmrpc_ring_wait(vmrpc_request_ring(d, args->queue), &id, &reply.used_len);
    g_assert_cmpuint(id, ==, pending->id);
    g_assert_cmpuint(reply.used_len, >=, sizeof(resp));
    g_assert_cmpuint(reply.used_len, <=, sizeof(resp) + args->in_len);
    qtest_memread(d->guest->qts, pending->in, &resp, sizeof(resp));
    if (args->in_len) {
        qtest_memread(d->guest->qts, pending->in + sizeof(resp), args->in,
                      args->in_len);
    }
    reply.error = le32_to_cpu(resp.error);
    reply.value = le32_to_cpu(resp.value);
    reply.ready = le32_to_cpu(resp.ready);
    reply.so_error = le32_to_cpu(resp.so_error);
    reply.msg_flags = le32_to_cpu(resp.msg_flags);
    if (le16_to_cpu(resp.addr.family) == VMRPC_AF_INET) {
        reply.addr.sin_family = AF_INET;
        reply.addr.sin_port = resp.addr.port;
        reply.addr.sin_addr.s_addr = resp.addr.addr;
    }
    g_assert_cmphex(le32_to_cpu(resp.flags) & ~VMRPC_RESP_WATCHED, ==, 0);
    if (args->op == VMRPC_ACCEPT && !reply.error) {
        forget(d, args->arg[0]);
        d->sock[args->arg[0]].ready = reply.value;
    }
    learn(d, args->sock, reply.ready, le32_to_cpu(resp.ready_seq),
          reply.so_error);
    return reply;
}

VmrpcReply vmrpc_call(VmrpcDriver *d, const VmrpcArgs *args)
{
    VmrpcPending pending;

    vmrpc_submit(d, args, &pending);
    vmrpc_ring_kick(vmrpc_request_ring(d, args->queue));
    return vmrpc_finish(d, args, &pending);
}
