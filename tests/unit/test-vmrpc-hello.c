/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ClientHello in any parts: what it says, what is refused, what ends it */

#include <string.h>

#include "tests/fixtures/hello-fixture.h"

#define NAME    "www.example.com"
#define RECORD  16384

/* Every way to cut the stream gives the same. */
static void check_cuts(const GByteArray *stream, const char *want)
{
    bool refused = strstr(want, "refused");
    size_t sent, whole;
    g_autofree char *got = hello_play(stream->data, stream->len, 0, 0, &whole);

    g_assert_cmpstr(got, ==, want);
    for (size_t first = 1; first <= MIN(stream->len, 4000); first++) {
        g_autofree char *other = hello_play(stream->data, stream->len, first,
                                            0, &sent);

        g_assert_cmpstr(other, ==, want);
        g_assert_true(refused || sent == whole);
    }
    for (size_t cut = 1; cut < 8; cut++) {
        g_autofree char *other = hello_play(stream->data, stream->len, 0, cut,
                                            &sent);

        g_assert_cmpstr(other, ==, want);
        /* Nothing leaves before the first verdict. */
        g_assert_true(sent == 0 || !g_str_has_prefix(want, "refused"));
    }
}

static void check_hello(HelloSpec spec, const char *want)
{
    static const size_t records[] = { RECORD, 1, 2, 3, 5, 64 };

    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        g_autoptr(GByteArray) stream = g_byte_array_new();

        hello_add(stream, &spec, records[i]);
        check_cuts(stream, want);
    }
}

static void test_names(void)
{
    g_autofree char *l63 = g_strnfill(63, 'a'), *l64 = g_strnfill(64, 'a');
    g_autofree char *most = g_strdup_printf("%s.%s.%s.%.61s", l63, l63, l63,
                                            l63);
    g_autofree char *over = g_strdup_printf("%s.%s.%s.%.62s", l63, l63, l63,
                                            l63);
    g_autofree char *label = g_strdup_printf("%s.example", l64);

    g_assert_cmpuint(strlen(most), ==, 253);
    check_hello((HelloSpec) { .name = NAME }, NAME);
    check_hello((HelloSpec) { .name = "WWW.Example.COM" }, NAME);
    check_hello((HelloSpec) { .name = "_a-b.xn--9ca.example" },
                "_a-b.xn--9ca.example");
    check_hello((HelloSpec) { .name = "intranet" }, "intranet");
    check_hello((HelloSpec) { .name = most }, most);
    check_hello((HelloSpec) { .name = NAME, .ech = 0xfe0d }, NAME " ech");
    check_hello((HelloSpec) { .name = NAME, .ech = 0xfe08 }, NAME " ech");
    check_hello((HelloSpec) { .name = NAME, .ech = 0xffce }, NAME " ech");
    check_hello((HelloSpec) { }, "refused: no-name");
    check_hello((HelloSpec) { .alpn = "h2" }, "refused: no-name");
    check_hello((HelloSpec) { .name = "192.0.2.1" }, "refused: no-name");
    check_hello((HelloSpec) { .name = "2001:db8::1" }, "refused: no-name");
    check_hello((HelloSpec) { .name = "[2001:db8::1]" }, "refused: no-name");
    check_hello((HelloSpec) { .name = over }, "refused: malformed");
    check_hello((HelloSpec) { .name = label }, "refused: malformed");
    check_hello((HelloSpec) { .name = NAME "." }, "refused: malformed");
    check_hello((HelloSpec) { .name = "." NAME }, "refused: malformed");
    check_hello((HelloSpec) { .name = "www..com" }, "refused: malformed");
    check_hello((HelloSpec) { .name = "www.ex ample" }, "refused: malformed");
    check_hello((HelloSpec) { .name = "*.example" }, "refused: malformed");
    check_hello((HelloSpec) { .name = "b\303\274.example" },
                "refused: malformed");
    check_hello((HelloSpec) { .name = NAME "\0.evil.example",
                              .name_len = sizeof(NAME) + 13 },
                "refused: malformed");
    check_hello((HelloSpec) { .name = NAME, .second = "b.example" },
                "refused: malformed");
    check_hello((HelloSpec) { .name = NAME, .again = NAME },
                "refused: malformed");
    check_hello((HelloSpec) { .name = NAME, .name_type = 1 },
                "refused: malformed");
}

