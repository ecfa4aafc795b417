/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TSIG: messages that dnspython signed, and messages that must be refused */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "tests/fixtures/dns-tsig-golden.h"
#include "dnsd/update/tsig/tsig.h"

#define NOW             1700000000
#define SECRET          "0123456789abcdef0123456789abcdef"

typedef struct Message {
    uint8_t octets[DNS_MSG_MAX];
    size_t len;
} Message;

static Message from_hex(const char *hex)
{
    Message m = { .len = strlen(hex) / 2 };

    for (size_t i = 0; i < m.len; i++) {
        m.octets[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                      g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return m;
}

static void assert_same(const Message *got, const char *hex)
{
    Message want = from_hex(hex);

    g_assert_cmpmem(got->octets, got->len, want.octets, want.len);
}

/*
 * Compares the MAC and the fields after it, as names may be compressed, or in
 * another case.
 */
static void assert_same_mac(const Message *got, const char *hex,
                            const TsigKey *key)
{
    Message want = from_hex(hex);
    size_t tail = key->mac_len + 6;

    g_assert_cmpmem(got->octets + got->len - tail, tail,
                    want.octets + want.len - tail, tail);
}

static TsigKeys *keys_with(const char *name, const char *algorithm,
                           unsigned mac_len)
{
    TsigKeys *keys = tsig_keys_new();
    TsigKey key = { .algorithm = tsig_algorithm_find(algorithm) };

    g_assert_cmpint(dns_name_from_text(&key.name, name), ==, 0);
    key.mac_len = mac_len ? mac_len : tsig_algorithm_len(key.algorithm);
    key.secret_len = strlen(SECRET);
    memcpy(key.secret, SECRET, key.secret_len);
    g_assert_cmpint(tsig_keys_add(keys, &key), ==, 0);
    return keys;
}

static const TsigKey *the_key(const TsigKeys *keys)
{
    DnsName name;

    g_assert_cmpint(dns_name_from_text(&name, "key.example"), ==, 0);
    return tsig_keys_find(keys, &name);
}

static TsigVerdict verify(Tsig *tsig, const TsigKeys *keys, Message *m,
                          uint64_t now)
{
    return tsig_verify_request(tsig, keys, m->octets, &m->len, now);
}

static TsigVerdict verify_reply(Tsig *tsig, Message *m, bool may_be_unsigned)
{
    return tsig_verify_reply(tsig, m->octets, &m->len, may_be_unsigned, NOW);
}

/* --- the server's side ---------------------------------------------------- */

static void test_server(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tsig_golden); i++) {
        const TsigGolden *g = &tsig_golden[i];
        TsigKeys *keys = keys_with("Key.Example", g->algorithm, 0);
        Message request = from_hex(g->signed_request);
        Message reply = from_hex(g->reply);
        Message middle = from_hex(g->reply);
        Tsig tsig;

        g_assert_cmpint(verify(&tsig, keys, &request, NOW), ==, TSIG_GOOD);
        assert_same(&request, g->request);
        g_assert_cmpint(tsig_sign_reply(&tsig, reply.octets, &reply.len,
                                        reply.len + tsig_room(&tsig), NOW),
                        ==, 0);
        assert_same_mac(&reply, g->signed_reply, the_key(keys));
        g_assert_cmpint(tsig_sign_reply(&tsig, middle.octets, &middle.len,
                                        DNS_MSG_MAX, NOW), ==, 0);

        /* The client accepts a stream that dnspython signed. */
        request = from_hex(g->request);
        g_assert_cmpint(tsig_sign_request(&tsig, the_key(keys), request.octets,
                                          &request.len, DNS_MSG_MAX, NOW),
                        ==, 0);
        g_assert_cmpint(verify_reply(&tsig, &reply, false), ==, TSIG_GOOD);
        assert_same(&reply, g->reply);
        g_assert_cmpint(verify_reply(&tsig, &middle, true), ==, TSIG_GOOD);
        tsig_free(&tsig);
        tsig_keys_free(keys);
    }
}

/* A forwarder changes the ID of a request, and that of its reply (5.5). */
static void test_forwarded(void)
{
    const TsigGolden *g = &tsig_golden[0];
    TsigKeys *keys = keys_with("Key.Example", g->algorithm, 0);
    Message request = from_hex(g->request), reply = from_hex(g->reply);
    uint16_t id = get_be16(request.octets), other = id ^ 0x1234;
    Tsig client, server;

    g_assert_cmpint(tsig_sign_request(&client, the_key(keys), request.octets,
                                      &request.len, DNS_MSG_MAX, NOW), ==, 0);
    put_be16(request.octets, other);
    g_assert_cmpint(verify(&server, keys, &request, NOW), ==, TSIG_GOOD);
    g_assert_cmphex(get_be16(request.octets), ==, other);
    put_be16(reply.octets, other);
    g_assert_cmpint(tsig_sign_reply(&server, reply.octets, &reply.len,
                                    DNS_MSG_MAX, NOW), ==, 0);
    g_assert_cmphex(get_be16(reply.octets), ==, other);
    put_be16(reply.octets, id);
    g_assert_cmpint(verify_reply(&client, &reply, false), ==, TSIG_GOOD);
    g_assert_cmphex(get_be16(reply.octets), ==, id);
    tsig_free(&client);
    tsig_free(&server);
    tsig_keys_free(keys);
}

