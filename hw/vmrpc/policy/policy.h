/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy: which destinations the guest may use, and which names it may look
 * up
 *
 * policy-parse.h reads a policy from a file.  policy.c explains the refusals
 * that need no rule, and how far names can be trusted.
 */
#ifndef HW_VMRPC_POLICY_H
#define HW_VMRPC_POLICY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

#include "hw/vmrpc/policy/limits.h"
#include "hw/vmrpc/policy/terms.h"

/* Hexadecimal digits of a policy's id, and NUL */
#define VMRPC_POLICY_ID_SIZE 9

/* Only so many names of a destination count, the first ones. */
#define VMRPC_POLICY_MAX_NAMES 16

/*
 * Except for its counts a policy is immutable, so any thread may read it.  To
 * reload, parse the new file, replace the old policy and free it; if the new
 * file is wrong, keep the old policy.
 */
typedef struct VmrpcPolicy VmrpcPolicy;

/*
 * A destination, as it leaves the host.  Behind a NAT64 it has two addresses,
 * and rules about either one apply.  The policy knows the well-known NAT64
 * prefix, 6to4 and IPv4-mapped addresses; nat64_len and nat64_addr4 describe
 * another prefix.  If an address lies in several prefixes, check it with each.
 *
 * The names are those that the guest asked the DNS proxy for and that led to
 * this address, perhaps through aliases; none if the guest knows the address
 * by other means.  The latest one comes first.  They are text in the form of
 * dns_name_to_text(); case and a dot at the end do not matter.
 */
typedef struct VmrpcDest {
    int family;                 /* AF_INET: addr4, AF_INET6: addr6 */
    union {
        struct in_addr addr4;
        struct in6_addr addr6;
    };
    uint8_t nat64_len;          /* NAT64 prefix of addr6, bits; 0: none */
    struct in_addr nat64_addr4; /* and the address behind it */
    uint16_t port;              /* host byte order */
    bool any_port;              /* no port yet: refuse if all ports are */
    uint8_t proto;              /* IPPROTO_TCP, IPPROTO_UDP, ... */
    bool is_local;              /* one of the host's own addresses */
    const char *const *names;   /* may be NULL without names */
    size_t num_names;
} VmrpcDest;

/* In which protocol the guest must say a name that the rules allow */
typedef enum VmrpcSays {
    VMRPC_SAYS_ANYTHING,
    VMRPC_SAYS_TLS,
    VMRPC_SAYS_HTTP,
} VmrpcSays;

/* The reason of a verdict */
typedef enum VmrpcVerdictReason {
    VMRPC_VERDICT_ALLOW_DEFAULT,
    VMRPC_VERDICT_ALLOW_RULE,
    VMRPC_VERDICT_WATCH_DEFAULT, /* allowed, and "deny" would not */
    VMRPC_VERDICT_WATCH_RULE,
    VMRPC_VERDICT_DENY_DEFAULT,
    VMRPC_VERDICT_DENY_RULE,
    VMRPC_VERDICT_DENY_UNLISTED, /* of a name, with "dns listed" */
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

/* Reason of a decision, and the name it is about */
typedef struct VmrpcVerdict {
    VmrpcVerdictReason reason;
    unsigned line;              /* of the rule, "default" or "dns"; 0: none */
    VmrpcSays says;             /* what the rule demands of the stream */
    /*
     * One of the destination's names, valid as long as they are: the one that
     * matched the deciding rule, else the first; NULL without names.
     */
    const char *name;
    bool by_name;               /* the rule is about a name, which matched */
    VmrpcTerms *terms;          /* of the rule, its own; NULL: none */
} VmrpcVerdict;

/* What is left of a verdict when its destination is gone */
typedef struct VmrpcDecided {
    VmrpcVerdictReason reason;
    unsigned line;
} VmrpcDecided;

/** vmrpc_verdict_name: "deny-rule", "link-local", ...; a static string */
const char *vmrpc_verdict_name(VmrpcVerdictReason reason);

/** vmrpc_verdict_is_watch: allowed by "watch"? */
static inline bool vmrpc_verdict_is_watch(VmrpcVerdictReason reason)
{
    return reason == VMRPC_VERDICT_WATCH_DEFAULT ||
           reason == VMRPC_VERDICT_WATCH_RULE;
}

/** vmrpc_policy_free: @policy may be NULL. */
void vmrpc_policy_free(VmrpcPolicy *policy);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcPolicy, vmrpc_policy_free)

