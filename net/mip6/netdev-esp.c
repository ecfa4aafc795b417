/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -netdev mip6: the options of ipsec=esp
 *
 * Each home address has its own associations. The options signal-out-spi, ...
 * are for home-address; the lists more-signal-out-spi, ... are for the
 * addresses in more-home-address, in the same order.
 */
#include "qemu/osdep.h"

#include "crypto/secret_common.h"
#include "net/mip6/netdev-options.h"
#include "qapi/error.h"

/* The options of an association. */
typedef struct SaOption {
    bool has_spi;
    uint32_t spi;
    const char *key;            /* NULL: not given */
} SaOption;

/* The options for the addresses in more-home-address. */
typedef struct MoreOption {
    const uint32List *spi;
    const strList *key;
} MoreOption;

typedef struct Keys {
    uint8_t *data[MIP6_PROTECT_SAS];
    size_t len[MIP6_PROTECT_SAS];
} Keys;

/* Iterates over the home addresses. */
typedef struct Reader {
    const char *id;             /* ID of the netdev */
    unsigned homes;             /* number of home addresses so far */
    unsigned sas;               /* associations of each: the first ones */
    SaOption option[MIP6_PROTECT_SAS];          /* of this address */
    Mip6ProtectConfig config[MIP6_HOME_ADDRESSES];
    Keys keys[MIP6_HOME_ADDRESSES];
} Reader;

