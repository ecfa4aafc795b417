/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages on a stream, in any pieces, and with slow readers */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/core/stream.h"
#include "dnsd/server/service/exporter.h"

typedef struct Fixture {
    DnsdStream s;
    uint8_t *in, *out;
} Fixture;

static Fixture begin(void)
{
    Fixture f = {
        .in = g_malloc(DNSD_STREAM_IN), .out = g_malloc(DNSD_STREAM_OUT),
    };

    dnsd_stream_init(&f.s, f.in, f.out);
    return f;
}

static void end(Fixture *f)
{
    g_free(f->in);
    g_free(f->out);
}

/* Returns how many octets there was room for. */
static size_t give(DnsdStream *s, const uint8_t *octets, size_t len)
{
    uint8_t *to;
    size_t room = dnsd_stream_room(s, &to);

    len = MIN(len, room);
    memcpy(to, octets, len);
    dnsd_stream_filled(s, len);
    return len;
}

static GByteArray *messages(unsigned count, size_t len)
{
    GByteArray *all = g_byte_array_new();

    for (unsigned i = 0; i < count; i++) {
        const uint8_t prefix[2] = { len >> 8, len };
        g_autofree uint8_t *msg = g_malloc(len);

        memset(msg, i, len);
        g_byte_array_append(all, prefix, 2);
        g_byte_array_append(all, msg, len);
    }
    return all;
}

/* Each message is returned once and in order, with pieces of any size. */
static void check_pieces(size_t piece, size_t len, unsigned count)
{
    g_autoptr(GByteArray) all = messages(count, len);
    Fixture f = begin();
    unsigned seen = 0;

    for (size_t at = 0; at < all->len;) {
        const uint8_t *msg;
        size_t got;

        at += give(&f.s, all->data + at, MIN(piece, all->len - at));
        while (dnsd_stream_next(&f.s, &msg, &got) == 1) {
            g_assert_cmpuint(got, ==, len);
            g_assert_cmpuint(msg[0], ==, seen & 0xff);
            g_assert_cmpuint(msg[len - 1], ==, seen & 0xff);
            seen++;
        }
    }
    g_assert_cmpuint(seen, ==, count);
    end(&f);
}

static void test_pieces(void)
{
    check_pieces(1, 12, 40);
    check_pieces(3, 100, 40);
    check_pieces(1000, 17, 5000);
    check_pieces(40000, 65535, 5);
    check_pieces(65537, 30000, 20);
}

static void test_short(void)
{
    for (unsigned len = 0; len < DNS_HEADER_LEN; len++) {
        const uint8_t octets[] = { 0, len };
        Fixture f = begin();
        const uint8_t *msg;
        size_t got;

        give(&f.s, octets, 1);
        g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &got), ==, 0);
        give(&f.s, octets + 1, 1);
        g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &got), ==, -EBADMSG);
        end(&f);
    }
}

/* Replies of maximal length: one waits, then no more input is taken. */
static void test_slow_reader(void)
{
    g_autoptr(GByteArray) all = messages(3, 20);
    Fixture f = begin();
    const uint8_t *msg, *from;
    size_t len;

    give(&f.s, all->data, all->len);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &len), ==, 1);
        memset(dnsd_stream_reply(&f.s), 'a' + i, DNS_MSG_MAX);
        dnsd_stream_put(&f.s, DNS_MSG_MAX);
    }
    g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &len), ==, 0);
    len = dnsd_stream_pending(&f.s, &from);
    g_assert_cmpuint(len, ==, 2 * (DNS_MSG_MAX + 2));
    g_assert_cmpuint(from[0] << 8 | from[1], ==, DNS_MSG_MAX);
    g_assert_cmpint(from[2], ==, 'a');
    dnsd_stream_sent(&f.s, DNS_MSG_MAX + 3);
    dnsd_stream_pending(&f.s, &from);
    g_assert_cmpint(from[1], ==, 'b');
    g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &len), ==, 0);
    dnsd_stream_sent(&f.s, DNS_MSG_MAX + 1);
    g_assert_cmpuint(dnsd_stream_pending(&f.s, &from), ==, 0);
    g_assert_cmpint(dnsd_stream_next(&f.s, &msg, &len), ==, 1);
    end(&f);
}

/* A buffer full of pending messages takes no more. */
static void test_full(void)
{
    g_autoptr(GByteArray) all = messages(1, DNS_MSG_MAX);
    Fixture f = begin();
    uint8_t *to;

    g_assert_cmpuint(give(&f.s, all->data, all->len), ==, all->len);
    g_assert_cmpuint(dnsd_stream_room(&f.s, &to), ==, 0);
    end(&f);
}

static void test_http(void)
{
    static const struct {
        const char *text;
        DnsdHttp what;
    } requests[] = {
        { "", DNSD_HTTP_MORE },
        { "GET /metrics HTTP/1.1\r\nHost: x\r\n", DNSD_HTTP_MORE },
        { "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", DNSD_HTTP_METRICS },
        { "GET /metrics HTTP/1.0\n\n", DNSD_HTTP_METRICS },
        { "POST /reload HTTP/1.1\r\n\r\n", DNSD_HTTP_UNKNOWN },
        { "POST /metrics HTTP/1.1\r\n\r\n", DNSD_HTTP_METHOD },
        { "GETx /metrics HTTP/1.1\r\n\r\n", DNSD_HTTP_METHOD },
        { "GET /metricsx HTTP/1.1\r\n\r\n", DNSD_HTTP_UNKNOWN },
        { "GET / HTTP/1.1\r\n\r\n", DNSD_HTTP_UNKNOWN },
        { "\r\n\r\n", DNSD_HTTP_WRONG },
    };
    g_autofree char *longest = g_strnfill(DNSD_HTTP_MAX, 'x');

    for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        g_assert_cmpint(dnsd_http_parse(requests[i].text,
                                        strlen(requests[i].text)), ==,
                        requests[i].what);
    }
    g_assert_cmpint(dnsd_http_parse(longest, DNSD_HTTP_MAX), ==,
                    DNSD_HTTP_WRONG);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dnsd/stream/pieces", test_pieces);
    g_test_add_func("/dnsd/stream/short", test_short);
    g_test_add_func("/dnsd/stream/slow-reader", test_slow_reader);
    g_test_add_func("/dnsd/stream/full", test_full);
    g_test_add_func("/dnsd/http", test_http);
    return g_test_run();
}
