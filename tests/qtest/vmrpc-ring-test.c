/* SPDX-License-Identifier: GPL-2.0-or-later */
/* virtio-vmrpc: rings, queues, interrupts, events, mapped memory */
#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include <arpa/inet.h>
#include <glib/gstdio.h>

#include "netns.h"
#include "standard-headers/linux/pci_regs.h"
#include "standard-headers/linux/qemu_fw_cfg.h"
#include "standard-headers/linux/virtio_mmio.h"
#include "standard-headers/linux/virtio_pci.h"
#include "standard-headers/linux/virtio_ring.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "vmrpc-fixture.h"

#define FW_CFG_IO_BASE  0x510

/* --- rings --------------------------------------------------------------- */

static void test_round_trip(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);

    g_assert_cmpuint(vmrpc_request_ring(vm.d, 0)->packed, ==,
                     !!*kind->options);
    round_trip(vm.d);
    g_assert_cmpuint(vm.d->events_seen, >, 0);
    vm_quit(&vm);
}

/* More requests than a ring holds: indices wrap around. */
static void test_wrap(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_boot(kind->options, "");

    vm.d->ring_size = 16;
    vmrpc_driver_start(vm.d, kind->unwanted, 10);
    for (unsigned i = 0; i < 100; i++) {
        guest_socket(vm.d, i % 7, SOCK_DGRAM);
        g_assert_cmpint(guest_close(vm.d, i % 7), ==, 0);
    }
    vm_quit(&vm);
}

/* Many requests with one kick, more than the device takes at once. */
static void test_batch(const void *data)
{
    const RingKind *kind = data;
    Vm vm = vm_start(kind->options, kind->unwanted);
    const VmrpcArgs args = { .op = VMRPC_CLOSE, .sock = 3 };
    VmrpcPending pending[300];

    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        vmrpc_submit(vm.d, &args, &pending[i]);
    }
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending[i]).error, ==,
                        EBADF);
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "requests"), ==,
                     ARRAY_SIZE(pending));
    vm_quit(&vm);
}

static uint8_t pci_cfg_capability(QPCIDevice *pdev)
{
    uint8_t at = 0;

    do {
        at = qpci_find_capability(pdev, PCI_CAP_ID_VNDR, at);
        g_assert_cmpuint(at, !=, 0);
    } while (qpci_config_readb(pdev, at + VIRTIO_PCI_CAP_CFG_TYPE) !=
             VIRTIO_PCI_CAP_PCI_CFG);
    return at;
}

/* By the bridge's registers to configure PCI, and the device's window there. */
static void kick_by_bridge(Vm *vm, VmrpcRing *ring)
{
    QPCIDevice *pdev = vm->d->dev->pdev;
    uint8_t at = pci_cfg_capability(pdev);

    qpci_config_writeb(pdev, at + VIRTIO_PCI_CAP_BAR, vm->d->dev->bar_idx);
    qpci_config_writel(pdev, at + VIRTIO_PCI_CAP_OFFSET,
                       ring->pci.notify_offset);
    qpci_config_writel(pdev, at + VIRTIO_PCI_CAP_LENGTH, 2);
    qpci_config_writew(pdev, at + sizeof(struct virtio_pci_cap),
                       ring->pci.vq.index);
}

/* By fw_cfg, whose DMA puts its version into the register. */
static void kick_by_fw_cfg(Vm *vm, VmrpcRing *ring)
{
    uint64_t at = guest_alloc(&vm->guest->alloc, 4096);
    const struct fw_cfg_dma_access access = {
        .control = cpu_to_be32(FW_CFG_ID << 16 | FW_CFG_DMA_CTL_SELECT |
                               FW_CFG_DMA_CTL_READ),
        .length = cpu_to_be32(sizeof(uint32_t)),
        .address = cpu_to_be64(vmrpc_driver_registers(vm->d) +
                               VIRTIO_MMIO_QUEUE_NOTIFY),
    };

    g_assert_cmpuint(ring->pci.vq.index, ==,
                     FW_CFG_VERSION | FW_CFG_VERSION_DMA);
    qtest_memwrite(vm->qts, at, &access, sizeof(access));
    qtest_outl(vm->qts, FW_CFG_IO_BASE + 4, cpu_to_be32(at >> 32));
    qtest_outl(vm->qts, FW_CFG_IO_BASE + 8, cpu_to_be32(at));
}

