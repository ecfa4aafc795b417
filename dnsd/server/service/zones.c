/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The zones that are served */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/log.h"
#include "dnsd/server/host/spare.h"
#include "dnsd/server/service/file.h"
#include "dnsd/server/service/load.h"
#include "dnsd/server/service/zones.h"

#define WHY_MAX         256
#define SECRETS_MAX_LEN 4096
/* Mappings for threads and buffers, and for tables */
#define SPARE_START     2048
#define SPARE_RELOAD    64

/* --- cookies -------------------------------------------------------------- */

static bool read_secrets(DnsdState *w, const uint8_t *secret, char *error,
                         size_t error_len)
{
    const char *path = w->config->secret_file;
    char text[SECRETS_MAX_LEN];
    ssize_t len;
    unsigned line;

    dnsd_secrets_from(&w->serving.secrets, secret);
    if (!path || !w->config->cookies) {
        return true;
    }
    len = dnsd_load_small(path, text, sizeof(text));
    if (len < 0) {
        snprintf(error, error_len, "cookies.secret-file: '%s': %s", path,
                 strerror(errno));
        return false;
    }
    line = dnsd_secrets_read(&w->serving.secrets, text, len);
    explicit_bzero(text, sizeof(text));
    if (line) {
        snprintf(error, error_len, "%s:%u: right is one secret of 32 "
                 "hexadecimal digits a line, 1 to %d of them", path, line,
                 DNSD_SECRETS_MAX);
        return false;
    }
    return true;
}

/* --- images --------------------------------------------------------------- */

/* Sort zones by name, to find one of the old state. */
static int compare(const void *a, const void *b)
{
    const DnsName *x = &(*(const DnsdZoneConfig *const *)a)->name;
    const DnsName *y = &(*(const DnsdZoneConfig *const *)b)->name;

    return x->len != y->len ? x->len - y->len
                            : memcmp(x->wire, y->wire, x->len);
}

static const DnsdZoneConfig **sort_zones(const DnsdState *w)
{
    const DnsdConfig *c = w->config;
    const DnsdZoneConfig **sorted = calloc(c->zones + 1, sizeof(*sorted));

    for (size_t i = 0; sorted && i < c->zones; i++) {
        sorted[i] = &c->zone[i];
    }
    if (sorted) {
        qsort(sorted, c->zones, sizeof(*sorted), compare);
    }
    return sorted;
}

static const DnsdZone *find_before(const DnsdState *before,
                                   const DnsdZoneConfig **sorted,
                                   const DnsdZoneConfig *zone)
{
    const DnsdZoneConfig **found = before
        ? bsearch(&zone, sorted, before->config->zones, sizeof(*sorted),
                  compare) : NULL;

    return found ? &before->zone[*found - before->config->zone] : NULL;
}

static DnsdFile *open_file(const DnsdZoneConfig *zone, DnsdFile *before,
                           unsigned *faults)
{
    char why[WHY_MAX], name[DNS_NAME_TEXT_MAX];
    DnsdFile *file;

    if (before && dnsd_file_is_at(before, zone->image)) {
        return dnsd_file_ref(before);
    }
    file = dnsd_file_open(zone->image, &zone->name, why, sizeof(why));
    if (file) {
        return file;
    }
    ++*faults;
    dns_name_to_text(&zone->name, name);
    base_log(LOG_ERR, "zone %s: '%s' %s: %s", name, zone->image, why,
             before ? "the image before it is still served"
                    : "queries are answered SERVFAIL");
    return before ? dnsd_file_ref(before) : NULL;
}

/* Is it a secondary whose image must still be transferred? */
static bool is_to_come(const DnsdZoneConfig *zone)
{
    struct stat st;

    return zone->primaries && stat(zone->image, &st) < 0 && errno == ENOENT;
}

static DnsdDynZone *wait_for_live(DnsdState *w, const DnsdZoneConfig *zone,
                                  DnsdDynZone *before)
{
    return before ? dnsd_dynzone_ref(before) : dnsd_dynzone_new(w->zone_set,
                                                                &zone->name);
}

static bool is_static(const DnsdZoneConfig *zone)
{
    return !zone->updates && !zone->primaries;
}

