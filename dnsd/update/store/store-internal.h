/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the store */
#ifndef DNSD_UPDATE_STORE_STORE_INTERNAL_H
#define DNSD_UPDATE_STORE_STORE_INTERNAL_H

#include "dnsd/update/change/delta.h"
#include "dnsd/update/store/filter.h"
#include "dnsd/update/store/layer.h"
#include "dnsd/update/store/store-types.h"

typedef struct DnsStore DnsStore;
typedef struct DnsVersion DnsVersion;

/* A published view, shared by the store, readers and transfers */
struct DnsVersion {
    unsigned refs;
    ZoneView view;
    DnsLayer *layer[ZONE_LAYERS_MAX];
    DnsFilter *filter;
};

/* A merge in the background */
typedef struct StoreMerge {
    DnsMergeJob job;
    DnsStore *store;
    bool is_running;
    bool is_rebase;
    unsigned count;
    DnsLayer *in[ZONE_LAYERS_MAX];
    ZoneAbout about;
    DnsLayer *out;
    int error;
} StoreMerge;

struct DnsStore {
    const DnsStoreOps *ops;
    void *opaque;
    DnsMerger *merger;
    const DnsMapOps *maps;
    char *path;
    char *path_new;             /* of a new image, before it is renamed */
    DnsName origin;
    uint16_t rrclass;
    size_t seal_nodes;
    uint64_t rebase_len;
    uint64_t rebase_factor;     /* doubles at each failure */
    bool is_broken;             /* the overlay could not be restored */
    Journal *journal;
    /* Committed layers, the youngest first.  layer[0] is the overlay's... */
    unsigned layers;
    DnsLayer *layer[ZONE_LAYERS_MAX];
    bool has_top;               /* ...if this is set */
    DnsFilter *filter;          /* of the deltas; NULL: not made yet */
    DnsVersion *current;
    ZoneView below;             /* below the overlay */
    Overlay *overlay;
    DnsEdit *edit;
    DnsBuffer pending;          /* change records for the journal */
    uint64_t position;          /* of the last edit */
    ZoneOut scratch;
    StoreMerge merge;
    StoreMerge rebase;
    DnsStoreStats stats;
};

/*
 * Make the layers the view of edits.  store_publish() also makes them the view
 * of readers.
 */
void store_refresh(DnsStore *store);
int store_publish(DnsStore *store);

/* The next view gets a new filter. */
void store_forget_filter(DnsStore *store);

/* Replace @count layers, from @first on, by @by, which is taken over. */
void store_splice(DnsStore *store, const DnsLayer *first, unsigned count,
                  DnsLayer *by);

/* Make an image of the overlay; NULL, and errno is set. */
DnsLayer *store_make_top(DnsStore *store);

/* Keep that image and clear the overlay, if there is a free layer. */
void store_seal(DnsStore *store);

/* Put the edit's change into s->pending.  Returns 1, 0 if there is none. */
int store_put_change(DnsStore *store);

/* Wait for merges in the background. */
void store_wait(DnsStore *store);

/* Is it an image of this zone?  Returns 0, or -EINVAL and @error. */
int store_check_image(const DnsStore *store, const char *path,
                      const DnsLayer *layer, DnsStoreError *error);

/* Serve this image instead of all layers; it is taken over. */
int store_show(DnsStore *store, DnsLayer *layer, uint64_t position);

/* Begin a merge if layers should be merged. */
void store_consider_merges(DnsStore *store);

uint64_t store_random(void);
void store_log(DnsStore *store, const char *what, int error);

/* Rename the image, after it was noted in the journal.  Returns 0 or -errno. */
int store_name_image(DnsStore *store, const char *path, uint64_t identity,
                     uint64_t position);

#endif /* DNSD_UPDATE_STORE_STORE_INTERNAL_H */
