/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Home addresses with ESP, and their associations */
#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <string.h>

#include "base/units.h"
#include "ha/base/addr.h"
#include "ha/parts/keyring.h"

#define SIGNAL_TIME     (SECOND / 3)            /* MAX_UPDATE_RATE */

struct Mip6Keyring {
    GHashTable *by_home;        /* &Mip6Keys.home -> Mip6Keys */
    GHashTable *by_spi;         /* inbound SPI -> Mip6Keys */
    GHashTable *by_key;         /* keys of GCM, in a GBytes -> Mip6Keys */
};

static void free_keys(gpointer opaque)
{
    Mip6Keys *keys = opaque;

    mip6_protect_free(keys->protect);
    g_free(keys);
}

/* Overwrites a copy of a key and frees it. */
static void free_key(gpointer key)
{
    OPENSSL_cleanse(key, ESP_KEY_MAX);
    g_free(key);
}

static GBytes *key_bytes(const Mip6ProtectSaConfig *sa)
{
    uint8_t *copy = g_malloc0(ESP_KEY_MAX);

    memcpy(copy, sa->key, sa->algorithm->key_len);
    return g_bytes_new_with_free_func(copy, ESP_KEY_MAX, free_key, copy);
}

Mip6Keyring *mip6_keyring_new(void)
{
    Mip6Keyring *ring = g_new(Mip6Keyring, 1);

    ring->by_home = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal,
                                          NULL, free_keys);
    ring->by_spi = g_hash_table_new(NULL, NULL);
    ring->by_key = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
                                         (GDestroyNotify)g_bytes_unref, NULL);
    return ring;
}

void mip6_keyring_free(Mip6Keyring *ring)
{
    if (ring) {
        g_hash_table_destroy(ring->by_key);
        g_hash_table_destroy(ring->by_spi);
        g_hash_table_destroy(ring->by_home);
        g_free(ring);
    }
}

Mip6Keys *mip6_keyring_of(const Mip6Keyring *ring, const struct in6_addr *home)
{
    return ring ? g_hash_table_lookup(ring->by_home, home) : NULL;
}

Mip6Keys *mip6_keyring_by_spi(const Mip6Keyring *ring, uint32_t spi)
{
    return ring ? g_hash_table_lookup(ring->by_spi, GUINT_TO_POINTER(spi))
                : NULL;
}

/* Does another home address, @other, use the same SPI or GCM key? */
static bool is_taken(const Mip6Keyring *ring, const Mip6ProtectSaConfig *sa,
                     Mip6ProtectSa which, bool *is_key, Mip6Keys **other)
{
    *is_key = false;
    *other = which == MIP6_SIGNAL_IN || which == MIP6_TUNNEL_IN
             ? mip6_keyring_by_spi(ring, sa->spi) : NULL;
    if (!*other && sa->algorithm->cipher == ESP_CIPHER_AES_GCM) {
        g_autoptr(GBytes) key = key_bytes(sa);

        *is_key = true;
        *other = g_hash_table_lookup(ring->by_key, key);
    }
    return *other;
}

static bool check_others(const Mip6Keyring *ring,
                         const Mip6ProtectConfig *config,
                         Mip6ProtectFault *fault)
{
    char text[INET6_ADDRSTRLEN];
    Mip6Keys *other;

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        if (is_taken(ring, &config->sa[i], i, &fault->is_key, &other)) {
            fault->sa = i;
            inet_ntop(AF_INET6, &other->home, text, sizeof(text));
            g_snprintf(fault->text, sizeof(fault->text), "is %s of %s, too: "
                       "each needs its own", fault->is_key ? "a key"
                       : "an SPI", text);
            return false;
        }
    }
    return true;
}

