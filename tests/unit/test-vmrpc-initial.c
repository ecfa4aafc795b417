/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Initials of QUIC: what a client says, in any packets and frames */

#include <string.h>
#include <time.h>

#include "hw/vmrpc/said/initial.h"
#include "tests/fixtures/hello-fixture.h"
#include "tests/fixtures/quic-fixture.h"

#define ID      "8394c8f03e515708"
#define OTHER   "aabbccddeeff0011"
#define NAME    "www.example.com"

/* What looking at a datagram gives, as text */
static char *look(VmrpcInitial *initial, const GByteArray *datagram)
{
    /* Not one octet more than there are */
    g_autofree uint8_t *copy = g_memdup2(datagram->data, datagram->len);
    VmrpcSaid said;

    switch (vmrpc_initial_look(initial, copy, datagram->len, &said)) {
    case VMRPC_SAID_MORE:
        return g_strdup("more");
    case VMRPC_SAID_DONE:
        return g_strdup("done");
    case VMRPC_SAID_SAID:
        return g_strdup(said.name);
    default:
        return g_strconcat("refused: ", vmrpc_said_reason(
                               vmrpc_initial_reason(initial)), NULL);
    }
}

static void check(VmrpcInitial *initial, const GByteArray *datagram,
                  const char *want)
{
    g_autofree char *got = look(initial, datagram);

    g_assert_cmpstr(got, ==, want);
}

/* A datagram with one Initial, of @len octets of a message from @offset on */
static void check_part(VmrpcInitial *initial, QuicPacket packet,
                       const GByteArray *message, size_t offset, size_t len,
                       const char *want)
{
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = g_byte_array_new();

    quic_add_crypto(frames, offset, message->data + offset, len);
    quic_add_initial(datagram, &packet, frames);
    check(initial, datagram, want);
}

static void check_hello(VmrpcInitial *initial, QuicPacket packet,
                        HelloSpec spec, const char *want)
{
    g_autoptr(GByteArray) message = hello_message(&spec);

    check_part(initial, packet, message, 0, message->len, want);
}

/* RFC 9001, appendix A.2 */
static void test_golden(void)
{
    static const char frame[] =
        "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe"
        "3a47f06a2b69484c00000413011302010000c000000010000e00000b6578616d706c"
        "652e636f6dff01000100000a00080006001d0017001800100007000504616c706e00"
        "0500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753d"
        "e171fa71f50f1ce15d43e994ec74d748002b0003020304000d0010000e0403050306"
        "030203080408050806002d00020101001c00024001003900320408ffffffffffffff"
        "ff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e5157"
        "0806048000ffff";
    static const char begin[] =
        "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242"
        "b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd449f63300099f3991c260ec4"
        "c60d17b31f8429157bb35a128";
    static const char end[] = "e221af44860018ab0856972e194cd934";
    const QuicPacket packet = { .id = ID, .number = 2 };
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = quic_hex(frame);
    g_autoptr(GString) text = g_string_new("");
    VmrpcInitial *initial = vmrpc_initial_new();

    quic_add_initial(datagram, &packet, frames);
    for (guint i = 0; i < datagram->len; i++) {
        g_string_append_printf(text, "%02x", datagram->data[i]);
    }
    g_assert_true(g_str_has_prefix(text->str, begin));
    g_assert_true(g_str_has_suffix(text->str, end));
    check(initial, datagram, "example.com");
    vmrpc_initial_free(initial);
}

static void test_versions(void)
{
    const QuicPacket packets[] = {
        { .id = ID }, { .id = ID, .version = QUIC_2 },
        { .id = ID, .number = 0x77, .number_len = 1, .token_len = 70 },
        { .id = "0102030405060708090a0b0c0d0e0f1011121314" },
    };
    const HelloSpec spec = { .name = NAME };

    for (size_t i = 0; i < G_N_ELEMENTS(packets); i++) {
        VmrpcInitial *initial = vmrpc_initial_new();

        check_hello(initial, packets[i], spec, NAME);
        /* Once more is nothing new. */
        check_hello(initial, packets[i], spec, "done");
        vmrpc_initial_free(initial);
    }
    for (uint32_t version = 0; version < 6; version += 5) {
        VmrpcInitial *initial = vmrpc_initial_new();
        g_autoptr(GByteArray) other = g_byte_array_new();

        quic_add_long(other, version, 0, 1200);
        check(initial, other, "refused: not-tls");
        vmrpc_initial_free(initial);
    }
}

