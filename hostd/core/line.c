/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of the protocol, and of the state file */
#include <arpa/inet.h>
#include <string.h>

#include "hostd/core/line.h"

static const char *const verbs[] = {
    [HOSTD_REGISTER] = "register",
    [HOSTD_ADDRESS6] = "address6",
    [HOSTD_END] = "end",
    [HOSTD_FORGET] = "forget",
    [HOSTD_SHOW] = "show",
    [HOSTD_METRICS] = "metrics",
    [HOSTD_TAKE] = "take",
    [HOSTD_YIELD] = "yield",
};

static bool line_fail(GError **errp, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static bool line_fail(GError **errp, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(errp, HOSTD_ERROR, HOSTD_ERROR_LINE, "%s", text);
    return false;
}

/* Splits off the next word; NULL: there is none. */
static char *next_word(char **rest)
{
    char *word = *rest, *blank;

    if (!word) {
        return NULL;
    }
    blank = strchr(word, ' ');
    if (blank) {
        *blank = '\0';
        *rest = blank + 1;
    } else {
        *rest = NULL;
    }
    return word;
}

static bool is_uuid(const char *word)
{
    for (size_t i = 0; i < HOSTD_UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        /* Also fails at the end of a word that is too short. */
        if (dash ? word[i] != '-' : !g_ascii_isxdigit(word[i])) {
            return false;
        }
    }
    return word[HOSTD_UUID_LEN] == '\0';
}

static bool read_uuid(HostdLine *line, char **rest, GError **errp)
{
    const char *word = next_word(rest);

    if (!word || !is_uuid(word)) {
        return line_fail(errp, "%s: '%s' is not a UUID such as "
                         "0a7c1f3e-0000-4000-8000-00000000000a",
                         hostd_line_verb(line->verb), word ? word : "");
    }
    for (size_t i = 0; i < HOSTD_UUID_LEN; i++) {
        line->uuid[i] = g_ascii_tolower(word[i]);
    }
    return true;
}

static bool read_pid_file(HostdLine *line, char **rest, GError **errp)
{
    const char *name = *rest;

    if (!name || name[0] != '/') {
        return line_fail(errp, "register: the pid file '%s' is not an absolute "
                         "path", name ? name : "");
    }
    g_strlcpy(line->pid_file, name, sizeof(line->pid_file));
    *rest = NULL;
    return true;
}

/* Is it an address that neighbours resolve, and that can be moved? */
static bool is_unicast(const struct in6_addr *addr)
{
    return !IN6_IS_ADDR_UNSPECIFIED(addr) && !IN6_IS_ADDR_LOOPBACK(addr) &&
           !IN6_IS_ADDR_MULTICAST(addr) && !IN6_IS_ADDR_LINKLOCAL(addr) &&
           !IN6_IS_ADDR_V4MAPPED(addr) && !IN6_IS_ADDR_V4COMPAT(addr);
}

/* The kernel's rule for names (dev_valid_name()), restricted to ASCII. */
static bool is_device(const char *word)
{
    if (!*word || strlen(word) >= IF_NAMESIZE || !strcmp(word, ".") ||
        !strcmp(word, "..")) {
        return false;
    }
    for (; *word; word++) {
        if (*word == '/' || *word == ':' || !g_ascii_isgraph(*word)) {
            return false;
        }
    }
    return true;
}

static bool read_address(HostdLine *line, char **rest, GError **errp)
{
    const char *addr = next_word(rest), *dev = next_word(rest);

    if (!addr || inet_pton(AF_INET6, addr, &line->address.addr) != 1 ||
        !is_unicast(&line->address.addr)) {
        return line_fail(errp, "address6: '%s' is not a global unicast IPv6 "
                         "address, without prefix length", addr ? addr : "");
    }
    if (!dev || !is_device(dev)) {
        return line_fail(errp, "address6 %s: '%s' is not the name of an "
                         "interface", addr, dev ? dev : "");
    }
    g_strlcpy(line->address.dev, dev, sizeof(line->address.dev));
    return true;
}

/* Another word is left, for an error. */
static void read_format(HostdLine *line, char **rest)
{
    line->as_json = *rest && !strcmp(*rest, "json");
    if (line->as_json) {
        *rest = NULL;
    }
}

static bool read_arguments(HostdLine *line, char **rest, GError **errp)
{
    switch (line->verb) {
    case HOSTD_REGISTER:
        return read_uuid(line, rest, errp) && read_pid_file(line, rest, errp);
    case HOSTD_ADDRESS6:
        return read_address(line, rest, errp);
    case HOSTD_FORGET:
    case HOSTD_TAKE:
    case HOSTD_YIELD:
        return read_uuid(line, rest, errp);
    case HOSTD_SHOW:
        read_format(line, rest);
        return true;
    default:
        return true;
    }
}

static HostdVerb verb_of(const char *word)
{
    for (unsigned i = HOSTD_NONE + 1; i < G_N_ELEMENTS(verbs); i++) {
        if (!strcmp(word, verbs[i])) {
            return i;
        }
    }
    return HOSTD_NONE;
}

static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (g_ascii_iscntrl(text[i])) {
            return false;
        }
    }
    return g_utf8_validate(text, len, NULL);
}

bool hostd_line_parse(HostdLine *line, const char *text, size_t len,
                      GError **errp)
{
    char copy[HOSTD_LINE_MAX], *rest = copy;
    const char *word;

    memset(line, 0, sizeof(*line));
    if (len >= HOSTD_LINE_MAX || !is_text(text, len)) {
        return line_fail(errp, "a line is not text of at most %u octets",
                         HOSTD_LINE_MAX);
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    word = next_word(&rest);
    line->verb = verb_of(word);
    if (!line->verb) {
        return line_fail(errp, "'%s' is not one of register, address6, end, "
                         "forget, show, metrics, take and yield", word);
    }
    if (!read_arguments(line, &rest, errp)) {
        return false;
    }
    return !rest || line_fail(errp, "%s: '%s' is unexpected",
                              hostd_line_verb(line->verb), rest);
}

const char *hostd_line_verb(HostdVerb verb)
{
    return verbs[verb];
}
