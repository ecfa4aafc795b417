/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: sockets by virtio-vmrpc
 *
 * Makes the requests that guest-linux/vmrpc makes for a program with one thread
 * that has the processor for itself: CONNECT opens the socket, a call that
 * finds nothing waits on the host, data of 32 KiB and more are in a buffer that
 * the host knows (VMRPC_MAP).  The thread that calls is the vCPU that executes
 * the request, so no answer needs an interrupt.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>

#include "bench/guestless/loads/sockets.h"
#include "bench/guestless/accel/virtio.h"
#include "vmmnet/vmrpc.h"

/* As BUFFER_MIN of guest-linux/vmrpc/data/buffer.c */
#define MAPPED_MIN              32768u

/* Two buffers of one memory, by direction: their numbers */
enum { BUFFER_OUT, BUFFER_IN, BUFFERS };

static struct {
    GuestlessDevice dev;
    struct in_addr to;
    struct vmrpc_req *req;
    struct vmrpc_resp *resp;
    GuestlessSegment *control;
    uint64_t req_gpa, resp_gpa, data_gpa, control_gpa;
    uint32_t ready;             /* of the last answer */
    int type;                   /* of the latest socket */
    uint32_t next;              /* its handle */
} guest;

/* Makes guest.req, with @len octets of data; returns 0 or a negative errno. */
static int call(enum vmrpc_op op, int sock, size_t len, bool in)
{
    GuestlessRing *ring = &guest.dev.ring[VMRPC_QUEUE_REQUEST];
    GuestlessPart part[4];
    unsigned num = 0;
    uint32_t used;

    guest.req->op = op;
    guest.req->sock = sock;
    guest.req->gen = sock;
    part[num++] = (GuestlessPart) { guest.req_gpa, sizeof(*guest.req), false };
    if (guest.req->control_len) {
        part[num++] = (GuestlessPart) { guest.control_gpa,
                                        guest.req->control_len, false };
    }
    if (len && !in) {
        part[num++] = (GuestlessPart) { guest.data_gpa, len, false };
    }
    part[num++] = (GuestlessPart) { guest.resp_gpa, sizeof(*guest.resp), true };
    if (len && in) {
        part[num++] = (GuestlessPart) { guest.data_gpa, len, true };
    }
    guestless_ring_add(ring, part, num, guest.req);
    guestless_ring_kick(ring);
    while (!guestless_ring_take(ring, &used)) {
        /* another thread executes it, behind an IOMMU */
    }
    guest.ready = guest.resp->ready;
    memset(guest.req, 0, sizeof(*guest.req));
    return -(int)guest.resp->error;
}

/* SENDMSG or RECVMSG, until it has done something. */
static ssize_t transfer(enum vmrpc_op op, int sock, size_t len, bool in)
{
    uint32_t wait_us = in ? VMRPC_WAIT_MAX : 0;
    int ret;

    do {
        bool mapped = len >= MAPPED_MIN;

        guest.req->wait_us = wait_us;
        if (mapped) {
            guest.req->flags = VMRPC_REQ_BUFFER;
            guest.req->u.msg.buffer = in ? BUFFER_IN : BUFFER_OUT;
            guest.req->u.msg.len = len;
        }
        ret = call(op, sock, mapped ? 0 : len, in);
        wait_us = VMRPC_WAIT_MAX;
    } while (ret == -EAGAIN);
    return ret < 0 ? ret : guest.resp->value;
}

/* connect() makes the socket: it always follows. */
static int vmrpc_open(int type)
{
    guest.type = type;
    return ++guest.next;
}

static int vmrpc_connect(int sock, in_port_t port)
{
    int ret;

    guest.req->addr = (struct vmrpc_addr) {
        .family = VMRPC_AF_INET, .port = port, .addr = guest.to.s_addr,
    };
    guest.req->flags = VMRPC_REQ_OPEN;
    guest.req->u.socket.type = guest.type;
    guest.req->wait_us = VMRPC_WAIT_MAX;
    ret = call(VMRPC_CONNECT, sock, 0, false);
    while (ret == -EINPROGRESS && !(guest.ready & VMRPC_OUT)) {
        guest.req->wait_us = VMRPC_WAIT_MAX;
        ret = call(VMRPC_NOOP, sock, 0, false) ?: -EINPROGRESS;
    }
    return ret == -EINPROGRESS ? 0 : ret;
}

static ssize_t vmrpc_send(int sock, size_t len)
{
    return transfer(VMRPC_SENDMSG, sock, len, false);
}

static ssize_t vmrpc_send_segments(int sock, size_t len, uint16_t segment)
{
    *guest.control = guestless_segment(segment);
    guest.req->control_len = sizeof(*guest.control);
    return call(VMRPC_SENDMSG, sock, len, false) ?: guest.resp->value;
}

static ssize_t vmrpc_receive(int sock, size_t len)
{
    return transfer(VMRPC_RECVMSG, sock, len, true);
}

static void vmrpc_close(int sock)
{
    call(VMRPC_CLOSE, sock, 0, false);
}

/* The event queue stays full of buffers; nobody reads the events. */
static void fill_events(void)
{
    GuestlessRing *ring = &guest.dev.ring[VMRPC_QUEUE_EVENT];
    uint64_t gpa;
    void *mem = guestless_alloc(GUESTLESS_RING * sizeof(struct vmrpc_event),
                                &gpa);

    guestless_ring_disarm(ring);
    for (unsigned i = 0; i < ring->size; i++) {
        guestless_ring_add(ring, &(GuestlessPart) {
            gpa + i * sizeof(struct vmrpc_event), sizeof(struct vmrpc_event),
            true,
        }, 1, mem);
    }
    guestless_ring_kick(ring);
}

static void map(unsigned buffer, bool in)
{
    int ret;

    guest.req->u.map.buffer = buffer;
    ret = call(VMRPC_MAP, 0, GUESTLESS_DATA, in);
    if (ret < 0) {
        guestless_fail("MAP: %s", strerror(-ret));
    }
}

const GuestlessSockets *guestless_vmrpc(const char *address)
{
    static const GuestlessSockets sockets = {
        "vmrpc", vmrpc_open, vmrpc_connect, vmrpc_send,
        vmrpc_send_segments, vmrpc_receive, vmrpc_close,
    };

    if (inet_pton(AF_INET, address, &guest.to) != 1) {
        return NULL;
    }
    guestless_device_start(&guest.dev, VIRTIO_ID_VMRPC,
                           1ull << VMRPC_F_TRANSLATE |
                           1ull << VMRPC_F_MOMENTS |
                           1ull << VMRPC_F_LONG_VALUES |
                           1ull << VMRPC_F_INET6, 2);
    guest.req = guestless_alloc(sizeof(*guest.req), &guest.req_gpa);
    guest.resp = guestless_alloc(sizeof(*guest.resp), &guest.resp_gpa);
    guest.control = guestless_alloc(sizeof(*guest.control),
                                    &guest.control_gpa);
    guestless_alloc(GUESTLESS_DATA, &guest.data_gpa);
    guestless_ring_disarm(&guest.dev.ring[VMRPC_QUEUE_REQUEST]);
    fill_events();
    map(BUFFER_OUT, false);
    map(BUFFER_IN, true);
    return &sockets;
}
