/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image in a file */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dnsd/zone/image-file.h"
#include "net/dns/zone/verify.h"

void image_file_fault(const char *path, const ZoneFault *fault,
                      char why[IMAGE_FAULT_MAX])
{
    snprintf(why, IMAGE_FAULT_MAX, "%s: %s, offset %" PRIu64 ": %s; compile "
             "the zone anew, or copy its image again", path, fault->where,
             fault->offset, fault->what);
}

void image_file_damaged(const ImageFile *file, char why[IMAGE_FAULT_MAX])
{
    ZoneFault fault;
    ZoneImage *image = zone_image_open(file->file, file->len, &fault);

    if (image && zone_image_verify(image, &fault)) {
        snprintf(why, IMAGE_FAULT_MAX, "%s: it changes while it is read",
                 file->path);
    } else {
        image_file_fault(file->path, &fault, why);
    }
    zone_image_free(image);
}

static bool map(ImageFile *file, int fd, char why[IMAGE_FAULT_MAX])
{
    struct stat about;

    if (fstat(fd, &about)) {
        snprintf(why, IMAGE_FAULT_MAX, "%s: %s", file->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(about.st_mode)) {
        snprintf(why, IMAGE_FAULT_MAX, "%s: it is no regular file",
                 file->path);
        return false;
    }
    file->len = about.st_size;
    file->file = file->len ? mmap(NULL, file->len, PROT_READ, MAP_SHARED, fd,
                                  0) : NULL;
    if (file->file == MAP_FAILED) {
        snprintf(why, IMAGE_FAULT_MAX, "%s: %s", file->path, strerror(errno));
        return false;
    }
    return true;
}

bool image_file_open(ImageFile *file, const char *path,
                     char why[IMAGE_FAULT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ZoneFault fault;
    bool is_mapped;

    *file = (ImageFile) { .path = path };
    if (fd < 0) {
        snprintf(why, IMAGE_FAULT_MAX, "%s: %s", path, strerror(errno));
        return false;
    }
    is_mapped = map(file, fd, why);
    close(fd);
    if (!is_mapped) {
        return false;
    }
    file->image = zone_image_open(file->file ? file->file : "", file->len,
                                  &fault);
    if (!file->image) {
        image_file_fault(path, &fault, why);
        if (file->file) {
            munmap(file->file, file->len);
        }
        return false;
    }
    return true;
}

void image_file_close(ImageFile *file)
{
    zone_image_free(file->image);
    if (file->file) {
        munmap(file->file, file->len);
    }
}

int image_file_is_one(const char *path)
{
    char magic[ZONE_MAGIC_LEN];
    struct stat about;
    ssize_t len;
    int fd;

    /* What is read from a pipe is missing from it, and its writer is gone. */
    if (!stat(path, &about) && !S_ISREG(about.st_mode) &&
        !S_ISDIR(about.st_mode)) {
        return 0;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    len = read(fd, magic, sizeof(magic));
    close(fd);
    if (len < 0) {
        return -errno;
    }
    return len == sizeof(magic) && !memcmp(magic, ZONE_MAGIC, sizeof(magic));
}
