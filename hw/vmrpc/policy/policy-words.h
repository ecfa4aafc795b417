/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of the policy file: numbers, and errors that name the wrong word
 *
 * For the files that parse it.  The functions with @errp set it and return
 * false where they fail.
 */
#ifndef HW_VMRPC_POLICY_WORDS_H
#define HW_VMRPC_POLICY_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

/* Sets an error, and returns false. */
bool policy_fail(GError **errp, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* "'WORD' PROBLEM", with unprintable characters of WORD escaped */
bool policy_fail_word(GError **errp, const char *word,
                            const char *problem);

/* "'WORD' is not KNOWN" */
bool policy_fail_other(GError **errp, const char *word,
                             const char *known);

/* Is @word a decimal number from @min to @max? */
bool policy_number(const char *word, guint64 min, guint64 max,
                         guint64 *value);

/*
 * Is @word a number of bytes from @min to @max, in binary units K, M, G, with
 * @per behind it ("", "/s", "/h")?
 */
bool policy_bytes(const char *word, const char *per, uint64_t min,
                        uint64_t max, uint64_t *value);

/* Fails if there are words after the first @known ones. */
bool policy_end(char **words, int n, int known, GError **errp);

#endif /* HW_VMRPC_POLICY_WORDS_H */