/*
 * A kick by another device, whose handler is still running: the main loop
 * executes the requests, and not those of a kick of the guest.
 */
static void test_nested_kick(void)
{
    g_autofree char *log = g_build_filename(tmp_dir, "nested.log", NULL);
    g_autofree char *more = g_strdup_printf(
        "-trace virtio_vmrpc_nested -D %s", log);
    Vm vm = vm_boot("num-queues=3", more);
    const VmrpcArgs args = { .queue = 3, .op = VMRPC_CLOSE, .sock = 3 };
    VmrpcPending pending[100];
    g_autofree char *said = NULL;

    vmrpc_driver_start(vm.d, 0, EVENTS);
    g_assert_cmpint(vmrpc_call(vm.d, &args).error, ==, EBADF);
    g_assert_true(g_file_get_contents(log, &said, NULL, NULL));
    g_assert_cmpstr(said, ==, "");
    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        vmrpc_submit(vm.d, &args, &pending[i]);
    }
    (on_mmio() ? kick_by_fw_cfg : kick_by_bridge)(
        &vm, vmrpc_request_ring(vm.d, args.queue));
    for (unsigned i = 0; i < ARRAY_SIZE(pending); i++) {
        g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending[i]).error, ==,
                        EBADF);
    }
    g_free(said);
    g_assert_true(g_file_get_contents(log, &said, NULL, NULL));
    g_assert_nonnull(strstr(said, "virtio_vmrpc_nested"));
    vm_quit(&vm);
}

/* Data of a request's greatest size, both ways, in many pieces. */
static void test_bulk(void)
{
    Vm vm = vm_start("", 0);
    g_autofree uint8_t *sent = g_malloc(VMRPC_DATA_MAX);
    g_autofree uint8_t *got = g_malloc0(VMRPC_DATA_MAX);
    int conn = guest_connect(vm.d, 1, PEER6);
    size_t from_guest = 0, got_by_peer = 0, from_peer = 0;

    for (size_t i = 0; i < VMRPC_DATA_MAX; i++) {
        sent[i] = i * 2654435761u >> 13;
    }
    while (from_guest < VMRPC_DATA_MAX) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .op = VMRPC_SENDMSG, .sock = 1, .out = sent + from_guest,
            .out_len = VMRPC_DATA_MAX - from_guest,
        });

        if (r.error) {
            g_assert_cmpint(r.error, ==, VMRPC_EAGAIN);
        } else {
            g_assert_cmpuint(r.value, >, 0);
            from_guest += r.value;
        }
        peer_read(conn, got + got_by_peer, from_guest - got_by_peer);
        got_by_peer = from_guest;
        vmrpc_wait_ready(vm.d, 1, VMRPC_OUT);
    }
    g_assert_cmpmem(sent, VMRPC_DATA_MAX, got, VMRPC_DATA_MAX);

    memset(got, 0, VMRPC_DATA_MAX);
    while (from_peer < VMRPC_DATA_MAX) {
        ssize_t n = send(conn, sent + from_peer, VMRPC_DATA_MAX - from_peer,
                         MSG_DONTWAIT);

        g_assert_cmpint(n, >, 0);
        guest_recv(vm.d, 1, got + from_peer, n);
        from_peer += n;
    }
    g_assert_cmpmem(sent, VMRPC_DATA_MAX, got, VMRPC_DATA_MAX);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "bytes_sent"), >=,
                     VMRPC_DATA_MAX);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "bytes_received"), >=,
                     VMRPC_DATA_MAX);
    close(conn);
    vm_quit(&vm);
}

/* --- queues and interrupts ----------------------------------------------- */

