/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of a journal, version 1: docs/dns-journal.md defines them */
#ifndef DNSD_UPDATE_STORE_JOURNAL_FORMAT_H
#define DNSD_UPDATE_STORE_JOURNAL_FORMAT_H

#include "net/dns/zone/format.h"

#define JOURNAL_VERSION     1
#define JOURNAL_MAGIC       "\x89VZJ\r\n\x1a\n"
#define JOURNAL_HEADER      512u
#define JOURNAL_MARK        0x524a5a56u     /* "VZJR" */
#define JOURNAL_ALIGN       8

/* Offsets in the header */
enum {
    JOURNAL_H_VERSION = 8,
    JOURNAL_H_CHECKSUM = 12,
    JOURNAL_H_CLASS = 16,
    JOURNAL_H_ORIGIN_LEN = 18,
    JOURNAL_H_ORIGIN = 24,
};

enum {
    JOURNAL_CHANGE = 1,
    JOURNAL_BASE = 2,
};

/* Offsets in a record */
enum {
    JOURNAL_R_MARK = 0,
    JOURNAL_R_CHECKSUM = 4,
    JOURNAL_R_LEN = 8,
    JOURNAL_R_KIND = 12,
    JOURNAL_R_POSITION = 16,
    JOURNAL_R_DURABLE = 24,
    JOURNAL_R_FROM = 32,        /* of a change */
    JOURNAL_R_TO = 36,
    JOURNAL_R_GONE = 40,
    JOURNAL_R_COME = 44,
    JOURNAL_R_IDENTITY = 32,    /* of a base */
    JOURNAL_R_SERIAL = 40,
    JOURNAL_R_OCTETS = 48,      /* octets of the fixed part */
};

#endif /* DNSD_UPDATE_STORE_JOURNAL_FORMAT_H */