/* --- the client's side ---------------------------------------------------- */

static void test_client(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tsig_golden); i++) {
        const TsigGolden *g = &tsig_golden[i];
        TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
        Message request = from_hex(g->request);
        Message reply = from_hex(g->signed_reply);
        Tsig tsig;

        g_assert_cmpint(tsig_sign_request(&tsig, the_key(keys), request.octets,
                                          &request.len, DNS_MSG_MAX, NOW),
                        ==, 0);
        assert_same_mac(&request, g->signed_request, the_key(keys));
        g_assert_cmpint(verify_reply(&tsig, &reply, false), ==, TSIG_GOOD);
        assert_same(&reply, g->reply);
        tsig_free(&tsig);
        tsig_keys_free(keys);
    }
}

static Tsig ask(const TsigKeys *keys, const TsigGolden *g)
{
    Message request = from_hex(g->request);
    Tsig tsig;

    g_assert_cmpint(tsig_sign_request(&tsig, the_key(keys), request.octets,
                                      &request.len, DNS_MSG_MAX, NOW), ==, 0);
    return tsig;
}

static void test_stream(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tsig_golden); i++) {
        const TsigGolden *g = &tsig_golden[i];
        TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
        Tsig tsig = ask(keys, g);
        Message m = from_hex(g->stream[0]);

        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_GOOD);
        m = from_hex(g->stream[1]);
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_NONE);
        m = from_hex(g->stream[2]);
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_GOOD);

        /* The unsigned message is covered by the next signature. */
        tsig_free(&tsig);
        tsig = ask(keys, g);
        m = from_hex(g->stream[0]);
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_GOOD);
        m = from_hex(g->stream[1]);
        m.octets[3] ^= 1;
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_NONE);
        m = from_hex(g->stream[2]);
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_REFUSED);
        tsig_free(&tsig);
        tsig_keys_free(keys);
    }
}

static void test_stream_unsigned_bounds(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    Tsig tsig = ask(keys, g);
    Message m = from_hex(g->stream[1]);

    /* The first one must be signed, and each hundredth. */
    g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_REFUSED);
    tsig_free(&tsig);
    tsig = ask(keys, g);
    m = from_hex(g->stream[0]);
    g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_GOOD);
    m = from_hex(g->stream[1]);
    for (unsigned i = 0; i < TSIG_UNSIGNED_MAX; i++) {
        g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_NONE);
    }
    g_assert_cmpint(verify_reply(&tsig, &m, true), ==, TSIG_REFUSED);
    tsig_free(&tsig);
    tsig_keys_free(keys);
}

/* --- what is refused ------------------------------------------------------ */

static void test_any_octet(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    size_t len = strlen(g->signed_request) / 2;
    Tsig tsig;

    /* A forwarder may change the ID: the record has the original. */
    for (size_t i = 2; i < len; i++) {
        Message m = from_hex(g->signed_request);

        m.octets[i] ^= 1;
        g_assert_cmpint(verify(&tsig, keys, &m, NOW), !=, TSIG_GOOD);
    }
    for (size_t short_by = 1; short_by < len; short_by++) {
        Message m = from_hex(g->signed_request);

        m.len -= short_by;
        g_assert_cmpint(verify(&tsig, keys, &m, NOW), ==, TSIG_MALFORMED);
    }
    tsig_keys_free(keys);
}

/* Returns: the client's verdict on the reply to a refused request */
static TsigVerdict refusal(const TsigKeys *keys, Message *request, uint64_t now,
                           Tsig *server, Tsig *client)
{
    Message reply = from_hex(tsig_golden[2].reply);

    g_assert_cmpint(verify(server, keys, request, now), ==, TSIG_REFUSED);
    g_assert_cmpint(tsig_sign_reply(server, reply.octets, &reply.len,
                                    DNS_MSG_MAX, now), ==, 0);
    return verify_reply(client, &reply, false);
}

static void test_refusals(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    TsigKeys *others = keys_with("other.example", g->algorithm, 0);
    TsigKeys *longer = keys_with("key.example", "hmac-sha512", 0);
    Message request = from_hex(g->signed_request);
    Tsig client = ask(keys, g), server;

    g_assert_cmpint(refusal(others, &request, NOW, &server, &client), ==,
                    TSIG_REFUSED);
    g_assert_cmpint(client.error, ==, TSIG_BADKEY);

    /* A key is not to be used with another algorithm. */
    request = from_hex(g->signed_request);
    client = ask(keys, g);
    g_assert_cmpint(refusal(longer, &request, NOW, &server, &client), ==,
                    TSIG_REFUSED);
    g_assert_cmpint(client.error, ==, TSIG_BADKEY);

    request = from_hex(g->signed_request);
    request.octets[2] ^= 1;
    client = ask(keys, g);
    g_assert_cmpint(refusal(keys, &request, NOW, &server, &client), ==,
                    TSIG_REFUSED);
    g_assert_cmpint(client.error, ==, TSIG_BADSIG);

    request = from_hex(g->signed_request);
    client = ask(keys, g);
    g_assert_cmpint(refusal(keys, &request, NOW + TSIG_FUDGE + 1, &server,
                            &client), ==, TSIG_REFUSED);
    g_assert_cmpint(client.error, ==, TSIG_BADTIME);
    tsig_keys_free(keys);
    tsig_keys_free(others);
    tsig_keys_free(longer);
}