static void test_queues_several(void)
{
    Vm vm = vm_start("num-queues=64", 0);

    g_assert_cmpuint(vm.d->num_queues, ==, 64);
    for (unsigned q = 1; q <= 64; q++) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .queue = q, .op = VMRPC_SOCKET, .sock = q - 1,
            .arg = { SOCK_STREAM },
        });

        g_assert_cmpint(r.error, ==, 0);
    }
    /* A socket belongs to no queue. */
    for (unsigned q = 1; q <= 64; q++) {
        VmrpcReply r = vmrpc_call(vm.d, &(VmrpcArgs) {
            .queue = q, .op = VMRPC_CLOSE, .sock = 64 - q,
        });

        g_assert_cmpint(r.error, ==, 0);
    }
    vm_quit(&vm);
}

static void test_queues_at_once(void)
{
    Vm vm = vm_start("num-queues=4", 0);
    VmrpcPending pending[4][32];

    for (unsigned q = 0; q < 4; q++) {
        for (unsigned i = 0; i < 32; i++) {
            vmrpc_submit(vm.d, &(VmrpcArgs) {
                .queue = q + 1, .op = VMRPC_SOCKET, .sock = 100 * q + i,
                .arg = { SOCK_DGRAM },
            }, &pending[q][i]);
        }
    }
    for (unsigned q = 0; q < 4; q++) {
        vmrpc_ring_kick(vmrpc_request_ring(vm.d, q + 1));
    }
    for (unsigned q = 0; q < 4; q++) {
        for (unsigned i = 0; i < 32; i++) {
            const VmrpcArgs args = { .queue = q + 1, .sock = 100 * q + i };

            g_assert_cmpint(vmrpc_finish(vm.d, &args, &pending[q][i]).error,
                            ==, 0);
        }
    }
    g_assert_cmpuint(counter(vm.qts, BACKEND, "sockets_opened"), ==, 128);
    vm_quit(&vm);
}

static bool has_interrupt(VmrpcDriver *d, unsigned queue)
{
    QVirtioDevice *vdev = d->vdev;

    return vdev->bus->get_queue_isr_status(vdev, &d->ring[queue].pci.vq);
}

static void wait_interrupt(VmrpcDriver *d, unsigned queue)
{
    qvirtio_wait_queue_isr(d->guest->qts, d->vdev,
                           &d->ring[queue].pci.vq, VMRPC_TEST_TIMEOUT_US);
}

static void test_interrupt_intx(void)
{
    Vm vm = vm_start("", 0);

    guest_socket(vm.d, 1, SOCK_DGRAM);
    wait_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, VMRPC_QUEUE_REQUEST));
    vm_quit(&vm);
}

/* Each queue has a vector of its own. */
static void test_interrupt_msix(void)
{
    Vm vm = vm_boot("num-queues=2", "");
    int conn;

    qpci_msix_enable(vm.d->dev->pdev);
    g_assert_cmpuint(qpci_msix_table_size(vm.d->dev->pdev), ==, 4);
    vmrpc_driver_setup(vm.d, NO_EVENT_IDX);
    for (unsigned i = 0; i <= 2; i++) {
        qvirtqueue_pci_msix_setup(vm.d->dev, &vm.d->ring[i].pci,
                                  &vm.guest->alloc, i + 1);
    }
    vmrpc_driver_go(vm.d);
    vmrpc_post_events(vm.d, EVENTS);

    guest_socket(vm.d, 1, SOCK_DGRAM);
    wait_interrupt(vm.d, 1);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, 0));
    g_assert_false(has_interrupt(vm.d, 2));
    vmrpc_call(vm.d, &(VmrpcArgs) { .queue = 2, .op = VMRPC_CLOSE,
                                    .sock = 1 });
    wait_interrupt(vm.d, 2);
    settle(vm.qts);
    g_assert_false(has_interrupt(vm.d, 0));
    g_assert_false(has_interrupt(vm.d, 1));
    conn = guest_connect(vm.d, 1, PEER6);
    converse(vm.d, 1, conn);
    wait_interrupt(vm.d, VMRPC_QUEUE_EVENT);
    close(conn);
    vm_quit(&vm);
}