static void test_names(void)
{
    static const struct {
        HelloSpec spec;
        const char *want;
    } cases[] = {
        { { .name = "WWW.Example.com", .share = 800 }, NAME },
        { { .alpn = "h3" }, "refused: no-name" },
        { { .name = "192.0.2.1" }, "refused: no-name" },
        { { .name = NAME, .second = "b.test" }, "refused: malformed" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        VmrpcInitial *initial = vmrpc_initial_new();

        check_hello(initial, (QuicPacket) { .id = ID }, cases[i].spec,
                    cases[i].want);
        vmrpc_initial_free(initial);
    }
}

/* Cut at every octet, in two datagrams, in either order, with an overlap */
static void test_parts(void)
{
    const HelloSpec spec = { .name = NAME, .share = 1216 };
    g_autoptr(GByteArray) message = hello_message(&spec);
    const QuicPacket first = { .id = ID }, second = { .id = ID, .number = 1 };

    for (size_t cut = 1; cut < message->len; cut += cut < 200 ? 1 : 37) {
        for (int turned = 0; turned < 2; turned++) {
            VmrpcInitial *initial = vmrpc_initial_new();
            size_t again = MIN(cut, 20);

            if (turned) {
                check_part(initial, second, message, cut, message->len - cut,
                           "more");
                check_part(initial, first, message, 0, cut, NAME);
            } else {
                check_part(initial, first, message, 0, cut, "more");
                check_part(initial, second, message, cut - again,
                           message->len - cut + again, NAME);
            }
            vmrpc_initial_free(initial);
        }
    }
}

/* Every octet in a frame of its own, from the last to the first, with others */
static void test_shuffled(void)
{
    const HelloSpec spec = { .name = NAME };
    const QuicPacket packet = { .id = ID };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = g_byte_array_new();
    g_autoptr(GByteArray) ack = quic_hex("01" "02050001000102"
                                         "0305000000010203" "1c0a0603616263");
    VmrpcInitial *initial = vmrpc_initial_new();

    g_byte_array_append(frames, ack->data, ack->len);
    for (size_t i = message->len; i-- > 0;) {
        quic_add_crypto(frames, i, message->data + i, 1);
        g_byte_array_append(frames, (const uint8_t *)"\1", i % 2);
    }
    quic_add_initial(datagram, &packet, frames);
    check(initial, datagram, NAME);
    vmrpc_initial_free(initial);
}

static void test_coalesced(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) one = g_byte_array_new();
    g_autoptr(GByteArray) two = g_byte_array_new();
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) early = g_byte_array_new();
    g_autoptr(GByteArray) ours = quic_hex("40abcdef");
    VmrpcInitial *initial = vmrpc_initial_new();

    quic_add_long(early, QUIC_1, 1, 300);
    check(initial, early, "refused: not-tls");
    check(initial, ours, "refused: not-tls");
    quic_add_crypto(one, 0, message->data, 30);
    quic_add_crypto(two, 30, message->data + 30, message->len - 30);
    quic_add_initial(datagram, &(QuicPacket) { .id = ID, .pad = 1 }, one);
    quic_add_long(datagram, QUIC_1, 1, 300);
    quic_add_initial(datagram, &(QuicPacket) { .id = ID, .number = 1,
                                               .pad = 1 }, two);
    g_byte_array_append(datagram, ours->data, ours->len);
    check(initial, datagram, NAME);
    check(initial, early, "done");
    check(initial, ours, "done");
    vmrpc_initial_free(initial);
}

