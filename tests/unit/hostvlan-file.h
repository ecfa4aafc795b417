/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An LNID table in a folder of its own, and what tests of its reader ask */
#ifndef TESTS_HOSTVLAN_FILE_H
#define TESTS_HOSTVLAN_FILE_H

#include "hostvlan-fixture.h"
#include "net/hostvlan/table.h"

#define MAC_A   0x020000000001ull
#define MAC_B   0x020000000002ull
#define MAC_C   0x0200000000ffull

typedef struct HvFile {
    char *dir, *path;
    HvWriter *w;                /* may be replaced; NULL: there is none */
} HvFile;

/* An empty table. */
HvFile hv_begin(uint32_t buckets, uint32_t words);
void hv_end(HvFile *fx);

/* Shortens or lengthens a table's file. */
void hv_resize(HvWriter *w, off_t size);

/* The table of a file that must be good; the caller's to close. */
HostvlanTable *hv_open(const char *path);

/* Fails unless the file is refused for this reason, and named. */
void hv_assert_refused(const char *path, int code);

/* How many LNIDs a MAC address has, and which. */
unsigned hv_lnids_of(const HostvlanTable *t, uint64_t mac,
                     HostvlanLnids *lnids);

#endif /* TESTS_HOSTVLAN_FILE_H */
