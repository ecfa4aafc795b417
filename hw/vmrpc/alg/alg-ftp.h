/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the control connection of FTP
 */
#ifndef HW_VMRPC_ALG_FTP_H
#define HW_VMRPC_ALG_FTP_H

#include "hw/vmrpc/alg/alg-internal.h"

extern const VmrpcAlgFilter vmrpc_alg_ftp_filter;

#endif /* HW_VMRPC_ALG_FTP_H */
