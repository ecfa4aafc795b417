/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the policy file; its grammar is in policy-parse.h
 *
 * A line is split into words at blanks.  Every error names the wrong word and
 * what may be in its place; vmrpc_policy_parse() puts the file's name and the
 * line before it.  One wrong line makes the whole file wrong: without that
 * rule, the file would allow or deny something else than its author wrote.
 */
#include <arpa/inet.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/policy/policy-rules.h"
#include "hw/vmrpc/policy/policy-terms.h"
#include "hw/vmrpc/policy/policy-words.h"

/* "allow NAME tcp 443 via PROXY sent 1M/h names 9/h", and one word too many */
#define MAX_WORDS 12

#define STR_(x) #x
#define STR(x) STR_(x)

/* --- rules -------------------------------------------------------------- */

/* @word is @addr, of @bits bits, perhaps with '/' and a length. */
static bool parse_prefix(const char *word, const uint8_t addr[16],
                         unsigned bits, VmrpcPolicyKey *key, GError **errp)
{
    bool is4 = bits == 32;
    const char *slash = strchr(word, '/');
    char masked[INET6_ADDRSTRLEN];
    guint64 len = bits;

    if (slash && !policy_number(slash + 1, 0, bits, &len)) {
        return policy_fail_word(errp, word, is4
                                ? "has a prefix length that is not 0 to 32"
                                : "has a prefix length that is not 0 to 128");
    }
    vmrpc_policy_key_addr(key, is4 ? VMRPC_POLICY_IPV4 : VMRPC_POLICY_IPV6,
                          addr, len);
    if (memcmp(key->addr, addr, bits / 8) != 0) {
        inet_ntop(is4 ? AF_INET : AF_INET6, key->addr, masked,
                  sizeof(masked));
        return policy_fail(errp, "'%s' has bits set after its prefix, which is "
                           "%s/%u", word, masked, (unsigned)len);
    }
    return true;
}

/*
 * Is @word meant as a name?  It has a dot, and its last label does not begin
 * with a digit: no top-level domain does, but an IPv4 address does.
 */
static bool is_name(const char *word)
{
    size_t len = strlen(word);
    const char *dot;

    if (strpbrk(word, ":/") || !strchr(word, '.')) {
        return false;
    }
    dot = g_strrstr_len(word, len - g_str_has_suffix(word, "."), ".");
    return !g_ascii_isdigit(dot ? dot[1] : word[0]);
}

/* Letters, digits, '-', '_' and dots; labels and name not too long */
static bool is_dns_name(const char *text)
{
    size_t len = strlen(text) - g_str_has_suffix(text, ".");
    size_t i, label = 0;

    for (i = 0; i < len; i++) {
        if (text[i] == '.') {
            label = 0;
        } else if ((!g_ascii_isalnum(text[i]) && !strchr("-_", text[i])) ||
                   ++label > 63) {
            return false;
        }
    }
    return len <= 253;
}

static bool parse_name(const char *word, VmrpcPolicyKey *key,
                       VmrpcPolicyName *name, GError **errp)
{
    bool below = g_str_has_prefix(word, "*.");
    const char *text = word + (below ? 2 : 0);

    if (strchr(text, '*')) {
        return policy_fail_word(errp, word, "has a '*' that is not the whole "
                                "first label, as in '*.example.com'");
    }
    if (!is_dns_name(text) || !vmrpc_policy_read_name(text, name)) {
        return policy_fail_word(errp, word, "is not a DNS name: 1 to 63 "
                                "letters, digits, '-' or '_' between dots, "
                                "253 in all "
                                "(and other scripts as 'xn--...')");
    }
    vmrpc_policy_key_name(key, below ? VMRPC_POLICY_BELOW
                                     : VMRPC_POLICY_NAME, name);
    return true;
}

/*
 * An address or a prefix.  If @word is neither, returns false with *@other set
 * and without an error.
 */
