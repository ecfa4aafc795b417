/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The few requests of HTTP that the control socket takes */
#include <stdbool.h>
#include <string.h>

#include "net/dns/server/core/http.h"

static bool is_whole(const char *text, size_t len)
{
    return memmem(text, len, "\r\n\r\n", 4) || memmem(text, len, "\n\n", 2);
}

/* Does @text begin with the word, and then the end or a blank? */
static bool has_word(const char *text, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    return len > word_len && !memcmp(text, word, word_len) &&
           text[word_len] == ' ';
}

DnsdHttp dnsd_http_parse(const char *text, size_t len)
{
    static const struct {
        const char *method, *path;
        DnsdHttp what;
    } known[] = {
        { "GET", "/metrics", DNSD_HTTP_METRICS },
        { "POST", "/reload", DNSD_HTTP_RELOAD },
    };
    const char *path = memchr(text, ' ', len);
    size_t left;

    if (!is_whole(text, len)) {
        return len < DNSD_HTTP_MAX ? DNSD_HTTP_MORE : DNSD_HTTP_WRONG;
    }
    if (!path) {
        return DNSD_HTTP_WRONG;
    }
    path++;
    left = len - (path - text);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (has_word(path, left, known[i].path)) {
            return has_word(text, len, known[i].method) ? known[i].what
                                                        : DNSD_HTTP_METHOD;
        }
    }
    return DNSD_HTTP_UNKNOWN;
}
