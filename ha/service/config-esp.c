/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The items of "esp" in vmmnet-ha's configuration */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ha/base/addr.h"
#include "ha/service/config-esp.h"

/* The lines of a home address. */
typedef struct Entry {
    struct in6_addr home;
    Mip6ProtectConfig config;
    unsigned first;             /* number of its first line */
    unsigned line[MIP6_PROTECT_SAS];    /* line numbers; 0: missing */
    uint8_t key[MIP6_PROTECT_SAS][ESP_KEY_MAX];
} Entry;

struct Mip6HaEsp {
    GPtrArray *entries;         /* Entry */
};

static void free_entry(gpointer opaque)
{
    Entry *e = opaque;

    OPENSSL_cleanse(e, sizeof(*e));
    g_free(e);
}

Mip6HaEsp *mip6_ha_esp_new(void)
{
    Mip6HaEsp *esp = g_new(Mip6HaEsp, 1);

    esp->entries = g_ptr_array_new_with_free_func(free_entry);
    return esp;
}

void mip6_ha_esp_free(Mip6HaEsp *esp)
{
    g_ptr_array_free(esp->entries, TRUE);
    g_free(esp);
}

static Entry *entry_of(Mip6HaEsp *esp, const struct in6_addr *home)
{
    guint num = esp->entries->len;
    Entry *e;

    /* Search from the end: lines of a home address are usually together. */
    while (num--) {
        e = g_ptr_array_index(esp->entries, num);
        if (packet_ip6_equal(&e->home, home)) {
            return e;
        }
    }
    e = g_new0(Entry, 1);
    e->home = *home;
    g_ptr_array_add(esp->entries, e);
    return e;
}

/* --- keys ----------------------------------------------------------------- */

static char *no_key(const char *path, const char *why)
{
    return g_strdup_printf("key file '%s': %s", path, why);
}

/* Hexadecimal digits as in "ip xfrm state", with or without 0x. */
static char *parse_key(const char *path, char *text, uint8_t *key, size_t *len)
{
    const char *p = g_strstrip(text);

    p += g_str_has_prefix(p, "0x") ? 2 : 0;
    for (*len = 0; *p; p += 2) {
        if (*len == ESP_KEY_MAX || !g_ascii_isxdigit(p[0]) ||
            !g_ascii_isxdigit(p[1])) {
            return no_key(path, "is not a key of hexadecimal digits, with at "
                                "most 64 octets");
        }
        key[(*len)++] = g_ascii_xdigit_value(p[0]) << 4 |
                        g_ascii_xdigit_value(p[1]);
    }
    return NULL;
}

static char *read_key(const char *path, uint8_t *key, size_t *len)
{
    char text[4 * ESP_KEY_MAX] = "", *error;
    struct stat st;
    ssize_t size;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return no_key(path, strerror(errno));
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (st.st_mode & 077)) {
        close(fd);
        return no_key(path, "is not a file that only its owner can read and "
                            "write: chmod 600");
    }
    size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size < 0) {
        return no_key(path, strerror(errno));
    }
    error = parse_key(path, text, key, len);
    OPENSSL_cleanse(text, sizeof(text));
    return error;
}

/* --- lines ---------------------------------------------------------------- */

static char *algorithm_names(void)
{
    GString *names = g_string_new(NULL);
    const EspAlgorithm *a;

    for (unsigned i = 0; (a = esp_algorithm_at(i)); i++) {
        g_string_append_printf(names, "%s%s", i ? ", " : "", a->name);
    }
    return g_string_free(names, FALSE);
}

static bool find_sa(const char *name, Mip6ProtectSa *which)
{
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        if (!strcmp(name, mip6_protect_sa_name(i))) {
            *which = i;
            return true;
        }
    }
    return false;
}

static bool parse_spi(const char *text, uint32_t *spi)
{
    char *end;
    guint64 number = g_ascii_strtoull(text, &end, 0);

    *spi = number;
    return g_ascii_isdigit(*text) && !*end && number >= ESP_SPI_MIN &&
           number <= UINT32_MAX;
}