static void test_alpn(void)
{
    const HelloSpec h2 = { .name = NAME, .alpn = "h2" };
    const HelloSpec odd = { .name = NAME, .alpn = "a\n\"b" };
    const HelloSpec *specs[] = { &h2, &odd };
    static const char *const want[] = { "h2", "a?\"b" };

    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        g_autoptr(GByteArray) body = hello_body(specs[i]);
        VmrpcSaid said;
        bool early;

        g_assert_cmpint(vmrpc_hello_parse(body->data, body->len, &said, &early),
                        ==, VMRPC_SAID_OK);
        g_assert_cmpstr(said.alpn, ==, want[i]);
        g_assert_false(early);
    }
}

/* A hello that is cut short, or has an octet more, in its lengths or behind */
static void test_lengths(void)
{
    const HelloSpec spec = { .name = NAME, .alpn = "h2", .share = 40 };
    g_autoptr(GByteArray) body = hello_body(&spec);
    VmrpcSaid said;
    bool early;

    for (size_t len = 0; len < body->len; len++) {
        g_autofree uint8_t *copy = g_memdup2(body->data, len);
        VmrpcSaidReason reason = vmrpc_hello_parse(copy, len, &said, &early);

        /* Without extensions it would be complete. */
        g_assert_cmpint(reason, ==, len == 2 + 32 + 33 + 8 + 2
                        ? VMRPC_SAID_NO_NAME : VMRPC_SAID_MALFORMED);
    }
    g_byte_array_append(body, (const uint8_t *)"", 1);
    g_assert_cmpint(vmrpc_hello_parse(body->data, body->len, &said, &early),
                    ==, VMRPC_SAID_MALFORMED);
}

/* A stream of one hello that is @len octets in all */
static GByteArray *stream_of(size_t len, size_t record)
{
    HelloSpec spec = { .name = NAME, .share = 1 };
    GByteArray *stream;

    for (;; spec.share++) {
        stream = g_byte_array_new();
        hello_add(stream, &spec, record);
        if (stream->len >= len) {
            g_assert_cmpuint(stream->len, ==, len);
            return stream;
        }
        g_byte_array_unref(stream);
    }
}

static void test_sizes(void)
{
    static const struct {
        size_t len, record;
        const char *want;
    } sizes[] = {
        { 1800, RECORD, NAME },         /* a post-quantum share before it */
        { 1800, 700, NAME },
        { 16383, 8000, NAME },
        { 16384, 8000, NAME },
        { 16385, 8000, "refused: too-long" },
        { 16384, RECORD, NAME },
        { 16385, RECORD, "refused: too-long" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autoptr(GByteArray) stream = stream_of(sizes[i].len,
                                                 sizes[i].record);
        check_cuts(stream, sizes[i].want);
    }
}

static void check_octets(const void *data, size_t len, const char *want)
{
    g_autoptr(GByteArray) stream = g_byte_array_new();

    g_byte_array_append(stream, data, len);
    check_cuts(stream, want);
}

#define CHECK_OCTETS(text, want) check_octets(text, sizeof(text) - 1, want)

static void test_others(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) trailing = g_byte_array_new();
    g_autoptr(GByteArray) between = g_byte_array_new();
    g_autoptr(GByteArray) empty = g_byte_array_new();

    CHECK_OCTETS("GET / HTTP/1.1\r\n", "refused: not-tls");
    CHECK_OCTETS("SSH-2.0-OpenSSH_9.2\r\n", "refused: not-tls");
    /* SSLv2's form of a hello, and SSLv2 */
    CHECK_OCTETS("\x80\x2e\x01\x03\x01\0\x15\0\0\0\x10", "refused: not-tls");
    CHECK_OCTETS("\x16\x02\0\0\1\1", "refused: not-tls");
    CHECK_OCTETS("\x16\x03\x01\0\4\2\0\0\0", "refused: not-tls");
    CHECK_OCTETS("\x15\x03\x01\0\2\1\0", "refused: not-tls");
    CHECK_OCTETS("\x17\x03\x03\0\1x", "refused: not-tls");
    CHECK_OCTETS("\x14\x03\x03\0\1\1", "refused: not-tls");
    CHECK_OCTETS("\x16\x03\x01\x40\x01", "refused: malformed");
    CHECK_OCTETS("\x16\x03\x01\0\4\1\1\0\0", "refused: too-long");
    CHECK_OCTETS("", "");

    hello_add_records(empty, 22, message->data, 60, RECORD);
    g_byte_array_append(empty, (const uint8_t *)"\x16\x03\x01\0\0", 5);
    check_cuts(empty, "refused: malformed");
    hello_add_records(between, 22, message->data, 60, RECORD);
    hello_add_records(between, 21, "\1\0", 2, RECORD);
    check_cuts(between, "refused: malformed");
    g_byte_array_append(message, (const uint8_t *)"x", 1);
    hello_add_records(trailing, 22, message->data, message->len, RECORD);
    check_cuts(trailing, "refused: malformed");
}

