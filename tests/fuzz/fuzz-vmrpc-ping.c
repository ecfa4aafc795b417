/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echo messages of a hostile network and of a hostile guest
 *
 * Input: octets before the message, cut of the vectors, length that is
 * claimed (16 bits), then the message.
 */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "hw/vmrpc/wire/ping.h"

#define VECTORS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree uint8_t *copy = NULL;
    struct iovec iov[VECTORS];
    uint8_t header[VMRPC_PING_HEADER] = { };
    unsigned num = 0;
    size_t step, left;

    if (size < 4) {
        return 0;
    }
    step = data[1] + 1;
    left = size - 4;
    copy = g_memdup2(data + 4, left);
    for (size_t i = 0; i < left && num < VECTORS; i += step) {
        iov[num++] = (struct iovec) { copy + i, MIN(step, left - i) };
    }
    vmrpc_ping_to_guest(iov, num, data[0], data[2] | data[3] << 8);

    memcpy(header, data + 4, MIN(left, sizeof(header)));
    if (vmrpc_ping_to_host(header) == 0 && header[0] != 128) {
        abort();
    }
    return 0;
}