/* With event indices the driver selects the completion that interrupts. */
static void test_interrupt_event_idx(void)
{
    Vm vm = vm_boot("", "");
    VmrpcRing *ring;

    qpci_msix_enable(vm.d->dev->pdev);
    vmrpc_driver_setup(vm.d, 0);
    ring = vmrpc_request_ring(vm.d, 0);
    g_assert_true(ring->event_idx);
    qvirtqueue_pci_msix_setup(vm.d->dev, &ring->pci, &vm.guest->alloc, 1);
    vmrpc_driver_go(vm.d);
    vmrpc_post_events(vm.d, EVENTS);

    /* The device may interrupt for the first completion in any case. */
    guest_socket(vm.d, 9, SOCK_DGRAM);
    settle(vm.qts);
    has_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    /* used_event: after the fourth */
    qtest_writew(vm.qts, ring->pci.vq.avail + 4 + 2 * ring->pci.vq.size, 3);
    for (unsigned i = 0; i < 2; i++) {
        guest_socket(vm.d, i, SOCK_DGRAM);
        settle(vm.qts);
        g_assert_false(has_interrupt(vm.d, VMRPC_QUEUE_REQUEST));
    }
    guest_socket(vm.d, 3, SOCK_DGRAM);
    wait_interrupt(vm.d, VMRPC_QUEUE_REQUEST);
    vm_quit(&vm);
}

/* --- events -------------------------------------------------------------- */

/* Events wait for buffers, which may come at any time. */
static void test_events_starved(const void *data)
{
    const RingKind *kind = data;
    g_autofree char *options = g_strdup_printf("address6=" VM6 "%s%s",
                                               *kind->options ? "," : "",
                                               kind->options);
    Vm vm = vm_boot(options, "");
    uint16_t port;
    int conn;

    vmrpc_driver_start(vm.d, kind->unwanted, 0);
    port = guest_listen(vm.d, 1);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t events = counter(vm.qts, BACKEND, "events");
        struct vmrpc_event event;

        conn = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        /* A request behind it shows that the device goes on. */
        guest_socket(vm.d, 2, SOCK_DGRAM);
        settle(vm.qts);
        g_assert_false(vm.d->events_seen);
        g_assert_false(vmrpc_take_event(vm.d, &event));
        g_assert_cmpuint(counter(vm.qts, BACKEND, "events"), ==, events);

        vmrpc_post_events(vm.d, 1);
        vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
        guest_accept(vm.d, 1, 3);
        g_assert_cmpint(guest_close(vm.d, 2), ==, 0);
        g_assert_cmpint(guest_close(vm.d, 3), ==, 0);
        peer_wait_end(conn);
        close(conn);

        /* From the beginning, without buffers. */
        vmrpc_driver_start(vm.d, kind->unwanted, 0);
        port = guest_listen(vm.d, 1);
    }
    vm_quit(&vm);
}

/* More sockets have events than there are buffers. */
static void test_events_few_buffers(void)
{
    Vm vm = vm_boot("address6=" VM6, "");
    uint16_t port[20];
    int conn[20];

    vmrpc_driver_start(vm.d, 0, 2);
    for (unsigned i = 0; i < 20; i++) {
        port[i] = guest_listen(vm.d, i);
    }
    for (unsigned i = 0; i < 20; i++) {
        conn[i] = peer_connect(SOCK_STREAM, PEER6, VM6, port[i]);
    }
    for (unsigned i = 0; i < 20; i++) {
        vmrpc_wait_ready(vm.d, i, VMRPC_IN);
        close(conn[i]);
    }
    vm_quit(&vm);
}

/*
 * No event twice for the same change: a guest that does nothing gets no events
 */
static void test_events_once(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    uint16_t port = guest_listen(vm.d, 1);
    struct vmrpc_event event;
    int conn[5];

    conn[0] = peer_connect(SOCK_STREAM, PEER6, VM6, port);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    for (unsigned i = 1; i < 5; i++) {
        conn[i] = peer_connect(SOCK_STREAM, PEER6, VM6, port);
        settle(vm.qts);
    }
    g_assert_false(vmrpc_take_event(vm.d, &event));
    g_assert_cmpuint(counter(vm.qts, BACKEND, "events"), ==, 1);
    for (unsigned i = 0; i < 5; i++) {
        guest_accept(vm.d, 1, 10 + i);
        close(conn[i]);
    }
    g_assert_cmphex(vm.d->sock[1].ready & VMRPC_IN, ==, 0);
    vm_quit(&vm);
}

