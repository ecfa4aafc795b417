/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of an image, mapped; those who use it count */
#ifndef NET_DNS_SERVER_SERVICE_FILE_H
#define NET_DNS_SERVER_SERVICE_FILE_H

#include <sys/stat.h>

#include "net/dns/server/host/fault.h"
#include "net/dns/zone/image.h"

typedef struct DnsdFile {
    DnsdMapping mapping;
    ZoneImage *image;
    struct stat stat;           /* when it was mapped */
    unsigned users;
} DnsdFile;

/**
 * dnsd_file_open: map an image
 * @origin: whose zone it must have
 *
 * Returns: NULL, and @why says what is wrong with the file.
 */
DnsdFile *dnsd_file_open(const char *path, const DnsName *origin, char *why,
                         size_t why_len);

/** dnsd_file_is_at: is it still the file at @path, and whole? */
bool dnsd_file_is_at(const DnsdFile *file, const char *path);

DnsdFile *dnsd_file_ref(DnsdFile *file);

/** dnsd_file_unref: the last one unmaps it; nobody may read it then. */
void dnsd_file_unref(DnsdFile *file);

#endif /* NET_DNS_SERVER_SERVICE_FILE_H */
