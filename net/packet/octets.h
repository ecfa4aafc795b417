/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of packets: big-endian, at any alignment */
#ifndef NET_PACKET_OCTETS_H
#define NET_PACKET_OCTETS_H

#include "base/octets.h"

#define packet_get16 get_be16
#define packet_get32 get_be32
#define packet_get64 get_be64
#define packet_put16 put_be16
#define packet_put32 put_be32
#define packet_put64 put_be64

#endif /* NET_PACKET_OCTETS_H */
