/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name that a guest says to a server, and why one is not accepted
 */
#include <arpa/inet.h>
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/said/said.h"

const char *vmrpc_said_reason(VmrpcSaidReason reason)
{
    static const char *const names[VMRPC_SAID_COUNT] = {
        [VMRPC_SAID_OK] = "ok",
        [VMRPC_SAID_NOT_TLS] = "not-tls",
        [VMRPC_SAID_NOT_HTTP] = "not-http",
        [VMRPC_SAID_NO_NAME] = "no-name",
        [VMRPC_SAID_OTHER_NAME] = "other-name",
        [VMRPC_SAID_NOT_ASKED] = "not-asked",
        [VMRPC_SAID_MALFORMED] = "malformed",
        [VMRPC_SAID_TOO_LONG] = "too-long",
        [VMRPC_SAID_LATE] = "late",
        [VMRPC_SAID_ECH] = "ech",
        [VMRPC_SAID_FULL] = "full",
    };

    return (unsigned)reason < VMRPC_SAID_COUNT ? names[reason] : "?";
}

static bool is_name_octet(uint8_t c)
{
    return g_ascii_isalnum(c) || c == '-' || c == '_';
}

/* "2001:db8::1" or "[2001:db8::1]" */
static bool is_address6(const uint8_t *text, size_t len)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr addr6;

    if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len >= sizeof(copy) || memchr(text, '\0', len)) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inet_pton(AF_INET6, copy, &addr6) == 1;
}

VmrpcSaidReason vmrpc_said_name(const uint8_t *text, size_t len,
                                char name[VMRPC_SAID_NAME_MAX])
{
    size_t label = 0;           /* where the last one begins */

    if (!len || len >= VMRPC_SAID_NAME_MAX) {
        return VMRPC_SAID_MALFORMED;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '.' && i > label) {
            label = i + 1;
        } else if (!is_name_octet(text[i]) || i - label >= 63) {
            return is_address6(text, len) ? VMRPC_SAID_NO_NAME
                                          : VMRPC_SAID_MALFORMED;
        }
        name[i] = g_ascii_tolower(text[i]);
    }
    if (label == len) {
        return VMRPC_SAID_MALFORMED;
    }
    name[len] = '\0';
    return g_ascii_isdigit(name[label]) ? VMRPC_SAID_NO_NAME : VMRPC_SAID_OK;
}
