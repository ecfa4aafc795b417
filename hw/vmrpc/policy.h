/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the guest's sockets may go
 *
 * The file, one rule a line, the first that matches decides:
 *
 *   allow|deny  PREFIX|ADDR|host  [tcp|udp|any]  [PORT[-PORT]]
 *   default     allow|deny
 *
 * '#' starts a comment. PREFIX and ADDR are IPv4 or IPv6; "host" stands for
 * the host's own addresses. Without a "default" line the default is allow.
 * policy.c explains what is refused without any rule.
 */
#ifndef HW_VMRPC_POLICY_H
#define HW_VMRPC_POLICY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

#define VMRPC_POLICY_MAX_RULES 4096
#define VMRPC_POLICY_MAX_LINE  512              /* bytes */
#define VMRPC_POLICY_MAX_TEXT  (1024 * 1024)    /* bytes */

#define VMRPC_POLICY_ERROR vmrpc_policy_error_quark()
GQuark vmrpc_policy_error_quark(void);

typedef enum VmrpcPolicyError {
    VMRPC_POLICY_ERROR_INVALID, /* the text; the message says where and why */
} VmrpcPolicyError;

/* Immutable once parsed, so it may be read from any thread. */
typedef struct VmrpcPolicy VmrpcPolicy;

/*
 * A destination, as it leaves the host. A destination that travels through
 * NAT64 is given as the IPv4 address it stands for (nat64_extract()); the
 * well-known NAT64 prefix, 6to4 and IPv4-mapped addresses are also looked
 * into by the policy itself.
 */
typedef struct VmrpcDest {
    int family;                 /* AF_INET: addr4, AF_INET6: addr6 */
    union {
        struct in_addr addr4;
        struct in6_addr addr6;
    };
    uint16_t port;              /* host byte order */
    uint8_t proto;              /* IPPROTO_TCP, IPPROTO_UDP, ... */
    bool is_local;              /* one of the host's own addresses */
} VmrpcDest;

/* Why; one counter each. */
typedef enum VmrpcVerdictReason {
    VMRPC_VERDICT_ALLOW_DEFAULT,
    VMRPC_VERDICT_ALLOW_RULE,
    VMRPC_VERDICT_DENY_DEFAULT,
    VMRPC_VERDICT_DENY_RULE,
    VMRPC_VERDICT_UNSPECIFIED,
    VMRPC_VERDICT_LOOPBACK,
    VMRPC_VERDICT_LINK_LOCAL,
    VMRPC_VERDICT_MULTICAST,
    VMRPC_VERDICT_RESERVED,
    VMRPC_VERDICT_EMBEDDED,     /* IPv4-mapped or IPv4-compatible */
    VMRPC_VERDICT_METADATA,
    VMRPC_VERDICT_HOST,
    VMRPC_VERDICT_FAMILY,       /* neither IPv4 nor IPv6 */
    VMRPC_VERDICT_COUNT
} VmrpcVerdictReason;

/** vmrpc_verdict_name: "deny-rule", "link-local", ...; a static string. */
const char *vmrpc_verdict_name(VmrpcVerdictReason reason);

/**
 * vmrpc_policy_parse:
 * @text: the file's bytes, need not end in NUL or newline
 * @len: bytes, at most VMRPC_POLICY_MAX_TEXT
 * @name: the file's name, for errors ("NAME:LINE: ...")
 *
 * Returns: the policy, to be freed with vmrpc_policy_free(), or NULL.
 */
VmrpcPolicy *vmrpc_policy_parse(const char *text, size_t len,
                                const char *name, GError **errp);

/** vmrpc_policy_free: @policy may be NULL. */
void vmrpc_policy_free(VmrpcPolicy *policy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcPolicy, vmrpc_policy_free)

/**
 * vmrpc_policy_check:
 * @policy: NULL means no rules: only the built-in refusals
 * @why: may be NULL; written in every case
 *
 * Returns: 0 if allowed, otherwise what connect() or sendmsg() gives the
 * guest: -ENETUNREACH for a built-in refusal, -EACCES for a deny rule or
 * "default deny", -EAFNOSUPPORT for a family that is none of ours.
 */
int vmrpc_policy_check(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       VmrpcVerdictReason *why);

#endif /* HW_VMRPC_POLICY_H */
