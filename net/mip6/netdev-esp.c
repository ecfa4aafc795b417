/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -netdev mip6: the options of ipsec=esp */
#include "qemu/osdep.h"

#include "crypto/secret_common.h"
#include "net/mip6/netdev-options.h"
#include "qapi/error.h"

/* As they are written. */
typedef struct SaOption {
    bool has_spi;
    uint32_t spi;
    const char *key;            /* NULL: there is none */
} SaOption;

typedef struct Keys {
    uint8_t *data[MIP6_PROTECT_SAS];
    size_t len[MIP6_PROTECT_SAS];
} Keys;

static void sa_options(const NetdevMip6Options *o,
                       SaOption option[MIP6_PROTECT_SAS])
{
    option[MIP6_SIGNAL_OUT] = (SaOption) {
        o->has_signal_out_spi, o->signal_out_spi, o->signal_out_key,
    };
    option[MIP6_SIGNAL_IN] = (SaOption) {
        o->has_signal_in_spi, o->signal_in_spi, o->signal_in_key,
    };
    option[MIP6_TUNNEL_OUT] = (SaOption) {
        o->has_tunnel_out_spi, o->tunnel_out_spi, o->tunnel_out_key,
    };
    option[MIP6_TUNNEL_IN] = (SaOption) {
        o->has_tunnel_in_spi, o->tunnel_in_spi, o->tunnel_in_key,
    };
}

/* An option of ESP without ESP would protect nobody. */
static bool check_off(const char *id, const NetdevMip6Options *o,
                      const SaOption option[MIP6_PROTECT_SAS], Error **errp)
{
    const char *name = o->esp_cipher ? "esp-cipher"
                       : o->has_replay_window ? "replay-window" : NULL;
    g_autofree char *of_sa = NULL;

    for (unsigned i = 0; !name && i < MIP6_PROTECT_SAS; i++) {
        if (option[i].has_spi || option[i].key) {
            name = of_sa = g_strdup_printf("%s-%s", mip6_protect_sa_name(i),
                                           option[i].key ? "key" : "spi");
        }
    }
    if (name) {
        error_setg(errp, "mip6 '%s': %s= needs ipsec=esp: nothing is protected "
                   "without it", id, name);
    }
    return !name;
}

static const EspAlgorithm *find_cipher(const char *id, const char *name,
                                       Error **errp)
{
    const EspAlgorithm *found = esp_algorithm_by_name(name), *a;
    g_autoptr(GString) names = g_string_new(NULL);

    if (!found) {
        for (unsigned i = 0; (a = esp_algorithm_at(i)); i++) {
            g_string_append_printf(names, "%s%s", i ? ", " : "", a->name);
        }
        error_setg(errp, "mip6 '%s': esp-cipher=%s is not one of %s", id, name,
                   names->str);
    }
    return found;
}

static bool take_sa(const char *id, Mip6ProtectSa which, const SaOption *option,
                    Mip6ProtectSaConfig *sa, Keys *keys, Error **errp)
{
    ERRP_GUARD();
    const char *name = mip6_protect_sa_name(which);

    if (!option->has_spi || !option->key) {
        error_setg(errp, "mip6 '%s': ipsec=esp needs %s-%s=, the %s", id, name,
                   option->has_spi ? "key" : "spi",
                   option->has_spi ? "ID of an object of type secret"
                                   : "SPI, a number of 256 or more");
        return false;
    }
    if (qcrypto_secret_lookup(option->key, &keys->data[which],
                              &keys->len[which], errp) < 0) {
        error_prepend(errp, "mip6 '%s': %s-key=%s: ", id, name, option->key);
        return false;
    }
    sa->spi = option->spi;
    sa->key = keys->data[which];
    sa->key_len = keys->len[which];
    return true;
}

static bool take_window(const char *id, const NetdevMip6Options *o,
                        uint32_t *window, Error **errp)
{
    *window = o->has_replay_window ? o->replay_window : MIP6_PROTECT_WINDOW;
    if (*window % 64 || *window > ESP_WINDOW_MAX) {
        error_setg(errp, "mip6 '%s': replay-window=%u is not 0, 64, 128, ... "
                   "%u", id, *window, ESP_WINDOW_MAX);
        return false;
    }
    return true;
}

static void tell_fault(const char *id, const SaOption *option,
                       const Mip6ProtectFault *fault, Error **errp)
{
    const char *name = mip6_protect_sa_name(fault->sa);

    if (fault->is_key) {
        error_setg(errp, "mip6 '%s': %s-key=%s: the secret %s", id, name,
                   option[fault->sa].key, fault->text);
    } else {
        error_setg(errp, "mip6 '%s': %s-spi=%u %s", id, name,
                   option[fault->sa].spi, fault->text);
    }
}

static Mip6Protect *make(const char *id, const NetdevMip6Options *o,
                         const SaOption option[MIP6_PROTECT_SAS], Keys *keys,
                         Error **errp)
{
    const EspAlgorithm *a = find_cipher(id, o->esp_cipher ? o->esp_cipher
                                        : "aes-gcm-128", errp);
    Mip6ProtectConfig config = {
        .epoch = g_get_real_time() / G_USEC_PER_SEC,
    };
    Mip6ProtectFault fault;
    Mip6Protect *protect;

    if (!a || !take_window(id, o, &config.window, errp)) {
        return NULL;
    }
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        config.sa[i].algorithm = a;
        if (!take_sa(id, i, &option[i], &config.sa[i], keys, errp)) {
            return NULL;
        }
    }
    protect = mip6_protect_new(&config, &fault);
    if (!protect) {
        tell_fault(id, option, &fault, errp);
    }
    return protect;
}

static void free_keys(Keys *keys)
{
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        if (keys->data[i]) {
            explicit_bzero(keys->data[i], keys->len[i]);
            g_free(keys->data[i]);
        }
    }
}

bool mip6_netdev_protect(const char *id, const NetdevMip6Options *o,
                         Mip6Protect **protect, Error **errp)
{
    SaOption option[MIP6_PROTECT_SAS];
    Keys keys = { 0 };

    sa_options(o, option);
    *protect = NULL;
    if (!o->has_ipsec || o->ipsec == MIP6_IPSEC_OPTION_OFF) {
        return check_off(id, o, option, errp);
    }
    if (o->more_home_address || (o->has_heard_addresses &&
                                 o->heard_addresses)) {
        error_setg(errp, "mip6 '%s': ipsec=esp has keys for one home address: "
                   "leave %s out", id, o->more_home_address
                   ? "more-home-address=" : "heard-addresses=on");
        return false;
    }
    *protect = make(id, o, option, &keys, errp);
    free_keys(&keys);
    return *protect;
}