static bool parse_address(const char *word, VmrpcPolicyKey *key, bool *other,
                          GError **errp)
{
    g_autofree char *text = g_strndup(word, strcspn(word, "/"));
    uint8_t addr[16];

    *other = false;
    if (inet_pton(AF_INET, text, addr) == 1) {
        return parse_prefix(word, addr, 32, key, errp);
    }
    if (inet_pton(AF_INET6, text, addr) == 1) {
        return parse_prefix(word, addr, 128, key, errp);
    }
    *other = true;
    return false;
}

/* The key may keep a pointer into @name. */
static bool parse_place(const char *word, VmrpcPolicyKey *key,
                        VmrpcPolicyName *name, GError **errp)
{
    bool other;

    if (strcmp(word, "host") == 0) {
        *key = (VmrpcPolicyKey) { .kind = VMRPC_POLICY_HOST };
        return true;
    }
    if (parse_address(word, key, &other, errp)) {
        return true;
    }
    if (!other) {
        return false;
    }
    if (is_name(word)) {
        return parse_name(word, key, name, errp);
    }
    return policy_fail_word(errp, word, "is not an address, a prefix, a name "
                            "with a dot in it, or 'host'");
}

static bool parse_ports(const char *word, VmrpcPolicyRule *rule)
{
    g_autofree char *min = g_strdup(word);
    char *max = strchr(min, '-');
    guint64 first, last;

    if (max) {
        *max++ = '\0';
    }
    if (!policy_number(min, 1, 65535, &first) ||
        !policy_number(max ?: min, first, 65535, &last)) {
        return false;
    }
    rule->port_min = first;
    rule->port_max = last;
    return true;
}

static bool parse_proto(const char *word, VmrpcPolicyRule *rule)
{
    if (strcmp(word, "tcp") == 0) {
        rule->proto = IPPROTO_TCP;
    } else if (strcmp(word, "udp") == 0) {
        rule->proto = IPPROTO_UDP;
    } else if (strcmp(word, "icmp") == 0) {
        rule->proto = IPPROTO_ICMP;
    } else if (strcmp(word, "dns") == 0) {
        rule->proto = VMRPC_POLICY_ONLY_DNS;
    } else if (strcmp(word, "any") != 0) {
        return false;
    }
    return true;
}

/* "dns" stands for no destination, only for questions, which need a name. */
static bool check_proto(char **words, const VmrpcPolicyKey *key,
                        const VmrpcPolicyRule *rule, GError **errp)
{
    if (rule->proto != VMRPC_POLICY_ONLY_DNS) {
        return true;
    }
    if (!rule->allow) {
        return policy_fail(errp, "'dns' is for 'allow' and 'watch'; 'deny %s' "
                           "denies questions, too", words[1]);
    }
    return key->kind == VMRPC_POLICY_NAME || key->kind == VMRPC_POLICY_BELOW ||
           policy_fail(errp, "'dns' needs a name, as in 'allow "
                       "www.example.com dns', not '%s'", words[1]);
}

/* Has the protocol no ports? */
static bool is_portless(const VmrpcPolicyRule *rule)
{
    return rule->proto == IPPROTO_ICMP || rule->proto == VMRPC_POLICY_ONLY_DNS;
}

static bool is_says(const char *word, VmrpcPolicyRule *rule)
{
    if (strcmp(word, "tls") == 0) {
        rule->says = VMRPC_SAYS_TLS;
    } else if (strcmp(word, "http") == 0) {
        rule->says = VMRPC_SAYS_HTTP;
    } else {
        return false;
    }
    return true;
}

/*
 * @word is "tls" or "http": there must be a name to compare with, and a
 * protocol that carries it.
 */