static void test_fudge(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    Tsig tsig;

    for (int away = -1; away <= 1; away += 2) {
        Message m = from_hex(g->signed_request);

        g_assert_cmpint(verify(&tsig, keys, &m, NOW + away * TSIG_FUDGE), ==,
                        TSIG_GOOD);
        m = from_hex(g->signed_request);
        g_assert_cmpint(verify(&tsig, keys, &m,
                               NOW + away * (TSIG_FUDGE + 1)), ==,
                        TSIG_REFUSED);
        g_assert_cmpint(tsig.error, ==, TSIG_BADTIME);
    }
    tsig_keys_free(keys);
}

static void test_truncation(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *half = keys_with("key.example", g->algorithm, 16);
    TsigKeys *whole = keys_with("key.example", g->algorithm, 32);
    Message m = from_hex(g->request), untruncated = m;
    Message reply = from_hex(g->reply);
    Tsig client, server;

    tsig_sign_request(&client, the_key(whole), untruncated.octets,
                      &untruncated.len, DNS_MSG_MAX, NOW);
    g_assert_cmpint(tsig_sign_request(&client, the_key(half), m.octets, &m.len,
                                      DNS_MSG_MAX, NOW), ==, 0);
    g_assert_cmpuint(m.len, ==, untruncated.len - 16);
    g_assert_cmpint(verify(&server, half, &m, NOW), ==, TSIG_GOOD);
    g_assert_cmpint(tsig_sign_reply(&server, reply.octets, &reply.len,
                                    DNS_MSG_MAX, NOW), ==, 0);
    g_assert_cmpint(verify_reply(&client, &reply, false), ==, TSIG_GOOD);

    m = from_hex(g->request);
    tsig_sign_request(&client, the_key(half), m.octets, &m.len, DNS_MSG_MAX,
                      NOW);
    g_assert_cmpint(verify(&server, whole, &m, NOW), ==, TSIG_REFUSED);
    g_assert_cmpint(server.error, ==, TSIG_BADTRUNC);
    tsig_keys_free(half);
    tsig_keys_free(whole);
}

/* A record behind the signature, or a second signature */
static void test_not_last(void)
{
    static const uint8_t opt[11] = { 0, 0, DNS_TYPE_OPT, 4, 0xd0 };
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    Message m = from_hex(g->signed_request);
    Tsig tsig;

    memcpy(m.octets + m.len, opt, sizeof(opt));
    m.len += sizeof(opt);
    g_assert_cmpint(verify(&tsig, keys, &m, NOW), ==, TSIG_MALFORMED);
    put_be16(m.octets + 10, 2);
    g_assert_cmpint(verify(&tsig, keys, &m, NOW), ==, TSIG_MALFORMED);
    tsig_keys_free(keys);
}

static void test_room(void)
{
    const TsigGolden *g = &tsig_golden[2];
    TsigKeys *keys = keys_with("key.example", g->algorithm, 0);
    Message m = from_hex(g->request);
    size_t need;
    Tsig tsig;

    tsig_sign_request(&tsig, the_key(keys), m.octets, &m.len, DNS_MSG_MAX,
                      NOW);
    need = m.len;
    m = from_hex(g->request);
    g_assert_cmpint(tsig_sign_request(&tsig, the_key(keys), m.octets, &m.len,
                                      need - 1, NOW), ==, -EMSGSIZE);
    assert_same(&m, g->request);
    g_assert_cmpint(tsig_sign_request(&tsig, the_key(keys), m.octets, &m.len,
                                      need, NOW), ==, 0);
    tsig_keys_free(keys);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tsig/server", test_server);
    g_test_add_func("/tsig/client", test_client);
    g_test_add_func("/tsig/stream", test_stream);
    g_test_add_func("/tsig/stream-unsigned-bounds",
                    test_stream_unsigned_bounds);
    g_test_add_func("/tsig/any-octet", test_any_octet);
    g_test_add_func("/tsig/refusals", test_refusals);
    g_test_add_func("/tsig/forwarded", test_forwarded);
    g_test_add_func("/tsig/fudge", test_fudge);
    g_test_add_func("/tsig/truncation", test_truncation);
    g_test_add_func("/tsig/not-last", test_not_last);
    g_test_add_func("/tsig/room", test_room);
    return g_test_run();
}