/* No listener: the error arrives with the event. */
static void test_events_refused(void)
{
    Vm vm = vm_start("", 0);
    uint16_t port = 0;
    int fd = peer_bind(SOCK_STREAM, PEER6, &port);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr = guest_resolve(vm.d, PEER6),
    };
    VmrpcReply r;

    close(fd);
    guest_socket(vm.d, 1, SOCK_STREAM);
    r = guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer);
    if (r.error == VMRPC_EINPROGRESS) {
        g_assert_cmpuint(vmrpc_wait_error(vm.d, 1), ==, ECONNREFUSED);
    } else {
        g_assert_cmpint(r.error, ==, ECONNREFUSED);
    }
    vm_quit(&vm);
}

/* The error of a reset connection, now and in later events. */
static void test_events_trace(void)
{
    g_autofree char *log = g_build_filename(tmp_dir, "trace", NULL);
    g_autofree char *more = g_strdup_printf(
        "-trace virtio_vmrpc_event -D %s", log);
    g_autofree char *text = NULL;
    struct linger reset = { .l_onoff = 1 };
    Vm vm = vm_boot("", more);
    uint16_t port = 0;
    struct sockaddr_in peer = { .sin_family = AF_INET };
    int listener, conn;
    char buf[1];

    vmrpc_driver_start(vm.d, 0, EVENTS);
    conn = guest_connect(vm.d, 1, PEER6);
    setsockopt(conn, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(conn);
    g_assert_cmpuint(vmrpc_wait_error(vm.d, 1), ==, ECONNRESET);

    listener = peer_bind(SOCK_STREAM, PEER6, &port);
    peer.sin_port = htons(port);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, NULL).error, ==, 0);
    guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer);
    conn = peer_accept(listener);
    g_assert_cmpint(write(conn, "x", 1), ==, 1);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    guest_recv(vm.d, 1, buf, 1);
    close(conn);
    close(listener);
    vm_quit(&vm);
    g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, " error 104 first told 0 reports ago"));
    g_assert_true(g_regex_match_simple(
        " error 104 first told [1-9][0-9]* reports ago", text, 0, 0));
}

/* --- datagrams, policy --------------------------------------------------- */

static void test_datagram(void)
{
    Vm vm = vm_start("address6=" VM6, 0);
    struct sockaddr_in any = { .sin_family = AF_INET };
    uint16_t port = 0;
    char buf[32];
    VmrpcReply r;
    int fd;

    guest_socket(vm.d, 1, SOCK_DGRAM);
    r = guest_op_addr(vm.d, VMRPC_BIND, 1, &any);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmphex(r.addr.sin_addr.s_addr, ==, INADDR_ANY);
    fd = peer_connect(SOCK_DGRAM, PEER6, VM6, ntohs(r.addr.sin_port));
    g_assert_cmpint(write(fd, "hello", 5), ==, 5);
    vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
    r = guest_recv_once(vm.d, 1, buf, 3);
    g_assert_cmpint(r.error, ==, 0);
    g_assert_cmpuint(r.value, ==, 3);
    g_assert_cmphex(r.msg_flags & MSG_TRUNC, ==, MSG_TRUNC);
    g_assert_cmphex(ntohl(r.addr.sin_addr.s_addr) & 0xfffe0000, ==,
                    0xc6120000);

    /* Back to its source: the virtual address is the peer's. */
    port = r.addr.sin_port;
    g_assert_cmpuint(port, !=, 0);
    r = vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_SENDMSG, .sock = 1, .addr = &r.addr, .out = "hi there",
        .out_len = 8,
    });
    g_assert_cmpint(r.error, ==, 0);
    peer_read(fd, buf, 8);
    g_assert_cmpmem(buf, 8, "hi there", 8);
    close(fd);
    vm_quit(&vm);
}

