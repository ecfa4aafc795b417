/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy file, a destination and its names: 22 bytes (family, protocol,
 * is_local, number of names, port, address), a line for each name, the file
 *
 * What the policy finds through its index must be what the plainest reading
 * of the file gives: line by line, each rule on its own, names label by label.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "hw/vmrpc/policy/policy-hits.h"
#include "hw/vmrpc/policy/policy-parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER 22
#define MODEL_LINES 200         /* longer files are not compared */

static bool is_allow(VmrpcVerdictReason reason)
{
    return reason == VMRPC_VERDICT_ALLOW_DEFAULT ||
           reason == VMRPC_VERDICT_ALLOW_RULE ||
           reason == VMRPC_VERDICT_WATCH_DEFAULT ||
           reason == VMRPC_VERDICT_WATCH_RULE;
}

/* --- the model ---------------------------------------------------------- */

/* The labels of a name, in lower case; NULL if it is none. */
static GPtrArray *labels_of(const char *name)
{
    g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *text = g_ascii_strdown(name, -1);
    const char *p = text, *start = text;

    while (*p) {
        if (*p == '.') {
            g_ptr_array_add(labels, g_strndup(start, p - start));
            start = ++p;
        } else if (*p != '\\') {
            p++;
        } else if (g_ascii_isdigit(p[1]) && g_ascii_isdigit(p[2]) &&
                   g_ascii_isdigit(p[3])) {
            p += 4;
        } else if (p[1] && !g_ascii_isdigit(p[1])) {
            p += 2;
        } else {
            return NULL;
        }
    }
    if (p > start) {
        g_ptr_array_add(labels, g_strdup(start));
    }
    for (guint i = 0; i < labels->len; i++) {
        if (!*(char *)labels->pdata[i]) {
            return NULL;
        }
    }
    return labels->len && labels->len <= 127 && strlen(text) < 1024
           ? g_steal_pointer(&labels) : NULL;
}

