/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: invalid requests, chains and rings; resets */
#include "qemu/osdep.h"

#include <sys/resource.h>

#include "netns.h"
#include "qemu/bswap.h"
#include "standard-headers/linux/pci_regs.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "vmrpc-fixture.h"

#define MSI_ADDRESS     0xfee00000      /* of the first processor */

/* --- requests that are wrong --------------------------------------------- */

static void test_bad_requests(void)
{
    Vm vm = vm_start("max-sockets=8", 0);
    g_autofree uint8_t *big = g_malloc0(VMRPC_DATA_MAX + 1);
    static const uint16_t ops[] = { 0, VMRPC_REFUSED + 1, 100, 0xffff };
    VmrpcReply r;

    for (unsigned i = 0; i < ARRAY_SIZE(ops); i++) {
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = ops[i] });
        g_assert_cmpint(r.error, ==, EOPNOTSUPP);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests_malformed"), ==,
                     ARRAY_SIZE(ops));

    /* No such socket, or one of another generation. */
    for (uint16_t op = VMRPC_CLOSE; op <= VMRPC_NOOP; op++) {
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = op, .sock = 1 });
        g_assert_cmpint(r.error, ==, EBADF);
        r = vmrpc_call(vm.d, &(VmrpcArgs) { .op = op, .sock = 0xffffffff });
        g_assert_cmpint(r.error, ==, EBADF);
    }
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 8, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EBADF);
    guest_socket(vm.d, 1, SOCK_STREAM);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 1, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EEXIST);
    vm.d->gen++;
    g_assert_cmpint(guest_close(vm.d, 1), ==, EBADF);
    vm.d->gen--;
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 2, .arg = { SOCK_RAW, 1 },
    });
    g_assert_cmpint(r.error, ==, EPROTONOSUPPORT);

    /* All handles, then one more. */
    for (unsigned i = 0; i < 8; i++) {
        if (i != 1) {
            guest_socket(vm.d, i, SOCK_STREAM);
        }
    }
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SOCKET, .sock = 1, .arg = { SOCK_STREAM },
    });
    g_assert_cmpint(r.error, ==, EMFILE);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_refused_limit"), ==,
                     1);

    /* Too much data, either way. */
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .out = big,
        .out_len = VMRPC_DATA_MAX + 1,
    });
    g_assert_cmpint(r.error, ==, EINVAL);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_RECVMSG, .sock = 1, .in = big,
        .in_len = VMRPC_DATA_MAX + 1,
    });
    g_assert_cmpint(r.error, ==, EINVAL);
    g_assert_cmpint(guest_close(vm.d, 1), ==, 0);
    vm_quit(&vm);
}

/* Headers whose fields contradict the chain or the format. */
static void test_bad_headers(void)
{
    Vm vm = vm_start("", 0);
    VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
    uint64_t out = guest_alloc(&vm.guest->alloc, 4096);
    uint64_t in = guest_alloc(&vm.guest->alloc, 4096);
    const VmrpcSegment seg[] = {
        { out, sizeof(struct vmrpc_req), false },
        { in, sizeof(struct vmrpc_resp), true },
    };
    const struct {
        uint16_t op, flags;
        uint32_t control_len, wait_us, reserved;
    } cases[] = {
        { VMRPC_SOCKET, 0, 0, 0, 1 },
        { VMRPC_SOCKET, VMRPC_REQ_ALL + 1, 0, 0, 0 },
        { VMRPC_SOCKET, VMRPC_REQ_OPEN, 0, 0, 0 },
        { VMRPC_ACCEPT, VMRPC_REQ_OPEN, 0, 0, 0 },
        { VMRPC_SOCKET, 0, 8, 0, 0 },
        { VMRPC_SENDMSG, 0, 1, 0, 0 },
        { VMRPC_SENDMSG, 0, VMRPC_CONTROL_MAX + 1, 0, 0 },
        { VMRPC_SENDMSG, 0, UINT32_MAX, 0, 0 },
        { VMRPC_RECVMSG, 0, 1, 0, 0 },
        { VMRPC_RECVMSG, 0, UINT32_MAX, 0, 0 },
        { VMRPC_RECVMSG, 0, 0, VMRPC_WAIT_MAX + 1, 0 },
        { VMRPC_RECVMSG, 0, 0, UINT32_MAX, 0 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        const VmrpcArgs args = { .op = cases[i].op, .arg = { SOCK_STREAM } };
        struct vmrpc_req req;
        uint32_t len;
        uint16_t id;

        vmrpc_fill_header(vm.d, &args, &req);
        req.flags = cpu_to_le16(cases[i].flags);
        req.wait_us = cpu_to_le32(cases[i].wait_us);
        req.reserved = cpu_to_le32(cases[i].reserved);
        req.control_len = cpu_to_le32(cases[i].control_len);
        qtest_memwrite(vm.qts, out, &req, sizeof(req));
        vmrpc_ring_add(ring, seg, ARRAY_SIZE(seg), false);
        vmrpc_ring_kick(ring);
        vmrpc_ring_wait(ring, &id, &len);
        g_assert_cmpuint(len, ==, sizeof(struct vmrpc_resp));
        g_assert_cmpuint(qtest_readl(vm.qts, in), ==, EINVAL);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==, 0);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests_malformed"), ==,
                     ARRAY_SIZE(cases));
    vm_quit(&vm);
}

