/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that an image becomes: all of it, or nothing
 *
 * It has no name until it is whole and on the disk; then it takes the place of
 * the old one at once.
 */
#ifndef NET_DNS_ZONE_TOOL_OUTPUT_H
#define NET_DNS_ZONE_TOOL_OUTPUT_H

#include "net/dns/zone/write.h"

typedef struct Output {
    ZoneOut out;                /* for zone_writer_new() */
    int fd;
    int dir;
    char *folder;
    char *name;                 /* in the folder */
    char *fresh;                /* its name until it takes the other's place */
    bool is_named;              /* it has that name already */
} Output;

/**
 * output_open: a file for @path, which need not exist
 *
 * Returns: 0 or a negative errno; output_close() is due in any case.
 */
int output_open(Output *output, const char *path);

/**
 * output_commit: the first @len octets of output->out, at @path for good
 *
 * They are on the disk when it returns, and so is the name.
 *
 * Returns: 0 or a negative errno, and then the old file is in its place.
 */
int output_commit(Output *output, uint64_t len);

/** output_close: also removes what was not committed. */
void output_close(Output *output);

#endif /* NET_DNS_ZONE_TOOL_OUTPUT_H */