/* A zone whose image was replaced: it goes on, or is opened anew. */
static DnsdDynZone *renew_dynzone(DnsdState *w, const DnsdZoneConfig *zone,
                                  DnsdDynZone *before, char *why,
                                  size_t why_len)
{
    if (before && before->store && is_static(zone) && before->is_static &&
        !strcmp(dns_store_path(before->store), zone->image)) {
        return dnsd_dynzone_follow(before, why, why_len)
               ? dnsd_dynzone_ref(before) : NULL;
    }
    return dnsd_dynzone_open(w->zone_set, zone->image, &zone->name,
                             is_static(zone), why, why_len);
}

/* Open a zone that changes: share the old one if its image is the same. */
static DnsdDynZone *open_dynzone(DnsdState *w, const DnsdZoneConfig *zone,
                                 DnsdDynZone *before, unsigned *faults)
{
    char why[WHY_MAX], name[DNS_NAME_TEXT_MAX];
    DnsdDynZone *dyn;

    if (before && dnsd_dynzone_is_at(before, zone->image)) {
        return dnsd_dynzone_ref(before);
    }
    if (is_to_come(zone) && !(before && before->store)) {
        return wait_for_live(w, zone, before);
    }
    dyn = renew_dynzone(w, zone, before, why, sizeof(why));
    if (dyn) {
        return dyn;
    }
    ++*faults;
    dns_name_to_text(&zone->name, name);
    base_log(LOG_ERR, "zone %s: '%s' %s: %s", name, zone->image, why,
             before ? "the zone before it is still served"
                    : "queries are answered SERVFAIL");
    return before ? dnsd_dynzone_ref(before) : NULL;
}

/*
 * A process that started without a journal may not write files, so it cannot
 * have one later.  Without its changes the zone must not be served.
 */
static DnsdFile *refuse_journal(const DnsdZoneConfig *zone, DnsdFile *before,
                                unsigned *faults)
{
    char name[DNS_NAME_TEXT_MAX];

    ++*faults;
    dns_name_to_text(&zone->name, name);
    base_log(LOG_ERR, "zone %s: '%s.jnl' has changes, which are read at the "
             "start: restart, or remove it if they are not wanted; until then "
             "%s", name, zone->image, before
             ? "the zone before it is still served"
             : "queries are answered SERVFAIL");
    return before ? dnsd_file_ref(before) : NULL;
}

static void open_zone(DnsdState *w, size_t i, const DnsdZone *before,
                      bool is_reload, unsigned *faults)
{
    const DnsdZoneConfig *config = &w->config->zone[i];
    bool has_journal = dnsd_dynzone_has_journal(config->image);
    DnsdFile *file = before ? before->file : NULL;
    DnsdZone *zone = &w->zone[i];

    zone->rules.allow_query = config->has_acl ? &config->allow_query : NULL;
    if (w->zone_set && (has_journal || dnsd_zone_may_change(config))) {
        zone->dyn = open_dynzone(w, config, before ? before->dyn : NULL,
                                 faults);
        zone->rules.lost = zone->dyn && config->primaries
                           ? &zone->dyn->has_expired : NULL;
        return;
    }
    if (is_to_come(config)) {
        return;
    }
    zone->file = has_journal && is_reload ? refuse_journal(config, file, faults)
                                          : open_file(config, file, faults);
    zone->rules.lost = zone->file ? &zone->file->mapping.lost : NULL;
}

static bool open_files(DnsdState *w, const DnsdState *before,
                       unsigned *faults)
{
    const DnsdConfig *c = w->config;
    const DnsdZoneConfig **sorted = before ? sort_zones(before) : NULL;
    DnsdSpare spare;

    w->zone = calloc(c->zones + 1, sizeof(*w->zone));
    if (!w->zone || (before && !sorted)) {
        free(sorted);
        return false;
    }
    dnsd_spare_hold(&spare, before ? SPARE_RELOAD : SPARE_START);
    for (size_t i = 0; i < c->zones; i++) {
        open_zone(w, i, find_before(before, sorted, &c->zone[i]), before,
                  faults);
    }
    dnsd_spare_free(&spare);
    free(sorted);
    return true;
}