static bool check_says(char **words, const char *word,
                       const VmrpcPolicyKey *key, const VmrpcPolicyRule *rule,
                       GError **errp)
{
    unsigned port = rule->says == VMRPC_SAYS_TLS ? 443 : 80;

    if (key->kind != VMRPC_POLICY_NAME && key->kind != VMRPC_POLICY_BELOW) {
        return policy_fail(errp, "'%s' needs a name, as in 'allow "
                           "www.example.com tcp %u %s', not '%s'", word, port,
                           word, words[1]);
    }
    if (!rule->allow || rule->watch) {
        return policy_fail(errp, "'%s' is for 'allow'", word);
    }
    if (rule->proto != IPPROTO_TCP &&
        (rule->proto != IPPROTO_UDP || rule->says != VMRPC_SAYS_TLS)) {
        return policy_fail(errp, "'%s' needs %s, as in '%s %s tcp %u %s'",
                           word, rule->says == VMRPC_SAYS_TLS
                           ? "'tcp' or 'udp'" : "'tcp'", words[0], words[1],
                           port, word);
    }
    return true;
}

/* @terms: those of the rule, which the policy has; untouched without any */
static bool parse_rule(VmrpcPolicy *policy, char **words, int n, unsigned line,
                       VmrpcTerms **terms, GError **errp)
{
    VmrpcPolicyRule rule = { .line = line, .port_max = UINT16_MAX,
                             .allow = strcmp(words[0], "deny") != 0,
                             .watch = strcmp(words[0], "watch") == 0 };
    VmrpcPolicyKey key;
    VmrpcPolicyName name;
    int i = 2;

    if (n < 2) {
        return policy_fail_word(errp, words[0], "needs an address, a prefix, a "
                                "name or 'host'");
    }
    if (!parse_place(words[1], &key, &name, errp)) {
        return false;
    }
    if (i < n && parse_proto(words[i], &rule)) {
        i++;
    }
    if (!check_proto(words, &key, &rule, errp)) {
        return false;
    }
    if (i < n && !is_portless(&rule) && !is_says(words[i], &rule) &&
        !vmrpc_policy_is_term(words[i]) && !parse_ports(words[i++], &rule)) {
        return policy_fail_word(errp, words[i - 1], i == 3
                                ? "is not 'tcp', 'udp', 'icmp', 'dns', "
                                  "'any', a port (1 to 65535), a range of "
                                  "ports, 'tls' or 'http'"
                                : "is not a port (1 to 65535), a range of "
                                  "ports, 'tls' or 'http'");
    }
    if (i < n && is_says(words[i], &rule) &&
        !check_says(words, words[i++], &key, &rule, errp)) {
        return false;
    }
    if (policy->num_rules == VMRPC_POLICY_MAX_RULES) {
        return policy_fail(errp, "more than %d rules",
                           VMRPC_POLICY_MAX_RULES);
    }
    if (i < n && !vmrpc_policy_parse_terms(policy, words + i, n - i, &key,
                                           &rule, errp)) {
        return false;
    }
    *terms = rule.terms;
    vmrpc_policy_add(policy, &key, &rule);
    return true;
}

/* --- private addresses -------------------------------------------------- */

static void add_private(VmrpcPolicy *private, const VmrpcPolicyKey *key,
                        unsigned line, bool allow)
{
    const VmrpcPolicyRule rule = { .line = line, .port_max = UINT16_MAX,
                                   .allow = allow };

    vmrpc_policy_add(private, key, &rule);
}

/*
 * Addresses that are not globally reachable, and in use inside networks (RFC
 * 4193, RFC 3879, RFC 1918, RFC 6598, RFC 3927).  The DNS proxy never gives the
 * guest IPv6's link-local, loopback and IPv4-mapped addresses, and the host's
 * own addresses are refused.
 */
