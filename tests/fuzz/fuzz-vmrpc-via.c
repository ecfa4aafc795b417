/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies of a hostile proxy
 *
 * Input: which proxy and target, octets of a piece, then what the proxy says.
 * The same octets in one piece and in many must end in the same way, and what
 * is behind the reply must stay.
 */
#include <errno.h>
#include <stdlib.h>

#include "hw/vmrpc/via/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the octets that were taken. */
static size_t talk(VmrpcVia *via, uint8_t how, const uint8_t *data, size_t size,
                   size_t piece)
{
    VmrpcViaProxy proxy = {
        .kind = how & 1 ? VMRPC_VIA_HTTP : VMRPC_VIA_SOCKS5,
        .user = how & 2 ? "alice" : NULL, .password = "s3cret",
    };
    VmrpcViaTarget target = { .name = how & 4 ? "www.example.com" : NULL,
                              .port = 443 };
    size_t done = 0;

    vmrpc_via_start(via, &proxy, &target);
    while (vmrpc_via_state(via) == VMRPC_VIA_SHAKING) {
        size_t len, taken;

        vmrpc_via_to_send(via, &len);
        vmrpc_via_sent(via, len);
        len = MIN(piece, size - done);
        taken = vmrpc_via_feed(via, data + done, len);
        if (taken > len) {
            abort();
        }
        done += taken;
        if (taken < len) {
            vmrpc_via_to_send(via, &len);
            if (!len && vmrpc_via_state(via) == VMRPC_VIA_SHAKING) {
                abort();        /* it neither asks nor takes */
            }
        }
    }
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    VmrpcVia whole, cut;
    size_t taken;

    if (size < 2) {
        return 0;
    }
    taken = talk(&whole, data[0], data + 2, size - 2, SIZE_MAX);
    if (taken != talk(&cut, data[0], data + 2, size - 2, data[1] % 16 + 1) ||
        vmrpc_via_error(&whole) != vmrpc_via_error(&cut)) {
        abort();
    }
    return 0;
}
