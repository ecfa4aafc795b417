/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hw/vmrpc/alg/alg-sip-edit.h"
#include "tests/unit/alg-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define GUEST_BUFFER    65536
#define VECTORS_MAX     64

/* Bytes that the guest sends at a time if the host takes only few. */
#define SEND_MAX        100

/*
 * Bounds that hold at any time: the bytes held, and their length if all
 * addresses in them grow to the maximum.
 */
#define HELD_MAX        VMRPC_ALG_SIP_MAX
#define OUT_MAX         (HELD_MAX + \
                         VMRPC_ALG_ADDRESSES_MAX * VMRPC_SIP_TEXT_MAX)

static const struct {
    const char *addr4, *addr6;
} map[] = {
    { FX_OWN4, FX_OWN6 },
    { FX_PEER4, FX_PEER6 },
    { FX_OTHER4, FX_OTHER6 },
};

static bool map_to6(void *opaque, struct in_addr addr4, struct in6_addr *addr6)
{
    AlgFx *fx = opaque;

    fx->lookups++;
    for (size_t i = 0; i < G_N_ELEMENTS(map); i++) {
        if (inet_addr(map[i].addr4) == addr4.s_addr) {
            return inet_pton(AF_INET6, map[i].addr6, addr6) == 1;
        }
    }
    return false;
}

static bool map_to4(void *opaque, const struct in6_addr *addr6,
                    struct in_addr *addr4)
{
    AlgFx *fx = opaque;

    fx->lookups++;
    for (size_t i = 0; i < G_N_ELEMENTS(map); i++) {
        struct in6_addr known;

        inet_pton(AF_INET6, map[i].addr6, &known);
        if (IN6_ARE_ADDR_EQUAL(&known, addr6)) {
            return inet_pton(AF_INET, map[i].addr4, addr4) == 1;
        }
    }
    return false;
}

AlgFx *alg_fx_new(VmrpcAlgProto proto, bool guest_is_server,
                  const AlgHow *how)
{
    AlgFx *fx = g_new0(AlgFx, 1);
    VmrpcAlgConfig config = {
        .proto = proto,
        .guest_is_server = guest_is_server,
        .own4.s_addr = inet_addr(FX_OWN4),
        .peer4.s_addr = inet_addr(FX_PEER4),
    };

    fx->ops = (VmrpcAlgOps) {
        .to6 = map_to6,
        .to4 = map_to4,
        .opaque = fx,
        .counters = &fx->counters,
    };
    fx->how = *how;
    fx->sent = g_string_new(NULL);
    fx->received = g_string_new(NULL);
    fx->queue = g_string_new(NULL);
    fx->alg = vmrpc_alg_new(&config, &fx->ops);
    return fx;
}

void alg_fx_free(AlgFx *fx)
{
    vmrpc_alg_free(fx->alg);
    g_string_free(fx->sent, TRUE);
    g_string_free(fx->received, TRUE);
    g_string_free(fx->queue, TRUE);
    g_free(fx);
}

static void check_bounds(const AlgFx *fx)
{
    for (int dir = 0; dir < VMRPC_ALG_DIRS; dir++) {
        const VmrpcAlgFlow *flow = &fx->alg->flow[dir];

        g_assert_true(!flow->held || flow->held->len <= HELD_MAX);
        g_assert_true(!flow->out || flow->out->len <= OUT_MAX);
        g_assert_true(!flow->out || flow->out_done < flow->out->len);
    }
}

/* --- the host socket ------------------------------------------------------ */

static ssize_t host_send(void *opaque, const void *data, size_t len)
{
    AlgFx *fx = opaque;
    size_t n = MIN(len, fx->room);

    g_assert_cmpuint(len, >, 0);
    if (n == 0) {
        return -EAGAIN;
    }
    g_string_append_len(fx->sent, data, n);
    fx->room -= n;
    if (fx->how.scribble && fx->guest) {
        memset(fx->guest->str, fx->sent->len % 2 ? '\n' : 'P',
               fx->guest->len);
    }
    return n;
}

static ssize_t host_recv(void *opaque, const struct iovec *iov, unsigned num,
                         bool peek)
{
    AlgFx *fx = opaque;
    size_t done = 0;

    for (unsigned i = 0; i < num; i++) {
        size_t n = MIN(fx->queue->len - fx->queue_pos - done,
                       iov[i].iov_len);

        /*
         * Bytes that are not only peeked at are copied once, to their final
         * place.
         */
        g_assert_true(peek || ((char *)iov[i].iov_base >= fx->buffer &&
                               (char *)iov[i].iov_base + n <=
                               fx->buffer + fx->buffer_len));
        memcpy(iov[i].iov_base, fx->queue->str + fx->queue_pos + done, n);
        done += n;
    }
    if (done == 0) {
        return fx->eof ? 0 : -EAGAIN;
    }
    if (!peek) {
        fx->queue_pos += done;
        fx->in_place += done;
    }
    return done;
}