char *mip6_ha_esp_add(Mip6HaEsp *esp,
                      const char *const word[MIP6_HA_ESP_WORDS], unsigned line)
{
    struct in6_addr home;
    Mip6ProtectSa which;
    Mip6ProtectSaConfig *sa;
    Entry *e;

    if (inet_pton(AF_INET6, word[MIP6_HA_ESP_HOME], &home) != 1) {
        return g_strdup_printf("esp '%s' is not an IPv6 address",
                               word[MIP6_HA_ESP_HOME]);
    }
    if (!find_sa(word[MIP6_HA_ESP_SA], &which)) {
        return g_strdup_printf("esp '%s' is not signal-in, signal-out, "
                               "tunnel-in or tunnel-out", word[MIP6_HA_ESP_SA]);
    }
    e = entry_of(esp, &home);
    sa = &e->config.sa[which];
    if (e->line[which]) {
        return g_strdup_printf("esp %s %s is in line %u already",
                               word[MIP6_HA_ESP_HOME], word[MIP6_HA_ESP_SA],
                               e->line[which]);
    }
    if (!parse_spi(word[MIP6_HA_ESP_SPI], &sa->spi)) {
        return g_strdup_printf("esp SPI '%s' is not a number from 256 to "
                               "0xffffffff", word[MIP6_HA_ESP_SPI]);
    }
    sa->algorithm = esp_algorithm_by_name(word[MIP6_HA_ESP_CIPHER]);
    if (!sa->algorithm) {
        g_autofree char *names = algorithm_names();

        return g_strdup_printf("esp '%s' is not one of %s",
                               word[MIP6_HA_ESP_CIPHER], names);
    }
    e->line[which] = line;
    e->first = e->first ? e->first : line;
    sa->key = e->key[which];
    return read_key(word[MIP6_HA_ESP_KEY_FILE], e->key[which], &sa->key_len);
}

char *mip6_ha_esp_line(Mip6HaEsp *esp, const char *value, unsigned line)
{
    g_auto(GStrv) words = g_strsplit(value, " ", -1);
    const char *word[MIP6_HA_ESP_WORDS];
    unsigned num = 0;

    for (char **w = words; *w; w++) {
        if (**w && num++ < MIP6_HA_ESP_WORDS) {
            word[num - 1] = *w;
        }
    }
    if (num != MIP6_HA_ESP_WORDS) {
        return g_strdup("'esp' needs a home address, one of signal-in, "
                        "signal-out, tunnel-in, tunnel-out, an SPI, a cipher "
                        "and a key file");
    }
    return mip6_ha_esp_add(esp, word, line);
}

GHashTable *mip6_ha_esp_homes(const Mip6HaEsp *esp)
{
    GHashTable *homes = g_hash_table_new(mip6_addr_hash, mip6_addr_equal);

    for (guint i = 0; i < esp->entries->len; i++) {
        Entry *e = g_ptr_array_index(esp->entries, i);

        g_hash_table_insert(homes, &e->home, GUINT_TO_POINTER(e->first));
    }
    return homes;
}

static char *add_entry(Mip6Keyring *ring, Entry *e, unsigned *line)
{
    char text[INET6_ADDRSTRLEN];
    Mip6ProtectFault fault;

    inet_ntop(AF_INET6, &e->home, text, sizeof(text));
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        *line = MAX(*line, e->line[i]);
    }
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        if (!e->line[i]) {
            return g_strdup_printf("esp %s has no line %s: it needs signal-in, "
                                   "signal-out, tunnel-in and tunnel-out",
                                   text, mip6_protect_sa_name(i));
        }
    }
    if (mip6_keyring_add(ring, &e->home, &e->config, &fault)) {
        return NULL;
    }
    *line = e->line[fault.sa];
    return g_strdup_printf("esp %s %s: the %s %s", text,
                           mip6_protect_sa_name(fault.sa),
                           fault.is_key ? "key" : "SPI", fault.text);
}

Mip6Keyring *mip6_ha_esp_finish(Mip6HaEsp *esp, uint32_t window, uint32_t epoch,
                                unsigned *line, char **error)
{
    Mip6Keyring *ring;

    *error = NULL;
    if (!esp->entries->len) {
        return NULL;
    }
    ring = mip6_keyring_new();
    for (guint i = 0; i < esp->entries->len && !*error; i++) {
        Entry *e = g_ptr_array_index(esp->entries, i);

        *line = 0;
        e->config.window = window;
        e->config.epoch = epoch;
        *error = add_entry(ring, e, line);
    }
    if (*error) {
        mip6_keyring_free(ring);
        return NULL;
    }
    return ring;
}