/* --- chains that are wrong ----------------------------------------------- */

typedef struct ChainPart {
    uint32_t len;
    bool write;
    bool wild;                  /* an address that is no memory */
} ChainPart;

typedef struct BadChain {
    const char *name;
    unsigned num;
    ChainPart part[5];
} BadChain;

enum {
    REQ = sizeof(struct vmrpc_req),
    RESP = sizeof(struct vmrpc_resp),
};

static const BadChain bad_chains[] = {
    { "readable part too short", 2, { { REQ - 1, false }, { RESP, true } } },
    { "readable parts too short", 3,
      { { 20, false }, { REQ - 21, false }, { RESP, true } } },
    { "no readable part", 1, { { RESP, true } } },
    { "writable part too short", 2, { { REQ, false }, { RESP - 1, true } } },
    { "no writable part", 1, { { REQ, false } } },
    { "empty first", 3, { { 0, false }, { REQ, false }, { RESP, true } } },
    { "empty last", 3, { { REQ, false }, { RESP, true }, { 0, true } } },
    { "wrong order", 2, { { RESP, true }, { REQ, false } } },
    { "alternating", 4,
      { { REQ, false }, { RESP, true }, { 8, false }, { 8, true } } },
    { "wild request", 2, { { REQ, false, true }, { RESP, true } } },
    { "wild response", 2, { { REQ, false }, { RESP, true, true } } },
    { "wild data", 3, { { REQ, false }, { 100, false, true },
                        { RESP, true } } },
    { "wild and long", 2, { { REQ, false }, { 1 << 20, true, true } } },
    { "enormous", 2, { { REQ, false }, { UINT32_MAX, true } } },
};

/* After a reset the device works again, and QEMU has not ended. */
static void assert_recovers(Vm *vm, uint64_t unwanted)
{
    vmrpc_driver_wait_broken(vm->d);
    vmrpc_driver_start(vm->d, unwanted, EVENTS);
    g_assert_cmphex(vmrpc_driver_status(vm->d) & VIRTIO_CONFIG_S_NEEDS_RESET,
                    ==, 0);
    guest_socket(vm->d, 1, SOCK_STREAM);
    g_assert_cmpint(guest_close(vm->d, 1), ==, 0);
}

static void test_bad_chains(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    bool indirect = !(kind->unwanted & NO_INDIRECT);

    for (unsigned i = 0; i < ARRAY_SIZE(bad_chains); i++) {
        const BadChain *bad = &bad_chains[i];
        uint64_t page = guest_alloc(&vm.guest->alloc, 4096);
        const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 5,
                                 .arg = { SOCK_STREAM } };
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
        VmrpcSegment seg[5];
        struct vmrpc_req req;
        uint64_t pos = page;
        uint32_t len;
        uint16_t id;

        vmrpc_fill_header(vm.d, &args, &req);
        qtest_memwrite(vm.qts, page, &req, sizeof(req));
        for (unsigned j = 0; j < bad->num; j++) {
            seg[j].addr = bad->part[j].wild ? 1ull << 46 : pos;
            seg[j].len = bad->part[j].len;
            seg[j].write = bad->part[j].write;
            pos += MIN(bad->part[j].len, 64);
        }
        vmrpc_ring_add(ring, seg, bad->num, indirect);
        vmrpc_ring_kick(ring);
        vmrpc_driver_wait_broken(vm.d);
        g_assert_false(vmrpc_ring_get(ring, &id, &len));
        assert_recovers(&vm, kind->unwanted);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                     ARRAY_SIZE(bad_chains));
    vm_quit(&vm);
}