static ssize_t host_drop(void *opaque, size_t len)
{
    AlgFx *fx = opaque;
    size_t n = MIN(len, fx->queue->len - fx->queue_pos);

    g_assert_cmpuint(n, >, 0);
    fx->queue_pos += n;
    return n;
}

static VmrpcAlgIo host_io(AlgFx *fx)
{
    return (VmrpcAlgIo) {
        .send = host_send,
        .recv = host_recv,
        .drop = host_drop,
        .opaque = fx,
    };
}

/* Cuts a buffer into vectors; bytes beyond the last one are omitted. */
static unsigned make_vectors(const AlgFx *fx, char *data, size_t len,
                             struct iovec iov[VECTORS_MAX])
{
    size_t size = fx->how.vectors ? fx->how.vectors : len;
    unsigned num = 0;

    while (num < VECTORS_MAX && len > 0) {
        iov[num].iov_base = data;
        iov[num].iov_len = MIN(len, size);
        data += iov[num].iov_len;
        len -= iov[num].iov_len;
        num++;
    }
    return num;
}

/* --- the guest ------------------------------------------------------------ */

static void send_piece(AlgFx *fx, const char *data, size_t len)
{
    VmrpcAlgIo io = host_io(fx);

    while (len > 0) {
        size_t size = fx->how.room ? MIN(len, SEND_MAX) : len;
        g_autoptr(GString) memory = g_string_new_len(data, size);
        struct iovec iov[VECTORS_MAX];
        unsigned num = make_vectors(fx, memory->str, size, iov);
        ssize_t n;

        fx->room = fx->how.room ? fx->how.room : SIZE_MAX;
        fx->guest = memory;
        n = vmrpc_alg_send(fx->alg, iov, num, &io);
        fx->guest = NULL;
        check_bounds(fx);
        if (n < 0) {
            /* The host took something, so there is progress. */
            g_assert_cmpint(n, ==, -EAGAIN);
            g_assert_cmpuint(fx->room, ==, 0);
            continue;
        }
        g_assert_cmpint(n, >, 0);
        g_assert_cmpint(n, <=, len);
        data += n;
        len -= n;
    }
    /* The gateway holds no bytes that the guest takes for sent. */
    g_assert_true(!fx->alg->flow[VMRPC_ALG_TO_HOST].out);
}

static ssize_t receive_once(AlgFx *fx, char *buffer, bool peek)
{
    size_t size = fx->how.buffer ? fx->how.buffer : GUEST_BUFFER;
    struct iovec iov[VECTORS_MAX];
    unsigned num = make_vectors(fx, buffer, size, iov);
    VmrpcAlgIo io = host_io(fx);
    ssize_t n;

    fx->buffer = buffer;
    fx->buffer_len = size;
    n = vmrpc_alg_recv(fx->alg, iov, num, peek, &io);
    check_bounds(fx);
    return n;
}

/* Returns: does a poll of the host socket report "readable"? */
static bool readable(const AlgFx *fx)
{
    return fx->queue_pos < fx->queue->len || fx->eof;
}

ssize_t alg_fx_recv_once(AlgFx *fx)
{
    static char buffer[GUEST_BUFFER], peeked[GUEST_BUFFER];
    ssize_t seen = fx->how.peek ? receive_once(fx, peeked, true) : -EAGAIN;
    ssize_t n = receive_once(fx, buffer, false);

    if (seen > 0) {
        g_assert_cmpint(n, >=, seen);
        g_assert_cmpmem(buffer, seen, peeked, seen);
    } else if (seen == 0) {
        g_assert_cmpint(n, ==, 0);
    }
    if (n > 0) {
        g_string_append_len(fx->received, buffer, n);
    }
    return n;
}

/* The host has reported data: the guest receives until EAGAIN. */
static void receive_all(AlgFx *fx)
{
    size_t before;
    ssize_t n;

    do {
        before = fx->queue_pos;
        n = alg_fx_recv_once(fx);
        g_assert_true(vmrpc_alg_unread(fx->alg) == 0 || readable(fx));
    } while (n > 0 || fx->queue_pos > before);
    g_assert_cmpint(n, ==, fx->eof ? 0 : -EAGAIN);
    g_assert_cmpuint(vmrpc_alg_unread(fx->alg), ==, 0);
    g_assert_cmpuint(fx->queue_pos, ==, fx->queue->len);
}

