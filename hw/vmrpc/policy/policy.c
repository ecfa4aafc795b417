/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which destinations the guest may use
 *
 * Theory of operation
 *
 * The guest's sockets are on the host, so a destination means what it means to
 * the host: ::1 is the host's loopback, fe80::1 a neighbour on the host's
 * link, and a metadata address gives out the host's credentials.  A VM with a
 * network card of its own could reach none of these.  They are refused without
 * any rule, and whatever the default is:
 *
 *   unspecified (the host's kernel takes it for loopback), loopback,
 *   link-local, multicast that does not leave the link (IPv6) or is not
 *   translated (IPv4), reserved and broadcast, IPv4-mapped and -compatible,
 *   cloud metadata services, and the host's own addresses.
 *
 * A NAT64 or 6to4 address leads to the IPv4 address inside it, so these
 * refusals and IPv4 rules apply to that address, too.  Such a destination has
 * two addresses but gets one verdict from one search: a rule matches if it
 * matches either address.  With a search for each address, "default deny"
 * could refuse one address while a rule allows the other; and the verdict
 * would depend on which of the two the guest wrote.  Other IPv6 addresses that
 * a translator maps to the same IPv4 address are the caller's task (judge.c).
 *
 * The rules of a file decide the rest; the first match counts.  A watch rule is
 * an allow rule whose verdict says that "deny" would have refused.  An allow rule
 * opens a built-in refusal only if its prefix lies inside the refused range.
 * "allow ::/0" does not open the loopback, "allow ::1" does; "allow host"
 * opens the host's addresses but not its loopback.  An allow rule that is too
 * wide for a destination does not match it.
 *
 * Names
 *
 * The device answers the guest's DNS queries, so it knows which names led to
 * an address.  A rule by name matches a destination if one of its names
 * matches.  An address often has many names (a CDN), and connect() does not
 * say which one is meant.  Therefore
 *
 *   allow by name   opens the address for all of its names: a guest that may
 *                   reach www.example.com at a CDN may reach the CDN's other
 *                   customers at that address.  If all names had to match, the
 *                   rule would fail at random, as soon as a second name is
 *                   looked up.  Cilium's toFQDNs and OVN-Kubernetes'
 *                   EgressFirewall allow by address in the same way.
 *   deny by name    closes the address for all names once the denied name was
 *                   looked up.  Otherwise looking up another name of the
 *                   address would lift the rule.  It seldom hits another name:
 *                   the proxy does not resolve a name that is denied
 *                   altogether (vmrpc_policy_check_name()), so the address
 *                   does not get that name; and an allow rule may come before.
 *
 * A deny rule by name stops honest programs only: the guest can find the
 * address by another name, or know it already.  For that reason the Kubernetes
 * network policy group accepts names in allow rules only.  The safe way is
 * "default deny" with allow rules.
 *
 * The owner of a zone decides where a rule by name leads (DNS rebinding).  So
 * an allow rule by name never opens a built-in refusal, such as
 * 169.254.169.254, ::1 or the host.  Private networks beyond the host are not
 * refused by default.  Two things protect them: a deny rule by prefix before
 * the rules by name; and "private-address", by which the DNS proxy withholds
 * such addresses from the guest, unless the name is in a "private-domain".
 * These statements are rules of a second policy (->private): a deny rule there
 * is a private address, an allow rule a private domain.
 *
 * Only the name that the guest asked for counts, not the aliases behind it
 * (CNAME): it is the one in the programs' configuration, which the author of
 * the file knows.  Only answers of the device's own DNS proxy count: what the
 * guest learns elsewhere proves nothing.  At most VMRPC_POLICY_MAX_NAMES names
 * count, the latest.  A guest can displace older ones with other names of the
 * same address.  That may lift a deny rule by name, which is not a safe one
 * anyway, but never adds a name to allow.
 *
 * Errors: a built-in refusal is -ENETUNREACH, as without a route; programs try
 * the next address.  A deny rule is -EACCES, as Linux gives for a route of
 * type "prohibit": programs also try the next address, and print "Permission
 * denied", so the reader learns that a rule forbids it.  -ECONNREFUSED would
 * claim that the peer had answered.
 *
 * Search: all rules about one prefix or name are one list under one key of a
 * hash table.  A destination has few keys: its address cut to each prefix
 * length in the file, the name and its parents, and "host".  Of the first
 * matches of all lists, the one with the lowest line is the first match of the
 * file.  With 4096 rules, on a Xeon at 2.6 GHz (a scan of all: 11.6 us):
 *
 *   prefixes of one length, a destination without a name       0.06 us
 *   names, a destination with one name; with 16          0.10; 0.99 us
 *   every prefix length from 0 to 128                           2.5 us
 *   4096 ports of one prefix, or of one name                    3.0 us
 *   16 names of 127 labels or 1000 characters                    13 us
 *
 * The last three need an unusual file or a hostile guest, which delays only
 * itself.
 *
 * Callers check a destination at connect() and for each datagram that names
 * one, not for each packet of a stream.
 *
 * A reload makes a new policy (see VmrpcPolicy).  It does not close sockets
 * that are connected; a caller that wants that can call vmrpc_policy_check()
 * again for every socket's destination.
 */
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-rules.h"

#define NEVER UINT_MAX          /* longer than any prefix */

typedef struct Range {
    uint8_t addr[16];
    uint8_t len;
    VmrpcVerdictReason reason;
} Range;

/* In both tables the first match counts */

static const Range refused4[] = {
    /* AWS, Azure, GCP, OpenStack, ...; Alibaba; Oracle; Azure's second */
    { { 169, 254, 169, 254 }, 32, VMRPC_VERDICT_METADATA },
    { { 100, 100, 100, 200 }, 32, VMRPC_VERDICT_METADATA },
    { { 192, 0, 0, 192 }, 32, VMRPC_VERDICT_METADATA },
    { { 168, 63, 129, 16 }, 32, VMRPC_VERDICT_METADATA },
    { { 0 }, 8, VMRPC_VERDICT_UNSPECIFIED },
    { { 127 }, 8, VMRPC_VERDICT_LOOPBACK },
    { { 169, 254 }, 16, VMRPC_VERDICT_LINK_LOCAL },
    { { 224 }, 4, VMRPC_VERDICT_MULTICAST },
    { { 240 }, 4, VMRPC_VERDICT_RESERVED },
};

static const Range refused6[] = {
    /* fd00:ec2::254 (AWS), fd20:ce::254 (GCP) */
    { { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128,
      VMRPC_VERDICT_METADATA },
    { { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128,
      VMRPC_VERDICT_METADATA },
    { { 0 }, 128, VMRPC_VERDICT_UNSPECIFIED },
    { { [15] = 1 }, 128, VMRPC_VERDICT_LOOPBACK },
    { { 0 }, 96, VMRPC_VERDICT_EMBEDDED },
    { { [10] = 0xff, 0xff }, 96, VMRPC_VERDICT_EMBEDDED },
    { { 0xfe, 0x80 }, 10, VMRPC_VERDICT_LINK_LOCAL },
    /* scopes reserved, interface-local and link-local, without their flags */
    { { 0xff, 0x00 }, 16, VMRPC_VERDICT_MULTICAST },
    { { 0xff, 0x01 }, 16, VMRPC_VERDICT_MULTICAST },
    { { 0xff, 0x02 }, 16, VMRPC_VERDICT_MULTICAST },
};

/* Where an IPv4 address lies inside an IPv6 address (RFC 6052, RFC 3056) */
typedef struct Embedding {
    uint8_t prefix[12];
    uint8_t len;                /* bits; the IPv4 address follows */
} Embedding;

static const Embedding embeddings[] = {
    { { 0x00, 0x64, 0xff, 0x9b }, 96 },
    { { 0x20, 0x02 }, 16 },
    { { [10] = 0xff, 0xff }, 96 },
};

/* A destination in the forms that rules are compared with */
typedef struct Target {
    const VmrpcDest *dest;
    const uint8_t *addr4;       /* NULL if it has none */
    const uint8_t *addr6;       /* NULL if it has none */
    unsigned offset;            /* bits of addr6 before addr4 */
    bool parted;                /* octet 8 of addr6 may be inside addr4 */
} Target;

/* A built-in refusal, and the prefix that an allow rule needs to open it */
typedef struct Refusal {
    bool refused;
    VmrpcVerdictReason reason;
    unsigned len4;              /* IPv4 rule: shortest prefix, bits */
    unsigned len6;              /* IPv6 rule: the same */
} Refusal;

const char *vmrpc_verdict_name(VmrpcVerdictReason reason)
{
    static const char *const names[VMRPC_VERDICT_COUNT] = {
        [VMRPC_VERDICT_ALLOW_DEFAULT] = "allow-default",
        [VMRPC_VERDICT_ALLOW_RULE] = "allow-rule",
        [VMRPC_VERDICT_WATCH_DEFAULT] = "watch-default",
        [VMRPC_VERDICT_WATCH_RULE] = "watch-rule",
        [VMRPC_VERDICT_DENY_DEFAULT] = "deny-default",
        [VMRPC_VERDICT_DENY_RULE] = "deny-rule",
        [VMRPC_VERDICT_DENY_UNLISTED] = "deny-unlisted",
        [VMRPC_VERDICT_UNSPECIFIED] = "unspecified",
        [VMRPC_VERDICT_LOOPBACK] = "loopback",
        [VMRPC_VERDICT_LINK_LOCAL] = "link-local",
        [VMRPC_VERDICT_MULTICAST] = "multicast",
        [VMRPC_VERDICT_RESERVED] = "reserved",
        [VMRPC_VERDICT_EMBEDDED] = "embedded",
        [VMRPC_VERDICT_METADATA] = "metadata",
        [VMRPC_VERDICT_HOST] = "host",
        [VMRPC_VERDICT_FAMILY] = "family",
    };

    return (unsigned)reason < VMRPC_VERDICT_COUNT ? names[reason] : "?";
}

/* Are the first @len bits equal? */
static bool prefix_equal(const uint8_t *a, const uint8_t *b, unsigned len)
{
    unsigned bytes = len / 8, bits = len % 8;

    return memcmp(a, b, bytes) == 0 &&
           (bits == 0 || (a[bytes] ^ b[bytes]) >> (8 - bits) == 0);
}

static const Range *find_range(const Range *table, size_t n,
                               const uint8_t *addr)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (prefix_equal(addr, table[i].addr, table[i].len)) {
            return &table[i];
        }
    }
    return NULL;
}

static const Range *find_refused6(const uint8_t *addr)
{
    uint8_t plain[16];

    memcpy(plain, addr, sizeof(plain));
    if (plain[0] == 0xff) {
        plain[1] &= 0x0f;       /* the flags do not affect the scope */
    }
    return find_range(refused6, G_N_ELEMENTS(refused6), plain);
}

static Target target_of(const VmrpcDest *dest)
{
    Target target = { .dest = dest };
    size_t i;

    if (dest->family == AF_INET) {
        target.addr4 = (const uint8_t *)&dest->addr4;
        return target;
    }
    target.addr6 = dest->addr6.s6_addr;
    if (dest->nat64_len) {
        target.addr4 = (const uint8_t *)&dest->nat64_addr4;
        target.offset = dest->nat64_len;
        target.parted = dest->nat64_len < 96;   /* RFC 6052 section 2.2 */
        return target;
    }
    for (i = 0; i < G_N_ELEMENTS(embeddings); i++) {
        unsigned len = embeddings[i].len;

        if (prefix_equal(target.addr6, embeddings[i].prefix, len)) {
            target.addr4 = target.addr6 + len / 8;
            target.offset = len;
        }
    }
    return target;
}

/* Length of the IPv6 prefix that ends with @len4 bits of the IPv4 address */
static unsigned len6_of(const Target *target, unsigned len4)
{
    unsigned len = target->offset + len4;

    return target->parted && len > 64 ? len + 8 : len;
}

static Refusal refusal_of(const Target *target)
{
    const Range *range = NULL;

    if (target->addr6) {
        range = find_refused6(target->addr6);
        if (range) {
            return (Refusal) { true, range->reason, NEVER, range->len };
        }
    }
    if (target->addr4) {
        range = find_range(refused4, G_N_ELEMENTS(refused4), target->addr4);
        if (range) {
            return (Refusal) { true, range->reason, range->len,
                               len6_of(target, range->len) };
        }
    }
    if (target->dest->is_local) {
        return (Refusal) { true, VMRPC_VERDICT_HOST, 32, 128 };
    }
    return (Refusal) { false };
}

/* --- the search --------------------------------------------------------- */

/* A search for the first rule of the file that matches */
typedef struct Search {
    const VmrpcPolicy *policy;
    const VmrpcDest *dest;      /* NULL: any destination of the name */
    uint16_t port;              /* of @dest; 0: no ports in its protocol */
    unsigned min_len6;          /* skip shorter IPv6 prefixes */
    Refusal refusal;            /* built-in, of @dest */
    const VmrpcPolicyRule *best;/* lowest line so far; NULL: none */
    const char *name;           /* that @best matches; NULL: an address */
} Search;

static bool rule_applies(const VmrpcPolicyRule *rule, const Search *s)
{
    if (!s->dest) {
        /* After a deny rule for some ports, other ports may be allowed. */
        return rule->allow || (!rule->proto && !rule->port_min);
    }
    if (rule->proto && rule->proto != s->dest->proto) {
        return false;
    }
    if (s->dest->any_port) {
        return rule->allow || !rule->port_min;
    }
    return s->port >= rule->port_min && s->port <= rule->port_max;
}

/* May an allow rule with this key open the built-in refusal? */
static bool key_opens(const VmrpcPolicyKey *key, const Refusal *refusal)
{
    if (!refusal->refused) {
        return true;
    }
    switch (key->kind) {
    case VMRPC_POLICY_IPV4:
        return key->len >= refusal->len4;
    case VMRPC_POLICY_IPV6:
        return key->len >= refusal->len6;
    case VMRPC_POLICY_HOST:
        return refusal->reason == VMRPC_VERDICT_HOST;
    default:
        return false;
    }
}

static void search_key(Search *s, const VmrpcPolicyKey *key, const char *name)
{
    const GArray *rules = g_hash_table_lookup(s->policy->rules, key);
    bool opens = key_opens(key, &s->refusal);
    guint i;

    for (i = 0; rules && i < rules->len; i++) {
        const VmrpcPolicyRule *rule =
            &g_array_index(rules, VmrpcPolicyRule, i);

        if (s->best && s->best->line <= rule->line) {
            return;
        }
        if (rule_applies(rule, s) && (!rule->allow || opens)) {
            s->best = rule;
            s->name = name;
            return;
        }
    }
}

static void search_addr(Search *s, VmrpcPolicyKind kind, const uint8_t *addr)
{
    VmrpcPolicyKey key;
    unsigned i;

    for (i = 0; i < s->policy->prefixes[kind].num; i++) {
        unsigned len = s->policy->prefixes[kind].len[i];

        if (kind == VMRPC_POLICY_IPV6 && len < s->min_len6) {
            continue;
        }
        vmrpc_policy_key_addr(&key, kind, addr, len);
        search_key(s, &key, NULL);
    }
}

/* Searches for the name and its parents, the shortest one first. */
static void search_name(Search *s, const char *text)
{
    VmrpcPolicyName name;
    VmrpcPolicyKey key;

    if (!s->policy->max_labels || !vmrpc_policy_read_name(text, &name)) {
        return;
    }
    vmrpc_policy_key_root(&key);
    while (key.len < MIN(name.num_labels, s->policy->max_labels)) {
        vmrpc_policy_key_extend(&key, &name);
        search_key(s, &key, text);
    }
}

static void search_dest(Search *s, const Target *target)
{
    static const VmrpcPolicyKey host = { .kind = VMRPC_POLICY_HOST };
    const VmrpcDest *dest = target->dest;
    size_t i;

    if (target->addr4) {
        search_addr(s, VMRPC_POLICY_IPV4, target->addr4);
    }
    if (target->addr6) {
        search_addr(s, VMRPC_POLICY_IPV6, target->addr6);
    }
    if (dest->is_local) {
        search_key(s, &host, NULL);
    }
    for (i = 0; i < MIN(dest->num_names, VMRPC_POLICY_MAX_NAMES); i++) {
        search_name(s, dest->names[i]);
    }
}

/* --- verdicts ----------------------------------------------------------- */

static VmrpcVerdict verdict_of_rule(const Search *s)
{
    return (VmrpcVerdict) {
        .reason = s->best->watch ? VMRPC_VERDICT_WATCH_RULE :
                  s->best->allow ? VMRPC_VERDICT_ALLOW_RULE
                                 : VMRPC_VERDICT_DENY_RULE,
        .line = s->best->line,
        .says = s->best->says,
        .name = s->name,
        .by_name = s->name,
        .terms = s->best->terms,
    };
}

static VmrpcVerdict verdict_of_default(const VmrpcPolicy *policy)
{
    return (VmrpcVerdict) {
        .reason = !policy ? VMRPC_VERDICT_ALLOW_DEFAULT :
                  policy->default_watch ? VMRPC_VERDICT_WATCH_DEFAULT :
                  policy->default_allow ? VMRPC_VERDICT_ALLOW_DEFAULT
                                        : VMRPC_VERDICT_DENY_DEFAULT,
        .line = policy ? policy->default_line : 0,
    };
}

static VmrpcVerdict judge(const VmrpcPolicy *policy, const VmrpcDest *dest)
{
    Search s = { .policy = policy, .dest = dest };
    Target target;

    if (dest->family != AF_INET && dest->family != AF_INET6) {
        return (VmrpcVerdict) { .reason = VMRPC_VERDICT_FAMILY };
    }
    if (dest->proto == IPPROTO_TCP || dest->proto == IPPROTO_UDP) {
        s.port = dest->port;
    }
    target = target_of(dest);
    s.refusal = refusal_of(&target);
    if (policy) {
        search_dest(&s, &target);
    }
    if (s.best) {
        return verdict_of_rule(&s);
    }
    if (s.refusal.refused) {
        return (VmrpcVerdict) { .reason = s.refusal.reason };
    }
    return verdict_of_default(policy);
}

/*
 * An allow rule by address that comes before the rule by name may allow the
 * name's address, which is not known before the lookup.
 */
static VmrpcVerdict judge_name(const VmrpcPolicy *policy, const char *name)
{
    Search s = { .policy = policy };

    if (!policy) {
        return verdict_of_default(policy);
    }
    search_name(&s, name);
    if (s.best && (policy->dns_listed || s.best->line < policy->open_line)) {
        return verdict_of_rule(&s);
    }
    if (policy->dns_listed) {
        return (VmrpcVerdict) { .reason = VMRPC_VERDICT_DENY_UNLISTED,
                                .line = policy->dns_line };
    }
    if (policy->open_line != VMRPC_POLICY_NO_LINE) {
        return (VmrpcVerdict) { .reason = policy->open_watch
                                          ? VMRPC_VERDICT_WATCH_RULE
                                          : VMRPC_VERDICT_ALLOW_RULE,
                                .line = policy->open_line };
    }
    return verdict_of_default(policy);
}

/* Copies @verdict to @why; returns its errno for the guest's call. */
static int report(VmrpcVerdict verdict, const char *asked, VmrpcVerdict *why)
{
    if (why) {
        *why = verdict;
        why->name = verdict.name ?: asked;
    }
    switch (verdict.reason) {
    case VMRPC_VERDICT_ALLOW_DEFAULT:
    case VMRPC_VERDICT_ALLOW_RULE:
    case VMRPC_VERDICT_WATCH_DEFAULT:
    case VMRPC_VERDICT_WATCH_RULE:
        return 0;
    case VMRPC_VERDICT_DENY_DEFAULT:
    case VMRPC_VERDICT_DENY_RULE:
    case VMRPC_VERDICT_DENY_UNLISTED:
        return -EACCES;
    case VMRPC_VERDICT_FAMILY:
        return -EAFNOSUPPORT;
    default:
        return -ENETUNREACH;
    }
}

int vmrpc_policy_check(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       VmrpcVerdict *why)
{
    return report(judge(policy, dest),
                  dest->num_names ? dest->names[0] : NULL, why);
}

int vmrpc_policy_check_name(const VmrpcPolicy *policy, const char *name,
                            VmrpcVerdict *why)
{
    return report(judge_name(policy, name), name, why);
}

bool vmrpc_policy_has_private(const VmrpcPolicy *policy)
{
    return policy && policy->private;
}

bool vmrpc_policy_is_private(const VmrpcPolicy *policy, const VmrpcDest *dest,
                             const char *name, unsigned *line)
{
    /* "fc00::/7" does not mean the IPv4 hosts behind a NAT64 with fc00::/96. */
    Search s = { .dest = dest, .min_len6 = dest->nat64_len };
    Search domains = { .dest = dest };
    Target target;

    if (!vmrpc_policy_has_private(policy)) {
        return false;
    }
    s.policy = domains.policy = policy->private;
    target = target_of(dest);
    search_dest(&s, &target);
    if (!s.best) {
        return false;
    }
    search_name(&domains, name);
    *line = s.best->line;
    return !domains.best;
}

bool vmrpc_policy_has_names(const VmrpcPolicy *policy)
{
    return policy && policy->max_labels;
}

const char *vmrpc_policy_id(const VmrpcPolicy *policy)
{
    return policy ? policy->id : NULL;
}

bool vmrpc_policy_hides_ech(const VmrpcPolicy *policy)
{
    return policy && policy->has_tls;
}

bool vmrpc_policy_compares(const VmrpcPolicy *policy)
{
    return policy && policy->has_says;
}

bool vmrpc_policy_refuses_ech(const VmrpcPolicy *policy)
{
    return policy && policy->ech_refused;
}

const VmrpcLimitsConfig *vmrpc_policy_limits(const VmrpcPolicy *policy)
{
    static const VmrpcLimitsConfig none;

    return policy ? &policy->limits : &none;
}

GPtrArray *vmrpc_policy_proxies(const VmrpcPolicy *policy)
{
    return policy->proxies;
}

/* --- life --------------------------------------------------------------- */

void vmrpc_policy_free(VmrpcPolicy *policy)
{
    if (!policy) {
        return;
    }
    vmrpc_policy_free(policy->private);
    g_hash_table_unref(policy->rules);
    g_array_unref(policy->hits);
    g_ptr_array_unref(policy->proxies);
    g_free(policy);
}
