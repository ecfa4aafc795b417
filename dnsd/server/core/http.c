/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP requests that the control socket accepts */
#include <stdbool.h>
#include <string.h>

#include "dnsd/server/core/http.h"

static bool is_whole(const char *text, size_t len)
{
    return memmem(text, len, "\r\n\r\n", 4) || memmem(text, len, "\n\n", 2);
}

/*
 * Does @text begin with the word and a blank; or anything, if it ends in '/'?
 */
static bool has_word(const char *text, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    return len > word_len && !memcmp(text, word, word_len) &&
           (text[word_len] == ' ' || word[word_len - 1] == '/');
}

DnsdHttp dnsd_http_parse(const char *text, size_t len)
{
    static const struct {
        const char *method, *path;
        DnsdHttp what;
    } known[] = {
        { "GET", "/metrics", DNSD_HTTP_METRICS },
        { "POST", "/reload", DNSD_HTTP_RELOAD },
        { "POST", "/refresh/", DNSD_HTTP_REFRESH },
        { "POST", "/retransfer/", DNSD_HTTP_RETRANSFER },
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

void dnsd_http_argument(const char *text, size_t len, char *to, size_t room)
{
    const char *path = memchr(text, ' ', len);
    const char *end = path ? memchr(path + 1, ' ', len - (path + 1 - text))
                           : NULL;
    const char *at = end ? memrchr(path, '/', end - path) : NULL;
    size_t arg_len = at ? end - at - 1 : 0;

    to[0] = 0;
    if (arg_len < room && !memchr(at ? at : "", 0, arg_len)) {
        memcpy(to, at ? at + 1 : "", arg_len);
        to[arg_len] = 0;
    }
}