/* After a HelloRetryRequest: the server's id, the same keys, a second hello */
static void test_second_hello(void)
{
    const HelloSpec spec = { .name = NAME }, other = { .name = "b.test" };
    g_autoptr(GByteArray) messages = hello_message(&spec);
    g_autoptr(GByteArray) second = hello_message(&other);
    const QuicPacket later = { .id = OTHER, .keys_id = ID, .number = 5 };
    VmrpcInitial *initial = vmrpc_initial_new();
    size_t len = messages->len;

    g_byte_array_append(messages, second->data, second->len);
    check_part(initial, (QuicPacket) { .id = ID }, messages, 0, len, NAME);
    check_part(initial, later, messages, len, 9, "more");
    check_part(initial, later, messages, len + 9, messages->len - len - 9,
               "b.test");
    check_part(initial, later, messages, 0, messages->len, "done");
    vmrpc_initial_free(initial);
    /* Both at once: no server has asked for the second. */
    initial = vmrpc_initial_new();
    check_part(initial, (QuicPacket) { .id = ID }, messages, 0, messages->len,
               "refused: malformed");
    vmrpc_initial_free(initial);
}

/* A Retry, or a second connection in the same flow, begins anew. */
static void test_again(void)
{
    const HelloSpec spec = { .name = NAME }, other = { .name = "b.test" };
    g_autoptr(GByteArray) message = hello_message(&other);
    g_autoptr(GByteArray) ours = quic_hex("40abcdef");
    VmrpcInitial *initial = vmrpc_initial_new();

    check_hello(initial, (QuicPacket) { .id = ID }, spec, NAME);
    check_hello(initial, (QuicPacket) { .id = OTHER, .token_len = 20 }, spec,
                NAME);
    check_part(initial, (QuicPacket) { .id = ID }, message, 0, 20, "more");
    g_assert_cmpuint(vmrpc_initial_connections(initial), ==, 3);
    g_assert_cmpuint(vmrpc_initial_size(initial), >, 16384);
    /* The connection before goes on. */
    check(initial, ours, "done");
    check_part(initial, (QuicPacket) { .id = ID, .number = 1 }, message, 20,
               message->len - 20, "b.test");
    vmrpc_initial_free(initial);
}

/* Two connections in one datagram: the hello of one does not speak for both. */
static void test_two_in_one(void)
{
    const HelloSpec spec = { .name = NAME }, evil = { .name = "b.test" };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) hidden = hello_message(&evil);
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) part = g_byte_array_new();
    g_autoptr(GByteArray) whole = g_byte_array_new();
    VmrpcInitial *initial = vmrpc_initial_new();

    quic_add_crypto(part, 0, hidden->data, hidden->len / 2);
    quic_add_crypto(whole, 0, message->data, message->len);
    quic_add_initial(datagram, &(QuicPacket) { .id = OTHER, .pad = 1 }, part);
    quic_add_initial(datagram, &(QuicPacket) { .id = ID }, whole);
    check(initial, datagram, "refused: malformed");
    vmrpc_initial_free(initial);
}

/* A client whose first packets did not arrive says something else. */
static void test_changed(void)
{
    const HelloSpec spec = { .name = NAME }, other = { .name = "xyz.example.com" };
    VmrpcInitial *initial = vmrpc_initial_new();
    g_autoptr(GByteArray) message = hello_message(&spec);

    check_hello(initial, (QuicPacket) { .id = ID }, spec, NAME);
    check_hello(initial, (QuicPacket) { .id = ID, .number = 1 }, other,
                "refused: malformed");
    check_hello(initial, (QuicPacket) { .id = OTHER, .keys_id = ID,
                                        .number = 1 }, other,
                "refused: malformed");
    vmrpc_initial_free(initial);
    initial = vmrpc_initial_new();
    check_part(initial, (QuicPacket) { .id = ID }, message, 0, 60, "more");
    message->data[50] ^= 1;
    check_part(initial, (QuicPacket) { .id = ID, .number = 1 }, message, 0,
               message->len, "refused: malformed");
    vmrpc_initial_free(initial);
}