static void add_standard(VmrpcPolicy *private, unsigned line)
{
    static const struct {
        VmrpcPolicyKind kind;
        uint8_t addr[16];
        uint8_t len;
    } standard[] = {
        { VMRPC_POLICY_IPV6, { 0xfc }, 7 },
        { VMRPC_POLICY_IPV6, { 0xfe, 0xc0 }, 10 },
        { VMRPC_POLICY_IPV4, { 0 }, 8 },
        { VMRPC_POLICY_IPV4, { 10 }, 8 },
        { VMRPC_POLICY_IPV4, { 100, 64 }, 10 },
        { VMRPC_POLICY_IPV4, { 127 }, 8 },
        { VMRPC_POLICY_IPV4, { 169, 254 }, 16 },
        { VMRPC_POLICY_IPV4, { 172, 16 }, 12 },
        { VMRPC_POLICY_IPV4, { 192, 168 }, 16 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(standard); i++) {
        VmrpcPolicyKey key;

        vmrpc_policy_key_addr(&key, standard[i].kind, standard[i].addr,
                              standard[i].len);
        add_private(private, &key, line, false);
    }
}

static VmrpcPolicy *private_rules(VmrpcPolicy *policy)
{
    if (!policy->private) {
        policy->private = vmrpc_policy_new();
    }
    return policy->private;
}

static bool parse_private_address(VmrpcPolicy *policy, const char *word,
                                  unsigned line, GError **errp)
{
    VmrpcPolicyKey key;
    bool other;

    if (strcmp(word, "standard") == 0) {
        add_standard(private_rules(policy), line);
        return true;
    }
    if (!parse_address(word, &key, &other, errp)) {
        return other && policy_fail_other(errp, word, "'standard', an address "
                                          "or a prefix");
    }
    add_private(private_rules(policy), &key, line, false);
    return true;
}

/* The name itself and all names below it, as in unbound */
static bool parse_private_domain(VmrpcPolicy *policy, const char *word,
                                 unsigned line, GError **errp)
{
    VmrpcPolicyKey key;
    VmrpcPolicyName name;

    if (g_str_has_prefix(word, "*.")) {
        return policy_fail_word(errp, word, "begins with '*.': the names below "
                                "a private domain are in it anyway");
    }
    if (!is_name(word)) {
        return policy_fail_other(errp, word, "a name with a dot in it");
    }
    if (!parse_name(word, &key, &name, errp)) {
        return false;
    }
    add_private(private_rules(policy), &key, line, true);
    vmrpc_policy_key_name(&key, VMRPC_POLICY_BELOW, &name);
    add_private(private_rules(policy), &key, line, true);
    return true;
}

static bool parse_private(VmrpcPolicy *policy, char **words, int n,
                          unsigned line, GError **errp)
{
    bool is_address = strcmp(words[0], "private-address") == 0;

    if (n < 2) {
        return policy_fail_word(errp, words[0], is_address
                                ? "needs 'standard', an address or a prefix"
                                : "needs a name");
    }
    if (policy->num_private++ == VMRPC_POLICY_MAX_RULES) {
        return policy_fail(errp, "more than %d private addresses and domains",
                           VMRPC_POLICY_MAX_RULES);
    }
    return policy_end(words, n, 2, errp) &&
           (is_address ? parse_private_address(policy, words[1], line, errp)
                       : parse_private_domain(policy, words[1], line, errp));
}

/* --- settings ----------------------------------------------------------- */

/*
 * "KEYWORD CHOICE", at most once
 * @known: the choices for people, as in "'allow' or 'deny'"
 * @seen: its line, 0 before
 * @choice: the number of the choice
 */
static bool parse_choice(char **words, int n, unsigned line,
                         const char *const *choices, const char *known,
                         unsigned *seen, unsigned *choice, GError **errp)
{
    if (n < 2) {
        return policy_fail(errp, "'%s' needs %s", words[0], known);
    }
    *choice = 0;
    while (choices[*choice] && strcmp(words[1], choices[*choice]) != 0) {
        ++*choice;
    }
    if (!choices[*choice]) {
        return policy_fail_other(errp, words[1], known);
    }
    if (*seen) {
        return policy_fail(errp, "a second '%s'; the first is in line %u",
                           words[0], *seen);
    }
    *seen = line;
    return policy_end(words, n, 2, errp);
}

static bool parse_default(VmrpcPolicy *policy, char **words, int n,
                          unsigned line, GError **errp)
{
    static const char *const choices[] = { "deny", "allow", "watch", NULL };
    unsigned choice;

    if (!parse_choice(words, n, line, choices, "'allow', 'deny' or 'watch'",
                      &policy->default_line, &choice, errp)) {
        return false;
    }
    policy->default_allow = choice > 0;
    policy->default_watch = choice > 1;
    return true;
}

static bool parse_dns(VmrpcPolicy *policy, char **words, int n, unsigned line,
                      GError **errp)
{
    static const char *const choices[] = { "reachable", "listed", NULL };
    unsigned choice;

    if (!parse_choice(words, n, line, choices, "'listed' or 'reachable'",
                      &policy->dns_line, &choice, errp)) {
        return false;
    }
    policy->dns_listed = choice;
    return true;
}

static bool parse_ech(VmrpcPolicy *policy, char **words, int n, unsigned line,
                      GError **errp)
{
    static const char *const choices[] = { "strip", "refuse", NULL };
    unsigned choice;

    if (!parse_choice(words, n, line, choices, "'refuse' or 'strip'",
                      &policy->ech_line, &choice, errp)) {
        return false;
    }
    policy->ech_refused = choice;
    return true;
}

/* The beginning of all limits: "limit WHAT VALUE", each at most once */
static bool begin_limit(char **words, int n, bool given, const char *value,
                        GError **errp)
{
    if (n < 3) {
        return policy_fail(errp, "'%s' needs %s", words[1], value);
    }
    return !given || policy_fail(errp, "a second 'limit %s'", words[1]);
}

/* "burst N" after a rate; by default the tokens of one second */
static bool parse_burst(VmrpcRate *rate, char **words, int n, GError **errp)
{
    guint64 burst = rate->per_s;

    if (n > 3 && strcmp(words[3], "burst") != 0) {
        return policy_fail_word(errp, words[3], "is not 'burst'");
    }
    if (n == 4) {
        return policy_fail(errp, "'burst' needs a number");
    }
    if (n > 4 && !policy_number(words[4], 1, VMRPC_LIMITS_MAX_RATE, &burst)) {
        return policy_fail_word(errp, words[4], "is not a number from 1 to "
                                STR(VMRPC_LIMITS_MAX_RATE));
    }
    rate->burst = burst;
    return policy_end(words, n, 5, errp);
}

static bool parse_rate(VmrpcRate *rate, char **words, int n, GError **errp)
{
    g_autofree char *number = NULL;
    guint64 per_s;

    if (!begin_limit(words, n, rate->per_s, "a rate, as in '500/s'", errp)) {
        return false;
    }
    if (g_str_has_suffix(words[2], "/s")) {
        number = g_strndup(words[2], strlen(words[2]) - 2);
    }
    if (!number || !policy_number(number, 1, VMRPC_LIMITS_MAX_RATE, &per_s)) {
        return policy_fail_word(errp, words[2], "is not a rate from 1/s to "
                                STR(VMRPC_LIMITS_MAX_RATE) "/s");
    }
    rate->per_s = per_s;
    return parse_burst(rate, words, n, errp);
}

static bool parse_sockets(VmrpcLimitsConfig *limits, char **words, int n,
                          GError **errp)
{
    guint64 sockets;

    if (!begin_limit(words, n, limits->sockets, "a number", errp)) {
        return false;
    }
    if (!policy_number(words[2], 1, VMRPC_LIMITS_MAX_SOCKETS, &sockets)) {
        return policy_fail_word(errp, words[2], "is not a number from 1 to "
                                STR(VMRPC_LIMITS_MAX_SOCKETS));
    }
    limits->sockets = sockets;
    return policy_end(words, n, 3, errp);
}

static bool parse_buffers(VmrpcLimitsConfig *limits, char **words, int n,
                          GError **errp)
{
    if (!begin_limit(words, n, limits->buffers,
                     "a number of bytes, as in '64M'", errp)) {
        return false;
    }
    if (!policy_bytes(words[2], "", VMRPC_LIMITS_MIN_BUFFERS,
                      VMRPC_LIMITS_MAX_BUFFERS, &limits->buffers)) {
        return policy_fail_word(errp, words[2], "is not a number of "
                                "bytes from 64K to 1024G, with K, M, G "
                                "or no unit");
    }
    return policy_end(words, n, 3, errp);
}

/* "BYTES/s", and perhaps "burst BYTES"; by default those of one second */
static bool parse_byte_rate(VmrpcRate *rate, char **words, int n,
                            GError **errp)
{
    static const char wrong[] = "is not a number of bytes from 1K to 1024G, "
                                "with K, M, G or no unit";

    if (!begin_limit(words, n, rate->per_s,
                     "bytes a second, as in '10M/s'", errp)) {
        return false;
    }
    if (!policy_bytes(words[2], "/s", VMRPC_LIMITS_MIN_BYTES,
                      VMRPC_LIMITS_MAX_BUFFERS, &rate->per_s)) {
        return policy_fail_word(errp, words[2], "is not a rate of bytes "
                                "from 1K/s to 1024G/s");
    }
    rate->burst = rate->per_s;
    if (n > 3 && strcmp(words[3], "burst") != 0) {
        return policy_fail_word(errp, words[3], "is not 'burst'");
    }
    if (n == 4) {
        return policy_fail(errp, "'burst' needs a number of bytes");
    }
    if (n > 4 && !policy_bytes(words[4], "", VMRPC_LIMITS_MIN_BYTES,
                               VMRPC_LIMITS_MAX_BUFFERS, &rate->burst)) {
        return policy_fail_word(errp, words[4], wrong);
    }
    return policy_end(words, n, 5, errp);
}

static bool parse_limit(VmrpcLimitsConfig *limits, char **words, int n,
                        GError **errp)
{
    static const char kinds[] = "'connections', 'dns', 'sockets', 'buffers', "
                                "'sent' or 'received'";

    if (n < 2) {
        return policy_fail(errp, "'limit' needs %s", kinds);
    }
    if (strcmp(words[1], "connections") == 0) {
        return parse_rate(&limits->connections, words, n, errp);
    }
    if (strcmp(words[1], "dns") == 0) {
        return parse_rate(&limits->dns, words, n, errp);
    }
    if (strcmp(words[1], "sockets") == 0) {
        return parse_sockets(limits, words, n, errp);
    }
    if (strcmp(words[1], "buffers") == 0) {
        return parse_buffers(limits, words, n, errp);
    }
    if (strcmp(words[1], "sent") == 0) {
        return parse_byte_rate(&limits->flow[VMRPC_FLOW_SENT], words, n, errp);
    }
    if (strcmp(words[1], "received") == 0) {
        return parse_byte_rate(&limits->flow[VMRPC_FLOW_RECEIVED], words, n,
                               errp);
    }
    return policy_fail_other(errp, words[1], kinds);
}

/* --- lines -------------------------------------------------------------- */

/* @terms: as for parse_rule() */
static bool parse_words(VmrpcPolicy *policy, char **words, int n,
                        unsigned line, VmrpcTerms **terms, GError **errp)
{
    if (strcmp(words[0], "allow") == 0 || strcmp(words[0], "deny") == 0 ||
        strcmp(words[0], "watch") == 0) {
        return parse_rule(policy, words, n, line, terms, errp);
    }
    if (strcmp(words[0], "default") == 0) {
        return parse_default(policy, words, n, line, errp);
    }
    if (strcmp(words[0], "dns") == 0) {
        return parse_dns(policy, words, n, line, errp);
    }
    if (strcmp(words[0], "private-address") == 0 ||
        strcmp(words[0], "private-domain") == 0) {
        return parse_private(policy, words, n, line, errp);
    }
    if (strcmp(words[0], "ech") == 0) {
        return parse_ech(policy, words, n, line, errp);
    }
    if (strcmp(words[0], "limit") == 0) {
        return parse_limit(&policy->limits, words, n, errp);
    }
    if (strcmp(words[0], "proxy") == 0) {
        return vmrpc_policy_parse_proxy(policy, words, n, errp);
    }
    return policy_fail_word(errp, words[0], "is not 'allow', 'deny', 'watch', "
                            "'default', 'dns', 'private-address', "
                            "'private-domain', 'ech', 'proxy' or 'limit'");
}

/* Does it decide about destinations or queries, so that it has counts? */
static bool is_judge(const char *keyword)
{
    return strcmp(keyword, "limit") != 0 && strcmp(keyword, "proxy") != 0 &&
           strcmp(keyword, "ech") != 0 &&
           !g_str_has_prefix(keyword, "private-");
}

static char *join(char **words, int n)
{
    GString *text = g_string_new(words[0]);

    for (int i = 1; i < n; i++) {
        g_string_append_printf(text, " %s", words[i]);
    }
    return g_string_free(text, FALSE);
}

static bool parse_line(VmrpcPolicy *policy, const char *text, size_t len,
                       unsigned line, GError **errp)
{
    const char *comment = memchr(text, '#', len);
    char buf[VMRPC_POLICY_MAX_LINE + 1];
    g_autofree char *statement = NULL;
    char *words[MAX_WORDS];
    VmrpcTerms *terms = NULL;
    char *word, *rest;
    int n = 0;

    if (len > VMRPC_POLICY_MAX_LINE) {
        return policy_fail(errp, "longer than %d bytes", VMRPC_POLICY_MAX_LINE);
    }
    if (comment) {
        len = comment - text;
    }
    if (memchr(text, '\0', len)) {
        return policy_fail(errp, "holds a NUL byte");
    }
    memcpy(buf, text, len);
    buf[len] = '\0';
    for (word = strtok_r(buf, " \t\r", &rest); word && n < MAX_WORDS;
         word = strtok_r(NULL, " \t\r", &rest)) {
        words[n++] = word;
    }
    if (!n) {
        return true;
    }
    statement = join(words, n);
    if (!parse_words(policy, words, n, line, &terms, errp)) {
        return false;
    }
    if (is_judge(words[0])) {
        vmrpc_policy_note(policy, line, g_steal_pointer(&statement), terms);
    }
    return true;
}

static void set_id(VmrpcPolicy *policy, const char *text, size_t len)
{
    g_autofree char *digits =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text,
                                    len);

    g_strlcpy(policy->id, digits, sizeof(policy->id));
}

