/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is read again when it has changed */

#ifndef VMMNET_DNS_CLIENT_FILE_H
#define VMMNET_DNS_CLIENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct DnscFile {
    char *path;                 /* "": no file */
    char *text;                 /* NULL: there is no file that can be read */
    size_t len;
    struct stat seen;           /* all 0: the file does not exist */
} DnscFile;

/* Returns 0 or -ENOMEM. */
int dnsc_file_init(DnscFile *file, const char *path);
void dnsc_file_clear(DnscFile *file);

/*
 * Check the file, and read it if it has changed.  Returns whether it has.
 * Without descriptors or memory the old text stays, until the next call.
 */
bool dnsc_file_refresh(DnscFile *file);

#endif
