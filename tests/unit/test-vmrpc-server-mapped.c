/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vmrpc server and memory that the guest has mapped: calls that name a
 * buffer, and guests that name what is not theirs to name.
 */
#include "tests/fixtures/server-fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_LEN 10000u

/* What the server did with the guest's memory. */
typedef struct Memory {
    unsigned held, released;    /* vectors */
    size_t written;             /* bytes */
    const uint8_t *first;       /* that was written last */
} Memory;

static uint8_t buffer[BUFFER_LEN];

static void hold(void *opaque, const struct iovec *iov, unsigned num)
{
    Memory *m = opaque;

    m->held += num;
}

static void release(void *opaque, const struct iovec *iov, unsigned num)
{
    Memory *m = opaque;

    m->released += num;
}

static void written(void *opaque, const struct iovec *iov, unsigned num)
{
    Memory *m = opaque;

    m->first = iov[0].iov_base;
    for (unsigned i = 0; i < num; i++) {
        m->written += iov[i].iov_len;
    }
}

static Fx *new_with_memory(Memory *m)
{
    VmrpcMemoryOps ops = { hold, release, written, m };
    Fx *fx = fx_new_default();

    memset(buffer, 0, sizeof(buffer));
    vmrpc_server_set_memory(fx->srv, &ops);
    return fx;
}

static void free_all_released(Fx *fx, const Memory *m)
{
    fx_free(fx);
    g_assert_cmpuint(m->held, ==, m->released);
}

/* One request whose data are @buffer itself, in three pieces. */
static int map(Fx *fx, uint32_t id, bool writable)
{
    struct vmrpc_req req = fx_req(fx, VMRPC_MAP, UINT32_MAX);
    struct vmrpc_resp resp;
    struct iovec head[2] = { { &req, sizeof(req) }, { &resp, sizeof(resp) } };
    struct iovec data[] = { { buffer, 1 }, { buffer + 1, 4096 },
                            { buffer + 4097, BUFFER_LEN - 4097 } };
    struct iovec iov[4] = { head[writable], data[0], data[1], data[2] };

    req.u.map.buffer = GUINT32_TO_LE(id);
    vmrpc_server_call(fx->srv, writable ? &head[0] : iov, writable ? 1 : 4,
                      writable ? iov : &head[1], writable ? 4 : 1, false);
    return GUINT32_FROM_LE(resp.error);
}

static int unmap(Fx *fx, uint32_t id)
{
    return fx_op(fx, VMRPC_UNMAP, UINT32_MAX, id, 0).error;
}

static FxReply message(Fx *fx, unsigned op, uint32_t handle, uint32_t id,
                       uint32_t offset, uint32_t len)
{
    struct vmrpc_req req = fx_req(fx, op, handle);

    req.flags |= GUINT16_TO_LE(VMRPC_REQ_BUFFER);
    req.u.msg.buffer = GUINT32_TO_LE(id);
    req.u.msg.offset = GUINT32_TO_LE(offset);
    req.u.msg.len = GUINT32_TO_LE(len);
    return fx_call(fx, &req, NULL, 0, NULL, 0);
}

/* A connection, and the descriptor of its other end. */
static int connected(Fx *fx, uint32_t handle)
{
    uint16_t port;
    int listener = peer_socket(SOCK_STREAM, &port), fd;

    fx_ok(fx_socket(fx, handle, 1, SOCK_STREAM));
    fx_addr_op(fx, VMRPC_CONNECT, handle, fx_peer4(fx), port);
    fx_wait(fx, handle, VMRPC_OUT);
    fd = accept(listener, NULL, NULL);
    g_assert_cmpint(fd, >=, 0);
    close(listener);
    return fd;
}

static void test_send(void)
{
    Memory m = { };
    Fx *fx = new_with_memory(&m);
    int peer = connected(fx, 0);
    uint8_t got[BUFFER_LEN];
    FxReply r;

    g_assert_cmpint(map(fx, 7, false), ==, 0);
    for (unsigned i = 0; i < BUFFER_LEN; i++) {
        buffer[i] = i * 7;
    }
    r = message(fx, VMRPC_SENDMSG, 0, 7, 0, BUFFER_LEN);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, BUFFER_LEN);
    peer_read(peer, got, BUFFER_LEN);
    g_assert_cmpmem(got, BUFFER_LEN, buffer, BUFFER_LEN);
    /* a part, over the edge of two vectors */
    fx_ok(message(fx, VMRPC_SENDMSG, 0, 7, 4090, 100));
    peer_read(peer, got, 100);
    g_assert_cmpmem(got, 100, buffer + 4090, 100);
    g_assert_cmpuint(m.written, ==, 0);
    close(peer);
    free_all_released(fx, &m);
}

static void test_receive(void)
{
    Memory m = { };
    Fx *fx = new_with_memory(&m);
    int peer = connected(fx, 0);
    FxReply r;

    g_assert_cmpint(map(fx, 0, true), ==, 0);
    g_assert_cmpint(send(peer, "0123456789", 10, 0), ==, 10);
    fx_wait(fx, 0, VMRPC_IN);
    r = message(fx, VMRPC_RECVMSG, 0, 0, 4092, BUFFER_LEN - 4092);
    fx_ok(r);
    g_assert_cmpuint(r.value, ==, 10);
    /* nothing of it is in the chain */
    g_assert_cmpint(r.ret, ==, sizeof(struct vmrpc_resp));
    g_assert_cmpmem(buffer + 4092, 10, "0123456789", 10);
    g_assert_cmpuint(buffer[4091] | buffer[4102], ==, 0);
    /* and whoever watches memory knows which */
    g_assert_cmpuint(m.written, ==, 10);
    g_assert_true(m.first == buffer + 4092);
    close(peer);
    free_all_released(fx, &m);
}

