/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policies of tests, and their verdicts */
#ifndef TESTS_POLICY_FIXTURE_H
#define TESTS_POLICY_FIXTURE_H

#include <arpa/inet.h>
#include <string.h>

#include "hw/vmrpc/reach/policy-hits.h"
#include "hw/vmrpc/reach/policy-parse.h"

static inline VmrpcDest dest(const char *addr, uint8_t proto, uint16_t port)
{
    VmrpcDest d = { .proto = proto, .port = port };

    if (inet_pton(AF_INET, addr, &d.addr4) == 1) {
        d.family = AF_INET;
    } else {
        g_assert_cmpint(inet_pton(AF_INET6, addr, &d.addr6), ==, 1);
        d.family = AF_INET6;
    }
    return d;
}

static inline VmrpcPolicy *parse(const char *text)
{
    g_autoptr(GError) err = NULL;
    VmrpcPolicy *policy = vmrpc_policy_parse(text, strlen(text), "p", &err);

    g_assert_no_error(err);
    return policy;
}

/* The verdict for TCP to port 443. */
static inline VmrpcVerdictReason verdict(const VmrpcPolicy *policy,
                                         const char *addr)
{
    VmrpcDest d = dest(addr, IPPROTO_TCP, 443);
    VmrpcVerdict why;

    vmrpc_policy_check(policy, &d, &why);
    return why.reason;
}

#endif
