/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "dnsd/server/core/http.h"

static bool is_whole(const char *text, size_t len)
{
    return memmem(text, len, "\r\n\r\n", 4) || memmem(text, len, "\n\n", 2);
}

/* Does @text begin with the word and a blank? */
static bool has_word(const char *text, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    return len > word_len && !memcmp(text, word, word_len) &&
           text[word_len] == ' ';
}

DnsdHttp dnsd_http_parse(const char *text, size_t len)
{
    const char *path = memchr(text, ' ', len);

    if (!is_whole(text, len)) {
        return len < DNSD_HTTP_MAX ? DNSD_HTTP_MORE : DNSD_HTTP_WRONG;
    }
    if (!path) {
        return DNSD_HTTP_WRONG;
    }
    path++;
    if (!has_word(path, len - (path - text), "/metrics")) {
        return DNSD_HTTP_UNKNOWN;
    }
    return has_word(text, len, "GET") ? DNSD_HTTP_METRICS : DNSD_HTTP_METHOD;
}
