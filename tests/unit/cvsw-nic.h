/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two NICs back to back, for tests of their work on frames */
#ifndef TESTS_UNIT_CVSW_NIC_H
#define TESTS_UNIT_CVSW_NIC_H

#include <glib.h>
#include <string.h>

#include "hw/net/cvsw/run/run.h"

/* The segments that nic_tcp() asks for; the tunnels' network. */
enum { NIC_MSS = 1300, NIC_VNI = 0xabcdef };

typedef struct NicFrame {
    uint8_t data[65536 + 200];
    size_t len;
    PacketOffload offload;
} NicFrame;

typedef struct Nic {
    CvswRun run;
    GPtrArray *guest, *wire;    /* frames that came out at each side */
    unsigned punted;
    unsigned out_of_tunnel;     /* of those for the guest */
} Nic;

Nic *nic_new(void);
void nic_free(Nic *nic);

CvswAction nic_output(uint32_t port);
CvswAction nic_into_tunnel(bool is_ip6);
CvswAction nic_with_sa(CvswActionType type, uint32_t sa);
void nic_match_number(CvswMatch *match, CvswField field, uint64_t number);
void nic_add_flow(Nic *nic, const CvswMatch *match, uint16_t priority,
                  const CvswAction *actions, unsigned num);

/** nic_flow_from: a flow for all frames that enter at @port */
void nic_flow_from(Nic *nic, uint32_t port, const CvswAction *actions,
                   unsigned num);

/** nic_add_sa: AES-GCM-128, all octets of the key are @key_octet */
void nic_add_sa(Nic *nic, uint32_t number, EspDirection direction,
                uint8_t key_octet);

/** nic_connect: @a sends everything into its tunnel, @b takes it out */
void nic_connect(Nic *a, Nic *b, bool is_ip6, bool sealed);

/**
 * nic_tcp: TCP over IPv4 or IPv6 with @payload octets
 * @partial: the NIC has to make the checksum, and segments if needed
 */
NicFrame *nic_tcp(bool is_ip4, size_t payload, bool partial);

/** nic_put_in: Returns: the result of cvsw_run() */
bool nic_put_in(Nic *nic, uint32_t port, const NicFrame *f);

/** nic_carry: frames from the wire of @from enter at the wire of @to */
void nic_carry(Nic *from, Nic *to);

uint64_t nic_dropped(const Nic *nic, uint32_t port, CvswDrop why);

#endif /* TESTS_UNIT_CVSW_NIC_H */
