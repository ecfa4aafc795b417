/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images that are open, in memory or mapped, and counted */
#ifndef NET_DNS_UPDATE_STORE_LAYER_H
#define NET_DNS_UPDATE_STORE_LAYER_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/write.h"

/*
 * A handler of SIGBUS, for mapped files that others may cut short; its
 * functions are called by any thread.
 */
typedef struct DnsMapOps {
    /* From now on, before anything is read; NULL: there is no memory for it */
    void *(*add)(const void *base, size_t len);
    /* Set @failed when a page is lost, at once if one is */
    void (*tell)(void *mapping, atomic_bool *failed);
    void (*remove)(void *mapping);
} DnsMapOps;

/* The count is the control thread's. */
typedef struct DnsLayer {
    unsigned refs;
    uint64_t position;          /* changes up to this one are in it */
    ZoneImage *image;
    void *memory;               /* or mapped: */
    void *map;
    size_t map_len;
    const DnsMapOps *ops;       /* NULL: nobody knows of the file */
    void *mapping;
} DnsLayer;

/**
 * dns_layer_copy: an image of our own from memory that is used again
 *
 * Returns: NULL without memory.
 */
DnsLayer *dns_layer_copy(const ZoneOut *out, uint64_t len);

/**
 * dns_layer_open: map an image file
 * @ops: or NULL
 *
 * Returns: NULL; errno is that of the system call, or EBADMSG and @fault.
 */
DnsLayer *dns_layer_open(const char *path, const DnsMapOps *ops,
                         ZoneFault *fault);

DnsLayer *dns_layer_ref(DnsLayer *layer);
void dns_layer_unref(DnsLayer *layer);

/**
 * dns_memory_out_grow: ZoneOut's grow(), in anonymous memory
 *
 * dns_memory_out_clean() makes the first @len octets zeros again.
 */
int dns_memory_out_grow(ZoneOut *out, uint64_t room);
void dns_memory_out_clean(ZoneOut *out, uint64_t len);
void dns_memory_out_free(ZoneOut *out);

/* An image that is written into a file */
typedef struct DnsFileOut {
    ZoneOut out;
    int fd;
} DnsFileOut;

/** dns_file_out_open: 0 or a negative errno */
int dns_file_out_open(DnsFileOut *file, const char *path);

/**
 * dns_file_out_close: cut it to its length, durable on return
 * @len: 0: it is to be deleted, whatever is in it does not count
 */
int dns_file_out_close(DnsFileOut *file, uint64_t len);

#endif /* NET_DNS_UPDATE_STORE_LAYER_H */