bool mip6_keyring_add(Mip6Keyring *ring, const struct in6_addr *home,
                      const Mip6ProtectConfig *config, Mip6ProtectFault *fault)
{
    Mip6Protect *protect = mip6_protect_new(config, fault);
    Mip6Keys *keys;

    if (!protect) {
        return false;
    }
    if (!check_others(ring, config, fault)) {
        mip6_protect_free(protect);
        return false;
    }
    keys = g_new0(Mip6Keys, 1);
    keys->home = *home;
    keys->protect = protect;
    keys->has_window = config->window;
    keys->epoch = config->epoch;
    g_hash_table_insert(ring->by_home, &keys->home, keys);
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        const Mip6ProtectSaConfig *sa = &config->sa[i];

        if (i == MIP6_SIGNAL_IN || i == MIP6_TUNNEL_IN) {
            g_hash_table_insert(ring->by_spi, GUINT_TO_POINTER(sa->spi), keys);
        }
        if (sa->algorithm->cipher == ESP_CIPHER_AES_GCM) {
            g_hash_table_insert(ring->by_key, key_bytes(sa), keys);
        }
    }
    return true;
}

bool mip6_keys_may_signal(Mip6Keys *keys, int64_t now)
{
    int64_t rate_until = MAX(keys->rate_until,
                             now - MIP6_KEYS_BURST * SIGNAL_TIME);

    if (rate_until + SIGNAL_TIME > now) {
        return false;
    }
    keys->rate_until = rate_until + SIGNAL_TIME;
    return true;
}

uint64_t mip6_keys_seen(const Mip6Keys *keys)
{
    EspSaState state;

    mip6_protect_hand_over(keys->protect, MIP6_SIGNAL_IN, &state);
    return keys->has_window ? state.replay.top : 0;
}

static uint32_t signal_spi(const Mip6Keys *keys)
{
    return esp_sa_spi(mip6_protect_sa(keys->protect, MIP6_SIGNAL_IN));
}

bool mip6_keyring_restore(const Mip6Keyring *ring, const struct in6_addr *home,
                          uint32_t spi, uint64_t number)
{
    const Mip6Keys *keys = mip6_keyring_of(ring, home);
    EspSaState state = { .replay.top = number };

    memset(state.replay.seen, 0xff, sizeof(state.replay.seen));
    return keys && signal_spi(keys) == spi &&
           mip6_protect_load(keys->protect, MIP6_SIGNAL_IN, &state);
}

void mip6_keyring_inherit(const Mip6Keyring *ring, const Mip6Keyring *from)
{
    EspSaState state;
    GHashTableIter iter;
    gpointer value;

    if (!ring || !from || ring == from) {
        return;
    }
    g_hash_table_iter_init(&iter, ring->by_home);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const Mip6Keys *keys = value;
        const Mip6Keys *old = mip6_keyring_of(from, &keys->home);

        if (old && signal_spi(old) == signal_spi(keys)) {
            mip6_protect_hand_over(old->protect, MIP6_SIGNAL_IN, &state);
            mip6_protect_load(keys->protect, MIP6_SIGNAL_IN, &state);
        }
    }
}

void mip6_keyring_each(const Mip6Keyring *ring,
                       void (*each)(void *opaque, const Mip6Keys *keys),
                       void *opaque)
{
    GHashTableIter iter;
    gpointer value;

    if (!ring) {
        return;
    }
    g_hash_table_iter_init(&iter, ring->by_home);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        each(opaque, value);
    }
}

static uint64_t sent_by(const Mip6Keys *keys)
{
    const EspSa *sa = mip6_protect_sa(keys->protect, MIP6_SIGNAL_OUT);

    return keys->epoch + esp_sa_counters(sa)->packets[ESP_GOOD];
}

uint64_t mip6_keyring_sent(const Mip6Keyring *ring)
{
    uint64_t sent = 0;
    GHashTableIter iter;
    gpointer value;

    if (!ring) {
        return 0;
    }
    g_hash_table_iter_init(&iter, ring->by_home);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        sent = MAX(sent, sent_by(value));
    }
    return sent;
}

size_t mip6_keyring_protect(const Mip6Keyring *ring,
                            const struct in6_addr *home, void *packet,
                            size_t len, uint64_t *sent)
{
    const Mip6Keys *keys = mip6_keyring_of(ring, home);

    *sent = 0;
    if (keys) {
        len = mip6_protect_signal(keys->protect, packet, len,
                                  len + MIP6_PROTECT_MORE);
        *sent = sent_by(keys);
    }
    return len;
}
