/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find a name in a zone: RFC 1034 section 4.3.2, RFC 4592, RFC 6672
 *
 * A view of a zone is an image and the deltas over it, the youngest first.  No
 * function allocates memory or waits.
 */
#ifndef NET_DNS_ZONE_FIND_H
#define NET_DNS_ZONE_FIND_H

#include "net/dns/zone/filter.h"
#include "net/dns/zone/node.h"

#define ZONE_LAYERS_MAX 24

typedef struct ZoneView {
    unsigned layers;
    ZoneImage *layer[ZONE_LAYERS_MAX];  /* the last one is the full image */
    const ZoneFilter *filter;   /* all layers but the last; NULL: no filter */
} ZoneView;

/* A name in the form that look-ups use */
typedef struct ZoneKey {
    uint8_t len;
    uint8_t labels;             /* without the root */
    uint8_t start[DNS_LABELS_MAX + 1];  /* offsets of labels, then the root */
    uint8_t wire[DNS_NAME_MAX]; /* in lower case */
} ZoneKey;

typedef enum ZoneFind {
    ZONE_FIND_EXACT,    /* @node has that name */
    ZONE_FIND_CUT,      /* @node is a delegation at or above the name */
    ZONE_FIND_DNAME,    /* @node, above the name, has a DNAME record */
    ZONE_FIND_WILDCARD, /* @node is the wildcard that covers the name */
    ZONE_FIND_NONE,     /* the name does not exist */
    ZONE_FIND_OUTSIDE,  /* it is not within the zone's origin */
    ZONE_FIND_FAILED,   /* the image is damaged */
} ZoneFind;

typedef struct ZoneFound {
    ZoneNode node;              /* valid with the first four results */
    ZoneNode encloser;          /* the closest encloser, RFC 4592: with */
                                /* WILDCARD and NONE */
} ZoneFound;

/**
 * zone_find: look up a name
 *
 * For a name at a delegation the result is CUT, even if the question is for DS.
 * In that case the caller takes the answer from @found->node.
 */
ZoneFind zone_find(const ZoneView *view, const DnsName *name,
                   ZoneFound *found);

/**
 * zone_key_read: read the uncompressed name at the start of @len octets
 *
 * Returns: false if there is no whole name, or a label is a pointer.
 */
bool zone_key_read(ZoneKey *key, const uint8_t *wire, size_t len);

/** zone_find_key: zone_find() for a name within the origin */
ZoneFind zone_find_key(const ZoneView *view, const ZoneKey *key,
                       ZoneFound *found);

/**
 * zone_find_exact: find the node of a name, also below a delegation
 *
 * Returns: false if there is none, or the image is damaged.
 */
bool zone_find_exact(const ZoneView *view, const uint8_t *name, size_t len,
                     ZoneNode *node);

/**
 * zone_find_apex: find the node of the origin
 *
 * Returns: false if the image is damaged.
 */
bool zone_find_apex(const ZoneView *view, ZoneNode *node);

/** zone_view_failed: is one of the images damaged? */
bool zone_view_failed(const ZoneView *view);

/**
 * zone_name_hash: the hash of a wire name; case is ignored
 * @key: image->key
 */
uint64_t zone_name_hash(const uint64_t key[2], const uint8_t *name,
                        size_t len);

#endif /* NET_DNS_ZONE_FIND_H */