/* Checks for errors that no single line shows. */
static bool check_whole(const VmrpcPolicy *policy, GError **errp)
{
    const VmrpcPolicy *private = policy->private;

    if (policy->ech_line && !policy->has_tls) {
        return policy_fail(errp, "'ech' has no use without a rule that has "
                           "'tls'");
    }
    return !private || private->prefixes[VMRPC_POLICY_IPV4].num ||
           private->prefixes[VMRPC_POLICY_IPV6].num ||
           policy_fail(errp, "'private-domain' has no use without "
                       "'private-address'");
}

VmrpcPolicy *vmrpc_policy_parse(const char *text, size_t len,
                                const char *name, GError **errp)
{
    g_autoptr(VmrpcPolicy) policy = vmrpc_policy_new();
    const char *end = text + len;
    unsigned line;

    if (len > VMRPC_POLICY_MAX_TEXT) {
        g_set_error(errp, VMRPC_POLICY_ERROR, VMRPC_POLICY_ERROR_INVALID,
                    "%s: longer than %d bytes", name, VMRPC_POLICY_MAX_TEXT);
        return NULL;
    }
    set_id(policy, text, len);
    for (line = 1; text < end; line++) {
        const char *newline = memchr(text, '\n', end - text);
        const char *stop = newline ?: end;

        if (!parse_line(policy, text, stop - text, line, errp)) {
            g_prefix_error(errp, "%s:%u: ", name, line);
            return NULL;
        }
        text = newline ? newline + 1 : end;
    }
    if (!check_whole(policy, errp)) {
        g_prefix_error(errp, "%s: ", name);
        return NULL;
    }
    return g_steal_pointer(&policy);
}
