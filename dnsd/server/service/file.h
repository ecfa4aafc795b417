/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapped file of an image, with a reference count */
#ifndef DNSD_SERVER_SERVICE_FILE_H
#define DNSD_SERVER_SERVICE_FILE_H

#include <sys/stat.h>

#include "dnsd/server/host/fault.h"
#include "net/dns/zone/image.h"

typedef struct DnsdFile {
    DnsdMapping mapping;
    ZoneImage *image;
    struct stat stat;           /* at the time of mapping */
    unsigned users;
} DnsdFile;

/**
 * dnsd_file_open: map an image
 * @origin: the zone that it must have
 *
 * Returns: NULL, and @why says what is wrong with the file.
 */
DnsdFile *dnsd_file_open(const char *path, const DnsName *origin, char *why,
                         size_t why_len);

/** dnsd_file_is_at: is the file at @path still the same, and complete? */
bool dnsd_file_is_at(const DnsdFile *file, const char *path);

DnsdFile *dnsd_file_ref(DnsdFile *file);

/** dnsd_file_unref: the last one unmaps it; no thread may read it then */
void dnsd_file_unref(DnsdFile *file);

#endif /* DNSD_SERVER_SERVICE_FILE_H */