void alg_fx_send(AlgFx *fx, const char *data, size_t len)
{
    size_t cut = fx->how.cut ? fx->how.cut : len;

    for (size_t i = 0; i < len; i += cut) {
        send_piece(fx, data + i, MIN(cut, len - i));
    }
}

void alg_fx_recv(AlgFx *fx, const char *data, size_t len)
{
    size_t cut = fx->how.cut ? fx->how.cut : len;

    for (size_t i = 0; i < len; i += cut) {
        g_string_append_len(fx->queue, data + i, MIN(cut, len - i));
        receive_all(fx);
    }
}

void alg_fx_end(AlgFx *fx)
{
    VmrpcAlgIo io = host_io(fx);

    fx->room = SIZE_MAX;
    vmrpc_alg_finish(fx->alg, &io);
    fx->eof = true;
    receive_all(fx);
}

/* --- sessions ------------------------------------------------------------- */

static void check_seen(const AlgSession *session, size_t step,
                       const AlgHow *how, const GString *got,
                       const char *expected)
{
    if (strcmp(got->str, expected) != 0 || strlen(expected) != got->len) {
        g_autofree char *text = g_strescape(got->str, NULL);
        g_autofree char *should = g_strescape(expected, NULL);

        g_error("%s, step %zu (cut %zu room %zu buffer %zu vectors %zu"
                " peek %d): seen \"%s\", not \"%s\"", session->name, step,
                how->cut, how->room, how->buffer, how->vectors, how->peek,
                text, should);
    }
}

/* The first @split bytes of the session's text arrive apart from the rest. */
static void run_once(VmrpcAlgProto proto, const AlgSession *session,
                     const AlgHow *how, size_t split)
{
    AlgFx *fx = alg_fx_new(proto, session->guest_is_server, how);

    for (size_t i = 0; session->steps[i].way; i++) {
        const AlgStep *step = &session->steps[i];
        size_t len = step->text ? strlen(step->text) : 0;
        size_t first = MIN(split, len);

        g_string_truncate(fx->sent, 0);
        g_string_truncate(fx->received, 0);
        split -= first;
        switch (step->way) {
        case '>':
            alg_fx_send(fx, step->text, first);
            alg_fx_send(fx, step->text + first, len - first);
            check_seen(session, i, how, fx->sent,
                       step->seen ? step->seen : step->text);
            break;
        case '<':
            alg_fx_recv(fx, step->text, first);
            alg_fx_recv(fx, step->text + first, len - first);
            check_seen(session, i, how, fx->received,
                       step->seen ? step->seen : step->text);
            break;
        default:
            /* Both directions in one session. */
            alg_fx_end(fx);
            g_string_append(fx->sent, fx->received->str);
            check_seen(session, i, how, fx->sent, step->seen);
        }
    }
    g_assert_cmpint(vmrpc_alg_done(fx->alg), ==, session->done);
    g_assert_cmpmem(&fx->counters, sizeof(fx->counters), &session->counters,
                    sizeof(session->counters));
    alg_fx_free(fx);
}

void alg_fx_run(VmrpcAlgProto proto, const AlgSession *session)
{
    static const AlgHow hows[] = {
        { .cut = 1 },
        { .cut = 2 },
        { .cut = 3 },
        { .cut = 7 },
        { .room = 1 },
        { .room = 2 },
        { .room = 5 },
        { .room = 1, .cut = 1 },
        { .room = 3, .cut = 4 },
        { .buffer = 1 },
        { .buffer = 2 },
        { .buffer = 13 },
        { .buffer = 1, .cut = 1 },
        { .buffer = 11, .cut = 5 },
        { .vectors = 1, .buffer = 5 },
        { .vectors = 3 },
        { .peek = true },
        { .peek = true, .cut = 1 },
        { .peek = true, .buffer = 3 },
        { .peek = true, .buffer = 1, .cut = 3 },
    };
    static const AlgHow plain = { .cut = 0 };
    size_t len = 0;

    for (size_t i = 0; session->steps[i].way; i++) {
        len += session->steps[i].text ? strlen(session->steps[i].text) : 0;
    }
    for (size_t split = 0; split <= len; split++) {
        run_once(proto, session, &plain, split);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(hows); i++) {
        run_once(proto, session, &hows[i], 0);
    }
}