/* What is not there, too long, or not to be written. */
static void test_refused(void)
{
    Memory m = { };
    Fx *fx = new_with_memory(&m);
    int peer = connected(fx, 0);

    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, 0, 1), ESTALE);
    g_assert_cmpint(map(fx, 1, false), ==, 0);
    g_assert_cmpint(map(fx, 1, false), ==, EEXIST);
    g_assert_cmpint(map(fx, VMRPC_BUFFERS_MAX, false), ==, EINVAL);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, 0, BUFFER_LEN + 1), ESTALE);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, BUFFER_LEN, 1), ESTALE);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, UINT32_MAX, 2), ESTALE);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, UINT32_MAX, 0, 1), ESTALE);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, 0, UINT32_MAX), EINVAL);
    g_assert_cmpint(send(peer, "x", 1, 0), ==, 1);
    fx_wait(fx, 0, VMRPC_IN);
    fx_fails(message(fx, VMRPC_RECVMSG, 0, 1, 0, 1), ESTALE);
    fx_fails(message(fx, VMRPC_NOOP, 0, 1, 0, 1), EINVAL);
    g_assert_cmpint(unmap(fx, 2), ==, ESTALE);
    g_assert_cmpint(unmap(fx, 1), ==, 0);
    g_assert_cmpint(unmap(fx, 1), ==, ESTALE);
    fx_fails(message(fx, VMRPC_SENDMSG, 0, 1, 0, 1), ESTALE);
    g_assert_cmpuint(m.written, ==, 0);
    close(peer);
    free_all_released(fx, &m);
}

/* Behind an IOMMU, of which the guest may also begin to make use. */
static void test_memory_that_cannot_be_held(void)
{
    Memory m = { };
    Fx *fx = new_with_memory(&m);

    g_assert_cmpint(map(fx, 1, true), ==, 0);
    vmrpc_server_set_memory(fx->srv, NULL);
    g_assert_cmpuint(m.released, ==, m.held);
    g_assert_cmpint(unmap(fx, 1), ==, ESTALE);
    g_assert_cmpint(map(fx, 0, true), ==, EOPNOTSUPP);
    free_all_released(fx, &m);
}

static void test_reset(void)
{
    Memory m = { };
    Fx *fx = new_with_memory(&m);

    for (uint32_t id = 0; id < VMRPC_BUFFERS_MAX; id++) {
        g_assert_cmpint(map(fx, id, id & 1), ==, 0);
    }
    vmrpc_server_reset(fx->srv);
    g_assert_cmpuint(m.held, ==, 3 * VMRPC_BUFFERS_MAX);
    g_assert_cmpuint(m.released, ==, m.held);
    g_assert_cmpint(unmap(fx, 0), ==, ESTALE);
    g_assert_cmpint(map(fx, 0, true), ==, 0);
    free_all_released(fx, &m);
}

/* Who uses a buffer keeps it, whatever the guest does meanwhile. */
static void test_removed_in_use(void)
{
    Memory m = { };
    VmrpcMemoryOps ops = { hold, release, written, &m };
    VmrpcMapped *mapped = vmrpc_mapped_new(4, &ops);
    struct iovec iov = { buffer, BUFFER_LEN };
    VmrpcMappedBuffer *one, *two;

    g_assert_cmpint(vmrpc_mapped_add(mapped, 3, &iov, 1, true), ==, 0);
    one = vmrpc_mapped_use(mapped, 3, 0, BUFFER_LEN, true);
    two = vmrpc_mapped_use(mapped, 3, 1, 1, false);
    g_assert_true(one && one == two);
    g_assert_cmpint(vmrpc_mapped_remove(mapped, 3), ==, 0);
    g_assert_null(vmrpc_mapped_use(mapped, 3, 0, 1, false));
    g_assert_cmpint(vmrpc_mapped_add(mapped, 3, &iov, 1, true), ==, 0);
    g_assert_cmpuint(m.released, ==, 0);
    vmrpc_mapped_unuse(mapped, one);
    g_assert_cmpuint(m.released, ==, 0);
    vmrpc_mapped_unuse(mapped, two);
    g_assert_cmpuint(m.released, ==, 1);
    one = vmrpc_mapped_use(mapped, 3, 0, 1, true);
    g_assert_nonnull(one);
    vmrpc_mapped_unuse(mapped, one);
    vmrpc_mapped_free(mapped);
    g_assert_cmpuint(m.released, ==, m.held);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fx_init();
    g_test_add_func("/mapped/send", test_send);
    g_test_add_func("/mapped/receive", test_receive);
    g_test_add_func("/mapped/refused", test_refused);
    g_test_add_func("/mapped/cannot-be-held", test_memory_that_cannot_be_held);
    g_test_add_func("/mapped/reset", test_reset);
    g_test_add_func("/mapped/removed-in-use", test_removed_in_use);
    return g_test_run();
}