/* A header and a response of one byte a descriptor, and data of odd sizes. */
static void test_chain_scattered(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    bool indirect = !(kind->unwanted & NO_INDIRECT);
    VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);
    uint64_t page = guest_alloc(&vm.guest->alloc, 8192);
    const VmrpcArgs args = { .op = VMRPC_SENDMSG, .sock = 1 };
    int conn = guest_connect(vm.d, 1, PEER6);
    VmrpcSegment seg[REQ + 50 + RESP];
    unsigned num = 0;
    struct vmrpc_req req;
    char text[50 * 3], got[50 * 3];
    uint32_t len;
    uint16_t id;

    vmrpc_fill_header(vm.d, &args, &req);
    qtest_memwrite(vm.qts, page, &req, sizeof(req));
    for (unsigned i = 0; i < sizeof(text); i++) {
        text[i] = 'a' + i % 26;
    }
    qtest_memwrite(vm.qts, page + 1000, text, sizeof(text));
    for (unsigned i = 0; i < REQ; i++) {
        seg[num++] = (VmrpcSegment) { page + i, 1, false };
    }
    for (unsigned i = 0; i < 50; i++) {
        seg[num++] = (VmrpcSegment) { page + 1000 + 3 * i, 3, false };
    }
    for (unsigned i = 0; i < RESP; i++) {
        seg[num++] = (VmrpcSegment) { page + 4096 + 2 * i, 1, true };
    }
    vmrpc_ring_add(ring, seg, num, indirect);
    vmrpc_ring_kick(ring);
    vmrpc_ring_wait(ring, &id, &len);
    g_assert_cmpuint(len, ==, sizeof(struct vmrpc_resp));
    g_assert_cmpuint(qtest_readb(vm.qts, page + 4096), ==, 0);
    g_assert_cmpuint(qtest_readb(vm.qts, page + 4096 + 2 * 4), ==,
                     sizeof(text));
    peer_read(conn, got, sizeof(got));
    g_assert_cmpmem(got, sizeof(got), text, sizeof(text));
    close(conn);
    vm_quit(&vm);
}

/* The longest chain there may be, and one more. */
static void test_chain_longest(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    uint64_t page = guest_alloc(&vm.guest->alloc, 8192);
    const VmrpcArgs args = { .op = VMRPC_SENDMSG, .sock = 1 };
    g_autofree VmrpcSegment *seg = g_new0(VmrpcSegment, 1025);
    int conn = guest_connect(vm.d, 1, PEER6);
    struct vmrpc_req req;
    uint8_t got[1022];
    uint32_t len;
    uint16_t id;

    vmrpc_fill_header(vm.d, &args, &req);
    qtest_memwrite(vm.qts, page, &req, sizeof(req));
    qtest_memset(vm.qts, page + 100, 0x5a, 1023);
    for (unsigned num = 1024; num <= 1025; num++) {
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);

        seg[0] = (VmrpcSegment) { page, sizeof(req), false };
        for (unsigned i = 1; i < num - 1; i++) {
            seg[i] = (VmrpcSegment) { page + 100 + i, 1, false };
        }
        seg[num - 1] = (VmrpcSegment) { page + 4096,
                                        sizeof(struct vmrpc_resp), true };
        vmrpc_ring_add(ring, seg, num, true);
        vmrpc_ring_kick(ring);
        if (num == 1024) {
            vmrpc_ring_wait(ring, &id, &len);
            g_assert_cmpuint(qtest_readl(vm.qts, page + 4096), ==, 0);
            g_assert_cmpuint(qtest_readl(vm.qts, page + 4100), ==,
                             sizeof(got));
            peer_read(conn, got, sizeof(got));
        } else {
            assert_recovers(&vm, kind->unwanted);
        }
    }
    close(conn);
    vm_quit(&vm);
}

