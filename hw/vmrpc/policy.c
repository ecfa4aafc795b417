/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the guest's sockets may go
 *
 * Theory of operation
 *
 * The guest's sockets live on the host, so a destination means what it means
 * to the host: ::1 is the host's loopback, fe80::1 a neighbour on the host's
 * link, and a metadata address the host's credentials. A VM with a network
 * card of its own would reach none of these. They are refused without any
 * rule, whatever the default says:
 *
 *   unspecified (the host's kernel takes it for loopback), loopback,
 *   link-local, multicast that does not leave the link (IPv6) or is not
 *   translated (IPv4), reserved and broadcast, IPv4-mapped and -compatible,
 *   cloud metadata services, and the host's own addresses.
 *
 * A NAT64 or 6to4 address goes where the IPv4 address inside it goes, so that
 * one is looked at too, by these refusals and by IPv4 rules.
 *
 * A file of rules decides the rest, first match first. An allow rule opens a
 * built-in refusal only if it means it: its prefix must lie inside the
 * refused range. "allow ::/0" does not open the loopback, "allow ::1" does;
 * "allow host" opens the host's addresses but not its loopback. An allow rule
 * that is too wide for a destination does not match it.
 *
 * Errors: a built-in refusal is -ENETUNREACH, as on a machine that has no
 * route to that place; programs go on to the next address. A deny rule is
 * -EACCES, as Linux gives for a route of type "prohibit": programs do the
 * same and print "Permission denied", which tells the reader that somebody
 * forbade it. -ECONNREFUSED would claim that the peer had answered.
 *
 * The search is linear; callers check a destination at connect() and at the
 * first datagram to it, not for every byte.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/policy.h"

#define NEVER UINT_MAX          /* no prefix is that long */

typedef struct Rule {
    bool allow;
    int family;                 /* AF_UNSPEC: the host's own addresses */
    uint8_t addr[16];           /* of an IPv4 address, the first four */
    uint8_t len;                /* bits */
    uint8_t proto;              /* 0: any */
    uint16_t port_min;          /* 0: any, also protocols without ports */
    uint16_t port_max;
} Rule;

struct VmrpcPolicy {
    GArray *rules;              /* of Rule */
    bool default_allow;
    bool default_given;
};

typedef struct Range {
    uint8_t addr[16];
    uint8_t len;
    VmrpcVerdictReason reason;
} Range;

/* In both tables the first match counts. */

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

/* Where an IPv4 address lies inside an IPv6 address (RFC 6052, RFC 3056). */
typedef struct Embedding {
    uint8_t prefix[12];
    uint8_t len;                /* bits, the IPv4 address follows */
} Embedding;

static const Embedding embeddings[] = {
    { { 0x00, 0x64, 0xff, 0x9b }, 96 },
    { { 0x20, 0x02 }, 16 },
    { { [10] = 0xff, 0xff }, 96 },
};

/* A destination, in the forms that rules are compared with. */
typedef struct Target {
    const VmrpcDest *dest;
    const uint8_t *addr4;       /* NULL if it has none */
    const uint8_t *addr6;       /* NULL if it has none */
    unsigned offset;            /* bits of addr6 before addr4 */
} Target;

/* A built-in refusal, and what an allow rule needs to open it. */
typedef struct Refusal {
    bool refused;
    VmrpcVerdictReason reason;
    unsigned len4;              /* shortest prefix of an IPv4 rule */
    unsigned len6;
} Refusal;

GQuark vmrpc_policy_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-error");
}

const char *vmrpc_verdict_name(VmrpcVerdictReason reason)
{
    static const char *const names[VMRPC_VERDICT_COUNT] = {
        [VMRPC_VERDICT_ALLOW_DEFAULT] = "allow-default",
        [VMRPC_VERDICT_ALLOW_RULE] = "allow-rule",
        [VMRPC_VERDICT_DENY_DEFAULT] = "deny-default",
        [VMRPC_VERDICT_DENY_RULE] = "deny-rule",
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

/* Whether the first @len bits are the same. */
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
        plain[1] &= 0x0f;       /* the flags say nothing about the scope */
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
    for (i = 0; i < G_N_ELEMENTS(embeddings); i++) {
        unsigned len = embeddings[i].len;

        if (prefix_equal(target.addr6, embeddings[i].prefix, len)) {
            target.addr4 = target.addr6 + len / 8;
            target.offset = len;
        }
    }
    return target;
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
                               target->offset + range->len };
        }
    }
    if (target->dest->is_local) {
        return (Refusal) { true, VMRPC_VERDICT_HOST, 32, 128 };
    }
    return (Refusal) { false };
}

