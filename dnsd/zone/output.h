/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a new image: either all of it appears, or nothing
 *
 * The file has no name until it is complete and on the disk.  Then it replaces
 * the old file at once.
 */
#ifndef DNSD_ZONE_OUTPUT_H
#define DNSD_ZONE_OUTPUT_H

#include "net/dns/zone/write.h"

typedef struct Output {
    ZoneOut out;                /* for zone_writer_new() */
    int fd;
    int dir;
    char *folder;
    char *name;                 /* in the folder */
    char *fresh;                /* its name until it replaces the old file */
    bool is_named;              /* it has the name @fresh */
} Output;

/**
 * output_open: create a file for @path, which need not exist
 *
 * Returns: 0 or a negative errno.  Call output_close() in both cases.
 */
int output_open(Output *output, const char *path);

/**
 * output_commit: make the first @len octets of output->out the file @path
 *
 * Contents and name are on the disk when it returns.
 *
 * Returns: 0; or a negative errno, and the old file is unchanged.
 */
int output_commit(Output *output, uint64_t len);

/** output_close: close the file, and remove it if it was not committed */
void output_close(Output *output);

#endif /* DNSD_ZONE_OUTPUT_H */
