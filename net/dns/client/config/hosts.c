/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hosts(5)
 */

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/dns/client/config/address.h"
#include "net/dns/client/config/hosts.h"

#define LINE_MAX_LEN    2048
#define BLANK           " \t\r"

/* The first name of the line, or NULL if name is not in the line */
static const char *line_names(char *save, const char *name, size_t len)
{
    const char *first = NULL, *word;
    bool has = false;

    while ((word = strtok_r(NULL, BLANK, &save))) {
        first = first ? first : word;
        has |= !strncasecmp(word, name, len) && !word[len];
    }
    return has ? first : NULL;
}

size_t dnsc_hosts_find(const char *text, size_t len, const char *name,
                       int family, VmmnetDnsAddress *addrs, size_t max,
                       char *canonical, size_t size, bool *known)
{
    const char *end = text + len;
    size_t name_len = strlen(name);
    char line[LINE_MAX_LEN];
    size_t count = 0;

    *known = false;
    name_len -= name_len && name[name_len - 1] == '.';
    while (text < end && count < max) {
        const char *next = memchr(text, '\n', end - text);
        size_t n = (next ? next : end) - text;
        const char *first;
        char *save, *word;

        if (n < sizeof(line)) {
            memcpy(line, text, n);
            line[n] = '\0';
            line[strcspn(line, "#")] = '\0';
            word = strtok_r(line, BLANK, &save);
            first = word ? line_names(save, name, name_len) : NULL;
            if (first && !dnsc_address_parse(word, false, &addrs[count])) {
                if (!*known) {
                    snprintf(canonical, size, "%s", first);
                }
                *known = true;
                count += family == AF_UNSPEC ||
                         family == addrs[count].sa.sa_family;
            }
        }
        text += n + 1;
    }
    return count;
}