/* --- after the first hello ---------------------------------------------- */

#define OTHER   "other.example"

static void add_other(GByteArray *stream, size_t record)
{
    const HelloSpec spec = { .name = OTHER };

    hello_add(stream, &spec, record);
}

static void add_changed(GByteArray *stream)
{
    hello_add_records(stream, 20, "\1", 1, 1);
}

/* Encrypted records look like random octets. */
static void add_encrypted(GByteArray *stream, unsigned type, size_t len)
{
    g_autofree uint8_t *data = g_malloc(len);

    memset(data, 0x5a, len);
    hello_add_records(stream, type, data, len, RECORD);
}

static GByteArray *greeted(const HelloSpec *spec)
{
    GByteArray *stream = g_byte_array_new();

    hello_add(stream, spec, RECORD);
    return stream;
}

static void test_tls13(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) compatible = greeted(&spec);
    g_autoptr(GByteArray) plain = greeted(&spec);
    g_autoptr(GByteArray) alert = greeted(&spec);

    add_changed(compatible);
    add_encrypted(compatible, 23, 74);
    check_cuts(compatible, NAME ", done");
    add_encrypted(plain, 23, 74);
    check_cuts(plain, NAME ", done");
    hello_add_records(alert, 21, "\2\x2e", 2, 2);
    check_cuts(alert, NAME);
}

static void test_second_hello(void)
{
    const HelloSpec spec = { .name = NAME }, none = { .alpn = "h2" };
    static const size_t records[] = { RECORD, 1, 3, 50 };

    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        g_autoptr(GByteArray) plain = greeted(&spec);
        g_autoptr(GByteArray) changed = greeted(&spec);
        g_autoptr(GByteArray) nameless = greeted(&spec);

        add_other(plain, records[i]);
        add_encrypted(plain, 23, 74);
        check_cuts(plain, NAME ", " OTHER ", done");
        add_changed(changed);
        add_other(changed, records[i]);
        add_encrypted(changed, 23, 74);
        check_cuts(changed, NAME ", " OTHER ", done");
        add_changed(nameless);
        hello_add(nameless, &none, records[i]);
        check_cuts(nameless, NAME ", refused: no-name");
    }
}

/* The server may reject early data, and ask for a second hello. */
static void test_early_data(void)
{
    const HelloSpec early = { .name = NAME, .early = true };
    g_autoptr(GByteArray) second = greeted(&early);
    g_autoptr(GByteArray) much = greeted(&early);

    add_changed(second);
    add_encrypted(second, 23, 3000);
    add_encrypted(second, 23, 900);
    add_other(second, 40);
    add_encrypted(second, 23, 74);
    check_cuts(second, NAME ", " OTHER ", done");
    add_encrypted(much, 23, VMRPC_HELLO_EARLY_MAX);
    add_other(much, RECORD);
    check_cuts(much, NAME ", done");
}

static void add_message(GByteArray *messages, uint8_t type, size_t len)
{
    const uint8_t header[] = { type, len >> 16, len >> 8, len };
    g_autofree uint8_t *body = g_malloc0(len + 1);

    g_byte_array_append(messages, header, sizeof(header));
    g_byte_array_append(messages, body, len);
}

