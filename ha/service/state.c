/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bindings and ESP numbers as text, for the state file */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "ha/base/mistake.h"
#include "ha/service/state.h"

#define MAGIC           "vmmnet-ha-state"
#define VERSION         "1"
#define LINE_MAX_LEN    256u

typedef struct Parser {
    const char *file;
    unsigned line;
    const Mip6HaClock *clock;
    bool same_boot;
    GHashTable *bindings;
    GArray *seen;               /* of Mip6HaSeen */
    uint32_t *sent;
} Parser;

/* Sets an error about the parser's current line. Returns: false */
#define fail(p, errp, ...) \
    mip6_ha_mistake(errp, (p)->file, (p)->line, __VA_ARGS__)

/* --- writing -------------------------------------------------------------- */

static void put_address(GString *out, const struct in6_addr *addr)
{
    char text[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, addr, text, sizeof(text));
    g_string_append_c(out, ' ');
    g_string_append(out, text);
}

void mip6_ha_state_head(GString *out, const Mip6HaClock *clock)
{
    g_string_append_printf(out, MAGIC " " VERSION " %s\n", clock->boot_id);
}

void mip6_ha_state_bind(GString *out, const Mip6AgentBinding *b,
                        const Mip6HaClock *clock)
{
    int64_t boot_ms = b->expires / MS;
    int64_t wall_ms = (b->expires - clock->boot + clock->wall) / MS;

    g_string_append(out, "bind");
    put_address(out, &b->home);
    put_address(out, &b->care_of);
    g_string_append_printf(out, " %u %u %" PRId64 " %" PRId64 "\n",
                           b->sequence, b->lifetime, boot_ms, wall_ms);
}

void mip6_ha_state_end(GString *out, const struct in6_addr *home)
{
    g_string_append(out, "end");
    put_address(out, home);
    g_string_append_c(out, '\n');
}

void mip6_ha_state_seen(GString *out, const Mip6Keys *keys)
{
    const EspSa *sa = mip6_protect_sa(keys->protect, MIP6_SIGNAL_IN);
    uint64_t number = mip6_keys_seen(keys);

    if (number) {
        g_string_append(out, "seen");
        put_address(out, &keys->home);
        g_string_append_printf(out, " %u %" PRIu64 "\n", esp_sa_spi(sa),
                               number);
    }
}

void mip6_ha_state_sent(GString *out, uint32_t number)
{
    g_string_append_printf(out, "sent %" PRIu32 "\n", number);
}

/* --- reading -------------------------------------------------------------- */

static bool parse_address(const Parser *p, const char *word,
                          struct in6_addr *addr, GError **errp)
{
    return inet_pton(AF_INET6, word, addr) == 1 ||
           fail(p, errp, "'%s' is not an IPv6 address", word);
}

static bool parse_number(const Parser *p, const char *what, const char *word,
                         uint64_t max, uint64_t *number, GError **errp)
{
    guint64 parsed;

    if (!g_ascii_string_to_unsigned(word, 10, 0, max, &parsed, NULL)) {
        return fail(p, errp, "%s '%s' is not a number from 0 to %" PRIu64,
                    what, word, max);
    }
    *number = parsed;
    return true;
}

/* The end of a binding on CLOCK_BOOTTIME, at most @lifetime from now. */
static int64_t expiry(const Parser *p, const Mip6AgentBinding *b,
                      uint64_t boot_ms, uint64_t wall_ms)
{
    int64_t left = p->same_boot ? (int64_t)boot_ms * MS - p->clock->boot
                                : (int64_t)wall_ms * MS - p->clock->wall;

    return p->clock->boot +
           MIN(left, b->lifetime * (MIP6_LIFETIME_UNIT * SECOND));
}

