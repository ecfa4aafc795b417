/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest writes what it likes at the beginning of a TLS stream
 *
 * Input: two octets that say how the stream is cut, then the stream.  What is
 * read in it must not depend on how it is cut, and unless it is refused, what
 * is sent on does not, either.  The stream is a message, too, as in QUIC.
 */
#include <string.h>

#include "tests/fixtures/hello-fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(const uint8_t *data, size_t size)
{
    char name[VMRPC_SAID_NAME_MAX];
    VmrpcSaid said;
    bool early;

    if (vmrpc_hello_parse(data, size, &said, &early) == VMRPC_SAID_OK) {
        g_assert_cmpint(vmrpc_said_name((uint8_t *)said.name,
                                        strlen(said.name), name), ==,
                        VMRPC_SAID_OK);
        g_assert_cmpstr(name, ==, said.name);
    } else {
        g_assert_cmpstr(said.name, ==, "");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER = 2 };
    g_autofree char *whole = NULL, *octets = NULL, *odd = NULL;
    size_t sent[3];

    if (size < HEADER) {
        return 0;
    }
    whole = hello_play(data + HEADER, size - HEADER, 0, 0, &sent[0]);
    octets = hello_play(data + HEADER, size - HEADER, 0, 1, &sent[1]);
    odd = hello_play(data + HEADER, size - HEADER, data[0], data[1], &sent[2]);
    g_assert_cmpstr(octets, ==, whole);
    g_assert_cmpstr(odd, ==, whole);
    if (!strstr(whole, "refused: ")) {
        g_assert_cmpuint(sent[1], ==, sent[0]);
        g_assert_cmpuint(sent[2], ==, sent[0]);
    }
    if (g_str_has_prefix(whole, "refused: ")) {
        g_assert_cmpuint(sent[0] + sent[1] + sent[2], ==, 0);
    }
    check_message(data + HEADER, size - HEADER);
    return 0;
}
