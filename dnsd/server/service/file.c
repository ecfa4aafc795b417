/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapped file of an image */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dnsd/server/host/spare.h"
#include "dnsd/server/service/file.h"

static bool map(DnsdFile *file, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    void *base = MAP_FAILED;

    if (fd < 0) {
        return false;
    }
    if (!fstat(fd, &file->stat)) {
        errno = S_ISREG(file->stat.st_mode) ? ENODATA : EINVAL;
        if (S_ISREG(file->stat.st_mode) && file->stat.st_size) {
            base = mmap(NULL, file->stat.st_size, PROT_READ, MAP_SHARED, fd,
                        0);
        }
    }
    close(fd);
    if (base == MAP_FAILED) {
        return false;
    }
    file->mapping.base = base;
    file->mapping.len = file->stat.st_size;
    dnsd_fault_add(&file->mapping);
    return true;
}

static bool is_of(const ZoneImage *image, const DnsName *origin, char *why,
                  size_t why_len)
{
    char text[DNS_NAME_TEXT_MAX];

    if (image->flags & ZONE_IS_DELTA) {
        snprintf(why, why_len, "is a part of a journal, no zone");
        return false;
    }
    if (image->rrclass != DNS_CLASS_IN) {
        snprintf(why, why_len, "is of class %u, and only IN is served",
                 image->rrclass);
        return false;
    }
    if (!dns_name_equal(&image->origin, origin)) {
        dns_name_to_text(&image->origin, text);
        snprintf(why, why_len, "has the zone '%s'", text);
        return false;
    }
    return true;
}

DnsdFile *dnsd_file_open(const char *path, const DnsName *origin, char *why,
                         size_t why_len)
{
    DnsdFile *file = calloc(1, sizeof(*file));
    ZoneFault fault;

    if (!file) {
        snprintf(why, why_len, "there is no memory for it");
        return NULL;
    }
    file->users = 1;
    if (!map(file, path)) {
        if (errno == ENODATA || errno == EINVAL) {
            snprintf(why, why_len, errno == ENODATA ? "is empty"
                                                    : "is no file");
        } else {
            dnsd_spare_why(errno, why, why_len);
        }
        free(file);
        return NULL;
    }
    file->image = zone_image_open(file->mapping.base, file->mapping.len,
                                  &fault);
    if (!file->image) {
        snprintf(why, why_len, "is damaged: %s (%s, offset %" PRIu64 "); "
                 "put a whole image there and reload", fault.what, fault.where,
                 fault.offset);
        goto close_file;
    }
    dnsd_fault_tell(&file->mapping, &file->image->failed);
    if (is_of(file->image, origin, why, why_len)) {
        return file;
    }
close_file:
    dnsd_file_unref(file);
    return NULL;
}

bool dnsd_file_is_at(const DnsdFile *file, const char *path)
{
    const struct stat *was = &file->stat;
    struct stat now;

    return !stat(path, &now) && now.st_dev == was->st_dev &&
           now.st_ino == was->st_ino && now.st_size == was->st_size &&
           now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == was->st_mtim.tv_nsec &&
           !atomic_load(&file->mapping.lost) &&
           !atomic_load(&file->image->failed);
}

DnsdFile *dnsd_file_ref(DnsdFile *file)
{
    file->users++;
    return file;
}

void dnsd_file_unref(DnsdFile *file)
{
    if (!file || --file->users) {
        return;
    }
    dnsd_fault_remove(&file->mapping);
    zone_image_free(file->image);
    munmap((void *)file->mapping.base, file->mapping.len);
    free(file);
}