static bool parse_bind(const Parser *p, char **words, GError **errp)
{
    g_autofree Mip6AgentBinding *b = g_new0(Mip6AgentBinding, 1);
    uint64_t sequence = 0, lifetime = 0, boot_ms = 0, wall_ms = 0;

    if (!parse_address(p, words[1], &b->home, errp) ||
        !parse_address(p, words[2], &b->care_of, errp) ||
        !parse_number(p, "sequence", words[3], UINT16_MAX, &sequence, errp) ||
        !parse_number(p, "lifetime", words[4], UINT16_MAX, &lifetime, errp) ||
        !parse_number(p, "time", words[5], INT64_MAX / MS, &boot_ms, errp) ||
        !parse_number(p, "time", words[6], INT64_MAX / MS, &wall_ms, errp)) {
        return false;
    }
    b->sequence = sequence;
    b->lifetime = lifetime;
    b->expires = expiry(p, b, boot_ms, wall_ms);
    if (b->expires <= p->clock->boot) {
        g_hash_table_remove(p->bindings, &b->home);
    } else {
        g_hash_table_replace(p->bindings, &b->home, b);
        b = NULL;
    }
    return true;
}

static bool parse_end(const Parser *p, char **words, GError **errp)
{
    struct in6_addr home;

    if (!parse_address(p, words[1], &home, errp)) {
        return false;
    }
    g_hash_table_remove(p->bindings, &home);
    return true;
}

static bool parse_seen(const Parser *p, char **words, GError **errp)
{
    uint64_t spi = 0;
    Mip6HaSeen seen;

    if (!parse_address(p, words[1], &seen.home, errp) ||
        !parse_number(p, "SPI", words[2], UINT32_MAX, &spi, errp) ||
        !parse_number(p, "number", words[3], UINT64_MAX, &seen.number, errp)) {
        return false;
    }
    seen.spi = spi;
    g_array_append_val(p->seen, seen);
    return true;
}

static bool parse_sent(const Parser *p, char **words, GError **errp)
{
    uint64_t number = 0;

    if (!parse_number(p, "number", words[1], UINT32_MAX, &number, errp)) {
        return false;
    }
    *p->sent = MAX(*p->sent, number);
    return true;
}

static bool parse_head(Parser *p, char **words, GError **errp)
{
    if (g_strv_length(words) != 3 || strcmp(words[0], MAGIC)) {
        return fail(p, errp, "this is not a state file of vmmnet-ha");
    }
    if (strcmp(words[1], VERSION)) {
        return fail(p, errp, "version '%s' is not " VERSION, words[1]);
    }
    p->same_boot = !strcmp(words[2], p->clock->boot_id);
    return true;
}

static bool parse_line(Parser *p, const char *line, size_t len, GError **errp)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) words = NULL;
    unsigned count;

    p->line++;
    if (len > LINE_MAX_LEN || memchr(line, '\0', len)) {
        return fail(p, errp, "this is not a line of text");
    }
    text = g_strndup(line, len);
    words = g_strsplit(text, " ", 0);
    count = g_strv_length(words);
    if (p->line == 1) {
        return parse_head(p, words, errp);
    }
    if (count == 7 && !strcmp(words[0], "bind")) {
        return parse_bind(p, words, errp);
    }
    if (count == 2 && !strcmp(words[0], "end")) {
        return parse_end(p, words, errp);
    }
    if (count == 4 && !strcmp(words[0], "seen")) {
        return parse_seen(p, words, errp);
    }
    if (count == 2 && !strcmp(words[0], "sent")) {
        return parse_sent(p, words, errp);
    }
    return fail(p, errp, "'%s' is neither 'bind' with six values, 'end' or "
                "'sent' with one nor 'seen' with three", count ? words[0] : "");
}

GHashTable *mip6_ha_state_parse(const char *text, size_t len, const char *file,
                                const Mip6HaClock *clock, GArray *seen,
                                uint32_t *sent, GPtrArray *damage,
                                GError **errp)
{
    const char *end = text + len, *stop;
    Parser p = { .file = file, .clock = clock, .seen = seen, .sent = sent };

    *sent = 0;
    p.bindings = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal,
                                       NULL, g_free);
    while (text < end && (stop = memchr(text, '\n', end - text))) {
        g_autoptr(GError) err = NULL;

        if (!parse_line(&p, text, stop - text, &err)) {
            if (p.line == 1) {
                g_propagate_error(errp, g_steal_pointer(&err));
                goto refused;
            }
            g_ptr_array_add(damage, g_strdup(err->message));
        }
        text = stop + 1;
    }
    if (!p.line) {
        p.line = 1;
        fail(&p, errp, "this is not a state file of vmmnet-ha");
        goto refused;
    }
    return p.bindings;

refused:
    g_hash_table_destroy(p.bindings);
    return NULL;
}
