/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest writes what it likes into the datagrams of a QUIC flow
 *
 * Input: datagrams, each an octet of flags, two of a length and that many
 * octets.  Flags: 1 = the octets are a datagram; else they are frames, which
 * the target seals.  2 = with another id; 4 = with the keys of the first one;
 * 8 = version 2.
 */
#include <string.h>

#include "hw/vmrpc/said/initial.h"
#include "tests/fixtures/quic-fixture.h"

#define DATAGRAMS_MAX   20
#define LEN_MAX         ((size_t)4000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static GByteArray *datagram_of(uint8_t flags, const uint8_t *octets, size_t len)
{
    GByteArray *datagram = g_byte_array_new();
    g_autoptr(GByteArray) frames = NULL;
    const QuicPacket packet = {
        .version = flags & 8 ? QUIC_2 : QUIC_1,
        .id = flags & 2 ? "8394c8f03e515708" : "0102030405060708",
        .keys_id = flags & 4 ? "0102030405060708" : NULL,
        .pad = 60,
    };

    if (flags & 1) {
        g_byte_array_append(datagram, octets, len);
        return datagram;
    }
    frames = g_byte_array_new();
    g_byte_array_append(frames, octets, len);
    quic_add_initial(datagram, &packet, frames);
    return datagram;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    VmrpcInitial *initial = vmrpc_initial_new();
    bool greeted = false;

    for (int i = 0; i < DATAGRAMS_MAX && size > 3; i++) {
        size_t wanted = data[1] << 8 | data[2];
        size_t len = MIN(MIN(wanted, LEN_MAX), size - 3);
        g_autoptr(GByteArray) datagram = datagram_of(data[0], data + 3, len);
        g_autofree uint8_t *copy = g_memdup2(datagram->data, datagram->len);
        char name[VMRPC_SAID_NAME_MAX];
        VmrpcSaid said;

        switch (vmrpc_initial_look(initial, copy, datagram->len, &said)) {
        case VMRPC_SAID_SAID:
            g_assert_cmpint(vmrpc_said_name((uint8_t *)said.name,
                                            strlen(said.name), name), ==,
                            VMRPC_SAID_OK);
            greeted = true;
            break;
        case VMRPC_SAID_DONE:
            g_assert_true(greeted);
            break;
        case VMRPC_SAID_REFUSED:
            g_assert_cmpint(vmrpc_initial_reason(initial), !=, VMRPC_SAID_OK);
            break;
        default:
            break;
        }
        data += 3 + len;
        size -= 3 + len;
    }
    vmrpc_initial_free(initial);
    return 0;
}