/*
 * A request in the registers of a device, our own: QEMU would have to read and
 * write them, which for the queue's notifications means to begin anew.
 */
static void test_chain_registers(void)
{
    Vm vm = vm_start("", 0);
    uint64_t page = guest_alloc(&vm.guest->alloc, 4096);
    uint64_t registers = vmrpc_driver_registers(vm.d);
    const VmrpcSegment seg[][2] = {
        { { registers, REQ, false }, { page, RESP, true } },
        { { page, REQ, false }, { registers, RESP, true } },
        { { page, REQ, false }, { registers + 0x3000, RESP, true } },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(seg); i++) {
        VmrpcRing *ring = vmrpc_request_ring(vm.d, 0);

        vmrpc_ring_add(ring, seg[i], 2, true);
        vmrpc_ring_kick(ring);
        assert_recovers(&vm, 0);
    }
    vm_quit(&vm);
}

/* Ways to spoil a split ring behind the back of vmrpc_ring_add(). */
static void spoil_loop(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    /* The second descriptor has a next one: the first. */
    qtest_writew(vm->qts, ring->pci.vq.desc + 16 + 12,
                 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
    qtest_writew(vm->qts, ring->pci.vq.desc + 16 + 14, 1);
}

static void spoil_next(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    qtest_writew(vm->qts, ring->pci.vq.desc + 14, 0xfffe);
}

static void spoil_head(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, false);
    qtest_writew(vm->qts, ring->pci.vq.avail + 4, ring->pci.vq.size);
}

static void spoil_index(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    qtest_writew(vm->qts, ring->pci.vq.avail + 2, ring->pci.vq.size + 1);
    ring->avail_idx = ring->pci.vq.size + 1;
    ring->added = ring->avail_idx;
}

static void spoil_table_size(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writel(vm->qts, ring->pci.vq.desc + 8, 31);
}

static void spoil_table_empty(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writel(vm->qts, ring->pci.vq.desc + 8, 0);
}

static void spoil_table_loop(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };
    uint64_t table;

    vmrpc_ring_add(ring, seg, 2, true);
    table = qtest_readq(vm->qts, ring->pci.vq.desc);
    qtest_writew(vm->qts, table + 16 + 12,
                 VRING_DESC_F_NEXT | VRING_DESC_F_WRITE);
    qtest_writew(vm->qts, table + 16 + 14, 1);
}

static void spoil_table_nested(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, 48, false }, { page, RESP, true } };
    uint64_t table;

    vmrpc_ring_add(ring, seg, 2, true);
    table = qtest_readq(vm->qts, ring->pci.vq.desc);
    qtest_writew(vm->qts, table + 12, VRING_DESC_F_INDIRECT);
}

static void spoil_table_wild(Vm *vm, VmrpcRing *ring, uint64_t page)
{
    const VmrpcSegment seg[] = { { page, REQ, false }, { page, RESP, true } };

    vmrpc_ring_add(ring, seg, 2, true);
    qtest_writeq(vm->qts, ring->pci.vq.desc, 1ull << 46);
}

static void test_bad_rings(void)
{
    static void (*const spoil[])(Vm *, VmrpcRing *, uint64_t) = {
        spoil_loop, spoil_next, spoil_head, spoil_index, spoil_table_size,
        spoil_table_loop, spoil_table_nested, spoil_table_wild,
        spoil_table_empty,
    };
    Vm vm = vm_boot("", "");
    uint64_t page = guest_alloc(&vm.guest->alloc, 4096);

    for (unsigned i = 0; i < ARRAY_SIZE(spoil); i++) {
        VmrpcRing *ring;

        vmrpc_driver_start(vm.d, 0, EVENTS);
        ring = vmrpc_request_ring(vm.d, 0);
        spoil[i](&vm, ring, page);
        vmrpc_ring_kick(ring);
        assert_recovers(&vm, 0);
    }
    vm_quit(&vm);
}

