/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libunbound verifies signatures with, of nettle in Debian 12 and of
 * OpenSSL in 13; it needs no package
 */
#ifndef TESTS_INTEROP_DNS_VERIFY_COUNT_H
#define TESTS_INTEROP_DNS_VERIFY_COUNT_H

#include <stddef.h>

int nettle_ecdsa_verify(const void *key, size_t len, const void *digest,
                        const void *signature);
int EVP_DigestVerify(void *context, const unsigned char *signature,
                     size_t signature_len, const unsigned char *data,
                     size_t len);
int nettle_rsa_sha256_verify_digest(const void *key, const void *digest,
                                    const void *signature);

#endif /* TESTS_INTEROP_DNS_VERIFY_COUNT_H */
