/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Search of the word that the user may have meant */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stdbool.h>

/** word_distance: Levenshtein's distance in octets; at most 255 */
unsigned word_distance(const char *a, const char *b);

/** word_is_like: is @word likely @right with a slip or two? */
bool word_is_like(const char *word, const char *right);

#endif /* BASE_NEAREST_H */
