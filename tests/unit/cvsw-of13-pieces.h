/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of OpenFlow 1.3's FLOW_MODs, in hexadecimal digits */
#ifndef TESTS_UNIT_CVSW_OF13_PIECES_H
#define TESTS_UNIT_CVSW_OF13_PIECES_H

/* Fields that are prerequisites of others. */
#define IP4             "80000a02 0800"
#define IP6             "80000a02 86dd"
#define ARP             "80000a02 0806"
#define TAGGED          "80000c02 1064"
#define PROTO(n)        "80001401" n
#define ND_NS           IP6 PROTO("3a") "80003a01 87"
#define ND_NA           IP6 PROTO("3a") "80003a01 88"

#define OUTPUT_WIRE     "0000 0010 00000002 0000 000000000000"
#define POP_VLAN        "0012 0008 00000000"
#define PUSH_VLAN       "0011 0008 8100 0000"
#define DEC_TTL         "0018 0008 00000000"

/* A tunnel to 16777215 from 2001:db8::1 to ff05::1, TTL 32. */
#define ENCAP6 \
    "ffff 0040 00525400 0001 06 00 20 00 12b5 00ffffff 020000000001" \
    "333300000001 20010db8000000000000000000000001" \
    "ff050000000000000000000000000001"

#endif /* TESTS_UNIT_CVSW_OF13_PIECES_H */