/**
 * vmrpc_policy_check: may the guest send to this destination?
 * @policy: NULL: only the built-in refusals
 * @why: may be NULL; written in every case
 *
 * The cost does not depend on the number of rules, but on the number of prefix
 * lengths in the file, and of rules for the same prefix or name; policy.c has
 * numbers.
 *
 * Returns: 0, or the negative errno for the guest's connect() or sendmsg():
 * -ENETUNREACH for a built-in refusal, -EACCES for a deny rule or "default
 * deny", -EAFNOSUPPORT for a family other than IPv4 and IPv6.
 */
int vmrpc_policy_check(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       VmrpcVerdict *why);

/**
 * vmrpc_policy_check_name: may the guest look up this name?
 * @policy: NULL: no rules
 * @name: as in VmrpcDest
 * @why: may be NULL; written in every case
 *
 * The DNS proxy asks this for queries of every type: a query can carry data
 * out of the guest.  With "dns reachable", a name is refused only if it cannot
 * lead to a destination that vmrpc_policy_check() allows; with "dns listed",
 * every name that no allow rule mentions.
 *
 * Returns: 0, or -EACCES: the proxy answers REFUSED.
 */
int vmrpc_policy_check_name(const VmrpcPolicy *policy, const char *name,
                            VmrpcVerdict *why);

/**
 * vmrpc_policy_has_private: is any address private?
 * @policy: NULL: no rules
 */
bool vmrpc_policy_has_private(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_is_private: is this a private address that @name may not have?
 * @policy: NULL: no rules
 * @dest: only its addresses matter.  With nat64_len, IPv6 prefixes that are
 *        shorter than that do not.
 * @name: the name that the guest asked for, as in VmrpcDest
 * @line: the line of "private-address"; written if the result is true
 *
 * The DNS proxy asks this, against DNS rebinding: the owner of a zone that is
 * not a "private-domain" must not lead the guest into private networks.
 */
bool vmrpc_policy_is_private(const VmrpcPolicy *policy, const VmrpcDest *dest,
                             const char *name, unsigned *line);

/**
 * vmrpc_policy_has_names: is there any rule by name?
 * @policy: NULL: no rules
 *
 * If not, the names of a destination matter to VmrpcVerdict.name only.
 */
bool vmrpc_policy_has_names(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_id: which content of the file this is
 * @policy: NULL: no file
 *
 * Returns: the first digits of the SHA-256 of the file, valid as long as
 * @policy; NULL without a file.
 */
const char *vmrpc_policy_id(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_hides_ech: do DNS answers go without keys for Encrypted Client
 * Hello?  So it is with any rule that has "tls".
 * @policy: NULL: no rules
 *
 * vmrpc_policy_compares: does any rule compare what the guest says?
 *
 * vmrpc_policy_refuses_ech: are hellos that have the extension refused?
 */
bool vmrpc_policy_hides_ech(const VmrpcPolicy *policy);
bool vmrpc_policy_compares(const VmrpcPolicy *policy);
bool vmrpc_policy_refuses_ech(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_proxies: the proxies of the file, for their secrets
 *
 * Returns: VmrpcProxy, valid as long as @policy.  Who has made the policy sets
 * their users and passwords before it uses it.
 */
GPtrArray *vmrpc_policy_proxies(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_limits: the limits of the file
 * @policy: NULL: no file
 *
 * Returns: valid as long as @policy; 0 means no limit.
 */
const VmrpcLimitsConfig *vmrpc_policy_limits(const VmrpcPolicy *policy);

#endif /* HW_VMRPC_POLICY_H */
