/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An image in a file */
#ifndef DNSD_ZONE_IMAGE_FILE_H
#define DNSD_ZONE_IMAGE_FILE_H

#include "net/dns/zone/image.h"

#define IMAGE_FAULT_MAX     4096

typedef struct ImageFile {
    ZoneImage *image;
    void *file;
    size_t len;
    const char *path;
} ImageFile;

/**
 * image_file_open: map the file and open the image
 * @why: on failure a sentence that begins with the path
 *
 * Returns: false on failure.
 */
bool image_file_open(ImageFile *file, const char *path,
                     char why[IMAGE_FAULT_MAX]);

void image_file_close(ImageFile *file);

/**
 * image_file_is_one: does the file begin like an image?
 *
 * Returns: 1, 0, or a negative errno.
 */
int image_file_is_one(const char *path);

/** image_file_fault: make the sentence for a fault of the image */
void image_file_fault(const char *path, const ZoneFault *fault,
                      char why[IMAGE_FAULT_MAX]);

/** image_file_damaged: make the sentence for an image that failed during use */
void image_file_damaged(const ImageFile *file, char why[IMAGE_FAULT_MAX]);

#endif /* DNSD_ZONE_IMAGE_FILE_H */