static void test_policy(void)
{
    g_autofree char *args = g_strdup_printf(
        COMMON_ARGS "-device " DEVICE ",dns=" DNS6);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
    };
    Vm vm = { };

    vm.qts = vm_qemu("%s", args);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    guest_socket(vm.d, 1, SOCK_STREAM);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    ENETUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "refused_host_address"), ==, 1);
    peer.sin_addr.s_addr = inet_addr("198.19.255.1");
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    EHOSTUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "unreachable_no_mapping"), ==,
                     1);
    peer.sin_addr.s_addr = inet_addr("192.0.2.1");
    g_assert_cmpint(guest_op_addr(vm.d, VMRPC_CONNECT, 1, &peer).error, ==,
                    ENETUNREACH);
    g_assert_cmpuint(counter(vm.qts, BACKEND, "unreachable_no_nat64"), ==, 1);
    vm_quit(&vm);
}

/* Until the device has noticed; QEMU answers as fast as it can. */
static void await_counter(Vm *vm, const char *name, uint64_t value)
{
    gint64 end = g_get_monotonic_time() + VMRPC_TEST_TIMEOUT_US;

    while (counter(vm->qts, BACKEND, name) < value) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
    }
}

static void test_policy_reload(void)
{
    g_autofree char *path = g_build_filename(tmp_dir, "reload.policy", NULL);
    g_autofree char *args = g_strdup_printf(
        COMMON_ARGS "-device " DEVICE ",dns=" DNS6 ",policy=%s", path);
    struct sockaddr_in peer = {
        .sin_family = AF_INET,
        .sin_port = htons(9),
    };
    Vm vm = { };
    QDict *error;

    replace_file(path, "allow host\n");
    vm.qts = vm_qemu("%s", args);
    vm.guest = vmrpc_guest_new(vm.qts, !on_mmio());
    vm.d = vmrpc_driver_new(vm.guest, SLOT);
    vmrpc_driver_start(vm.d, 0, EVENTS);
    peer.sin_addr = guest_resolve(vm.d, PEER6);
    g_assert_cmpint(try_peer(&vm, &peer), ==, 0);

    /* by itself */
    replace_file(path, "deny host\n");
    await_counter(&vm, "policy_reloads", 1);
    g_assert_cmpint(try_peer(&vm, &peer), ==, EACCES);
    replace_file(path, "allow host\nallow all\n");
    await_counter(&vm, "policy_errors", 1);
    g_assert_cmpint(try_peer(&vm, &peer), ==, EACCES);

    /* requested, and its error reported */
    error = qtest_qmp_assert_failure_ref(
        vm.qts, "{ 'execute': 'vmrpc-reload-policy' }");
    g_assert_nonnull(strstr(qdict_get_str(error, "desc"),
                            "reload.policy:2: 'all'"));
    qobject_unref(error);
    error = qtest_qmp_assert_failure_ref(
        vm.qts, "{ 'execute': 'vmrpc-reload-policy', 'arguments': "
        "{ 'id': 'other' } }");
    g_assert_cmpstr(qdict_get_str(error, "class"), ==, "DeviceNotFound");
    qobject_unref(error);
    replace_file(path, "allow host\n");
    await_counter(&vm, "policy_reloads", 2);
    g_assert_cmpint(try_peer(&vm, &peer), ==, 0);
    qtest_qmp_assert_success(vm.qts, "{ 'execute': 'vmrpc-reload-policy' }");
    vm_quit(&vm);
    g_unlink(path);
}

/* --- memory that stays mapped -------------------------------------------- */

#define MAPPED_LEN 70000

static VmrpcReply mapped_message(VmrpcDriver *d, uint16_t op, uint32_t id,
                                 uint32_t offset, uint32_t len)
{
    return vmrpc_call(d, &(VmrpcArgs) {
        .op = op, .flags = VMRPC_REQ_BUFFER, .sock = 1,
        .arg = { 0, id, offset, len },
    });
}