static bool make_table(DnsdState *w)
{
    const DnsdConfig *c = w->config;
    DnsServedZone *served = calloc(c->zones + 1, sizeof(*served));
    uint64_t key[2];

    if (!served || getrandom(key, sizeof(key), 0) != sizeof(key)) {
        free(served);
        return false;
    }
    for (size_t i = 0; i < c->zones; i++) {
        DnsdZone *zone = &w->zone[i];

        served[i] = (DnsServedZone) {
            .origin = c->zone[i].name, .rrclass = DNS_CLASS_IN,
            .opaque = &zone->rules,
            .live = zone->dyn ? &zone->dyn->view : NULL,
        };
        if (zone->file) {
            served[i].view.layers = 1;
            served[i].view.layer[0] = zone->file->image;
        }
    }
    w->table = dns_zone_table_new(key, served, c->zones);
    free(served);
    return w->table;
}

/* --- server states -------------------------------------------------------- */

static void fill_serving(DnsdState *w)
{
    DnsdServing *s = &w->serving;

    s->config = w->config;
    s->udp = (DnsAnswerer) {
        .zones = w->table, .flags = DNS_ANSWER_MINIMAL,
        .udp_size = w->config->udp_size,
    };
    s->tcp = s->udp;
    s->tcp.flags |= DNS_ANSWER_STREAM;
}

DnsdState *dnsd_state_new(DnsdConfig *config, const DnsdState *before,
                          const uint8_t *secret, DnsdZoneSet *zone_set,
                          unsigned *faults, char *error, size_t error_len)
{
    DnsdState *w = calloc(1, sizeof(*w));

    *faults = 0;
    if (!w) {
        snprintf(error, error_len, "there is no memory for the zones");
        return NULL;
    }
    w->config = config;
    w->zone_set = zone_set;
    w->keyring = dnsd_keyring_new(config, error, error_len);
    if (w->keyring) {
        snprintf(error, error_len, "there is no memory for the zones");
    }
    if (!w->keyring || !read_secrets(w, secret, error, error_len) ||
        !open_files(w, before, faults) || !make_table(w)) {
        w->config = NULL;       /* the caller keeps it */
        w->serving.config = config;
        dnsd_state_free(w);
        return NULL;
    }
    fill_serving(w);
    return w;
}

static void share_zone(DnsdZone *zone, const DnsdZone *before)
{
    *zone = *before;
    if (zone->file) {
        dnsd_file_ref(zone->file);
    }
    if (zone->dyn) {
        dnsd_dynzone_ref(zone->dyn);
    }
}

DnsdState *dnsd_state_again(const DnsdState *before, size_t which,
                            unsigned *faults)
{
    DnsdState *w = calloc(1, sizeof(*w));

    *faults = 0;
    if (!w) {
        return NULL;
    }
    w->config = dnsd_config_ref(before->config);
    w->zone_set = before->zone_set;
    w->keyring = dnsd_keyring_ref(before->keyring);
    w->serving = before->serving;
    w->zone = calloc(w->config->zones, sizeof(*w->zone));
    for (size_t i = 0; w->zone && i < w->config->zones; i++) {
        if (i == which) {
            open_zone(w, i, &before->zone[i], true, faults);
        } else {
            share_zone(&w->zone[i], &before->zone[i]);
        }
    }
    if (!w->zone || !make_table(w)) {
        dnsd_state_free(w);
        return NULL;
    }
    fill_serving(w);
    return w;
}

void dnsd_state_free(DnsdState *w)
{
    const DnsdConfig *c = w->config ? w->config : w->serving.config;

    dns_zone_table_free(w->table);
    for (size_t i = 0; w->zone && i < c->zones; i++) {
        dnsd_file_unref(w->zone[i].file);
        dnsd_dynzone_unref(w->zone[i].dyn);
    }
    dnsd_keyring_unref(w->keyring);
    free(w->zone);
    dnsd_config_free(w->config);
    explicit_bzero(&w->serving.secrets, sizeof(w->serving.secrets));
    free(w);
}