/* A broken device interrupts, once and not after the reset. */
static void test_bad_interrupt(void)
{
    Vm vm = vm_boot("", "");
    QVirtioPCIDevice *dev = vm.d->dev;
    VmrpcSegment seg = { .len = 8 };

    qpci_msix_enable(dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    qvirtio_pci_set_msix_configuration_vector(dev, &vm.guest->alloc, 0);
    vmrpc_driver_go(vm.d);
    seg.addr = vm.d->event_buf;
    vmrpc_ring_add(vmrpc_request_ring(vm.d, 0), &seg, 1, false);
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    qvirtio_wait_config_isr(&dev->vdev, VMRPC_TEST_TIMEOUT_US);
    g_assert_true(vmrpc_driver_status(vm.d) & VIRTIO_CONFIG_S_NEEDS_RESET);
    qvirtio_reset(&dev->vdev);
    settle(vm.qts);
    g_assert_cmphex(qtest_readl(vm.qts, dev->config_msix_addr), ==, 0);
    vm_quit(&vm);
}

/* Buffers for events that cannot hold one. */
static void test_bad_event_buffers(const void *data)
{
    const RingKind *kind = data;
    g_autofree char *options = g_strdup_printf("address6=" VM6 "%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    Vm vm = vm_boot(options, "");
    const VmrpcSegment bad[] = {
        { 0, sizeof(struct vmrpc_event) - 1, true },
        { 0, sizeof(struct vmrpc_event), false },
        { 0, 0, true },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        VmrpcSegment seg = bad[i];
        uint16_t port;
        int conn;

        vmrpc_driver_start(vm.d, kind->unwanted, 0);
        seg.addr = vm.d->event_buf;
        vmrpc_ring_add(&vm.d->ring[0], &seg, 1, false);
        vmrpc_ring_kick(&vm.d->ring[0]);
        port = guest_listen(vm.d, 1);
        conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        assert_recovers(&vm, kind->unwanted);
        peer_wait_end(conn);
        close(conn);
    }
    vm_quit(&vm);
}

/* An event in pieces. */
static void test_event_scattered(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    VmrpcRing *ring;
    VmrpcSegment seg[24];
    uint32_t len;
    uint16_t id, port;
    uint64_t page;
    int conn;

    vmrpc_driver_start(vm.d, 0, 0);
    ring = &vm.d->ring[VMRPC_QUEUE_EVENT];
    page = guest_alloc(&vm.guest->alloc, 4096);
    for (unsigned i = 0; i < ARRAY_SIZE(seg); i++) {
        seg[i] = (VmrpcSegment) { page + 2 * i, 1, true };
    }
    vmrpc_ring_add(ring, seg, ARRAY_SIZE(seg), true);
    vmrpc_ring_kick(ring);
    port = guest_listen(vm.d, 7);
    conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    vmrpc_ring_wait(ring, &id, &len);
    g_assert_cmpuint(len, ==, sizeof(struct vmrpc_event));
    g_assert_cmpuint(qtest_readb(vm.qts, page), ==, 7);
    g_assert_cmpuint(qtest_readb(vm.qts, page + 2 * 8), ==, VMRPC_IN);
    close(conn);
    vm_quit(&vm);
}

/* --- reset --------------------------------------------------------------- */

static void test_reset_closes(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    unsigned fds = 0;

    for (unsigned round = 0; round < 3; round++) {
        uint16_t port;
        int conn, incoming, waiting;

        vmrpc_driver_start(vm.d, 0, EVENTS);
        /* DNS keeps its sockets to the server open. */
        guest_resolve(vm.d, PEER6);
        if (!round) {
            fds = count_fds(vm.qts);
        }
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
        conn = guest_connect(vm.d, 1, PEER6);
        port = guest_listen(vm.d, 2);
        incoming = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        guest_accept(vm.d, 2, 3);
        waiting = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        guest_socket(vm.d, 4, SOCK_DGRAM);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds + 4);

        qvirtio_reset(vm.d->vdev);
        peer_wait_end(conn);
        peer_wait_end(incoming);
        peer_wait_end(waiting);
        g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                         counter(vm.qts, BACKEND, "sockets_closed"));
        close(conn);
        close(incoming);
        close(waiting);
    }
    vm_quit(&vm);
}

