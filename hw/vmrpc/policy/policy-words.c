/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of the policy file: numbers, and errors that name the wrong word
 */
#include <string.h>

#include "hw/vmrpc/policy/policy-parse.h"
#include "hw/vmrpc/policy/policy-words.h"

GQuark vmrpc_policy_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-policy-error");
}

bool policy_fail(GError **errp, const char *format, ...)
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

bool policy_fail_word(GError **errp, const char *word, const char *problem)
{
    g_autofree char *shown = g_strescape(word, NULL);

    return policy_fail(errp, "'%s' %s", shown, problem);
}

bool policy_fail_other(GError **errp, const char *word, const char *known)
{
    g_autofree char *problem = g_strconcat("is not ", known, NULL);

    return policy_fail_word(errp, word, problem);
}

bool policy_number(const char *word, guint64 min, guint64 max,
                   guint64 *value)
{
    return g_ascii_string_to_unsigned(word, 10, min, max, value, NULL);
}

bool policy_end(char **words, int n, int known, GError **errp)
{
    return n <= known ||
           policy_fail_word(errp, words[known], "is too much: the line may end "
                            "before it");
}

bool policy_bytes(const char *word, const char *per, uint64_t min,
                  uint64_t max, uint64_t *value)
{
    static const char units[] = "KMG";
    size_t len = strlen(word), tail = strlen(per);
    g_autofree char *number = NULL;
    const char *unit;
    unsigned shift;
    guint64 n;

    if (len <= tail || strcmp(word + len - tail, per) != 0) {
        return false;
    }
    len -= tail;
    unit = strchr(units, word[len - 1]);
    shift = unit ? 10 * (unit - units + 1) : 0;
    number = g_strndup(word, len - !!unit);
    if (!policy_number(number, 1, max >> shift, &n) ||
        n << shift < min) {
        return false;
    }
    *value = n << shift;
    return true;
}