bool dnsd_state_writes(const DnsdConfig *config)
{
    for (size_t i = 0; i < config->zones; i++) {
        if (dnsd_zone_may_change(&config->zone[i]) ||
            dnsd_dynzone_has_journal(config->zone[i].image)) {
            return true;
        }
    }
    return false;
}

static bool is_lost(const DnsdZone *zone)
{
    return zone->rules.lost && atomic_load(zone->rules.lost);
}

DnsStore *dnsd_zone_store(const DnsdZone *zone)
{
    return zone->dyn && !is_lost(zone) ? zone->dyn->store : NULL;
}

DnsdZoneState dnsd_zone_state(const DnsdZone *zone, uint32_t *serial)
{
    if (zone->dyn && !zone->dyn->store) {
        return DNSD_ZONE_MISSING;
    }
    if (zone->dyn) {
        *serial = dnsd_dynzone_serial(zone->dyn);
        return zone_view_failed(dns_store_view(zone->dyn->store))
               ? DNSD_ZONE_DAMAGED : is_lost(zone)
               ? DNSD_ZONE_EXPIRED : DNSD_ZONE_SERVED;
    }
    if (!zone->file) {
        return DNSD_ZONE_MISSING;
    }
    *serial = zone->file->image->serial;
    return atomic_load(&zone->file->mapping.lost) ||
           atomic_load(&zone->file->image->failed) ? DNSD_ZONE_DAMAGED
                                                   : DNSD_ZONE_SERVED;
}

/* Log a damaged zone; all pages are checked to find the place. */
static void tell(const DnsdZoneConfig *config, const DnsdZone *zone)
{
    const DnsdFile *file = zone->file;
    char name[DNS_NAME_TEXT_MAX];
    ZoneFault fault;

    dns_name_to_text(&config->name, name);
    if (config->primaries) {
        base_log(LOG_ERR, "zone %s: '%s' or its journal is inconsistent: "
                 "queries are answered SERVFAIL until the zone is transferred "
                 "again", name, config->image);
    } else if (zone->dyn && dnsd_dynzone_is_cut(zone->dyn, config->image)) {
        base_log(LOG_ERR, "zone %s: '%s' was truncated: queries are "
                 "answered SERVFAIL; restore this image, to which '%s.jnl' "
                 "belongs, and reload", name, config->image, config->image);
    } else if (!file) {
        base_log(LOG_ERR, "zone %s: '%s' or its journal is inconsistent: "
                 "queries are answered SERVFAIL; compile it again, remove "
                 "'%s.jnl' and restart", name, config->image, config->image);
    } else if (atomic_load(&file->mapping.lost)) {
        base_log(LOG_ERR, "zone %s: '%s' was truncated: queries are "
                 "answered SERVFAIL; put a whole image there and reload",
                 name, config->image);
    } else if (!zone_image_check_pages(file->image, &fault)) {
        base_log(LOG_ERR, "zone %s: '%s': %s (%s, offset %" PRIu64 "): "
                 "queries are answered SERVFAIL; put a whole image there and "
                 "reload", name, config->image, fault.what, fault.where,
                 fault.offset);
    } else {
        base_log(LOG_ERR, "zone %s: '%s' is inconsistent: queries are "
                 "answered SERVFAIL; compile it again and reload", name,
                 config->image);
    }
}

const DnsdZone *dnsd_state_find(const DnsdState *w, uint16_t rrclass,
                                const ZoneKey *origin,
                                const DnsdZoneConfig **config)
{
    const DnsServedZone *served = dns_zone_table_get(w->table, rrclass,
                                                     origin);
    const DnsdZone *zone = served ? (const void *)((const char *)served->opaque
                           - offsetof(DnsdZone, rules)) : NULL;

    *config = zone ? &w->config->zone[zone - w->zone] : NULL;
    return zone;
}

void dnsd_state_look(DnsdState *w)
{
    uint32_t serial;

    for (size_t i = 0; i < w->config->zones; i++) {
        DnsdZone *zone = &w->zone[i];

        if (!zone->is_logged &&
            dnsd_zone_state(zone, &serial) == DNSD_ZONE_DAMAGED) {
            zone->is_logged = true;
            tell(&w->config->zone[i], zone);
        }
    }
}