/* All requests in the rings are gone, and so are their sockets. */
static void test_reset_in_flight(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_boot(kind->options, "");

    for (unsigned round = 0; round < 20; round++) {
        vmrpc_driver_start(vm.d, kind->unwanted, EVENTS);
        for (unsigned i = 0; i < 80; i++) {
            VmrpcPending pending;

            vmrpc_submit(vm.d, &(VmrpcArgs) {
                .op = VMRPC_SOCKET, .sock = i, .arg = { SOCK_STREAM },
            }, &pending);
        }
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        qvirtio_reset(vm.d->vdev);
        g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==,
                         counter(vm.qts, BACKEND, "sockets_closed"));
    }
    vmrpc_driver_start(vm.d, kind->unwanted, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

static void test_reset_machine(void)
{
    Vm vm = vm_start("", 0);
    int conn;

    for (unsigned round = 0; round < 2; round++) {
        conn = guest_connect(vm.d, 1, PEER6);
        converse(vm.d, 1, conn);
        qtest_system_reset(vm.qts);
        peer_wait_end(conn);
        close(conn);
        vmrpc_driver_remap(vm.d);
        vmrpc_driver_start(vm.d, 0, EVENTS);
    }
    round_trip(vm.d);
    vm_quit(&vm);
}

/*
 * A broken request right before a reset: the thread that reports the error
 * must not wait for the one that waits for it.
 */
static void test_reset_broken(void)
{
    Vm vm = vm_boot("", "");

    qpci_msix_enable(vm.d->dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    qvirtio_pci_set_msix_configuration_vector(vm.d->dev, &vm.guest->alloc, 0);
    /* Not to memory but to the interrupt controller, as a guest has it. */
    qpci_io_writel(vm.d->dev->pdev, vm.d->dev->pdev->msix_table_bar,
                   vm.d->dev->pdev->msix_table_off + PCI_MSIX_ENTRY_LOWER_ADDR,
                   MSI_ADDRESS);
    for (unsigned round = 0; round < 50; round++) {
        VmrpcSegment seg = { .len = 8 };

        vmrpc_driver_setup(vm.d, 0);
        vm.d->dev->msix_ops->set_config_vector(vm.d->dev, 0);
        vmrpc_driver_go(vm.d);
        seg.addr = vm.d->event_buf;
        vmrpc_ring_add(vmrpc_request_ring(vm.d, 0), &seg, 1, false);
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        qvirtio_reset(vm.d->vdev);
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/*
 * The reset of one queue is not offered.  A guest that tries it in the middle
 * of its requests harms itself only.
 */
static void test_reset_queue(void)
{
    Vm vm = vm_boot("num-queues=2", "");
    const uint64_t reset = vm.d->dev->common_cfg_offset +
        offsetof(struct virtio_pci_modern_common_cfg, queue_reset);
    const VmrpcArgs args = { .op = VMRPC_CLOSE };

    for (unsigned round = 0; round < 20; round++) {
        vmrpc_driver_start(vm.d, 0, EVENTS);
        g_assert_false(vm.d->features & (1ull << VIRTIO_F_RING_RESET));
        for (unsigned i = 0; i < 60; i++) {
            VmrpcPending pending;

            vmrpc_submit(vm.d, &args, &pending);
        }
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
        for (unsigned i = 0; i < 3; i++) {
            vm.d->vdev->bus->queue_select(vm.d->vdev, i);
            qpci_io_writew(vm.d->dev->pdev, vm.d->dev->bar, reset, 1);
        }
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/* Kicks before DRIVER_OK and without queues. */
static void test_kick_early(void)
{
    Vm vm = vm_boot("", "");
    const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 1,
                             .arg = { SOCK_STREAM } };
    VmrpcPending pending;
    QVirtioDevice *vdev = vm.d->vdev;

    vmrpc_driver_setup(vm.d, 0);
    vmrpc_submit(vm.d, &args, &pending);
    vdev->bus->virtqueue_kick(vdev, &vmrpc_request_ring(vm.d, 0)->pci.vq);
    vmrpc_driver_go(vm.d);
    g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending).error, ==, 0);

    qvirtio_reset(vdev);
    vdev->bus->virtqueue_kick(vdev, &vmrpc_request_ring(vm.d, 0)->pci.vq);
    vdev->bus->virtqueue_kick(vdev, &vm.d->ring[0].pci.vq);
    settle(vm.qts);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    vm_quit(&vm);
}

/* Leaves QEMU @num descriptors; returns the old limit. */
static struct rlimit limit_fds(QTestState *qts, unsigned num)
{
    struct rlimit old, limit;
    int ret = prlimit(qtest_pid(qts), RLIMIT_NOFILE, NULL, &old);

    g_assert_cmpint(ret, ==, 0);
    limit = (struct rlimit) { .rlim_cur = num, .rlim_max = old.rlim_max };
    ret = prlimit(qtest_pid(qts), RLIMIT_NOFILE, &limit, NULL);
    g_assert_cmpint(ret, ==, 0);
    return old;
}

/*
 * When the driver starts the device, QEMU has descriptors only for some of the
 * notifiers: for some of those towards the guest, or for all of these and not
 * for the one towards the device.  The guest gets an error, and may try again.
 */
static void test_start_fails(void)
{
    static const unsigned left[] = { 30, 65 };
    Vm vm = vm_boot("num-queues=64", "");
    unsigned fds;

    /* DNS keeps its sockets to the server open. */
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_resolve(vm.d, PEER6);
    qvirtio_reset(vm.d->vdev);
    fds = count_fds(vm.qts);

    for (unsigned i = 0; i < ARRAY_SIZE(left); i++) {
        struct rlimit old;

        vmrpc_driver_setup(vm.d, 0);
        old = limit_fds(vm.qts, fds + left[i]);
        vm.d->vdev->bus->set_status(vm.d->vdev,
                                        vmrpc_driver_status(vm.d) |
                                        VIRTIO_CONFIG_S_DRIVER_OK);
        vmrpc_driver_wait_broken(vm.d);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
        limit_fds(vm.qts, old.rlim_cur);
        assert_recovers(&vm, 0);
        qvirtio_reset(vm.d->vdev);
        g_assert_cmpuint(count_fds(vm.qts), ==, fds);
    }
    vmrpc_driver_start(vm.d, 0, EVENTS);
    round_trip(vm.d);
    vm_quit(&vm);
}

static void test_stop_cont(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    int conn = guest_connect(vm.d, 1, PEER6);
    const VmrpcArgs args = { .op = VMRPC_SOCKET, .sock = 2,
                             .arg = { SOCK_STREAM } };
    VmrpcPending pending;
    struct vmrpc_event event;
    char buf[8];
    uint16_t id;
    uint32_t len;

    converse(vm.d, 1, conn);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'stop' }");
    g_assert_cmpint(write(conn, "more", 4), ==, 4);
    vmrpc_submit(vm.d, &args, &pending);
    settle(vm.qts);
    g_assert_false(vmrpc_take_event(vm.d, &event));
    g_assert_false(vmrpc_ring_get(vmrpc_request_ring(vm.d, 0), &id, &len));
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'cont' }");
    g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending).error, ==, 0);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    guest_recv(vm.d, 1, buf, 4);
    g_assert_cmpmem(buf, 4, "more", 4);
    close(conn);
    vm_quit(&vm);
}

