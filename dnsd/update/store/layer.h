/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open images, in memory or mapped, with a reference count */
#ifndef DNSD_UPDATE_STORE_LAYER_H
#define DNSD_UPDATE_STORE_LAYER_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/write.h"

/*
 * A handler of SIGBUS for mapped files, which others may truncate.  Any thread
 * may call its functions.
 */
typedef struct DnsMapOps {
    /* Add a mapping before it is read; NULL: there is no memory. */
    void *(*add)(const void *base, size_t len);
    /* Set @failed when a page is lost; at once if one is lost already. */
    void (*tell)(void *mapping, atomic_bool *failed);
    void (*remove)(void *mapping);
} DnsMapOps;

/* Only the control thread uses the count. */
typedef struct DnsLayer {
    unsigned refs;
    uint64_t position;          /* the image has all changes up to this */
    ZoneImage *image;
    void *memory;               /* or, if it is mapped: */
    void *map;
    size_t map_len;
    const DnsMapOps *ops;       /* NULL: the file is not watched */
    void *mapping;
} DnsLayer;

/**
 * dns_layer_copy: copy an image from memory that is used again
 *
 * Returns: NULL without memory.
 */
DnsLayer *dns_layer_copy(const ZoneOut *out, uint64_t len);

/**
 * dns_layer_open: map an image file
 * @ops: may be NULL
 *
 * Returns: NULL; errno is that of the system call, or EBADMSG and @fault is
 * set.
 */
DnsLayer *dns_layer_open(const char *path, const DnsMapOps *ops,
                         ZoneFault *fault);

DnsLayer *dns_layer_ref(DnsLayer *layer);
void dns_layer_unref(DnsLayer *layer);

/**
 * dns_memory_out_grow: the grow() of a ZoneOut in anonymous memory
 *
 * dns_memory_out_clean() resets the first @len octets to zeros.
 */
int dns_memory_out_grow(ZoneOut *out, uint64_t room);
void dns_memory_out_clean(ZoneOut *out, uint64_t len);
void dns_memory_out_free(ZoneOut *out);

/* An image that is written to a file */
typedef struct DnsFileOut {
    ZoneOut out;
    int fd;
} DnsFileOut;

/** dns_file_out_open: create the file; 0 or a negative errno */
int dns_file_out_open(DnsFileOut *file, const char *path);

/**
 * dns_file_out_close: truncate the file to its length; durable on return
 * @len: 0: delete the file instead
 */
int dns_file_out_close(DnsFileOut *file, uint64_t len);

#endif /* DNSD_UPDATE_STORE_LAYER_H */
