/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A zone that changes: what readers see of its layers
 *
 * A version is a set of layers.  It holds a reference to each of them until
 * nobody uses the version any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "dnsd/update/store/store-internal.h"
#include "dnsd/update/store/store.h"

uint64_t store_random(void)
{
    uint64_t random;

    while (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        continue;
    }
    return random;
}

void store_log(DnsStore *s, const char *what, int error)
{
    char text[DNS_NAME_TEXT_MAX + 512], name[DNS_NAME_TEXT_MAX];

    dns_name_to_text(&s->origin, name);
    snprintf(text, sizeof(text), "zone %s: %s%s%s", name, what,
             error ? ": " : "", error ? strerror(-error) : "");
    s->ops->log(s->opaque, text);
}

/* --- versions ------------------------------------------------------------- */

void dns_store_unpin(DnsVersion *version)
{
    if (version && !--version->refs) {
        for (unsigned i = 0; i < version->view.layers; i++) {
            dns_layer_unref(version->layer[i]);
        }
        dns_filter_unref(version->filter);
        free(version);
    }
}

DnsVersion *dns_store_pin(DnsStore *s)
{
    s->current->refs++;
    return s->current;
}

const ZoneView *dns_version_view(const DnsVersion *version)
{
    return &version->view;
}

static void release(void *what)
{
    dns_store_unpin(what);
}

void store_refresh(DnsStore *s)
{
    s->below.layers = s->layers - s->has_top;
    for (unsigned i = 0; i < s->below.layers; i++) {
        s->below.layer[i] = s->layer[i + s->has_top]->image;
    }
    dns_edit_over(s->edit, &s->below);
}

/* Without memory there is no filter, and readers search all layers. */
static void refresh_filter(DnsStore *s)
{
    ZoneImage *delta[ZONE_LAYERS_MAX];
    unsigned count = s->layers - 1;

    if (s->filter && !count) {
        store_forget_filter(s);
    }
    if (s->filter || !count) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        delta[i] = s->layer[i]->image;
    }
    s->filter = dns_filter_new(s->layer[count]->image->key, delta, count);
    s->below.filter = s->filter ? &s->filter->filter : NULL;
}

void store_forget_filter(DnsStore *s)
{
    dns_filter_unref(s->filter);
    s->filter = NULL;
    s->below.filter = NULL;
}

int store_publish(DnsStore *s)
{
    DnsVersion *version = calloc(1, sizeof(*version)), *old = s->current;

    if (!version) {
        return -ENOMEM;
    }
    refresh_filter(s);
    version->refs = 1;
    version->filter = dns_filter_ref(s->filter);
    version->view.filter = s->filter ? &s->filter->filter : NULL;
    version->view.layers = s->layers;
    for (unsigned i = 0; i < s->layers; i++) {
        version->layer[i] = dns_layer_ref(s->layer[i]);
        version->view.layer[i] = s->layer[i]->image;
    }
    s->current = version;
    s->ops->publish(s->opaque, &version->view);
    if (old) {
        s->ops->retire(s->opaque, release, old);
    }
    return 0;
}

/* --- the image ------------------------------------------------------------ */

int store_name_image(DnsStore *s, const char *path, uint64_t identity,
                     uint64_t position)
{
    int ret = journal_base(s->journal, identity, position);

    if (ret) {
        return ret;
    }
    if (rename(path, s->path)) {
        return -errno;
    }
    journal_based(s->journal, identity, position);
    return dns_store_sync_folder_of(s->path);
}
