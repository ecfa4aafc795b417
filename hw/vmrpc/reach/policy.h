/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy file: the guest's destinations and limits
 *
 * One rule a line; the first one that matches decides:
 *
 *   allow|deny  PREFIX|ADDR|NAME|host  [tcp|udp|any]  [PORT[-PORT]]
 *   default     allow|deny
 *   dns         reachable|listed
 *   private-address  standard|PREFIX|ADDR
 *   private-domain   NAME
 *   limit       connections|dns RATE/s [burst N]
 *   limit       sockets N
 *   limit       buffers BYTES[K|M|G]
 *
 * '#' starts a comment. PREFIX and ADDR are IPv4 or IPv6; NAME is a DNS name
 * with a dot in it, "www.example.com" or "db." ("db" alone), or a wildcard,
 * "*.example.com": every name below example.com, not example.com itself;
 * "host" stands for the host's own addresses.  A "private-domain" is NAME and
 * every name below it; "standard" means the usual private networks.  Defaults:
 * "default allow", "dns reachable", no private addresses and no limits.
 *
 * docs/vmrpc-policy.md describes the file for its authors.  policy.c explains
 * the refusals that need no rule, and how far names can be trusted.
 */
#ifndef HW_VMRPC_POLICY_H
#define HW_VMRPC_POLICY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <glib.h>

#include "hw/vmrpc/reach/limits.h"

#define VMRPC_POLICY_MAX_RULES 4096
#define VMRPC_POLICY_MAX_LINE  512              /* bytes */
#define VMRPC_POLICY_MAX_TEXT  (1024 * 1024)    /* bytes */

/* Only so many names of a destination count, the first ones. */
#define VMRPC_POLICY_MAX_NAMES 16

#define VMRPC_POLICY_ERROR vmrpc_policy_error_quark()
GQuark vmrpc_policy_error_quark(void);

typedef enum VmrpcPolicyError {
    VMRPC_POLICY_ERROR_INVALID, /* the message has the line and the reason */
} VmrpcPolicyError;

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

/* The reason of a verdict */
typedef enum VmrpcVerdictReason {
    VMRPC_VERDICT_ALLOW_DEFAULT,
    VMRPC_VERDICT_ALLOW_RULE,
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

/* What decided, and about which name */
typedef struct VmrpcVerdict {
    VmrpcVerdictReason reason;
    unsigned line;              /* of the rule, "default" or "dns"; 0: none */
    /*
     * One of the destination's names, valid as long as they are: the one that
     * matched the deciding rule, else the first; NULL without names.
     */
    const char *name;
} VmrpcVerdict;

/** vmrpc_verdict_name: "deny-rule", "link-local", ...; a static string */
const char *vmrpc_verdict_name(VmrpcVerdictReason reason);

/**
 * vmrpc_policy_parse: read a policy file
 * @text: the file's bytes; they need not end in NUL or newline
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
 * vmrpc_policy_limits: the limits of the file
 * @policy: NULL: no file
 *
 * Returns: valid as long as @policy; 0 means no limit.
 */
const VmrpcLimitsConfig *vmrpc_policy_limits(const VmrpcPolicy *policy);

/* --- counts of each rule (policy-hits.c); not thread-safe ----------------- */

/* An allow, deny, default or dns statement */
typedef struct VmrpcPolicyHits {
    unsigned line;
    char *text;                 /* its words, one blank between them */
    uint64_t destinations;      /* allowed or refused by it */
    uint64_t names;             /* lookups refused by it */
} VmrpcPolicyHits;

/**
 * vmrpc_policy_count: count a destination for the statement that decided
 * @policy: may be NULL
 * @why: from vmrpc_policy_check(); without a line, nothing is counted
 */
void vmrpc_policy_count(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_count_name: count a lookup that was refused
 * @policy: may be NULL
 * @why: from vmrpc_policy_check_name()
 */
void vmrpc_policy_count_name(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_inherit: take over the counts of an older policy
 * @policy: the new policy
 * @old: the policy that it replaces; may be NULL
 *
 * Statements with equal words are the same statement, in any line.
 */
void vmrpc_policy_inherit(VmrpcPolicy *policy, const VmrpcPolicy *old);

/**
 * vmrpc_policy_copy_hits: all statements that can decide, with their counts
 * @policy: may be NULL
 *
 * Returns: an array of VmrpcPolicyHits, by line; free with g_array_unref().
 */
GArray *vmrpc_policy_copy_hits(const VmrpcPolicy *policy);

#endif /* HW_VMRPC_POLICY_H */
