/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An LNID table in a folder of its own, and checks for tests of its reader */
#ifndef TESTS_HOSTVLAN_FILE_H
#define TESTS_HOSTVLAN_FILE_H

#include "hostvlan-fixture.h"
#include "net/hostvlan/table.h"

#define MAC_A   0x020000000001ull
#define MAC_B   0x020000000002ull
#define MAC_C   0x0200000000ffull

typedef struct HvFile {
    char *dir, *path;
    HvWriter *w;                /* may be replaced; NULL: no writer */
} HvFile;

/* An empty table. */
HvFile hv_begin(uint32_t buckets, uint32_t words);
void hv_end(HvFile *fx);

/* Shortens or lengthens a table's file. */
void hv_resize(HvWriter *w, off_t size);

/* Opens a table, whose file must be valid; the caller closes it. */
HostvlanTable *hv_open(const char *path);

/*
 * Fails unless the file is refused for this reason, and the message names it.
 */
void hv_assert_refused(const char *path, int code);

/* Returns: the number of a MAC address's LNIDs, and them in @lnids. */
unsigned hv_lnids_of(const HostvlanTable *t, uint64_t mac,
                     HostvlanLnids *lnids);

#endif /* TESTS_HOSTVLAN_FILE_H */
