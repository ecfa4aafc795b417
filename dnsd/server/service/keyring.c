/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TSIG keys of a configuration */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "dnsd/server/service/keyring.h"
#include "dnsd/server/service/load.h"

#define FILE_LEN_MAX    16384
#define SECRET_FEW      16      /* octets: RFC 8945 section 8 asks for more */

/* Allow only base64: nothing in the file may become syntax. */
static bool trim(char *text, ssize_t len)
{
    while (len && isspace((unsigned char)text[len - 1])) {
        len--;
    }
    text[len] = 0;
    return len && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqr"
                         "stuvwxyz0123456789+/=") == (size_t)len;
}

/* Add the secret, via BIND's syntax; -EINVAL, and @error. */
static int add_secret(TsigKeys *to, const DnsdKeyConfig *key, char *text,
                      ssize_t len, TsigKeysError *error)
{
    char all[FILE_LEN_MAX + DNS_NAME_TEXT_MAX + 128], name[DNS_NAME_TEXT_MAX];
    int ret;

    *error = (TsigKeysError) { 1, "right is one secret in base64" };
    if (!trim(text, len)) {
        return -EINVAL;
    }
    dns_name_to_text(&key->name, name);
    ret = snprintf(all, sizeof(all), "key \"%s\" { algorithm %s; "
                   "secret \"%s\"; };", name,
                   key->algorithm ? key->algorithm : "hmac-sha256", text);
    ret = tsig_keys_read(to, all, ret, error);
    explicit_bzero(all, sizeof(all));
    return ret;
}

/* Add one key of a file, which may have others. */
static int add_from_file(TsigKeys *to, const DnsdKeyConfig *key,
                         const char *text, size_t len, TsigKeysError *error)
{
    TsigKeys *all = tsig_keys_new();
    const TsigKey *found;
    int ret = all ? tsig_keys_read(all, text, len, error) : -ENOMEM;

    found = ret ? NULL : tsig_keys_find(all, &key->name);
    if (!ret && !found) {
        *error = (TsigKeysError) { 0, "it has no key of this name" };
        ret = -EINVAL;
    }
    ret = ret ? ret : tsig_keys_add(to, found);
    tsig_keys_free(all);
    return ret;
}

static bool add(TsigKeys *to, const DnsdKeyConfig *key, char *error,
                size_t error_len)
{
    const char *path = key->key_file ? key->key_file : key->secret_file;
    char text[FILE_LEN_MAX + 1], name[DNS_NAME_TEXT_MAX];
    TsigKeysError wrong = { 0 };
    ssize_t len = dnsd_load_small(path, text, FILE_LEN_MAX);
    int ret = len < 0 ? -errno : 0;

    if (!ret) {
        ret = key->key_file ? add_from_file(to, key, text, len, &wrong)
                            : add_secret(to, key, text, len, &wrong);
    }
    explicit_bzero(text, sizeof(text));
    dns_name_to_text(&key->name, name);
    if (ret) {
        snprintf(error, error_len, "keys: %.255s: '%.1024s': %s%s", name,
                 path, *wrong.text ? wrong.text : strerror(-ret),
                 key->key_file && wrong.line
                 ? "; right is 'key NAME { algorithm hmac-sha256; "
                   "secret BASE64; };'" : "");
    } else if (tsig_keys_find(to, &key->name)->secret_len < SECRET_FEW) {
        base_log(LOG_WARNING, "keys: %.255s: '%.1024s': the secret has %u "
                 "octets, which can be guessed: make one of 32 with "
                 "tsig-keygen", name, path,
                 tsig_keys_find(to, &key->name)->secret_len);
    }
    return !ret;
}

DnsdKeyring *dnsd_keyring_new(const DnsdConfig *config, char *error,
                              size_t error_len)
{
    DnsdKeyring *ring = calloc(1, sizeof(*ring));
    bool done;

    if (ring) {
        ring->users = 1;
        ring->keys = tsig_keys_new();
    }
    done = ring && ring->keys;
    if (!done) {
        snprintf(error, error_len, "there is no memory for the keys");
    }
    for (size_t i = 0; done && i < config->keys; i++) {
        done = add(ring->keys, &config->key[i], error, error_len);
    }
    if (!done) {
        dnsd_keyring_unref(ring);
        return NULL;
    }
    return ring;
}

DnsdKeyring *dnsd_keyring_ref(DnsdKeyring *ring)
{
    ring->users++;
    return ring;
}

void dnsd_keyring_unref(DnsdKeyring *ring)
{
    if (ring && !--ring->users) {
        if (ring->keys) {
            tsig_keys_free(ring->keys);
        }
        free(ring);
    }
}
