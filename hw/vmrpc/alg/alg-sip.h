/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: SIP
 */
#ifndef HW_VMRPC_ALG_SIP_H
#define HW_VMRPC_ALG_SIP_H

#include "hw/vmrpc/alg/alg-internal.h"

#if VMRPC_HAS_SIP
extern const VmrpcAlgFilter vmrpc_alg_sip_filter;

/** vmrpc_sip_datagram: vmrpc_alg_datagram() */
GByteArray *vmrpc_sip_datagram(const VmrpcAlgOps *ops, VmrpcAlgDir dir,
                               const void *data, size_t len);
#else
/* Built with -Dsip=false: no port is that of SIP, so that nobody gets here. */
#define vmrpc_alg_sip_filter            vmrpc_alg_ftp_filter
#define vmrpc_sip_datagram(...)         NULL
#endif

#endif /* HW_VMRPC_ALG_SIP_H */
