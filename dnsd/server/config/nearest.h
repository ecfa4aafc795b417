/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Search of the word that the user may have meant */
#ifndef DNSD_SERVER_CONFIG_NEAREST_H
#define DNSD_SERVER_CONFIG_NEAREST_H

/** dnsd_word_distance: Levenshtein's distance in octets; at most 255 */
unsigned dnsd_word_distance(const char *a, const char *b);

#endif /* DNSD_SERVER_CONFIG_NEAREST_H */