static void first_options(const NetdevMip6Options *o,
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

static void more_options(const NetdevMip6Options *o,
                         MoreOption more[MIP6_PROTECT_SAS])
{
    more[MIP6_SIGNAL_OUT] = (MoreOption) {
        o->more_signal_out_spi, o->more_signal_out_key,
    };
    more[MIP6_SIGNAL_IN] = (MoreOption) {
        o->more_signal_in_spi, o->more_signal_in_key,
    };
    more[MIP6_TUNNEL_OUT] = (MoreOption) {
        o->more_tunnel_out_spi, o->more_tunnel_out_key,
    };
    more[MIP6_TUNNEL_IN] = (MoreOption) {
        o->more_tunnel_in_spi, o->more_tunnel_in_key,
    };
}

/* Returns: prefix of the option names for the current home address */
static const char *prefix(const Reader *r)
{
    return r->homes > 1 ? "more-" : "";
}

/*
 * Returns: the name of an option that is set, for g_free(); NULL: none
 * @first: the first association to look at
 */
static char *given(const NetdevMip6Options *o, Mip6ProtectSa first)
{
    SaOption option[MIP6_PROTECT_SAS];
    MoreOption more[MIP6_PROTECT_SAS];

    first_options(o, option);
    more_options(o, more);
    for (unsigned i = first; i < MIP6_PROTECT_SAS; i++) {
        if (option[i].has_spi || option[i].key) {
            return g_strdup_printf("%s-%s", mip6_protect_sa_name(i),
                                   option[i].key ? "key" : "spi");
        }
        if (more[i].spi || more[i].key) {
            return g_strdup_printf("more-%s-%s", mip6_protect_sa_name(i),
                                   more[i].key ? "key" : "spi");
        }
    }
    return NULL;
}

/* An option of ESP has no effect without ESP, so it is refused. */
static bool check_off(const char *id, const NetdevMip6Options *o, Error **errp)
{
    g_autofree char *of_sa = given(o, 0);
    const char *name = o->esp_cipher ? "esp-cipher"
                       : o->has_esp_payload ? "esp-payload"
                       : o->has_replay_window ? "replay-window" : of_sa;

    if (name) {
        error_setg(errp, "mip6 '%s': %s= needs ipsec=esp: nothing is protected "
                   "without it", id, name);
    }
    return !name;
}

/* An option of the tunnel has no effect if payload is not protected. */
static bool check_payload(const char *id, const NetdevMip6Options *o,
                          Error **errp)
{
    g_autofree char *name = given(o, MIP6_TUNNEL_OUT);

    if (name) {
        error_setg(errp, "mip6 '%s': %s= has no use with esp-payload=off, "
                   "which protects signalling only: leave one of them out", id,
                   name);
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

/* --- more-signal-out-spi=, ... -------------------------------------------- */

static bool check_number(const char *id, const char *sa, const char *what,
                         unsigned there, unsigned homes, Error **errp)
{
    if (there != homes) {
        error_setg(errp, "mip6 '%s': more-%s-%s= is given %u times, and "
                   "more-home-address= %u times: with ipsec=esp each address "
                   "needs its own, in their order", id, sa, what, there, homes);
    }
    return there == homes;
}

/* Each list must be as long as the list of addresses. */
static bool check_lists(const Reader *r, const NetdevMip6Options *o,
                        const MoreOption more[MIP6_PROTECT_SAS], Error **errp)
{
    unsigned homes = QAPI_LIST_LENGTH(o->more_home_address);

    for (unsigned i = 0; i < r->sas; i++) {
        const char *sa = mip6_protect_sa_name(i);

        if (!check_number(r->id, sa, "spi", QAPI_LIST_LENGTH(more[i].spi),
                          homes, errp) ||
            !check_number(r->id, sa, "key", QAPI_LIST_LENGTH(more[i].key),
                          homes, errp)) {
            return false;
        }
    }
    return true;
}

/* Takes the first element of each list. */
static void pop_options(MoreOption more[MIP6_PROTECT_SAS], Reader *r)
{
    for (unsigned i = 0; i < r->sas; i++) {
        r->option[i] = (SaOption) {
            true, more[i].spi->value, more[i].key->value,
        };
        more[i].spi = more[i].spi->next;
        more[i].key = more[i].key->next;
    }
}

/* --- associations --------------------------------------------------------- */

static bool take_sa(Reader *r, Mip6ProtectSa which, Error **errp)
{
    ERRP_GUARD();
    const SaOption *option = &r->option[which];
    Mip6ProtectSaConfig *sa = &r->config[r->homes - 1].sa[which];
    Keys *keys = &r->keys[r->homes - 1];
    const char *name = mip6_protect_sa_name(which);

    if (!option->has_spi || !option->key) {
        error_setg(errp, "mip6 '%s': ipsec=esp needs %s-%s=, the %s", r->id,
                   name, option->has_spi ? "key" : "spi",
                   option->has_spi ? "ID of an object of type secret"
                                   : "SPI, a number of 256 or more");
        return false;
    }
    if (qcrypto_secret_lookup(option->key, &keys->data[which],
                              &keys->len[which], errp) < 0) {
        error_prepend(errp, "mip6 '%s': %s%s-key=%s: ", r->id, prefix(r), name,
                      option->key);
        return false;
    }
    sa->spi = option->spi;
    sa->key = keys->data[which];
    sa->key_len = keys->len[which];
    return true;
}

static void tell_fault(const Reader *r, const Mip6ProtectFault *fault,
                       Error **errp)
{
    const SaOption *option = &r->option[fault->sa];
    const char *name = mip6_protect_sa_name(fault->sa);

    if (fault->is_key) {
        error_setg(errp, "mip6 '%s': %s%s-key=%s: the secret %s", r->id,
                   prefix(r), name, option->key, fault->text);
    } else {
        error_setg(errp, "mip6 '%s': %s%s-spi=%u %s", r->id, prefix(r), name,
                   option->spi, fault->text);
    }
}

/* Creates the associations of the next home address, from @r->option. */
static Mip6Protect *make(Reader *r, const Mip6ProtectConfig *common,
                         Error **errp)
{
    Mip6ProtectConfig *config = &r->config[r->homes++];
    Mip6ProtectFault fault;
    Mip6Protect *protect;
    bool fits = true;

    *config = *common;
    for (unsigned i = 0; i < r->sas; i++) {
        if (!take_sa(r, i, errp)) {
            return NULL;
        }
    }
    protect = mip6_protect_new(config, &fault);
    for (unsigned i = 0; protect && fits && i < r->homes - 1; i++) {
        fits = mip6_protect_fits(config, &r->config[i], &fault);
    }
    if (!protect || !fits) {
        tell_fault(r, &fault, errp);
        mip6_protect_free(protect);
        return NULL;
    }
    return protect;
}

static void free_keys(Reader *r)
{
    for (unsigned i = 0; i < r->homes * MIP6_PROTECT_SAS; i++) {
        Keys *keys = &r->keys[i / MIP6_PROTECT_SAS];
        unsigned sa = i % MIP6_PROTECT_SAS;

        if (keys->data[sa]) {
            explicit_bzero(keys->data[sa], keys->len[sa]);
            g_free(keys->data[sa]);
        }
    }
}

/* A netdev that is made again has the keys of the one before, perhaps at once. */
static uint32_t new_epoch(void)
{
    static uint32_t last;

    last = MAX(g_get_real_time() / G_USEC_PER_SEC, last + 1ll);
    return last;
}

static bool make_all(Reader *r, const NetdevMip6Options *o,
                     MoreOption more[MIP6_PROTECT_SAS],
                     Mip6Protect *protect[MIP6_HOME_ADDRESSES], Error **errp)
{
    const EspAlgorithm *a = find_cipher(r->id, o->esp_cipher ? o->esp_cipher
                                        : "aes-gcm-128", errp);
    Mip6ProtectConfig common = {
        .epoch = new_epoch(),
        .signal_only = r->sas < MIP6_PROTECT_SAS,
    };

    if (!a || !take_window(r->id, o, &common.window, errp)) {
        return false;
    }
    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        common.sa[i].algorithm = a;
    }
    first_options(o, r->option);
    protect[0] = make(r, &common, errp);
    while (protect[r->homes - 1] && more[0].spi) {
        pop_options(more, r);
        protect[r->homes] = make(r, &common, errp);
    }
    return protect[r->homes - 1];
}

void mip6_netdev_unprotect(Mip6Protect *protect[MIP6_HOME_ADDRESSES])
{
    for (unsigned i = 0; i < MIP6_HOME_ADDRESSES; i++) {
        mip6_protect_free(protect[i]);
        protect[i] = NULL;
    }
}

bool mip6_netdev_protect(const char *id, const NetdevMip6Options *o,
                         Mip6Protect *protect[MIP6_HOME_ADDRESSES],
                         Error **errp)
{
    MoreOption more[MIP6_PROTECT_SAS];
    Reader r = { .id = id, .sas = MIP6_PROTECT_SAS };
    bool done;

    memset(protect, 0, MIP6_HOME_ADDRESSES * sizeof(*protect));
    if (!o->has_ipsec || o->ipsec == MIP6_IPSEC_OPTION_OFF) {
        return check_off(id, o, errp);
    }
    if (o->has_heard_addresses && o->heard_addresses) {
        error_setg(errp, "mip6 '%s': heard-addresses=on with ipsec=esp: only "
                   "configured addresses have keys: leave it "
                   "out", id);
        return false;
    }
    if (o->has_esp_payload && !o->esp_payload) {
        r.sas = MIP6_TUNNEL_OUT;
        if (!check_payload(id, o, errp)) {
            return false;
        }
    }
    more_options(o, more);
    if (!check_lists(&r, o, more, errp)) {
        return false;
    }
    done = make_all(&r, o, more, protect, errp);
    free_keys(&r);
    if (!done) {
        mip6_netdev_unprotect(protect);
    }
    return done;
}
