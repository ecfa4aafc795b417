/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images that are open, in memory or mapped, and counted */
#ifndef NET_DNS_UPDATE_STORE_LAYER_H
#define NET_DNS_UPDATE_STORE_LAYER_H

#include "net/dns/zone/image.h"
#include "net/dns/zone/write.h"

/* The count is the control thread's. */
typedef struct DnsLayer {
    unsigned refs;
    uint64_t position;          /* changes up to this one are in it */
    ZoneImage *image;
    void *memory;               /* or mapped: */
    void *map;
    size_t map_len;
} DnsLayer;

/**
 * dns_layer_copy: an image of our own from memory that is used again
 *
 * Returns: NULL without memory.
 */
DnsLayer *dns_layer_copy(const ZoneOut *out, uint64_t len);

/**
 * dns_layer_open: map an image file
 *
 * Returns: NULL; errno is that of the system call, or EBADMSG and @fault.
 */
DnsLayer *dns_layer_open(const char *path, ZoneFault *fault);

DnsLayer *dns_layer_ref(DnsLayer *layer);
void dns_layer_unref(DnsLayer *layer);

/**
 * dns_memory_grow: ZoneOut's grow(), in anonymous memory
 *
 * dns_memory_clean() makes the first @len octets zeros again.
 */
int dns_memory_grow(ZoneOut *out, uint64_t room);
void dns_memory_clean(ZoneOut *out, uint64_t len);
void dns_memory_free(ZoneOut *out);

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
