/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the guest's sockets may go, and how much they may take
 *
 * The file, one rule a line, the first that matches decides:
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
 * "host" stands for the host's own addresses. A "private-domain" is NAME and
 * every name below it, and "standard" the usual private networks. Without a
 * "default" line the default is allow, without "dns" it is reachable, without
 * "private-address" none is private, without "limit" there is none.
 * docs/vmrpc-policy.md is for those who write the file; policy.c explains what
 * is refused without any rule and how far names can be trusted.
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

/* Names of a destination that are looked at: the first ones. */
#define VMRPC_POLICY_MAX_NAMES 16

#define VMRPC_POLICY_ERROR vmrpc_policy_error_quark()
GQuark vmrpc_policy_error_quark(void);

typedef enum VmrpcPolicyError {
    VMRPC_POLICY_ERROR_INVALID, /* the text; the message says where and why */
} VmrpcPolicyError;

/*
 * Immutable once parsed but for the counts, so it may be read from any thread.
 * To reload, parse the new file, put the new policy in the old one's place and
 * free the old one; if the new file is wrong, the old policy is still there.
 */
typedef struct VmrpcPolicy VmrpcPolicy;

/*
 * A destination, as it leaves the host. One that travels through NAT64 has
 * two addresses, and rules about either are about it. The policy itself knows
 * the well-known NAT64 prefix, 6to4 and IPv4-mapped addresses; of a prefix of
 * the network's own it has to be told. Who does not know by which of several it
 * travels asks about each.
 *
 * The names are those that the guest asked the DNS proxy for and that led to
 * this address, whatever aliases were between; none if the guest knows the
 * address by other means. The most recent one comes first. They are text as
 * dns_name_to_text() writes it; case and a dot at the end do not matter.
 */
typedef struct VmrpcDest {
    int family;                 /* AF_INET: addr4, AF_INET6: addr6 */
    union {
        struct in_addr addr4;
        struct in6_addr addr6;
    };
    uint8_t nat64_len;          /* of addr6: bits of such a prefix; 0: none */
    struct in_addr nat64_addr4; /* and the address behind it */
    uint16_t port;              /* host byte order */
    bool any_port;              /* not known yet: refused if all ports are */
    uint8_t proto;              /* IPPROTO_TCP, IPPROTO_UDP, ... */
    bool is_local;              /* one of the host's own addresses */
    const char *const *names;   /* may be NULL if there is none */
    size_t num_names;
} VmrpcDest;

/* Why; one counter each. */
typedef enum VmrpcVerdictReason {
    VMRPC_VERDICT_ALLOW_DEFAULT,
    VMRPC_VERDICT_ALLOW_RULE,
    VMRPC_VERDICT_DENY_DEFAULT,
    VMRPC_VERDICT_DENY_RULE,
    VMRPC_VERDICT_DENY_UNLISTED, /* a name, with "dns listed" */
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

/* All that is needed to say who decided, and about what. */
typedef struct VmrpcVerdict {
    VmrpcVerdictReason reason;
    unsigned line;              /* of the rule, "default" or "dns"; 0: none */
    /*
     * One of those asked about, valid as long as they are: that of the rule
     * by name that decided, else the first; NULL if there was none.
     */
    const char *name;
} VmrpcVerdict;

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
 * vmrpc_policy_check: may the guest send there?
 * @policy: NULL means no rules: only the built-in refusals
 * @why: may be NULL; written in every case
 *
 * The cost does not grow with the number of rules, but with the different
 * prefix lengths in the file and with the rules for one and the same prefix
 * or name; policy.c has numbers.
 *
 * Returns: 0 if allowed, otherwise what connect() or sendmsg() gives the
 * guest: -ENETUNREACH for a built-in refusal, -EACCES for a deny rule or
 * "default deny", -EAFNOSUPPORT for a family that is none of ours.
 */
int vmrpc_policy_check(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       VmrpcVerdict *why);

/**
 * vmrpc_policy_check_name: is there any use in looking up this name?
 * @policy: NULL means no rules
 * @name: as in VmrpcDest
 * @why: may be NULL; written in every case
 *
 * For the DNS proxy, for queries of every type: names that are asked carry
 * data out, too. With "dns reachable" no name is refused that could lead to
 * a destination which vmrpc_policy_check() allows; with "dns listed" all are
 * that no allow rule names.
 *
 * Returns: 0, or -EACCES: the proxy answers REFUSED.
 */
int vmrpc_policy_check_name(const VmrpcPolicy *policy, const char *name,
                            VmrpcVerdict *why);

/**
 * vmrpc_policy_has_private: is there any private address?
 * @policy: NULL means no rules
 */
bool vmrpc_policy_has_private(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_is_private: is this a private address of a foreign name?
 * @policy: NULL means no rules
 * @dest: only its addresses matter; of one behind a NAT64 of the network's own
 *        (nat64_len), the IPv4 address and those IPv6 prefixes that lie inside
 *        the NAT64's
 * @name: what the guest asked for, as in VmrpcDest
 * @line: of the "private-address"; written if there is one
 *
 * For the DNS proxy, against rebinding: the owner of a zone that is not a
 * "private-domain" shall not lead the guest into the operator's networks.
 */
bool vmrpc_policy_is_private(const VmrpcPolicy *policy, const VmrpcDest *dest,
                             const char *name, unsigned *line);

/**
 * vmrpc_policy_has_names: is there any rule by name?
 * @policy: NULL means no rules
 *
 * If not, the names of a destination change nothing but VmrpcVerdict.name.
 */
bool vmrpc_policy_has_names(const VmrpcPolicy *policy);

/**
 * vmrpc_policy_limits: what the file's "limit" lines say
 * @policy: NULL means no file
 *
 * Returns: valid as long as @policy; all zero where nothing is limited.
 */
const VmrpcLimitsConfig *vmrpc_policy_limits(const VmrpcPolicy *policy);

/* --- who has decided how often (policy-hits.c); not thread-safe ---------- */

/* An allow, deny, default or dns statement. */
typedef struct VmrpcPolicyHits {
    unsigned line;
    char *text;                 /* its words, with a blank between them */
    uint64_t destinations;      /* that it has allowed or refused */
    uint64_t names;             /* that it has refused to look up */
} VmrpcPolicyHits;

/**
 * vmrpc_policy_count: a destination was allowed or refused
 * @policy: may be NULL
 * @why: of vmrpc_policy_check(); what no statement decided does not count
 */
void vmrpc_policy_count(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_count_name: a name was not looked up
 * @policy: may be NULL
 * @why: of vmrpc_policy_check_name()
 */
void vmrpc_policy_count_name(VmrpcPolicy *policy, const VmrpcVerdict *why);

/**
 * vmrpc_policy_inherit: the counts of statements that are still there
 * @policy: new
 * @old: that it takes the place of; may be NULL
 *
 * A statement is the same if its words are, in whatever line.
 */
void vmrpc_policy_inherit(VmrpcPolicy *policy, const VmrpcPolicy *old);

/**
 * vmrpc_policy_copy_hits: all statements that can decide
 * @policy: may be NULL
 *
 * Returns: of VmrpcPolicyHits, by line, to be freed with g_array_unref().
 */
GArray *vmrpc_policy_copy_hits(const VmrpcPolicy *policy);

#endif /* HW_VMRPC_POLICY_H */
