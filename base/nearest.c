/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levenshtein's distance */
#include <string.h>

#include "base/nearest.h"

#define WORD_MAX    64
#define FAR         255

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    a = a < b ? a : b;
    return a < c ? a : c;
}

unsigned word_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    unsigned row[WORD_MAX + 1];

    if (a_len > WORD_MAX || b_len > WORD_MAX) {
        return FAR;
    }
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1,
                           diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

bool word_is_like(const char *word, const char *right)
{
    size_t len = strlen(right);

    return word_distance(word, right) <= (len < 4 ? 1 : len < 8 ? 2 : 3);
}