static bool rule_matches(const Rule *rule, const Target *target)
{
    const VmrpcDest *dest = target->dest;

    if (rule->proto && rule->proto != dest->proto) {
        return false;
    }
    if (rule->port_min &&
        ((dest->proto != IPPROTO_TCP && dest->proto != IPPROTO_UDP) ||
         dest->port < rule->port_min || dest->port > rule->port_max)) {
        return false;
    }
    switch (rule->family) {
    case AF_INET:
        return target->addr4 &&
               prefix_equal(rule->addr, target->addr4, rule->len);
    case AF_INET6:
        return target->addr6 &&
               prefix_equal(rule->addr, target->addr6, rule->len);
    default:
        return dest->is_local;
    }
}

static bool rule_opens(const Rule *rule, const Refusal *refusal)
{
    if (!refusal->refused) {
        return true;
    }
    switch (rule->family) {
    case AF_INET:
        return rule->len >= refusal->len4;
    case AF_INET6:
        return rule->len >= refusal->len6;
    default:
        return refusal->reason == VMRPC_VERDICT_HOST;
    }
}

static VmrpcVerdictReason decide(const VmrpcPolicy *policy,
                                 const VmrpcDest *dest)
{
    Target target;
    Refusal refusal;
    guint i;

    if (dest->family != AF_INET && dest->family != AF_INET6) {
        return VMRPC_VERDICT_FAMILY;
    }
    target = target_of(dest);
    refusal = refusal_of(&target);
    for (i = 0; policy && i < policy->rules->len; i++) {
        const Rule *rule = &g_array_index(policy->rules, Rule, i);

        if (!rule_matches(rule, &target)) {
            continue;
        }
        if (!rule->allow) {
            return VMRPC_VERDICT_DENY_RULE;
        }
        if (rule_opens(rule, &refusal)) {
            return VMRPC_VERDICT_ALLOW_RULE;
        }
    }
    if (refusal.refused) {
        return refusal.reason;
    }
    return !policy || policy->default_allow ? VMRPC_VERDICT_ALLOW_DEFAULT
                                            : VMRPC_VERDICT_DENY_DEFAULT;
}

int vmrpc_policy_check(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       VmrpcVerdictReason *why)
{
    VmrpcVerdictReason reason = decide(policy, dest);

    if (why) {
        *why = reason;
    }
    switch (reason) {
    case VMRPC_VERDICT_ALLOW_DEFAULT:
    case VMRPC_VERDICT_ALLOW_RULE:
        return 0;
    case VMRPC_VERDICT_DENY_DEFAULT:
    case VMRPC_VERDICT_DENY_RULE:
        return -EACCES;
    case VMRPC_VERDICT_FAMILY:
        return -EAFNOSUPPORT;
    default:
        return -ENETUNREACH;
    }
}

/* The parser. Its errors have no place yet; vmrpc_policy_parse() adds it. */

#define MAX_WORDS 4

static bool G_GNUC_PRINTF(2, 3) fail(GError **errp, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (errp) {
        *errp = g_error_new_valist(VMRPC_POLICY_ERROR,
                                   VMRPC_POLICY_ERROR_INVALID, format, ap);
    }
    va_end(ap);
    return false;
}

/* "'WORD' PROBLEM", with what is not printable in WORD escaped. */
static bool fail_word(GError **errp, const char *word, const char *problem)
{
    g_autofree char *shown = g_strescape(word, NULL);

    return fail(errp, "'%s' %s", shown, problem);
}

static bool parse_prefix(const char *word, Rule *rule, GError **errp)
{
    uint8_t rest[16] = { 0 };
    g_autofree char *addr = g_strdup(word);
    char *slash = strchr(addr, '/');
    unsigned bits, i;
    guint64 len;

    if (slash) {
        *slash++ = '\0';
    }
    if (inet_pton(AF_INET, addr, rule->addr) == 1) {
        rule->family = AF_INET;
        bits = 32;
    } else if (inet_pton(AF_INET6, addr, rule->addr) == 1) {
        rule->family = AF_INET6;
        bits = 128;
    } else {
        return fail_word(errp, word, "is not an address, a prefix or 'host'");
    }
    len = bits;
    if (slash && !g_ascii_string_to_unsigned(slash, 10, 0, bits, &len, NULL)) {
        return fail_word(errp, word, "has a bad prefix length");
    }
    rule->len = len;
    memcpy(rest, rule->addr, len / 8);
    if (len % 8) {
        rest[len / 8] = rule->addr[len / 8] & (0xff << (8 - len % 8));
    }
    for (i = 0; i < bits / 8; i++) {
        if (rest[i] != rule->addr[i]) {
            return fail_word(errp, word, "has bits set after its prefix");
        }
    }
    return true;
}

