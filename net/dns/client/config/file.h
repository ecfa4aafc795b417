/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is read again when it has changed
 */

#ifndef VMMNET_DNS_CLIENT_FILE_H
#define VMMNET_DNS_CLIENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct DnscFile {
    char *path;                 /* "": none */
    char *text;                 /* NULL: not there */
    size_t len;
    struct stat seen;           /* all 0: not there */
} DnscFile;

/* Returns 0 or -ENOMEM. */
int dnsc_file_init(DnscFile *file, const char *path);
void dnsc_file_clear(DnscFile *file);

/* Look, and read if it is another one than before: true. */
bool dnsc_file_refresh(DnscFile *file);

#endif
