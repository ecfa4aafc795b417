/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of a policy, in a hash table by prefix and name
 */
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-rules.h"

/* --- keys --------------------------------------------------------------- */

/* Clears all bits of @addr after the first @len. */
static void mask(uint8_t addr[16], unsigned len)
{
    unsigned bytes = len / 8;

    if (len % 8) {
        addr[bytes++] &= 0xff << (8 - len % 8);
    }
    memset(addr + bytes, 0, 16 - bytes);
}

void vmrpc_policy_key_addr(VmrpcPolicyKey *key, VmrpcPolicyKind kind,
                           const uint8_t *addr, unsigned len)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t half[2];

    *key = (VmrpcPolicyKey) { .kind = kind, .len = len };
    memcpy(key->addr, addr, kind == VMRPC_POLICY_IPV4 ? 4 : 16);
    mask(key->addr, len);
    memcpy(half, key->addr, sizeof(half));
    key->hash = ((half[0] * odd ^ half[1]) * odd + len * odd) >> 32;
}

/*
 * FNV-1a from the last octet to the first: so the hash of a name continues the
 * hash of its parent.
 */
static uint32_t hash_name(uint32_t hash, const char *from, const char *to)
{
    while (to > from) {
        hash = (hash ^ (uint8_t)*--to) * 16777619;
    }
    return hash;
}

#define HASH_OF_ROOT 2166136261u

void vmrpc_policy_key_name(VmrpcPolicyKey *key, VmrpcPolicyKind kind,
                           const VmrpcPolicyName *name)
{
    const char *end = name->text + strlen(name->text);

    *key = (VmrpcPolicyKey) {
        .kind = kind,
        .hash = hash_name(HASH_OF_ROOT, name->text, end),
        .len = name->num_labels,
        .name = name->text,
    };
}

void vmrpc_policy_key_root(VmrpcPolicyKey *key)
{
    *key = (VmrpcPolicyKey) { .hash = HASH_OF_ROOT };
}

void vmrpc_policy_key_extend(VmrpcPolicyKey *key, const VmrpcPolicyName *name)
{
    const char *end = key->len ? key->name : name->text + strlen(name->text);
    unsigned first = name->num_labels - ++key->len;

    key->name = name->text + name->label[first];
    key->hash = hash_name(key->hash, key->name, end);
    key->kind = first ? VMRPC_POLICY_BELOW : VMRPC_POLICY_NAME;
}

static guint key_hash(gconstpointer key)
{
    return ((const VmrpcPolicyKey *)key)->hash;
}

static gboolean key_equal(gconstpointer pa, gconstpointer pb)
{
    const VmrpcPolicyKey *a = pa, *b = pb;

    return a->kind == b->kind && a->len == b->len &&
           memcmp(a->addr, b->addr, sizeof(a->addr)) == 0 &&
           g_strcmp0(a->name, b->name) == 0;
}

/* As g_ascii_tolower(), which is not inline. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Characters at @p for one octet: "x", "\." or "\065"; 0: not valid */
static size_t octet_len(const char *p)
{
    if (*p != '\\') {
        return 1;
    }
    if (!g_ascii_isdigit(p[1])) {
        return p[1] ? 2 : 0;
    }
    return g_ascii_isdigit(p[2]) && g_ascii_isdigit(p[3]) ? 4 : 0;
}

bool vmrpc_policy_read_name(const char *text, VmrpcPolicyName *name)
{
    size_t pos = 0, end = 0;

    name->num_labels = 0;
    while (text[pos]) {
        if (name->num_labels == VMRPC_POLICY_NAME_LABELS) {
            return false;
        }
        name->label[name->num_labels++] = pos;
        while (text[pos] && text[pos] != '.') {
            size_t len = octet_len(text + pos);

            if (!len || pos + len >= sizeof(name->text)) {
                return false;
            }
            for (; len; len--, pos++) {
                name->text[pos] = lower(text[pos]);
            }
        }
        end = pos;
        if (end == name->label[name->num_labels - 1]) {
            return false;
        }
        if (text[pos] == '.') {
            name->text[pos++] = '.';
        }
    }
    name->text[end] = '\0';
    return end;
}

/* --- the table ---------------------------------------------------------- */

static void key_free(gpointer opaque)
{
    VmrpcPolicyKey *key = opaque;

    g_free((char *)key->name);
    g_free(key);
}

static void rule_clear(gpointer rule)
{
    vmrpc_terms_unref(((VmrpcPolicyRule *)rule)->terms);
}

static void rules_free(gpointer rules)
{
    g_array_unref(rules);
}

static void proxy_free(gpointer proxy)
{
    vmrpc_proxy_unref(proxy);
}

VmrpcPolicy *vmrpc_policy_new(void)
{
    VmrpcPolicy *policy = g_new0(VmrpcPolicy, 1);

    policy->rules = g_hash_table_new_full(key_hash, key_equal, key_free,
                                          rules_free);
    policy->hits = vmrpc_policy_hits_new();
    policy->proxies = g_ptr_array_new_with_free_func(proxy_free);
    policy->open_line = VMRPC_POLICY_NO_LINE;
    policy->default_allow = true;
    return policy;
}

static void add_prefix_len(VmrpcPolicy *policy, VmrpcPolicyKind kind,
                           uint8_t len)
{
    unsigned num = policy->prefixes[kind].num;

    if (!memchr(policy->prefixes[kind].len, len, num)) {
        policy->prefixes[kind].len[num] = len;
        policy->prefixes[kind].num++;
    }
}

void vmrpc_policy_add(VmrpcPolicy *policy, const VmrpcPolicyKey *key,
                      const VmrpcPolicyRule *rule)
{
    GArray *rules = g_hash_table_lookup(policy->rules, key);

    if (!rules) {
        VmrpcPolicyKey *copy = g_new(VmrpcPolicyKey, 1);

        *copy = *key;
        copy->name = g_strdup(key->name);
        rules = g_array_new(FALSE, FALSE, sizeof(*rule));
        g_array_set_clear_func(rules, rule_clear);
        g_hash_table_insert(policy->rules, copy, rules);
    }
    g_array_append_val(rules, *rule);
    policy->num_rules++;
    policy->has_tls |= rule->says == VMRPC_SAYS_TLS;
    policy->has_says |= rule->says != VMRPC_SAYS_ANYTHING;
    switch (key->kind) {
    case VMRPC_POLICY_IPV4:
    case VMRPC_POLICY_IPV6:
        add_prefix_len(policy, key->kind, key->len);
        break;
    case VMRPC_POLICY_NAME:
    case VMRPC_POLICY_BELOW:
        policy->max_labels = MAX(policy->max_labels, key->len);
        return;
    default:
        break;
    }
    if (rule->allow && rule->line < policy->open_line) {
        policy->open_line = rule->line;
        policy->open_watch = rule->watch;
    }
}