/* One buffer to send from and one to receive into, for several calls each. */
static void test_mapped(void)
{
    Vm vm = vm_start("", 0);
    g_autofree uint8_t *sent = g_malloc(MAPPED_LEN);
    g_autofree uint8_t *got = g_malloc0(MAPPED_LEN);
    VmrpcArgs readable = { .op = VMRPC_MAP, .sock = UINT32_MAX,
                           .arg = { 5 }, .out = sent, .out_len = MAPPED_LEN };
    VmrpcArgs writable = { .op = VMRPC_MAP, .sock = UINT32_MAX,
                           .arg = { 6 }, .in = got, .in_len = MAPPED_LEN };
    int conn = guest_connect(vm.d, 1, PEER6);
    VmrpcPending pending;
    VmrpcReply r;

    for (size_t i = 0; i < MAPPED_LEN; i++) {
        sent[i] = i * 2654435761u >> 13;
    }
    g_assert_cmpint(vmrpc_call(vm.d, &readable).error, ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        r = mapped_message(vm.d, VMRPC_SENDMSG, 5, i, MAPPED_LEN - 100);
        g_assert_cmpint(r.error, ==, 0);
        peer_read(conn, got, r.value);
        g_assert_cmpmem(got, r.value, sent + i, r.value);
    }

    vmrpc_submit(vm.d, &writable, &pending);
    vmrpc_ring_kick(vmrpc_request_ring(vm.d, 0));
    g_assert_cmpint(vmrpc_finish(vm.d, &writable, &pending).error, ==, 0);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_cmpint(send(conn, "mapped", 6, 0), ==, 6);
        vmrpc_wait_ready(vm.d, 1, VMRPC_IN);
        r = mapped_message(vm.d, VMRPC_RECVMSG, 6, 4093 + i, 100);
        g_assert_cmpint(r.error, ==, 0);
        g_assert_cmpuint(r.value, ==, 6);
        g_assert_cmpuint(r.used_len, ==, sizeof(struct vmrpc_resp));
        qtest_memread(vm.qts, pending.in + sizeof(struct vmrpc_resp) + 4093 +
                      i, got, 6);
        g_assert_cmpmem(got, 6, "mapped", 6);
    }
    g_assert_cmpint(vmrpc_call(vm.d, &(VmrpcArgs) {
        .op = VMRPC_UNMAP, .sock = UINT32_MAX, .arg = { 5 },
    }).error, ==, 0);
    r = mapped_message(vm.d, VMRPC_SENDMSG, 5, 0, 1);
    g_assert_cmpint(r.error, ==, VMRPC_ESTALE);
    close(conn);
    vm_quit(&vm);               /* with a buffer that is still mapped */
}

/* --- main ---------------------------------------------------------------- */

static void add_tests(void)
{
    qtest_add_func("/vmrpc/mapped", test_mapped);
    add_for_kinds("round-trip", test_round_trip, 0);
    add_for_kinds("wrap", test_wrap, 0);
    add_for_kinds("batch", test_batch, 0);
    qtest_add_func("/vmrpc/nested-kick", test_nested_kick);
    qtest_add_func("/vmrpc/bulk", test_bulk);
    qtest_add_func("/vmrpc/queues/several", test_queues_several);
    qtest_add_func("/vmrpc/queues/at-once", test_queues_at_once);
    qtest_add_func("/vmrpc/interrupt/intx", test_interrupt_intx);
    add_for_pci("/vmrpc/interrupt/msix", test_interrupt_msix);
    add_for_pci("/vmrpc/interrupt/event-idx", test_interrupt_event_idx);
    add_for_kinds("events/starved", test_events_starved, 0);
    qtest_add_func("/vmrpc/events/few-buffers", test_events_few_buffers);
    qtest_add_func("/vmrpc/events/once", test_events_once);
    qtest_add_func("/vmrpc/events/refused", test_events_refused);
    qtest_add_func("/vmrpc/events/trace", test_events_trace);
    qtest_add_func("/vmrpc/datagram", test_datagram);
    qtest_add_func("/vmrpc/policy", test_policy);
    qtest_add_func("/vmrpc/policy/reload", test_policy_reload);
}

int main(int argc, char **argv)
{
    return vmrpc_test_main(argc, argv, add_tests);
}
