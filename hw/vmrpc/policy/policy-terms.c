/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the terms of a rule, and "proxy" statements
 */
#include "hw/vmrpc/policy/policy-terms.h"

#include <arpa/inet.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-words.h"

/* Octets and names of an hourly budget */
#define MAX_SENT        (UINT64_C(1) << 50)
#define MAX_NAMES       10000

G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcTerms, vmrpc_terms_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(VmrpcProxy, vmrpc_proxy_unref)

/* --- proxies ------------------------------------------------------------ */

static VmrpcProxy *find_proxy(const VmrpcPolicy *policy, const char *name)
{
    for (guint i = 0; i < policy->proxies->len; i++) {
        VmrpcProxy *proxy = g_ptr_array_index(policy->proxies, i);

        if (strcmp(proxy->name, name) == 0) {
            return proxy;
        }
    }
    return NULL;
}

static bool parse_place(const char *word, VmrpcProxy *proxy)
{
    if (inet_pton(AF_INET, word, &proxy->addr4) == 1) {
        proxy->family = AF_INET;
    } else if (inet_pton(AF_INET6, word, &proxy->addr6) == 1) {
        proxy->family = AF_INET6;
    }
    return proxy->family;
}

bool vmrpc_policy_parse_proxy(VmrpcPolicy *policy, char **words, int n,
                              GError **errp)
{
    g_autoptr(VmrpcProxy) proxy = vmrpc_proxy_new();
    guint64 port;

    if (n < 5) {
        return policy_fail(errp, "'proxy' needs a name, 'socks5' or "
                           "'http', an address and a port");
    }
    if (find_proxy(policy, words[1])) {
        return policy_fail_word(errp, words[1], "is a proxy already");
    }
    if (strcmp(words[2], "http") == 0) {
        proxy->kind = VMRPC_VIA_HTTP;
    } else if (strcmp(words[2], "socks5") != 0) {
        return policy_fail_other(errp, words[2], "'socks5' or 'http'");
    }
    if (!parse_place(words[3], proxy)) {
        return policy_fail_other(errp, words[3], "an IPv4 or IPv6 "
                                 "address");
    }
    if (!policy_number(words[4], 1, 65535, &port)) {
        return policy_fail_other(errp, words[4], "a port (1 to 65535)");
    }
    proxy->port = port;
    if (n > 5 && strcmp(words[5], "secret") != 0) {
        return policy_fail_other(errp, words[5], "'secret'");
    }
    if (n == 6) {
        return policy_fail(errp, "'secret' needs the id of an object of "
                           "QEMU, as in '-object secret,id=ID'");
    }
    if (!policy_end(words, n, 7, errp)) {
        return false;
    }
    proxy->name = g_strdup(words[1]);
    proxy->secret = n > 6 ? g_strdup(words[6]) : NULL;
    g_ptr_array_add(policy->proxies, g_steal_pointer(&proxy));
    return true;
}

/* --- terms -------------------------------------------------------------- */

/* A rule whose terms are parsed */
typedef struct Parsing {
    const VmrpcPolicy *policy;
    const VmrpcPolicyKey *key;
    const VmrpcPolicyRule *rule;
    VmrpcTerms *terms;
} Parsing;

static bool parse_via(Parsing *p, const char *name, GError **errp)
{
    VmrpcProxy *proxy = find_proxy(p->policy, name);

    if (p->rule->proto != IPPROTO_TCP) {
        return policy_fail(errp, "'via' is for TCP: the rule needs "
                           "'tcp' behind its place");
    }
    if (!proxy) {
        return policy_fail_word(errp, name, "is not the name of a "
                                "'proxy' in a line above");
    }
    if (p->terms->via) {
        return policy_fail(errp, "a second 'via'");
    }
    p->terms->via = vmrpc_proxy_ref(proxy);
    return true;
}

static bool parse_sent(Parsing *p, const char *word, GError **errp)
{
    uint64_t most;

    if (!policy_bytes(word, "/h", 1, MAX_SENT, &most)) {
        return policy_fail_word(errp, word, "is not a number of bytes "
                                "an hour, as in '10M/h'");
    }
    if (p->rule->proto == VMRPC_POLICY_ONLY_DNS) {
        return policy_fail(errp, "'sent' has no use with 'dns', which opens "
                           "nothing");
    }
    if (p->terms->sent) {
        return policy_fail(errp, "a second 'sent'");
    }
    p->terms->sent = vmrpc_hourly_new(most);
    return true;
}

static bool parse_names(Parsing *p, const char *word, GError **errp)
{
    g_autofree char *number = NULL;
    guint64 most;

    if (p->key->kind != VMRPC_POLICY_BELOW) {
        return policy_fail(errp, "'names' is for a wildcard, as in "
                           "'*.example.com'");
    }
    if (g_str_has_suffix(word, "/h")) {
        number = g_strndup(word, strlen(word) - 2);
    }
    if (!number || !policy_number(number, 1, MAX_NAMES, &most)) {
        return policy_fail_word(errp, word, "is not a number of names "
                                "an hour from 1/h to 10000/h");
    }
    if (p->terms->names) {
        return policy_fail(errp, "a second 'names'");
    }
    p->terms->names = vmrpc_hourly_new(most);
    return true;
}

static const struct {
    const char *word;
    const char *value;          /* that must follow */
    bool (*parse)(Parsing *p, const char *value, GError **errp);
} known[] = {
    { "via", "needs the name of a proxy", parse_via },
    { "sent", "needs bytes an hour, as in '10M/h'", parse_sent },
    { "names", "needs a number an hour, as in '200/h'", parse_names },
};

bool vmrpc_policy_is_term(const char *word)
{
    for (size_t k = 0; k < G_N_ELEMENTS(known); k++) {
        if (strcmp(word, known[k].word) == 0) {
            return true;
        }
    }
    return false;
}

/* *@i is the place of a word; that of the next one is left there. */
static bool parse_term(Parsing *p, char **words, int n, int *i, GError **errp)
{
    const char *word = words[*i];

    for (size_t k = 0; k < G_N_ELEMENTS(known); k++) {
        if (strcmp(word, known[k].word) != 0) {
            continue;
        }
        if (!p->rule->allow) {
            return policy_fail_word(errp, word, "is for 'allow' only");
        }
        if (*i + 1 == n) {
            return policy_fail_word(errp, word, known[k].value);
        }
        *i += 2;
        return known[k].parse(p, words[*i - 1], errp);
    }
    return policy_fail_word(errp, word, "is too much: the line may end "
                            "before it, or go on with 'via', 'sent' or "
                            "'names'");
}

bool vmrpc_policy_parse_terms(const VmrpcPolicy *policy, char **words, int n,
                              const VmrpcPolicyKey *key, VmrpcPolicyRule *rule,
                              GError **errp)
{
    g_autoptr(VmrpcTerms) terms = vmrpc_terms_new();
    Parsing p = { policy, key, rule, terms };

    for (int i = 0; i < n; ) {
        if (!parse_term(&p, words, n, &i, errp)) {
            return false;
        }
    }
    rule->terms = g_steal_pointer(&terms);
    return true;
}
