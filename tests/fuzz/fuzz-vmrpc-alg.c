/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both sides of a gateway are hostile
 *
 * Input: four octets, then a conversation.
 *
 *   protocol    bit 0: SIP, else FTP; bit 1: the guest is the server
 *   cut, room, buffer   the AlgHow of one of the runs; bit 7 of buffer: peek
 *
 *   TURN        in the conversation: the other side speaks
 *   MANY        a thousand more of the octet before
 *
 * What is delivered must not depend on how it is cut, must be what came if
 * nothing was rewritten, and the fixture checks the bounds.  Each turn is a
 * datagram too.
 */
#include <string.h>

#include "tests/fixtures/alg-fixture.h"

#define TURN            0x1e
#define MANY            0x1d
#define MANY_TIMES      1000
#define TEXT_MAX        20000   /* more than the gateway ever holds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The messages of both sides by turns, the guest first. */
static GPtrArray *parse_turns(const uint8_t *data, size_t size)
{
    GPtrArray *turns = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_byte_array_unref);
    GByteArray *turn = g_byte_array_new();
    size_t total = 0;

    g_ptr_array_add(turns, turn);
    for (size_t i = 0; i < size && total < TEXT_MAX; i++) {
        if (data[i] == TURN) {
            turn = g_byte_array_new();
            g_ptr_array_add(turns, turn);
        } else if (data[i] == MANY) {
            size_t n = MIN(MANY_TIMES, TEXT_MAX - total);
            guint len = turn->len;

            if (len > 0) {
                g_byte_array_set_size(turn, len + n);
                memset(turn->data + len, turn->data[len - 1], n);
                total += n;
            }
        } else {
            g_byte_array_append(turn, data + i, 1);
            total++;
        }
    }
    return turns;
}

static AlgFx *run(const uint8_t *data, const GPtrArray *turns, AlgHow how)
{
    AlgFx *fx = alg_fx_new(data[0] & 1 ? VMRPC_ALG_SIP : VMRPC_ALG_FTP,
                           data[0] & 2, &how);

    for (guint i = 0; i < turns->len; i++) {
        const GByteArray *turn = turns->pdata[i];

        if (i % 2 == 0) {
            alg_fx_send(fx, (char *)turn->data, turn->len);
        } else {
            alg_fx_recv(fx, (char *)turn->data, turn->len);
        }
    }
    alg_fx_end(fx);
    return fx;
}

static void check_same(const AlgFx *a, const AlgFx *b)
{
    g_assert_cmpmem(a->sent->str, a->sent->len, b->sent->str, b->sent->len);
    g_assert_cmpmem(a->received->str, a->received->len,
                    b->received->str, b->received->len);
    g_assert_cmpmem(&a->counters, sizeof(a->counters),
                    &b->counters, sizeof(b->counters));
}

/* If nothing was rewritten, output equals input. */
static void check_passed(const AlgFx *fx, const GPtrArray *turns)
{
    const char *out[] = { fx->sent->str, fx->received->str };
    size_t left[] = { fx->sent->len, fx->received->len };

    if (fx->counters.alg_rewritten || fx->counters.alg_refused) {
        return;
    }
    for (guint i = 0; i < turns->len; i++) {
        const GByteArray *turn = turns->pdata[i];

        g_assert_cmpuint(turn->len, <=, left[i % 2]);
        g_assert_cmpmem(turn->data, turn->len, out[i % 2], turn->len);
        out[i % 2] += turn->len;
        left[i % 2] -= turn->len;
    }
    g_assert_cmpuint(left[0] + left[1], ==, 0);
}

/* Each turn as a datagram: a second rewrite changes nothing. */
static void check_datagrams(AlgFx *fx, const GPtrArray *turns)
{
    for (guint i = 0; i < turns->len; i++) {
        const GByteArray *turn = turns->pdata[i];
        VmrpcAlgDir dir = i % 2;
        GByteArray *out, *again;

        out = vmrpc_alg_datagram(&fx->ops, dir, turn->data, turn->len);
        if (out) {
            g_assert_cmpuint(out->len, <=, 65507);
            again = vmrpc_alg_datagram(&fx->ops, dir, out->data, out->len);
            g_assert_null(again);
            g_byte_array_unref(out);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER = 4 };
    g_autoptr(GPtrArray) turns = NULL;
    AlgFx *whole, *bytes, *odd, *wild;
    AlgHow how;

    if (size < HEADER) {
        return 0;
    }
    how = (AlgHow) {
        .cut = data[1],
        .room = data[2],
        .buffer = data[3] & 0x7f,
        .peek = data[3] & 0x80,
    };
    turns = parse_turns(data + HEADER, size - HEADER);
    whole = run(data, turns, (AlgHow) { .cut = 0 });
    bytes = run(data, turns, (AlgHow) { .cut = 1 });
    odd = run(data, turns, how);
    how.scribble = true;
    wild = run(data, turns, how);
    check_same(whole, bytes);
    check_same(whole, odd);
    check_passed(whole, turns);
    check_datagrams(wild, turns);
    alg_fx_free(whole);
    alg_fx_free(bytes);
    alg_fx_free(odd);
    alg_fx_free(wild);
    return 0;
}