/* --- main ---------------------------------------------------------------- */

static void add_tests(void)
{
    qtest_add_func("/vmrpc/events/scattered", test_event_scattered);
    qtest_add_func("/vmrpc/bad/requests", test_bad_requests);
    qtest_add_func("/vmrpc/bad/headers", test_bad_headers);
    add_for_kinds("bad/chains", test_bad_chains, 0);
    qtest_add_func("/vmrpc/chain/registers", test_chain_registers);
    qtest_add_func("/vmrpc/bad/rings", test_bad_rings);
    add_for_pci("/vmrpc/bad/interrupt", test_bad_interrupt);
    add_for_kinds("bad/event-buffers", test_bad_event_buffers, 0);
    add_for_kinds("chain/scattered", test_chain_scattered, 0);
    add_for_kinds("chain/longest", test_chain_longest, NO_INDIRECT);
    qtest_add_func("/vmrpc/reset/closes", test_reset_closes);
    add_for_kinds("reset/in-flight", test_reset_in_flight, 0);
    qtest_add_func("/vmrpc/reset/machine", test_reset_machine);
    add_for_pci("/vmrpc/reset/broken", test_reset_broken);
    add_for_pci("/vmrpc/reset/queue", test_reset_queue);
    qtest_add_func("/vmrpc/kick-early", test_kick_early);
    qtest_add_func("/vmrpc/start-fails", test_start_fails);
    qtest_add_func("/vmrpc/stop-cont", test_stop_cont);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}