static void test_tls12(void)
{
    const HelloSpec spec = { .name = NAME };
    static const size_t records[] = { RECORD, 1, 3, 700 };

    for (size_t i = 0; i < G_N_ELEMENTS(records); i++) {
        g_autoptr(GByteArray) messages = g_byte_array_new();
        g_autoptr(GByteArray) full = greeted(&spec);
        g_autoptr(GByteArray) resumed = greeted(&spec);
        g_autoptr(GByteArray) hidden = greeted(&spec);
        g_autoptr(GByteArray) message = NULL;
        const HelloSpec other = { .name = OTHER };

        add_message(messages, 11, 2500);        /* the client's certificate */
        add_message(messages, 16, 66);
        add_message(messages, 15, 260);
        hello_add_records(full, 22, messages->data, messages->len, records[i]);
        add_changed(full);
        add_encrypted(full, 22, 40);
        check_cuts(full, NAME ", done");

        add_changed(resumed);
        add_encrypted(resumed, 22, 40);
        check_cuts(resumed, NAME ", done");

        /* A hello behind another message is one, too. */
        message = hello_message(&other);
        g_byte_array_set_size(messages, 0);
        add_message(messages, 11, 3);
        g_byte_array_append(messages, message->data, message->len);
        hello_add_records(hidden, 22, messages->data, messages->len,
                          records[i]);
        check_cuts(hidden, NAME ", " OTHER);
    }
}

/* OpenSSL takes second hellos of up to 131,396 octets, and of version 4.3. */
static void test_second_for_others(void)
{
    const HelloSpec spec = { .name = NAME }, other = { .name = OTHER };
    const HelloSpec long_spec = { .name = OTHER, .share = 65300 };
    g_autoptr(GByteArray) version = hello_message(&other);
    g_autoptr(GByteArray) longest = hello_message(&long_spec);
    g_autofree uint8_t *more = g_malloc0(65536);

    version->data[4] = 4;
    /* as with 32,000 cipher suites */
    g_byte_array_append(longest, more, 65536);
    longest->data[1]++;
    for (size_t record = 1; record <= RECORD; record += RECORD - 1) {
        g_autoptr(GByteArray) stream = greeted(&spec);
        g_autoptr(GByteArray) much = greeted(&spec);
        g_autofree char *got = NULL;
        size_t sent;

        add_changed(stream);
        hello_add_records(stream, 22, version->data, version->len, record);
        check_cuts(stream, NAME ", refused: malformed");
        add_changed(much);
        hello_add_records(much, 22, longest->data, longest->len, RECORD);
        got = hello_play(much->data, much->len, 0, 0, &sent);
        g_assert_cmpstr(got, ==, NAME ", refused: too-long");
    }
}

/* The one Finished in 170,000 that looks like a hello is read as one. */
static void test_unlikely(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) stream = greeted(&spec);

    add_changed(stream);
    hello_add_records(stream, 22, "\1\0\0\x24\3\3", 6, RECORD);
    check_cuts(stream, NAME);           /* it waits for the rest */
    hello_add_records(stream, 23, "x", 1, RECORD);
    check_cuts(stream, NAME ", refused: malformed");
}

static void test_after(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) sslv2 = greeted(&spec);
    g_autoptr(GByteArray) heartbeat = greeted(&spec);
    g_autoptr(GByteArray) split = greeted(&spec);

    g_byte_array_append(sslv2, (const uint8_t *)"GET /", 5);
    check_cuts(sslv2, NAME ", refused: malformed");
    hello_add_records(heartbeat, 24, "x", 1, RECORD);
    check_cuts(heartbeat, NAME ", refused: malformed");
    /* A record of another type within a message */
    hello_add_records(split, 22, "\13\0\0\5abc", 7, RECORD);
    add_changed(split);
    check_cuts(split, NAME ", refused: malformed");
}

static void test_reasons(void)
{
    for (int i = 0; i < VMRPC_SAID_COUNT; i++) {
        g_assert_cmpstr(vmrpc_said_reason(i), !=, "?");
    }
    g_assert_cmpstr(vmrpc_said_reason(VMRPC_SAID_COUNT), ==, "?");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/hello/names", test_names);
    g_test_add_func("/hello/alpn", test_alpn);
    g_test_add_func("/hello/lengths", test_lengths);
    g_test_add_func("/hello/sizes", test_sizes);
    g_test_add_func("/hello/others", test_others);
    g_test_add_func("/hello/tls13", test_tls13);
    g_test_add_func("/hello/second-hello", test_second_hello);
    g_test_add_func("/hello/second-for-others", test_second_for_others);
    g_test_add_func("/hello/early-data", test_early_data);
    g_test_add_func("/hello/tls12", test_tls12);
    g_test_add_func("/hello/unlikely", test_unlikely);
    g_test_add_func("/hello/after", test_after);
    g_test_add_func("/hello/reasons", test_reasons);
    return g_test_run();
}