static bool name_matches(const char *pattern, const char *name)
{
    bool below = g_str_has_prefix(pattern, "*.");
    g_autoptr(GPtrArray) want = labels_of(pattern + (below ? 2 : 0));
    g_autoptr(GPtrArray) have = labels_of(name);

    if (!want || !have || have->len < want->len + below ||
        (!below && have->len != want->len)) {
        return false;
    }
    for (guint i = 1; i <= want->len; i++) {
        if (strcmp(want->pdata[want->len - i],
                   have->pdata[have->len - i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Does "[tcp|udp|any] [PORT[-PORT]]" match @dest? */
static bool rest_matches(char **words, const VmrpcDest *dest)
{
    bool ports = dest->proto == IPPROTO_TCP || dest->proto == IPPROTO_UDP;

    for (; *words; words++) {
        unsigned min, max;
        int n = sscanf(*words, "%u-%u", &min, &max);

        if (strcmp(*words, "dns") == 0 ||
            (strcmp(*words, "tcp") == 0 && dest->proto != IPPROTO_TCP) ||
            (strcmp(*words, "udp") == 0 && dest->proto != IPPROTO_UDP) ||
            (strcmp(*words, "icmp") == 0 && dest->proto != IPPROTO_ICMP) ||
            (n > 0 && (!ports || dest->port < min ||
                       dest->port > (n == 2 ? max : min)))) {
            return false;
        }
    }
    return true;
}

/* Do words follow that say nothing about which destinations match? */
static bool is_term(const char *word)
{
    static const char *const terms[] = {
        "tls", "http", "via", "sent", "names", NULL,
    };

    return g_strv_contains(terms, word);
}

/* The words of a line, without comment and without terms. */
static char **words_of(const char *line)
{
    g_autofree char *text = g_strndup(line, strcspn(line, "#"));
    g_auto(GStrv) parts = g_strsplit_set(text, " \t\r", -1);
    GPtrArray *words = g_ptr_array_new();

    for (char **p = parts; *p; p++) {
        if (is_term(*p) && words->len > 1) {
            break;
        }
        if (**p) {
            g_ptr_array_add(words, g_strdup(*p));
        }
    }
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

static bool is_by_name(const char *place)
{
    struct in_addr addr4;

    return strcmp(place, "host") != 0 && !strpbrk(place, ":/") &&
           inet_pton(AF_INET, place, &addr4) != 1;
}

/*
 * The verdict of the rule in @line for @dest; 0: none, 1: allow, 2: watch, -1:
 * deny
 */
static int rule_says(const char *line, const VmrpcDest *dest, bool refused)
{
    g_auto(GStrv) words = words_of(line);
    g_autoptr(VmrpcPolicy) alone = NULL;
    g_autofree char *text = g_strjoinv(" ", words);
    VmrpcVerdict why;
    int says;
    size_t i;

    if (!words[0]) {
        return 0;
    }
    says = strcmp(words[0], "allow") == 0 ? 1 :
           strcmp(words[0], "watch") == 0 ? 2 :
           strcmp(words[0], "deny") == 0 ? -1 : 0;
    if (!says) {
        return 0;
    }
    if (!is_by_name(words[1])) {
        alone = vmrpc_policy_parse(text, strlen(text), "line", NULL);
        g_assert_nonnull(alone);
        vmrpc_policy_check(alone, dest, &why);
        return !why.line ? 0 : says;
    }
    if (dest->family == AF_UNIX || (says > 0 && refused)) {
        return 0;
    }
    for (i = 0; i < MIN(dest->num_names, VMRPC_POLICY_MAX_NAMES); i++) {
        if (name_matches(words[1], dest->names[i]) &&
            rest_matches(words + 2, dest)) {
            return says;
        }
    }
    return 0;
}

/* --- the comparison ----------------------------------------------------- */

static void compare(char **lines, const VmrpcDest *dest,
                    const VmrpcVerdict *why)
{
    VmrpcVerdict without;
    bool refused = vmrpc_policy_check(NULL, dest, &without) < 0;
    int says = 0;
    unsigned i;

    for (i = 0; !says && lines[i]; i++) {
        says = rule_says(lines[i], dest, refused);
    }
    if (says) {
        g_assert_cmpuint(why->line, ==, i);
        g_assert_cmpint(why->reason, ==, says == 1 ? VMRPC_VERDICT_ALLOW_RULE :
                                         says == 2 ? VMRPC_VERDICT_WATCH_RULE
                                                   : VMRPC_VERDICT_DENY_RULE);
    } else if (refused) {
        g_assert_cmpint(why->reason, ==, without.reason);
        g_assert_cmpuint(why->line, ==, 0);
    } else {
        g_assert_true(why->reason == VMRPC_VERDICT_ALLOW_DEFAULT ||
                      why->reason == VMRPC_VERDICT_WATCH_DEFAULT ||
                      why->reason == VMRPC_VERDICT_DENY_DEFAULT);
        g_assert_true(!why->line ||
                      g_strrstr(lines[why->line - 1], "default"));
    }
}

static void check_dest(const VmrpcPolicy *policy, const VmrpcDest *dest,
                       char **lines)
{
    VmrpcVerdict why;
    int ret = vmrpc_policy_check(policy, dest, &why);
    size_t i;

    g_assert_cmpint(why.reason, <, VMRPC_VERDICT_COUNT);
    g_assert_true((ret == 0) == is_allow(why.reason));
    for (i = 0; i < dest->num_names && why.name != dest->names[i]; i++) {
        continue;
    }
    g_assert_true(dest->num_names ? i < dest->num_names : !why.name);
    if (g_strv_length(lines) <= MODEL_LINES) {
        compare(lines, dest, &why);
    }
}

/* A name that is not looked up must not affect the verdict. */
static void check_name(const VmrpcPolicy *policy, VmrpcDest dest,
                       const char *name)
{
    VmrpcVerdict why, unlisted;
    int ret = vmrpc_policy_check_name(policy, name, &why);

    g_assert_true((ret == 0) == is_allow(why.reason));
    g_assert_true(why.name == name);
    vmrpc_policy_check_name(policy, "", &unlisted);
    if (unlisted.reason == VMRPC_VERDICT_DENY_UNLISTED) {
        g_assert_cmpint(why.reason, !=, VMRPC_VERDICT_ALLOW_DEFAULT);
    } else if (ret < 0) {
        dest.names = &name;
        dest.num_names = 1;
        g_assert_cmpint(vmrpc_policy_check(policy, &dest, NULL), <, 0);
    }
}

/*
 * An address that is private for some name is private for a name of no domain.
 */
static void check_private(const VmrpcPolicy *policy, const VmrpcDest *dest,
                          const char *name)
{
    unsigned line = 0;

    if (vmrpc_policy_is_private(policy, dest, name, &line)) {
        g_assert_true(vmrpc_policy_has_private(policy));
        g_assert_cmpuint(line, >, 0);
        g_assert_true(vmrpc_policy_is_private(policy, dest, "", &line));
    }
}

static void check_rate(const VmrpcRate *rate)
{
    g_assert_cmpuint(rate->per_s, <=, VMRPC_LIMITS_MAX_RATE);
    g_assert_cmpuint(rate->burst, <=, VMRPC_LIMITS_MAX_RATE);
    g_assert_true(!rate->per_s == !rate->burst);
}

static void check_limits(const VmrpcLimitsConfig *limits)
{
    check_rate(&limits->connections);
    check_rate(&limits->dns);
    g_assert_cmpuint(limits->sockets, <=, VMRPC_LIMITS_MAX_SOCKETS);
    g_assert_true(!limits->buffers ||
                  limits->buffers >= VMRPC_LIMITS_MIN_BUFFERS);
    g_assert_cmpuint(limits->buffers, <=, VMRPC_LIMITS_MAX_BUFFERS);
}

static VmrpcDest read_dest(const uint8_t *data)
{
    VmrpcDest dest = { 0 };

    dest.family = data[0] & 1 ? AF_INET6 : data[0] & 2 ? AF_UNIX : AF_INET;
    dest.proto = data[1] & 1 ? IPPROTO_TCP : data[1] & 2 ? data[1]
                                                         : IPPROTO_UDP;
    dest.is_local = data[2] & 1;
    memcpy(&dest.port, data + 4, sizeof(dest.port));
    memcpy(&dest.addr6, data + 6, sizeof(dest.addr6));
    if (dest.family == AF_INET6 && data[2] & 2) {
        dest.nat64_len = data[2] & 4 ? 96 : 32 + (data[2] >> 3 & 3) * 8;
        memcpy(&dest.nat64_addr4, data + 18, sizeof(dest.nat64_addr4));
    }
    return dest;
}

/* @text: lines with the names, then the file */
static void check_text(VmrpcDest *dest, const char *text, size_t num_names)
{
    g_autoptr(VmrpcPolicy) policy = NULL;
    g_autoptr(GError) err = NULL;
    g_auto(GStrv) parts = g_strsplit(text, "\n", num_names + 1);
    g_auto(GStrv) lines = NULL;
    size_t parts_num = g_strv_length(parts);
    const char *file = parts_num ? parts[parts_num - 1] : "";

    dest->num_names = MAX(parts_num, 1) - 1;
    dest->names = (const char *const *)parts;
    policy = vmrpc_policy_parse(file, strlen(file), "policy", &err);
    g_assert_true(!policy == !!err);
    if (!policy) {
        g_assert_true(g_str_has_prefix(err->message, "policy:"));
        return;
    }
    lines = g_strsplit(file, "\n", -1);
    check_dest(policy, dest, lines);
    check_limits(vmrpc_policy_limits(policy));
    for (size_t i = 0; i < dest->num_names; i++) {
        check_name(policy, *dest, parts[i]);
        check_private(policy, dest, parts[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + HEADER;
    g_autofree char *copy = NULL;
    VmrpcDest dest;

    if (size < HEADER) {
        return 0;
    }
    if (memchr(text, '\0', size - HEADER)) {
        /* a file that is no string has no model */
        vmrpc_policy_free(vmrpc_policy_parse(text, size - HEADER, "policy",
                                             NULL));
        return 0;
    }
    dest = read_dest(data);
    copy = g_strndup(text, size - HEADER);
    check_text(&dest, copy, data[3] % 32);
    return 0;
}