static bool parse_ports(char *word, Rule *rule, GError **errp)
{
    g_autofree char *min = g_strdup(word);
    char *max = strchr(min, '-');
    guint64 first, last;

    if (max) {
        *max++ = '\0';
    }
    if (!g_ascii_string_to_unsigned(min, 10, 1, 65535, &first, NULL) ||
        !g_ascii_string_to_unsigned(max ?: min, 10, first, 65535, &last,
                                    NULL)) {
        return fail_word(errp, word, "is not a port or a range of ports");
    }
    rule->port_min = first;
    rule->port_max = last;
    return true;
}

/* Returns false, without an error, if @word is no protocol. */
static bool parse_proto(const char *word, Rule *rule)
{
    if (strcmp(word, "tcp") == 0) {
        rule->proto = IPPROTO_TCP;
    } else if (strcmp(word, "udp") == 0) {
        rule->proto = IPPROTO_UDP;
    } else if (strcmp(word, "any") != 0) {
        return false;
    }
    return true;
}

static bool parse_rule(VmrpcPolicy *policy, char **words, int n, GError **errp)
{
    Rule rule = { .allow = strcmp(words[0], "allow") == 0 };
    int i = 2;

    if (n < 2) {
        return fail(errp, "'%s' needs an address, a prefix or 'host'",
                    words[0]);
    }
    if (strcmp(words[1], "host") != 0 && !parse_prefix(words[1], &rule, errp)) {
        return false;
    }
    if (i < n && parse_proto(words[i], &rule)) {
        i++;
    }
    if (i < n && !parse_ports(words[i++], &rule, errp)) {
        return false;
    }
    if (i < n) {
        return fail_word(errp, words[i], "is too much");
    }
    if (policy->rules->len == VMRPC_POLICY_MAX_RULES) {
        return fail(errp, "more than %d rules", VMRPC_POLICY_MAX_RULES);
    }
    g_array_append_val(policy->rules, rule);
    return true;
}

static bool parse_default(VmrpcPolicy *policy, char **words, int n,
                          GError **errp)
{
    bool allow = n == 2 && strcmp(words[1], "allow") == 0;

    if (!allow && (n != 2 || strcmp(words[1], "deny") != 0)) {
        return fail(errp, "'default' needs 'allow' or 'deny', and no more");
    }
    if (policy->default_given) {
        return fail(errp, "a second 'default'");
    }
    policy->default_given = true;
    policy->default_allow = allow;
    return true;
}

static bool parse_line(VmrpcPolicy *policy, const char *line, size_t len,
                       GError **errp)
{
    const char *comment = memchr(line, '#', len);
    char buf[VMRPC_POLICY_MAX_LINE + 1];
    char *words[MAX_WORDS + 1];
    char *word, *rest;
    int n = 0;

    if (len > VMRPC_POLICY_MAX_LINE) {
        return fail(errp, "longer than %d bytes", VMRPC_POLICY_MAX_LINE);
    }
    if (comment) {
        len = comment - line;
    }
    if (memchr(line, '\0', len)) {
        return fail(errp, "holds a NUL byte");
    }
    memcpy(buf, line, len);
    buf[len] = '\0';
    for (word = strtok_r(buf, " \t\r", &rest); word && n <= MAX_WORDS;
         word = strtok_r(NULL, " \t\r", &rest)) {
        words[n++] = word;
    }
    if (n == 0) {
        return true;
    }
    if (strcmp(words[0], "default") == 0) {
        return parse_default(policy, words, n, errp);
    }
    if (strcmp(words[0], "allow") == 0 || strcmp(words[0], "deny") == 0) {
        return parse_rule(policy, words, n, errp);
    }
    return fail_word(errp, words[0], "is not 'allow', 'deny' or 'default'");
}

VmrpcPolicy *vmrpc_policy_parse(const char *text, size_t len,
                                const char *name, GError **errp)
{
    g_autoptr(VmrpcPolicy) policy = g_new0(VmrpcPolicy, 1);
    const char *end = text + len;
    unsigned number;

    policy->rules = g_array_new(FALSE, FALSE, sizeof(Rule));
    policy->default_allow = true;
    if (len > VMRPC_POLICY_MAX_TEXT) {
        g_set_error(errp, VMRPC_POLICY_ERROR, VMRPC_POLICY_ERROR_INVALID,
                    "%s: longer than %d bytes", name, VMRPC_POLICY_MAX_TEXT);
        return NULL;
    }
    for (number = 1; text < end; number++) {
        const char *newline = memchr(text, '\n', end - text);
        const char *stop = newline ?: end;

        if (!parse_line(policy, text, stop - text, errp)) {
            g_prefix_error(errp, "%s:%u: ", name, number);
            return NULL;
        }
        text = newline ? newline + 1 : end;
    }
    return g_steal_pointer(&policy);
}

void vmrpc_policy_free(VmrpcPolicy *policy)
{
    if (!policy) {
        return;
    }
    g_array_free(policy->rules, TRUE);
    g_free(policy);
}
