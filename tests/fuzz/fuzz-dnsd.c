/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Input for vmmnet-dnsd from strangers and operators
 *
 * The first octet chooses what the rest is: pieces of a TCP stream, a datagram,
 * a configuration, a file of secrets, an HTTP request, or a message of another
 * server.
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "dnsd/server/core/stream.h"
#include "dnsd/server/serve/serve.h"
#include "dnsd/server/service/exporter.h"
#include "tests/fixtures/zone-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ZoneLine lines[] = {
    { "example", DNS_TYPE_NS, "ns.example" },
    { "example", DNS_TYPE_SOA, "1" },
    { "ns.example", DNS_TYPE_A, "192.0.2.53" },
    { "www.example", DNS_TYPE_A, "192.0.2.80" },
};

static const char config_text[] =
    "server: {nsid: here, identity: me, version: one}\n"
    "rate-limit: {responses-per-second: 5, slip: 1, table-size: 1024}\n";

static DnsdServing serving;
static DnsdThreadState thread;
static DnsdErrors errors;

static void begin(void)
{
    static const uint64_t key[2] = { 1, 2 };
    static const uint8_t secret[DNSD_SECRET_LEN];
    DnsServedZone zone = { .origin = zone_name("example"), .rrclass = 1 };
    ZoneMade made = zone_make("example", lines, G_N_ELEMENTS(lines));

    zone.view = (ZoneView) { .layers = 1, .layer = { zone_open(&made) } };
    serving.config = dnsd_config_read("f", config_text, strlen(config_text),
                                      &errors);
    dnsd_secrets_from(&serving.secrets, secret);
    serving.udp = (DnsAnswerer) { dns_zone_table_new(key, &zone, 1), 0, 1232 };
    serving.tcp = serving.udp;
    serving.tcp.flags = DNS_ANSWER_STREAM;
    thread.limit = dnsd_limit_new(&serving.config->limit, key);
}

/* A reply is a message whose sections can be read, with the query's id. */
static void check_reply(const uint8_t *msg, const uint8_t *reply, size_t len,
                        size_t room)
{
    DnsCursor cursor;
    DnsRr rr;
    int ret;

    g_assert_cmpuint(len, >=, DNS_HEADER_LEN);
    g_assert_cmpuint(len, <=, room);
    g_assert_cmpmem(msg, 2, reply, 2);
    g_assert_cmpint(dns_cursor_init(&cursor, reply, len), ==, 0);
    while ((ret = dns_cursor_rr(&cursor, &rr)) == 1) {
        ;
    }
    g_assert_cmpint(ret, ==, 0);
    g_assert_cmpuint(cursor.offset, ==, len);
}

static void serve_one(const uint8_t *msg, size_t msg_len, bool is_stream,
                      uint8_t *out, size_t *len)
{
    size_t room = is_stream ? DNS_MSG_MAX : DNSD_UDP_MAX;
    DnsdClient client = { .is_stream = is_stream, .now = 1, .now_ms = 1 };
    DnsQuery query;

    *len = 0;
    dns_query_read(msg, msg_len, &query);
    switch (dnsd_serve(&serving, &thread, &client, &query, out, room, len)) {
    case DNSD_CONTROL:
    case DNSD_TRANSFER:
        *len = dnsd_serve_error(&serving, &client, &query, DNS_RCODE_REFUSED,
                                out, room);
        break;
    case DNSD_DROP:
        *len = 0;
        break;
    default:
        break;
    }
    if (*len) {
        check_reply(msg, out, *len, room);
    }
}

/* The second octet of the input is the length of the pieces. */
static void play_stream(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *in = g_malloc(DNSD_STREAM_IN);
    g_autofree uint8_t *out = g_malloc(DNSD_STREAM_OUT);
    size_t piece = size ? 1 + data[0] : 1, at = 1;
    const uint8_t *msg, *from;
    DnsdStream s;
    int ret = 0;

    dnsd_stream_init(&s, in, out);
    while (at < size && ret >= 0) {
        uint8_t *to;
        size_t room = dnsd_stream_room(&s, &to), len, pending;

        len = MIN(MIN(piece, size - at), room);
        memcpy(to, data + at, len);
        dnsd_stream_filled(&s, len);
        at += len;
        while ((ret = dnsd_stream_next(&s, &msg, &len)) == 1) {
            size_t reply_len;

            serve_one(msg, len, true, dnsd_stream_reply(&s), &reply_len);
            if (reply_len) {
                dnsd_stream_put(&s, reply_len);
            }
        }
        pending = dnsd_stream_pending(&s, &from);
        if (pending) {
            dnsd_stream_sent(&s, MIN(pending, 1 + piece * 7));
        }
        if (!room) {
            dnsd_stream_sent(&s, dnsd_stream_pending(&s, &from));
        }
    }
}

/* As the answer to its own question */
static void resolve(const uint8_t *msg, size_t len, bool dnssec_ok)
{
    static uint8_t query[DNS_QUERY_MAX], reply[DNS_MSG_MAX];
    DnsQuestion question;
    DnsdResolved *found;
    DnsAnswerInfo info;
    DnsCursor cursor;
    DnsQuery q;

    if (dns_cursor_init(&cursor, msg, len) ||
        dns_cursor_question(&cursor, &question) != 1) {
        return;
    }
    dns_query_read(query, dns_query_build(query, &question, DNS_FLAG_RD,
                                          dnssec_ok), &q);
    found = dnsd_resolved_new(&question, msg, len, dnssec_ok);
    if (found) {
        len = dnsd_resolved_reply(found, 0, false, &serving.udp, &q, reply,
                                  sizeof(reply), &info);
        check_reply(query, reply, len, serving.udp.udp_size);
        len = dnsd_resolved_reply(found, 0, false, &serving.tcp, &q, reply,
                                  sizeof(reply), &info);
        check_reply(query, reply, len, sizeof(reply));
        /*
         * A name that points into a TTL changes with age; libunbound makes
         * none.
         */
        dnsd_resolved_reply(found, 7, false, &serving.tcp, &q, reply,
                            sizeof(reply), &info);
    }
    free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t reply[DNSD_UDP_MAX];
    DnsdSecrets secrets;
    size_t len;

    if (!serving.config) {
        begin();
    }
    if (!size) {
        return 0;
    }
    switch (data[0] % 7) {
    case 0:
        play_stream(data + 1, size - 1);
        break;
    case 1:
        serve_one(data + 1, size - 1, false, reply, &len);
        break;
    case 2:
        dnsd_config_free(dnsd_config_read("f", (const char *)data + 1,
                                          size - 1, &errors));
        break;
    case 3:
        dnsd_secrets_read(&secrets, (const char *)data + 1, size - 1);
        break;
    case 4:
        dnsd_http_parse((const char *)data + 1, size - 1);
        break;
    default:
        resolve(data + 1, size - 1, data[0] % 2);
        break;
    }
    return 0;
}