static void test_bounds(void)
{
    const HelloSpec spec = { .name = NAME, .share = 15800 };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) ping = quic_hex("01");
    g_autoptr(GByteArray) huge = quic_hex("06bfffffff05aabbccddee");
    g_autoptr(GByteArray) far = quic_hex("067ffc05aabbccddee");
    g_autoptr(GByteArray) stream = quic_hex("0a00010203");
    VmrpcInitial *initial = vmrpc_initial_new();

    for (int i = 0; i <= VMRPC_INITIAL_DATAGRAMS; i++) {
        g_autoptr(GByteArray) datagram = g_byte_array_new();

        quic_add_initial(datagram, &(QuicPacket) { .id = ID, .number = i },
                         ping);
        check(initial, datagram, i < VMRPC_INITIAL_DATAGRAMS
              ? "more" : "refused: too-long");
    }
    vmrpc_initial_free(initial);
    initial = vmrpc_initial_new();
    for (size_t at = 0, i = 0; at < message->len; at += 2100, i++) {
        size_t len = MIN(2100, message->len - at);

        check_part(initial, (QuicPacket) { .id = ID, .number = i }, message,
                   at, len, at + len == message->len ? NAME : "more");
    }
    vmrpc_initial_free(initial);
    for (size_t i = 0; i < 3; i++) {
        GByteArray *frames[] = { huge, far, stream };
        g_autoptr(GByteArray) datagram = g_byte_array_new();

        initial = vmrpc_initial_new();
        quic_add_initial(datagram, &(QuicPacket) { .id = ID }, frames[i]);
        check(initial, datagram, i == 2 ? "refused: malformed"
                                        : "refused: too-long");
        vmrpc_initial_free(initial);
    }
}

/* Each octet changed, each length */
static void test_damaged(void)
{
    const HelloSpec spec = { .name = NAME };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = g_byte_array_new();

    quic_add_crypto(frames, 0, message->data, message->len);
    quic_add_initial(datagram, &(QuicPacket) { .id = ID, .pad = 1 }, frames);
    for (guint i = 0; i < datagram->len; i++) {
        VmrpcInitial *initial = vmrpc_initial_new();
        g_autofree char *got = NULL;

        datagram->data[i] ^= 0x10;
        got = look(initial, datagram);
        g_assert_true(g_str_has_prefix(got, "refused: "));
        datagram->data[i] ^= 0x10;
        vmrpc_initial_free(initial);
    }
    for (guint len = datagram->len; len-- > 0;) {
        VmrpcInitial *initial = vmrpc_initial_new();
        g_autofree char *got = NULL;

        g_byte_array_set_size(datagram, len);
        got = look(initial, datagram);
        g_assert_true(g_str_has_prefix(got, "refused: "));
        vmrpc_initial_free(initial);
    }
}

/* The time of an Initial; told, not judged */
static void test_cost(void)
{
    enum { ROUNDS = 2000 };
    const HelloSpec spec = { .name = NAME, .share = 600 };
    g_autoptr(GByteArray) message = hello_message(&spec);
    g_autoptr(GByteArray) datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = g_byte_array_new();
    clock_t start;

    quic_add_crypto(frames, 0, message->data, message->len);
    quic_add_initial(datagram, &(QuicPacket) { .id = ID }, frames);
    start = clock();
    for (int i = 0; i < ROUNDS; i++) {
        VmrpcInitial *initial = vmrpc_initial_new();

        check(initial, datagram, NAME);
        vmrpc_initial_free(initial);
    }
    start = clock() - start;
    g_test_message("%.1f us of the processor an Initial",
                   1e6 * start / CLOCKS_PER_SEC / ROUNDS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/initial/golden", test_golden);
    g_test_add_func("/initial/versions", test_versions);
    g_test_add_func("/initial/names", test_names);
    g_test_add_func("/initial/parts", test_parts);
    g_test_add_func("/initial/shuffled", test_shuffled);
    g_test_add_func("/initial/coalesced", test_coalesced);
    g_test_add_func("/initial/second-hello", test_second_hello);
    g_test_add_func("/initial/again", test_again);
    g_test_add_func("/initial/two-in-one", test_two_in_one);
    g_test_add_func("/initial/changed", test_changed);
    g_test_add_func("/initial/bounds", test_bounds);
    g_test_add_func("/initial/damaged", test_damaged);
    g_test_add_func("/initial/cost", test_cost);
    return g_test_run();
}
