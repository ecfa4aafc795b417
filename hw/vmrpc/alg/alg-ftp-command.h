/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application-level gateways: the commands of FTP
 */
#ifndef HW_VMRPC_ALG_FTP_COMMAND_H
#define HW_VMRPC_ALG_FTP_COMMAND_H

#include "hw/vmrpc/alg/alg-internal.h"

/* Bytes of a line that a gateway writes, without its end, with a NUL */
#define VMRPC_FTP_TEXT_MAX      128

/* A command that may be rewritten */
typedef struct VmrpcFtpVerb VmrpcFtpVerb;

/**
 * vmrpc_ftp_find_verb: the command at the beginning of a line
 * @data: the line, or the part of it that has come
 *
 * Returns: a command that begins with these bytes; NULL: no such command.
 */
const VmrpcFtpVerb *vmrpc_ftp_find_verb(const VmrpcAlg *alg,
                                        const uint8_t *data, size_t len);

/**
 * vmrpc_ftp_rewrite: decide on a command that has been counted
 * @data: a private copy of a whole line
 * @out: the new line, without an end; the caller appends that of @data
 *
 * Returns: whether there is a new line.  A verb without an end stays.
 */
bool vmrpc_ftp_rewrite(VmrpcAlg *alg, const uint8_t *data, size_t len,
                       char out[VMRPC_FTP_TEXT_MAX]);

/**
 * vmrpc_ftp_find_port: the port in "text (|||port|)"
 *
 * RFC 2428, section 3.
 *
 * Returns: the port, host byte order; 0: none.
 */
unsigned vmrpc_ftp_find_port(const char *p);

#endif /* HW_VMRPC_ALG_FTP_COMMAND_H */
